"""Attacks that find people: known terms, terms with counts, moments of searching, and names.

The people who match what is known best are the crowd. Success against a target is one divided by the number of people
in the crowd if the target is in it, else 0. By the same score nothing succeeds against people who are not there, so the
control is 0. Only the group of a person can be found without the person.

The scoring attacker (Narayanan, Shmatikov: Robust De-anonymization of Large Sparse Datasets, 2008) tolerates known
terms that were deleted or are wrong; a term scores 1/ln(1 + units that show it). What each attacker knows, and why no
success exceeds 1/k on a (k, m)-anonymous release, is in docs/explanation/attacks.md.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from typing import Literal

import numpy as np

from queryveil.attacks import base
from queryveil.core.display import counted
from queryveil.core.errors import InputError, InternalError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import AttackResult, Rate
from queryveil.core.rows import BoolArray, FloatArray, IntArray, row_numbers, select_entries
from queryveil.kernels.attacks import find_crowds
from queryveil.lexicons.word_lists import load_names

BEYOND = "more terms than the release protects against"
ASSUMED = "of people with a name that is taken to be their own"
SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}
_MORE_TERMS = 2  # known terms are m to m + 2

CrowdUnit = Literal["people", "groups"]
FullName = tuple[str, str]


@dataclass(frozen=True, eq=False)
class CrowdMatches:
    """The crowd of each target."""

    people: IntArray
    owners: IntArray
    is_in: BoolArray  # the target is in it

    def success(self, by: CrowdUnit = "people") -> FloatArray:
        """Return the probability of finding each target, or its group."""
        return self.is_in / np.maximum(1, self.people if by == "people" else self.owners)


def match_crowds(
    view: base.AttackedView,
    knowledge: base.Knowledge,
    *,
    exact: bool,
    is_absent: bool = False,
    progress: Progress = silent,
    stage: str = "",
) -> CrowdMatches:
    """Find the crowd of every target: those who match all items if `exact`, else those who score most."""
    owner = view.owners_of(knowledge.person)
    found = base.in_batches(
        lambda part: find_crowds(
            view.published, knowledge.items[part], knowledge.n_right, owner[part], view.weights, exact, is_absent
        ),
        len(knowledge),
        progress,
        stage,
    )
    return CrowdMatches(*found)


def attack_crowds(
    scenario: base.Scenario,
    attack: ResolvedName,
    label: str,
    known: base.Knowledge,
    progress: Progress,
    *,
    exact: bool = False,
    note: str = "",
) -> list[AttackResult]:
    """Attack with the given knowledge; a release of groups also gets a result about finding the person's group."""
    match = partial(match_crowds, knowledge=known, exact=exact, progress=progress, stage=f"attacking: {attack}")
    found, original = match(scenario.release), match(scenario.original).success()
    crowd = found.people[found.is_in]
    result = partial(
        base.make_result,
        attack,
        crowd=float(np.median(crowd)) if len(crowd) else None,
        smallest=int(crowd.min()) if len(crowd) else None,
        note=note,
    )
    results = [result(label, found.success(), None, original, _guess(scenario.release, known))]
    if (scenario.release.published.people > 1).any():  # a group is there without the person too
        successes = (found.success("groups"), match(scenario.release, is_absent=True).success("groups"), original)
        guess = _guess(scenario.release, known, "groups")
        results.append(
            result(f"{label}: the group", *successes, guess, risk_of="linkability", controlled_by=base.LEFT_OUT)
        )
    return results


def _guess(view: base.AttackedView, known: base.Knowledge, by: CrowdUnit = "people") -> Rate:
    """Return the success of pointing at a random person (or group) of the release."""
    owners = np.unique(view.published.owner)
    size = view.published.people[owners].sum() if by == "people" else len(owners)
    return base.rate_of((view.owners_of(known.person) >= 0) / max(1, size))


