"""Inference: how surely another term of a person is learnt from m known ones.

The linking attack of Zhu and Xiong 2010, Equations 1 to 3: what is believed of a term t of a person V of whom the terms
V_b are known is

    P(t ∈ V | V_b, G) = Σ_i P(V ⊂ G_i | V_b, G) · P(t ∈ V | V ⊂ G_i),

and the attack has gained what that exceeds P(t ∈ V | V_b), the belief before the release was seen, by. Here:

- P(V ⊂ G_i | V_b, G) is the same for everybody behind the units (histories or groups) that match V_b best and 0 for all
  others; the paper only says that it depends on the overlap of V_b and G_i and adds up to 1.
- P(t ∈ V | V ⊂ G_i) is 1 for a history that shows t; for a group that publishes t it is the true share of its members
  who hold t, which the owner of the release knows. The paper takes the mean of that over all terms of the group.
- P(t ∈ V | V_b) is the share of all people in the log who hold t. The paper takes it for 0.

The control takes the person out first (or attacks people of another log): what is still learnt then is learnt from
others, and would be learnt whether the person is in the log or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from queryveil.attacks.base import Game, Known, Setting, View, play
from queryveil.attacks.crowds import LEFT_OUT, OTHER_PEOPLE, TARGETS_PER_CALL
from queryveil.attacks.known_terms import terms
from queryveil.attacks.rates import rate_of, risk_of
from queryveil.attacks.targets import draw_items, draw_rows, held, refuse_none
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import AttackResult
from queryveil.core.rows import count_holders, per_entry
from queryveil.kernels.attacks import believe

NEEDED_SIZE = "terms, of which one is to be learnt,"


@dataclass(frozen=True, eq=False)
class Secrets:
    """What is known of each target, and another term that is not."""

    known: NDArray[np.int32]  # (targets, m)
    secret: NDArray[np.int32]  # (targets,)
    row: NDArray[np.int64]  # (targets,): in `whose`
    whose: Known


@dataclass(frozen=True, eq=False)
class Learnt:
    """What an attack learns of each target."""

    belief: NDArray[np.float64]  # in the secret
    guess: NDArray[np.int32]  # the term whose belief rose most, -1 where none did
    is_right: NDArray[np.bool_]


def run(
    evidence: Evidence, attack: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[AttackResult]:
    """Attack with m terms: the belief in another term of the person, and the best guess."""
    setting = evidence.get(Setting)
    m, game = attack.integer("m"), play(setting, setting.terms)
    rows = draw_rows(game.people, m + 1, setting.most_targets, rng)
    refuse_none(rows, game.people, str(attack), m + 1, NEEDED_SIZE)
    secrets = _draw(game.people, rows, m, rng)
    strangers = None
    if game.others is not None:
        other_rows = draw_rows(game.others, m + 1, setting.most_targets, rng)
        strangers = _draw(game.others, other_rows, m, rng) if len(other_rows) else None
    prior = prior_of(game)
    worlds = (
        (game.release, secrets, False),
        (game.release, secrets if strangers is None else strangers, strangers is None),
        (game.original, secrets, False),
    )
    learnt = [learn(*world, prior, progress, f"attacking: {attack}") for world in worlds]
    controlled_by = LEFT_OUT if strangers is None else OTHER_PEOPLE
    beliefs, guesses = [found.belief for found in learnt], [found.is_right for found in learnt]
    before = prior[secrets.secret], np.append(prior, 0.0)[learnt[0].guess]
    return [
        _result(attack, f"{terms(m)}: belief in another", beliefs, before[0], controlled_by),
        _result(attack, f"{terms(m)}: best guess of another", guesses, before[1], controlled_by),
    ]


def _result(
    attack: ResolvedName,
    label: str,
    successes: Sequence[NDArray[Any]],
    baseline: NDArray[np.float64],
    controlled_by: str,
) -> AttackResult:
    """Put the successes in the release, the control and the log together."""
    rate, control, original = map(rate_of, successes)
    return AttackResult(
        attack=str(attack),
        risk_of="inference",
        knowledge=label,
        rate=rate,
        control=control,
        baseline=rate_of(baseline),
        risk=risk_of(rate, control),
        original=original,
        targets=len(successes[0]),
        controls=len(successes[1]),
        controlled_by=controlled_by,
    )


def prior_of(game: Game) -> NDArray[np.float64]:
    """Return the share of all people in the log who hold each item, in whichever history."""
    known = game.people
    holders = count_holders(per_entry(known.owner, known.indptr), known.ids, len(game.keys))
    return holders / len(game.original.owner_of)


def _draw(whose: Known, rows: NDArray[np.int64], m: int, rng: np.random.Generator) -> Secrets:
    items = draw_items(whose, rows, m + 1, rng)
    return Secrets(np.ascontiguousarray(items[:, :m]), items[:, m].copy(), rows, whose)


def learn(
    view: View,
    secrets: Secrets,
    left_out: bool,
    prior: NDArray[np.float64],
    progress: Progress = silent,
    stage: str = "",
) -> Learnt:
    """Return what the crowds of targets say about them; exactly counted."""
    me, found = view.me(secrets.whose.owner[secrets.row]), []
    for start in range(0, len(secrets.row), TARGETS_PER_CALL):
        part = slice(start, start + TARGETS_PER_CALL)
        found.append(
            believe(
                view.published,
                secrets.known[part],
                secrets.secret[part],
                me[part],
                secrets.row[part],
                secrets.whose.indptr,
                secrets.whose.ids,
                prior,
                view.weights,
                left_out,
            )
        )
        progress(stage, min(start + TARGETS_PER_CALL, len(secrets.row)), len(secrets.row))
    belief, guess = (np.concatenate(column) for column in zip(*found, strict=True))
    return Learnt(belief, guess, held(secrets.whose, secrets.row, guess))
