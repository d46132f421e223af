"""The runs of the evaluation: every target, k and m of the paper, and the timed runs of section 5.2."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean

import numpy as np

from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, nested_progress, silent
from queryveil.core.rows import BoolArray, FloatArray, row_numbers
from queryveil.experiments.burghardt import printed
from queryveil.experiments.burghardt.examples import smith_log
from queryveil.experiments.paper import RunTally, confirm_kept, mean_figures, run_method
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.profiles import Profiles
from queryveil.market import FIGURES
from queryveil.methods.targets import TermValues, value_of_terms

TARGETS = ("logsize", "users", "bid", "clicks", "impressions", "revenue", "fis", "random")
RANDOM_RUNS = 2  # averaged for the target random
TIMED_TARGET = "logsize"
LOG_SIZE = "log size"
# measure → the target that aims at it; none aims at distinct terms in the paper
OWN_TARGET = {LOG_SIZE: "logsize", "users": "users", **{figure: figure for figure in FIGURES}}


@dataclass(frozen=True)
class KmRun:
    """What one verified run kept, or the mean of several."""

    method: str
    k: int
    m: int
    target: str
    seconds: float  # of the method alone
    passes: float | None  # over the histories, if the algorithm reports it
    checked: int  # combinations that the verifier checked
    kept: Mapping[str, float]  # measure → % of the original


@dataclass(frozen=True, eq=False)
class KmSetup:
    """What all runs share."""

    profiles: Profiles
    term_values: TermValues
    algorithm: str
    rng: np.random.Generator
    tally: RunTally = field(default_factory=RunTally)

    @cached_property
    def values(self) -> Mapping[str, FloatArray]:
        """Return the value of one occurrence of each term, for each measure that is a sum of values."""
        found = {name: value_of_terms(target, self.profiles, self.term_values) for name, target in OWN_TARGET.items()}
        return {name: value for name, value in found.items() if value is not None}

    def run(
        self, k: int, m: int, target: str, start: BoolArray | None = None, progress: Progress = silent
    ) -> tuple[ResolvedName, KeptPairs]:
        """Run a method and return its name, too; `start` is the mask of a run under a weaker guarantee."""
        method = resolve("method", f"km(k={k}, m={m}, target={target}, algorithm={self.algorithm})")
        begin = None if start is None else KeptPairs(start)
        return method, run_method(method, self.profiles, self.rng, self.term_values, begin, progress=progress)


def warm_up(setup: KmSetup) -> None:
    """Run every target on a tiny log, so that kernels are compiled before times are taken."""
    tiny = KmSetup(smith_log(), setup.term_values, setup.algorithm, setup.rng)
    for m in printed.MS:
        for target in TARGETS:
            tiny.run(2, m, target)


def run_times(setup: KmSetup, progress: Progress = silent) -> tuple[dict[tuple[int, int], KmRun], KmRun]:
    """Make the runs that section 5.2 reports times of: by (k, m), and (2,3) started from the result of (2,2)."""
    complete, kept = {}, {}
    for k, m in printed.FIRST_PASS:
        stage = nested_progress(f"timing ({k},{m})", progress)
        complete[k, m], kept[k, m] = run_once(setup, k, m, TIMED_TARGET, progress=stage)
    stage = nested_progress("timing (2,3) from (2,2)", progress)
    return complete, run_once(setup, 2, 3, TIMED_TARGET, start=kept[2, 2], progress=stage)[0]


def run_grid(setup: KmSetup, progress: Progress = silent) -> list[KmRun]:
    """Make all runs of tables 5 to 7, ordered by m, k and target."""
    cells = [(k, m, target) for m in printed.MS for k in printed.KS for target in TARGETS]
    means = []
    for number, (k, m, target) in enumerate(cells, 1):
        stage = nested_progress(f"run {number} of {len(cells)}", progress)
        repeats = RANDOM_RUNS if target == "random" else 1
        means.append(mean_of([run_once(setup, k, m, target, progress=stage)[0] for _ in range(repeats)]))
    return means


def run_once(
    setup: KmSetup, k: int, m: int, target: str, *, start: BoolArray | None = None, progress: Progress = silent
) -> tuple[KmRun, BoolArray]:
    """Run a method, verify the result and measure it; return also the mask of kept pairs."""
    began = time.perf_counter()
    method, kept = setup.run(k, m, target, start, progress)
    seconds = time.perf_counter() - began
    checked = confirm_kept(method, setup.profiles, kept.mask, setup.tally, progress=progress)
    profiles, mask = setup.profiles, kept.mask
    shares = {  # % of the original
        "distinct terms": 100.0 * len(np.unique(profiles.ids[mask])) / len(profiles.vocabulary),
        "users": 100.0 * len(np.unique(profiles.owner[row_numbers(profiles.indptr)[mask]])) / profiles.n_people,
    }
    for measure, value in setup.values.items():
        values = value[profiles.ids] * profiles.counts
        shares[measure] = 100.0 * float(values[mask].sum()) / float(values.sum())
    return KmRun(str(method), k, m, target, seconds, kept.summary.get("passes"), checked, shares), mask


def mean_of(runs: Sequence[KmRun]) -> KmRun:
    """Return the mean of several runs of one method."""
    passes = [run.passes for run in runs if run.passes is not None]
    return replace(
        runs[0],
        seconds=fmean(run.seconds for run in runs),
        passes=fmean(passes) if passes else None,
        checked=sum(run.checked for run in runs),
        kept=mean_figures([run.kept for run in runs]),
    )
