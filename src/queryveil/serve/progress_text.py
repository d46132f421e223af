"""How far a run is, in words, and how long its current stage will still take."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from queryveil.serve.store import RunRow

_FIRST_ESTIMATE = 2.0  # seconds of a stage after which its end is estimated


class StageClock:
    """Estimates the time left of the stage that a run is in, from the pace since the stage began."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._stage, self._began, self._done_at_start = clock, "", clock(), 0
        self._left: float | None = None
        self._estimated = self._began

    def report(self, stage: str, done: int, total: int) -> None:
        """Take a progress report."""
        now = self._clock()
        if stage != self._stage or done < self._done_at_start:
            self._stage, self._began, self._done_at_start = stage, now, done
        elapsed, progressed = now - self._began, done - self._done_at_start
        is_known = elapsed >= _FIRST_ESTIMATE and progressed > 0 and total > done
        self._left = elapsed / progressed * (total - done) if is_known else None
        self._estimated = now

    def seconds_left(self) -> float | None:
        """Return how long the stage will still take; None while that is unknown."""
        return None if self._left is None else max(0.0, self._left - (self._clock() - self._estimated))


def progress_text(run: RunRow, seconds_left: float | None) -> str:
    """Return what a run does now, or how long it took."""
    if run.state == "queued":
        return "waiting for its turn"
    if run.state != "running":
        return format_duration(run)
    share = f", {100 * run.done // run.total}%" if run.total else ""
    left = "" if seconds_left is None else f", about {_rough(seconds_left)} left in this stage"
    return f"{run.stage}{share}{left}"


def format_duration(run: RunRow) -> str:
    """Return how long a run took, or has taken so far."""
    if run.started is None:
        return ""
    end = datetime.fromisoformat(run.ended) if run.ended else datetime.now(UTC)
    seconds = max(0.0, (end - datetime.fromisoformat(run.started)).total_seconds())
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def _rough(seconds: float) -> str:
    """Return a time rounded to what an estimate is worth."""
    if seconds < 60:
        return f"{max(5, 5 * round(seconds / 5))} s"
    return f"{round(seconds / 60)} min" if seconds < 5_400 else f"{seconds / 3600:.1f} h"
