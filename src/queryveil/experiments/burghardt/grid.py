"""The runs behind the results: every target, k and m of the paper; each is verified before it is measured."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import Evidence, Floor, Owners, ReleasedHistories
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import select_entries
from queryveil.experiments.burghardt.printed import KS, MS
from queryveil.experiments.runs import confirm, run_method
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.profiles import Profiles
from queryveil.market.table import FIGURES
from queryveil.methods.base import StartingPoint
from queryveil.methods.utilities import Worth, value_of_terms

TARGETS = ("logsize", "users", "bid", "clicks", "impressions", "revenue", "fis", "random")
LOG_SIZE = "log size"
# measure → the target that aims at it; none aims at distinct terms in the paper
OWN_TARGET = {LOG_SIZE: "logsize", "users": "users", **{figure: figure for figure in FIGURES}}


@dataclass(frozen=True)
class Outcome:
    """What one run kept, verified; for `random` the mean of two runs."""

    method: str
    k: int
    m: int
    target: str
    seconds: float  # of the method alone
    passes: float | None  # over the histories, where the algorithm tells
    checked: int  # combinations that the verifier looked at
    kept: Mapping[str, float]  # measure → % of the original


@dataclass(frozen=True, eq=False)
class Task:
    """What all runs share."""

    profiles: Profiles
    worth: Worth
    algorithm: str
    rng: np.random.Generator

    @cached_property
    def values(self) -> Mapping[str, NDArray[np.float64]]:
        """Return, for each measure that sums up values, that of one occurrence of each term."""
        found = {name: value_of_terms(target, self.profiles, self.worth) for name, target in OWN_TARGET.items()}
        return {name: value for name, value in found.items() if value is not None}

    def method(self, k: int, m: int, target: str) -> ResolvedName:
        """Return a run by its name."""
        return resolve("method", f"km(k={k}, m={m}, target={target}, algorithm={self.algorithm})")


def run_grid(task: Task, progress: Progress = silent) -> list[Outcome]:
    """Make all runs of tables 5 to 7: m outside, then k, then the targets."""
    wanted = [(k, m, target) for m in MS for k in KS for target in TARGETS]
    outcomes = []
    for number, (k, m, target) in enumerate(wanted, 1):
        watched = within(f"run {number} of {len(wanted)}", progress)
        runs = [run_once(task, k, m, target, progress=watched)[0] for _ in range(2 if target == "random" else 1)]
        outcomes.append(mean_of(runs))
    return outcomes


def within(stage: str, progress: Progress) -> Progress:
    """Return progress that says which run it is about."""
    return lambda inner, done, total: progress(f"{stage}: {inner}", done, total)


def run_once(
    task: Task, k: int, m: int, target: str, *, start: NDArray[np.bool_] | None = None, progress: Progress = silent
) -> tuple[Outcome, NDArray[np.bool_]]:
    """Make one run, verify it and measure what it kept; return also which pairs those are."""
    bound = task.method(k, m, target)
    began = time.perf_counter()
    begin = None if start is None else StartingPoint(start)
    kept: KeptPairs = run_method(bound, task.profiles, task.rng, task.worth, begin, progress=progress)
    seconds = time.perf_counter() - began
    checked = _verify(task.profiles, kept.mask, bound, progress)
    outcome = Outcome(
        str(bound), k, m, target, seconds, kept.summary.get("passes"), checked, kept_shares(task, kept.mask)
    )
    return outcome, kept.mask


def mean_of(runs: Sequence[Outcome]) -> Outcome:
    """Return the mean of runs of one method."""
    passes = [run.passes for run in runs if run.passes is not None]
    return replace(
        runs[0],
        seconds=sum(run.seconds for run in runs) / len(runs),
        passes=sum(passes) / len(passes) if passes else None,
        checked=sum(run.checked for run in runs),
        kept={name: sum(run.kept[name] for run in runs) / len(runs) for name in runs[0].kept},
    )


def _verify(profiles: Profiles, mask: NDArray[np.bool_], bound: ResolvedName, progress: Progress) -> int:
    """Have the guarantee's verifier look at what was kept; return how many combinations it checked."""
    if not mask.any():
        return 0
    users, indptr = np.arange(profiles.n_histories), select_entries(profiles.indptr, mask)
    entries = profiles.vocabulary.entries
    released = ReleasedHistories(users, indptr, profiles.ids[mask], profiles.counts[mask], entries, None)
    owners = Owners(profiles.owner, users, profiles.holders_by_text)
    verdict = confirm(bound, Evidence.of(released, owners, Floor()), progress=progress)
    return int(verdict.checked)


def kept_shares(task: Task, mask: NDArray[np.bool_]) -> dict[str, float]:
    """Return what is left of each thing in percent of the original."""
    profiles = task.profiles
    history = profiles.row_numbers()[mask]
    shares = {
        "distinct terms": 100.0 * len(np.unique(profiles.ids[mask])) / len(profiles.vocabulary),
        "users": 100.0 * len(np.unique(profiles.owner[history])) / profiles.n_people,
    }
    for measure, value in task.values.items():
        worth = value[profiles.ids] * profiles.counts
        shares[measure] = 100.0 * float(worth[mask].sum()) / float(worth.sum())
    return shares
