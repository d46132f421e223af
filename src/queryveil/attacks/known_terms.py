"""Known terms: whether a person is found by a few terms, and how small the crowd is.

The terms are drawn from what the person searched for, since that is what a neighbour knows; with `of=release` only from
what the release still shows of it, which no attacker can choose but which is the case that a guarantee is about. On a
(k, m)-anonymous release no success with at most m right terms exceeds 1/k, whatever the weights and however many wrong
terms there are besides: if the target is in the crowd of those who score most, everybody who shows the right terms that
the target still shows scores as much, and of these there are k.

A scoring attacker (Narayanan, Shmatikov: Robust De-anonymization of Large Sparse Datasets, 2008) does not mind that
some known terms were deleted or are wrong. A term counts 1/ln(1 + units that show it).
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.attacks.base import Game, Knowledge, Setting, play
from queryveil.attacks.crowds import Attempt, attack_crowds
from queryveil.attacks.targets import draw_rows, draw_wrong, know, know_strangers, refuse_none, still_shown
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import AttackResult

MORE = 2  # known terms are m to m + 2
BEYOND = "more terms than the release protects against"


def run(
    evidence: Evidence, attack: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[AttackResult]:
    """Attack with m, m + 1 and m + 2 terms: by those who share all of them, and by score with wrong ones besides."""
    setting = evidence.get(Setting)
    m, n_wrong, game = attack.integer("m"), attack.integer("wrong"), play(setting, setting.terms)
    people = game.people if attack.word("of") == "log" else still_shown(game)
    results: list[AttackResult] = []
    for n_terms in range(m, m + MORE + 1):
        rows = draw_rows(people, n_terms, setting.most_targets, rng)
        if n_terms == m:
            refuse_none(rows, people, str(attack), m, "terms")
        if not len(rows):
            break
        known = know(people, rows, n_terms, rng)
        strangers = know_strangers(game, n_terms, setting.most_targets, rng)
        note = _note(setting, n_terms)
        sure = Attempt(str(attack), "singling out", terms(n_terms), exact=True, note=note)
        results += attack_crowds(game, sure, known, strangers, progress)
        besides = f" and {n_wrong} wrong" if n_wrong else ""
        unsure = Attempt(str(attack), "singling out", f"{terms(n_terms)}{besides}, scored", note=note)
        results += attack_crowds(game, unsure, *_with_wrong(game, rows, known, strangers, n_wrong, rng), progress)
    return results


def terms(n: int) -> str:
    """Write a number of terms."""
    return "1 term" if n == 1 else f"{n} terms"


def _with_wrong(
    game: Game,
    rows: NDArray[np.int64],
    known: Knowledge,
    strangers: Knowledge | None,
    n_wrong: int,
    rng: np.random.Generator,
) -> tuple[Knowledge, Knowledge | None]:
    """Add wrong terms to what is known; of strangers any term of the log's people is as good."""
    wrong = draw_wrong(game.people.ids, game.people, rows, n_wrong, rng)
    added = Knowledge(np.hstack((known.items, wrong)), known.n_right, known.person)
    if strangers is None:
        return added, None
    more = game.people.ids[rng.integers(0, len(game.people.ids), (len(strangers), n_wrong))]
    return added, Knowledge(np.hstack((strangers.items, more)), strangers.n_right, strangers.person)


def _note(setting: Setting, n_terms: int) -> str:
    """Say where the attacker knows more than the claim is about."""
    claimed = setting.claim.values.get("m")
    return BEYOND if isinstance(claimed, int) and n_terms > claimed else ""
