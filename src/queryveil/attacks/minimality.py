"""Minimality: what it tells of deleted terms that nothing is deleted without need.

Wong, Fu, Wang, Pei: Minimality Attack in Privacy Preserving Data Publishing, 2007. Whoever knows that a release is
(k, m)-anonymous and that its method puts back what it can knows of a term that could be put into a history that it
was never there. The attacker is shown two terms that the release has elsewhere, one of which was deleted from the
history; the other one was never in it. What stands in the history is right, what could have stayed is wrong; otherwise
both look alike. The control asks the same of somebody else's history: what is reached there follows from the two
terms, not from the person's history. Guessing reaches a half.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.attacks.base import Game, Known, Setting, View, play
from queryveil.attacks.rates import rate_of, risk_of
from queryveil.attacks.targets import draw_wrong, held
from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import AttackResult, Rate
from queryveil.core.rows import gather_rows, row_numbers
from queryveil.kernels.attacks import judge

ANOTHER_HISTORY = "somebody else's history in its place"
QUESTIONS_PER_CALL = 100  # about a second where histories are long
GUESS = 0.5


def run(
    evidence: Evidence, attack: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[AttackResult]:
    """Attack one deleted term of every released history that lost one, or of those drawn."""
    setting = evidence.get(Setting)
    game = play(setting, setting.terms)
    unit, deleted = _draw_deleted(setting, game, rng)
    if not len(unit):
        raise InputError(f"{attack} needs terms that were deleted from some histories only, and there are none.")
    never = draw_wrong(game.release.published.ids, game.people, setting.history_of[unit], 1, rng)[:, 0]
    unit, deleted, never = unit[never >= 0], deleted[never >= 0], never[never >= 0]
    if not len(unit):
        raise InputError(f"{attack} needs terms that a history never had, and every history has them all.")
    other = _somebody_else(game.release, unit, rng)
    own_row = setting.history_of[unit]
    no_parts = np.zeros(len(game.original.published.owner), np.int32)
    stage = f"attacking: {attack}"
    rate, control, original = (
        rate_of(_told_apart(setting, view, part, row, deleted, never, progress, stage))
        for view, part, row in (
            (game.release, setting.part, unit),
            (game.release, setting.part, other),
            (game.original, no_parts, own_row),
        )
    )
    return [
        AttackResult(
            attack=str(attack),
            risk_of="inference",
            knowledge="the history, the method and two terms",
            rate=rate,
            control=control,
            baseline=Rate(GUESS, GUESS, GUESS),
            risk=risk_of(rate, control),
            original=original,
            targets=len(unit),
            controls=len(unit),
            controlled_by=ANOTHER_HISTORY,
        )
    ]


def _draw_deleted(
    setting: Setting, game: Game, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Draw released histories that lost a term which the release has elsewhere, and one such term of each."""
    published, people = game.release.published, game.people
    indptr, pair = gather_rows(people.indptr, setting.history_of[: len(published.owner)])
    unit, item = row_numbers(indptr), people.ids[pair]
    is_elsewhere = np.diff(published.post_start)[item] > 0
    shown = Known(published.indptr, published.ids, published.owner)
    is_deleted = is_elsewhere & ~held(shown, unit, item)
    unit, item = unit[is_deleted], item[is_deleted]
    order = np.lexsort((rng.random(len(unit)), unit))
    first = order[np.unique(unit[order], return_index=True)[1]]
    if len(first) > setting.most_targets:
        first = np.sort(rng.choice(first, setting.most_targets, replace=False, shuffle=False))
    return unit[first], item[first]


def _somebody_else(view: View, unit: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw for each unit one of another owner."""
    owner = view.published.owner
    first, end = np.searchsorted(owner, owner[unit], "left"), np.searchsorted(owner, owner[unit], "right")
    drawn = rng.integers(0, len(owner) - (end - first))
    return np.where(drawn < first, drawn, drawn + end - first)


def _told_apart(
    setting: Setting,
    view: View,
    part: NDArray[np.int32],
    row: NDArray[np.int64],
    deleted: NDArray[np.int32],
    never: NDArray[np.int32],
    progress: Progress,
    stage: str,
) -> NDArray[np.float64]:
    """Return 1 where the deleted term looks likelier than the other one, a half where both look alike, else 0."""
    k, m = setting.claim.integer("k"), setting.claim.integer("m")
    parts = []
    for start in range(0, len(row), QUESTIONS_PER_CALL):
        cut = slice(start, start + QUESTIONS_PER_CALL)
        one, other = (judge(view.published, part, row[cut], items[cut], k, m) for items in (deleted, never))
        parts.append((1 + np.sign(one - other)) / 2)
        progress(stage, min(start + QUESTIONS_PER_CALL, len(row)), len(row))
    return np.concatenate(parts)
