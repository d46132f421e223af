"""Inference: how strongly another term of a person is believed by an attacker who knows m terms.

The linking attack of Zhu and Xiong 2010, Equations 1 to 3 (docs/explanation/papers/zhu-xiong.md). All people of the
units (histories or groups) that match the known terms best are equally likely to be the target. What the control still
learns is learnt from others, whether the person is in the log or not.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from queryveil.attacks import base
from queryveil.core.display import counted
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import AttackResult
from queryveil.core.rows import BoolArray, FloatArray, Int32Array, IntArray, count_holders
from queryveil.kernels.attacks import believe


@dataclass(frozen=True, eq=False)
class HiddenTerms:
    """What is known of each target, and another term that is not."""

    known: Int32Array  # (targets, m)
    secret: Int32Array  # (targets,)
    row: IntArray  # (targets,): in `whose`
    whose: base.KnowableItems


@dataclass(frozen=True, eq=False)
class Inference:
    """What an attack infers about each target."""

    belief: FloatArray  # in the secret
    guess: Int32Array  # the term whose belief rose most, -1 where none did
    is_right: BoolArray


def infer(
    evidence: Evidence, attack: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[AttackResult]:
    """Attack with m terms: the belief in another term of the person, and the best guess."""
    inputs, m = evidence.get(base.AttackInputs), attack.integer("m")
    scenario = base.build_scenario(inputs, inputs.terms)
    rows = scenario.people.draw_rows(m + 1, inputs.max_targets, rng)
    scenario.people.require(rows, attack, m + 1, "terms, of which one is to be learnt,")
    hidden, strangers = _draw_hidden(scenario.people, rows, m, rng), None
    if scenario.others is not None:
        other_rows = scenario.others.draw_rows(m + 1, inputs.max_targets, rng)
        strangers = _draw_hidden(scenario.others, other_rows, m, rng) if len(other_rows) else None
    prior = prior_of(scenario)
    released, control, log = (
        infer_terms(*run, prior, progress, f"attacking: {attack}")
        for run in scenario.runs_with_control(hidden, strangers)
    )
    result = partial(base.make_result, attack, controlled_by=base.LEFT_OUT if strangers is None else base.OTHER_PEOPLE)
    label, guessed = counted(m, "terms"), np.append(prior, 0.0)[released.guess]
    beliefs = released.belief, control.belief, log.belief
    guesses = released.is_right, control.is_right, log.is_right
    return [
        result(f"{label}: belief in another", *beliefs, base.rate_of(prior[hidden.secret])),
        result(f"{label}: best guess of another", *guesses, base.rate_of(guessed)),
    ]


def prior_of(scenario: base.Scenario) -> FloatArray:
    """Return the share of all people in the log who hold each item, in any history."""
    known = scenario.people
    holders = count_holders(np.repeat(known.owner, np.diff(known.indptr)), known.ids, len(scenario.keys))
    return holders / len(scenario.original.owner_of)


def _draw_hidden(whose: base.KnowableItems, rows: IntArray, m: int, rng: np.random.Generator) -> HiddenTerms:
    items = whose.draw_items(rows, m + 1, rng)
    return HiddenTerms(np.ascontiguousarray(items[:, :m]), items[:, m].copy(), rows, whose)


def infer_terms(
    view: base.AttackedView,
    hidden: HiddenTerms,
    is_absent: bool,
    prior: FloatArray,
    progress: Progress = silent,
    stage: str = "",
) -> Inference:
    """Return the belief in each target's secret and the best guess, from the target's crowd."""
    whose = hidden.whose
    owner = view.owners_of(whose.owner[hidden.row])

    def infer_batch(part: slice) -> tuple[FloatArray, Int32Array]:
        known, secret, row = hidden.known[part], hidden.secret[part], hidden.row[part]
        return believe(
            view.published, known, secret, owner[part], row, whose.indptr, whose.ids, prior, view.weights, is_absent
        )

    belief, guess = base.in_batches(infer_batch, len(hidden.row), progress, stage)
    return Inference(belief, guess, whose.holds(hidden.row, guess))