def attack_by_terms(
    evidence: Evidence, attack: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[AttackResult]:
    """Attack with m, m + 1 and m + 2 terms: by those who share all of them, and by score with wrong ones added."""
    inputs = evidence.get(base.AttackInputs)
    m, n_wrong, scenario = attack.integer("m"), attack.integer("wrong"), base.build_scenario(inputs, inputs.terms)
    people = scenario.people if attack.word("of") == "log" else scenario.released_items()
    claimed = inputs.claim.values.get("m")
    results: list[AttackResult] = []
    for n_terms in range(m, m + _MORE_TERMS + 1):
        rows = people.draw_rows(n_terms, inputs.max_targets, rng)
        if n_terms == m:
            people.require(rows, attack, m, "terms")
        if not len(rows):
            break
        known = people.draw_knowledge(rows, n_terms, rng)
        note = BEYOND if isinstance(claimed, int) and n_terms > claimed else ""
        label = counted(n_terms, "terms")
        results += attack_crowds(scenario, attack, label, known, progress, exact=True, note=note)
        wrong = scenario.people.draw_wrong(scenario.people.ids, rows, n_wrong, rng)  # columns (targets, n_wrong)
        known = replace(known, items=np.hstack((known.items, wrong)))
        label += f" and {n_wrong} wrong, scored" if n_wrong else ", scored"
        results += attack_crowds(scenario, attack, label, known, progress, note=note)
    return results


def attack_by_counts(
    evidence: Evidence, attack: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[AttackResult]:
    """Attack with m terms, each with the number of queries that contain it; both must match together."""
    inputs, m = evidence.get(base.AttackInputs), attack.integer("m")
    most = max(int(_counts(table).max(initial=0)) for table in inputs.terms.all())
    # a term and its count become one key; the order of keys within a row stays
    tables = inputs.terms.map(lambda table: replace(table, keys=table.keys * (most + 1) + _counts(table), counts=None))
    label = "1 term and how often" if m == 1 else f"{m} terms and how often each"
    return _attack_by_items(inputs, tables, attack, "terms", label, rng, progress)


def _counts(table: base.ItemTable) -> IntArray:
    if table.counts is None:
        raise InternalError("multiplicity was run on a table without counts; please report this.")
    return table.counts


def attack_by_moments(
    evidence: Evidence, attack: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[AttackResult]:
    """Attack with m moments, known to the second, minute, hour or day."""
    inputs, m, unit = evidence.get(base.AttackInputs), attack.integer("m"), attack.word("unit")
    tables = inputs.kept["time"].map(lambda table: in_units(table, SECONDS[unit]))
    label = f"the {unit} of 1 query" if m == 1 else f"the {unit}s of {m} queries"
    return _attack_by_items(inputs, tables, attack, f"different {unit}s of searching", label, rng, progress)


def attack_by_urls(
    evidence: Evidence, attack: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[AttackResult]:
    """Attack with m URLs that a person clicked on, in the form in which the release has them."""
    inputs, m = evidence.get(base.AttackInputs), attack.integer("m")
    label = counted(m, "clicked URLs")
    return _attack_by_items(inputs, inputs.kept["url"], attack, "different URLs", label, rng, progress)


def in_units(table: base.ItemTable, seconds: int) -> base.ItemTable:
    """Return a table of moments in units of so many seconds, each unit once per row."""
    keys, rows = table.keys // seconds, row_numbers(table.indptr)
    is_new = np.ones(len(keys), np.bool_)
    is_new[1:] = (keys[1:] != keys[:-1]) | (rows[1:] != rows[:-1])
    return base.ItemTable(select_entries(table.indptr, is_new), keys[is_new], table.owner)


def _attack_by_items(
    inputs: base.AttackInputs,
    tables: base.ItemTables,
    attack: ResolvedName,
    what: str,
    label: str,
    rng: np.random.Generator,
    progress: Progress,
) -> list[AttackResult]:
    """Attack with m random items of everybody who has as many."""
    m, scenario = attack.integer("m"), base.build_scenario(inputs, tables)
    rows = scenario.people.draw_rows(m, inputs.max_targets, rng)
    scenario.people.require(rows, attack, m, what)
    known = scenario.people.draw_knowledge(rows, m, rng)
    return attack_crowds(scenario, attack, label, known, progress)


def attack_by_names(
    evidence: Evidence, attack: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[AttackResult]:
    """Attack with the first and last name of everybody who searched for one."""
    inputs = evidence.get(base.AttackInputs)
    if inputs.queries is None:
        raise InternalError("the attack vanity was run without queries; please report this.")
    scenario, shared = base.build_scenario(inputs, inputs.terms), attack.integer("shared")
    known = _name_knowledge(inputs, scenario, own_names(inputs.queries, shared), rng)
    if not len(known):
        raise InputError(
            f"{attack} needs people who searched for a first and a last name that few others did, and the log has "
            "none; leave it out."
        )
    return attack_crowds(scenario, attack, "first and last name", known, progress, note=ASSUMED)


def own_names(queries: base.Queries, shared: int) -> dict[int, FullName]:
    """Return the name that each person is taken to have: the most searched, then the rarest, then the first.

    Names that more than `shared` people searched for are taken to be of famous people and left out.
    """
    names = [names_in(text) for text in queries.texts]
    searched: dict[int, Counter[FullName]] = defaultdict(Counter)
    columns = (queries.person.tolist(), queries.query.tolist(), queries.counts.tolist())
    for person, query, count in zip(*columns, strict=True):
        for name in names[query]:
            searched[person][name] += count
    people = Counter(name for found in searched.values() for name in found)
    own: dict[int, FullName] = {}
    for person, found in searched.items():
        rare = [name for name in found if people[name] <= shared]
        if rare:
            own[person] = min(rare, key=lambda name: (-found[name], people[name], name))
    return own


def names_in(text: str) -> list[FullName]:
    """Return every first name of a query that is followed by a last name, with that last name."""
    first_names, surnames = _name_sets()
    return [pair for pair in pairwise(text.split(" ")) if pair[0] in first_names and pair[1] in surnames]


@cache
def _name_sets() -> tuple[frozenset[str], frozenset[str]]:
    return frozenset((*load_names("female"), *load_names("male"))), frozenset(load_names("last"))


def _name_knowledge(
    inputs: base.AttackInputs, scenario: base.Scenario, names: dict[int, FullName], rng: np.random.Generator
) -> base.Knowledge:
    """Return names as items; a name that is not among the terms becomes -1, which matches nothing."""
    people = base.draw_at_most(np.array(sorted(names), np.int32), inputs.max_targets, rng)
    number = inputs.term_number
    keys = np.array([[number.get(part, -1) for part in names[person]] for person in people.tolist()], np.int64)
    position = np.minimum(np.searchsorted(scenario.keys, keys), len(scenario.keys) - 1)
    items = np.where(scenario.keys[position] == keys, position, -1).astype(np.int32).reshape(len(people), 2)
    return base.Knowledge(items, 2, people)
