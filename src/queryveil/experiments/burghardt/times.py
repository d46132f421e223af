"""The runs of section 5.2: from the log itself, and (2,3) from the result of (2,2)."""

from collections.abc import Mapping
from dataclasses import dataclass

from queryveil.core.progress import Progress, silent
from queryveil.experiments.burghardt import printed
from queryveil.experiments.burghardt.examples import SMITH, profiles_of
from queryveil.experiments.burghardt.grid import TARGETS, Outcome, Task, run_once, within
from queryveil.experiments.runs import run_method

TARGET = "logsize"


@dataclass(frozen=True)
class Times:
    """Timed runs of one target."""

    whole: Mapping[tuple[int, int], Outcome]  # (k, m) → from the log itself
    started: Outcome  # (2,3) from the result of (2,2)


def warm_up(task: Task) -> None:
    """Run every target on a tiny log, so that nothing is compiled while the clock runs."""
    tiny = Task(profiles_of(SMITH), task.worth, task.algorithm, task.rng)
    for m in printed.MS:
        for target in TARGETS:
            bound = tiny.method(2, m, target)
            run_method(bound, tiny.profiles, tiny.rng, tiny.worth)


def run_times(task: Task, progress: Progress = silent) -> Times:
    """Make the runs that section 5.2 gives times for."""
    whole, kept = {}, None
    for k, m in printed.FIRST_PASS:
        whole[k, m], mask = run_once(task, k, m, TARGET, progress=within(f"timing ({k},{m})", progress))
        kept = mask if (k, m) == (2, 2) else kept
    started, _ = run_once(task, 2, 3, TARGET, start=kept, progress=within("timing (2,3) from (2,2)", progress))
    return Times(whole, started)
