"""Vanity: whether a person is found by name, because people search for themselves.

A log has no true names. The name that a person searched for most often, as a first and a last name side by side, is
taken to be the person's own if few others searched for it: more people than `shared` search for the famous only.
"""

from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise

import numpy as np

from queryveil.attacks.base import Game, Knowledge, Queries, Setting, play
from queryveil.attacks.crowds import Attempt, attack_crowds
from queryveil.core.errors import InputError, InternalError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import AttackResult
from queryveil.lexicons.word_lists import female_names, last_names, male_names

NOBODY = "{} needs people who searched for a first and a last name that few others did, and the log has none."
ASSUMED = "of people with a name that is taken to be their own"

FullName = tuple[str, str]


def run(
    evidence: Evidence, attack: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[AttackResult]:
    """Attack with both names of everybody who has one."""
    setting = evidence.get(Setting)
    if setting.queries is None:
        raise InternalError("the attack vanity was run without queries; please report this.")
    game, shared = play(setting, setting.terms), attack.integer("shared")
    known = _known(setting, game, own_names(setting.queries, shared), rng)
    if not len(known):
        raise InputError(f"{NOBODY.format(attack)[:-1]}; leave it out.")
    strangers = None
    if setting.other_queries is not None:
        found = _known(setting, game, own_names(setting.other_queries, shared), rng)
        strangers = Knowledge(found.items, 2, np.full(len(found), -1, np.int32)) if len(found) else None
    attempt = Attempt(str(attack), "singling out", "first and last name", note=ASSUMED)
    return attack_crowds(game, attempt, known, strangers, progress)


def own_names(queries: Queries, shared: int) -> dict[int, FullName]:
    """Return the name that each person is taken to have; of names searched as often, the rarest, then the first."""
    names = [names_in(text) for text in queries.texts]
    searched: dict[int, Counter[FullName]] = defaultdict(Counter)
    for person, query, count in zip(
        queries.person.tolist(), queries.query.tolist(), queries.counts.tolist(), strict=True
    ):
        for name in names[query]:
            searched[person][name] += count
    people = Counter(name for found in searched.values() for name in found)
    chosen: dict[int, FullName] = {}
    for person, found in searched.items():
        few = [name for name in found if people[name] <= shared]
        if few:
            chosen[person] = min(few, key=lambda name: (-found[name], people[name], name))
    return chosen


def names_in(text: str) -> list[FullName]:
    """Return every first name that is followed by a last name."""
    words = text.split(" ")
    first, last = _first_names(), _last_names()
    return [pair for pair in pairwise(words) if pair[0] in first and pair[1] in last]


@cache
def _first_names() -> frozenset[str]:
    return frozenset((*female_names().names, *male_names().names))


@cache
def _last_names() -> frozenset[str]:
    return frozenset(last_names().names)


def _known(setting: Setting, game: Game, names: dict[int, FullName], rng: np.random.Generator) -> Knowledge:
    """Return names as items; a name that is nowhere among the terms matches nothing."""
    people = np.array(sorted(names), np.int32)
    if len(people) > setting.most_targets:
        people = np.sort(rng.choice(people, setting.most_targets, replace=False, shuffle=False))
    number = setting.term_number
    keys = np.array([[number.get(part, -1) for part in names[person]] for person in people.tolist()], np.int64)
    place = np.minimum(np.searchsorted(game.keys, keys), len(game.keys) - 1)
    items = np.where(game.keys[place] == keys, place, -1).astype(np.int32).reshape(len(people), 2)
    return Knowledge(items, 2, people)
