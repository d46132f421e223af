"""Progress reports of long work, work beside other work that ends by them, and where time went."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

Progress = Callable[[str, int, int], None]  # stage, done, total
Result = TypeVar("Result")


def silent(stage: str, done: int, total: int) -> None:
    """Take progress reports and show nothing."""


def nested_progress(stage: str, progress: Progress) -> Progress:
    """Return progress that names an outer stage, such as which run of a sweep it is, before the inner one."""
    return lambda inner, done, total: progress(f"{stage}: {inner}", done, total)


def batches(n: int, size: int, stage: str, progress: Progress) -> Iterator[slice]:
    """Yield slices of at most `size` elements that cover n elements, and report progress between them."""
    for start in range(0, n, size):
        progress(stage, start, n)
        yield slice(start, min(start + size, n))
    progress(stage, n, n)


@contextmanager
def running_beside(function: Callable[[Progress], Result]) -> "Iterator[Future[Result]]":
    """Run a function in a thread beside the block; an error in the block ends it the next time it reports progress."""
    from concurrent.futures import ThreadPoolExecutor  # slow to import, and some commands run nothing beside

    stop = Event()

    def end_when_stopped(stage: str, done: int, total: int) -> None:
        if stop.is_set():
            raise InterruptedError(stage)

    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(function, end_when_stopped)
        except BaseException:
            stop.set()
            raise


class StageTime(NamedTuple):
    """What a stage took, in seconds."""

    stage: str
    wall: float
    cpu: float  # of all threads of this process


class Timings:
    """Progress that notes what each stage takes and passes the reports on: `anonymize(…, progress=Timings())`.

    A stage lasts from its first report to that of another stage; passes and rounds of a stage count together. What
    comes before the first report is the stage `starting`.
    """

    def __init__(self, progress: Progress = silent) -> None:
        self._progress, self._stage, self._since = progress, "starting", self._now()
        self._taken: dict[str, tuple[float, float]] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take a progress report."""
        stage = re.sub(r", (pass|round) \d+$", "", stage)
        if stage != self._stage:
            self._close_stage(stage)
        self._progress(stage, done, total)

    def stages(self) -> list[StageTime]:
        """Return the time of every stage up to now, in the order in which they began."""
        self._close_stage(self._stage)
        return [StageTime(stage, *taken) for stage, taken in self._taken.items()]

    def __str__(self) -> str:
        found = self.stages()
        total = StageTime("all", sum(each.wall for each in found), sum(each.cpu for each in found))
        width = max(len(each.stage) for each in (*found, total))
        lines = (f"{each.stage:{width}}  {each.wall:10.2f}  {each.cpu:12.2f}" for each in (*found, total))
        return "\n".join((f"{'stage':{width}}  {'seconds':>10}  {'CPU seconds':>12}", *lines))

    def _close_stage(self, following: str) -> None:
        now, (wall, cpu) = self._now(), self._taken.get(self._stage, (0.0, 0.0))
        self._taken[self._stage] = wall + now[0] - self._since[0], cpu + now[1] - self._since[1]
        self._stage, self._since = following, now

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()
