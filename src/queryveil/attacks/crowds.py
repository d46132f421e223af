"""Attacks that find people: whoever matches best what is known is the crowd, and the target is one of it or not.

Success against a target is one divided by the number of people in the crowd, if the target is in it. For people who
are not there nothing can succeed; the control therefore asks how surely the attacker would believe to have found
them: one divided by the number of people in the crowd, whoever they are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.attacks.base import Game, Knowledge, View
from queryveil.attacks.rates import rate_of, risk_of
from queryveil.core.progress import Progress
from queryveil.core.results import AttackResult, Rate, Risk
from queryveil.kernels.attacks import find_crowds

LEFT_OUT = "the same people, each taken out of the release"
OTHER_PEOPLE = "people of another log"
TARGETS_PER_CALL = 500  # below a second, so that an interrupt is noticed


@dataclass(frozen=True)
class Attempt:
    """An attack with one amount of knowledge."""

    name: str
    risk_of: Risk
    label: str  # what is known
    exact: bool = False  # everything known must match; else the best matches are taken
    note: str = ""


@dataclass(frozen=True, eq=False)
class CrowdMatches:
    """The crowd of each target."""

    people: NDArray[np.int64]
    owners: NDArray[np.int64]
    is_in: NDArray[np.bool_]  # the target is in it

    def success(self, by: str = "people") -> NDArray[np.float64]:
        """Return how surely each target is found."""
        return np.where(self.is_in, self.belief(by), 0.0)

    def belief(self, by: str = "people") -> NDArray[np.float64]:
        """Return how surely the attacker believes to have found each target, rightly or not."""
        size = self.people if by == "people" else self.owners
        return np.divide(1.0, size, out=np.zeros(len(size)), where=size > 0)


def search(
    view: View, knowledge: Knowledge, *, exact: bool, left_out: bool = False, progress: Progress, stage: str
) -> CrowdMatches:
    """Find the crowd of every target; exactly counted."""
    me, found = view.me(knowledge.person), []
    for start in range(0, len(knowledge), TARGETS_PER_CALL):
        part = slice(start, start + TARGETS_PER_CALL)
        found.append(
            find_crowds(
                view.published, knowledge.items[part], knowledge.n_right, me[part], view.weights, exact, left_out
            )
        )
        progress(stage, min(start + TARGETS_PER_CALL, len(knowledge)), len(knowledge))
    return CrowdMatches(*(np.concatenate(column) for column in zip(*found, strict=True)))


def attack_crowds(
    game: Game, attempt: Attempt, known: Knowledge, strangers: Knowledge | None, progress: Progress
) -> list[AttackResult]:
    """Attack the release and the log with the same knowledge, and the control besides.

    Where a release shows groups, it is told besides how surely the person's group is found.
    """
    stage = f"attacking: {attempt.name}"
    found, apart, original = (
        search(view, whom, exact=attempt.exact, left_out=left_out, progress=progress, stage=stage)
        for view, whom, left_out in (
            (game.release, known, False),
            (game.release, known if strangers is None else strangers, strangers is None),
            (game.original, known, False),
        )
    )
    results = []
    for by in ("people", "groups") if game.release.is_grouped else ("people",):
        rate, control = rate_of(found.success(by)), rate_of(apart.belief(by))
        result = AttackResult(
            attack=attempt.name,
            risk_of=attempt.risk_of if by == "people" else "linkability",
            knowledge=attempt.label if by == "people" else f"{attempt.label}: the group",
            rate=rate,
            control=control,
            baseline=_guess(game.release, known, by),
            risk=risk_of(rate, control),
            original=rate_of(original.success()),
            targets=len(known),
            controls=len(apart.people),
            controlled_by=LEFT_OUT if strangers is None else OTHER_PEOPLE,
            crowd=float(np.median(found.people[found.is_in])) if found.is_in.any() else None,
            smallest=int(found.people[found.is_in].min()) if found.is_in.any() else None,
            note=attempt.note,
        )
        results.append(result)
    return results


def _guess(view: View, known: Knowledge, by: str) -> Rate:
    """Return the success of pointing at anybody in the release."""
    size = view.n_people if by == "people" else len(np.unique(view.published.owner))
    return rate_of((view.me(known.person) >= 0) / max(1, size))
