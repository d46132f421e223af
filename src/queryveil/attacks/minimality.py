"""Minimality: what the fact that nothing is deleted without need reveals about deleted terms.

Wong, Fu, Wang, Pei: Minimality Attack in Privacy Preserving Data Publishing, 2007. Whoever knows that a release is
(k, m)-anonymous and that its method reinserts what it can concludes that a term which could be added to a history was
never in it. The attacker is shown two terms that the release has elsewhere: one was deleted from the history, the other
was never in it. One that could have stayed is wrong; otherwise both look alike, and guessing reaches a half. The
control asks the same about somebody else's history.
"""

import numpy as np

from queryveil.attacks import base
from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import AttackResult, Rate
from queryveil.core.rows import BoolArray, FloatArray, Int32Array, IntArray, gather_rows, row_numbers
from queryveil.kernels.attacks import classify_items

ANOTHER_HISTORY = "somebody else's history in its place"
QUESTIONS_PER_CALL = 100  # about a second where histories are long
GUESS = 0.5


def find_deleted(
    evidence: Evidence, attack: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[AttackResult]:
    """Attack one deleted term of every released history that lost one, or of a sample of these."""
    inputs = evidence.get(base.AttackInputs)
    scenario = base.build_scenario(inputs, inputs.terms)
    unit, deleted = _draw_deleted(inputs, scenario, rng)
    if not len(unit):
        raise InputError(f"{attack} needs terms that were deleted from some histories only, and there are none.")
    never = scenario.people.draw_wrong(scenario.release.published.ids, inputs.history_of[unit], 1, rng)[:, 0]
    unit, deleted, never = unit[never >= 0], deleted[never >= 0], never[never >= 0]
    if not len(unit):
        raise InputError(f"{attack} needs terms that a history never had, and every history has them all.")
    owner = scenario.release.published.owner
    first, end = (np.searchsorted(owner, owner[unit], side) for side in ("left", "right"))
    drawn = rng.integers(0, len(owner) - (end - first))
    other = np.where(drawn < first, drawn, drawn + end - first)  # for each unit one of another owner
    no_parts = np.zeros(len(scenario.original.published.owner), np.int32)
    k, m = inputs.claim.integer("k"), inputs.claim.integer("m")

    def success(view: base.AttackedView, part: Int32Array, row: IntArray) -> FloatArray:
        """Return 1 where the deleted term looks likelier than the other one, a half where both look alike, else 0."""

        def compare_batch(batch: slice) -> tuple[FloatArray]:
            rows = row[batch]
            one, two = (classify_items(view.published, part, rows, items[batch], k, m) for items in (deleted, never))
            return ((1 + np.sign(one - two)) / 2,)

        return base.in_batches(compare_batch, len(row), progress, f"attacking: {attack}", QUESTIONS_PER_CALL)[0]

    successes = (
        success(scenario.release, inputs.part, unit),
        success(scenario.release, inputs.part, other),
        success(scenario.original, no_parts, inputs.history_of[unit]),
    )
    label = "the history, the method and two terms"
    return [base.make_result(attack, label, *successes, Rate(GUESS, GUESS, GUESS), controlled_by=ANOTHER_HISTORY)]


def _is_shown(inputs: base.AttackInputs, scenario: base.Scenario, unit: IntArray, item: Int32Array) -> BoolArray:
    """Return whether the release shows each item in the unit, or in another piece of the same original history."""
    published, width = scenario.release.published, len(scenario.keys)
    shown = np.repeat(inputs.history_of, np.diff(published.indptr)) * width + published.ids
    found: BoolArray = np.isin(inputs.history_of[unit] * width + item, shown)
    return found


def _draw_deleted(
    inputs: base.AttackInputs, scenario: base.Scenario, rng: np.random.Generator
) -> tuple[IntArray, Int32Array]:
    """Draw released histories that lost a term which the release has elsewhere, and one such term of each."""
    published, people = scenario.release.published, scenario.people
    indptr, pair = gather_rows(people.indptr, inputs.history_of[: len(published.owner)])
    unit, item = row_numbers(indptr), people.ids[pair]
    is_elsewhere = np.diff(published.post_start)[item] > 0
    is_deleted = is_elsewhere & ~_is_shown(inputs, scenario, unit, item)
    unit, item = unit[is_deleted], item[is_deleted]
    order = np.lexsort((rng.random(len(unit)), unit))
    first = order[np.unique(unit[order], return_index=True)[1]]
    drawn = base.draw_at_most(first, inputs.max_targets, rng)
    return unit[drawn], item[drawn]
