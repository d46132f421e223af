"""What commands print: results on stdout, progress on a terminal's stderr only, on request timings on stderr."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import typer

from queryveil.core.progress import Progress, Timings, silent
from queryveil.core.results import Score

_timings: ContextVar[Timings | None] = ContextVar("_timings", default=None)


@contextmanager
def timings_printed() -> Iterator[None]:
    """Print where the time of the block went, by the stages that its progress bars show; also if it fails."""
    timings = Timings()
    token = _timings.set(timings)
    try:
        yield
    finally:
        _timings.reset(token)
        typer.echo(str(timings), err=True)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show progress where a person watches; elsewhere stay silent."""
    timings = _timings.get()
    with _bars() if sys.stderr.isatty() else nullcontext(silent) as progress:
        if timings is None:
            yield progress
            return

        def report(stage: str, done: int, total: int) -> None:
            timings(stage, done, total)
            progress(stage, done, total)

        yield report
        timings("printing", 0, 0)


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    from queryveil import kernels

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("starting", total=None)

        stages = ["starting"]

        def report(stage: str, done: int, total: int) -> None:
            stages[0] = stage
            bars.update(task, description=stage, completed=done, total=total or None)

        def show_compiling(is_compiling: bool, seconds: float) -> None:
            text = f"{stages[0]} (compiling kernels once: {seconds:.0f} s so far)"
            bars.update(task, description=text if is_compiling else stages[0])

        kernels.watchers.append(show_compiling)
        try:
            yield report
        finally:
            kernels.watchers.remove(show_compiling)


def print_json(value: Any) -> None:
    """Print a result as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> str:
    """Lay out rows in columns; the columns named by number are right-aligned."""
    widths = [max(len(line[i]) for line in (headings, *rows)) for i in range(len(headings))]
    aligned = [f"{{:{'>' if i in numbers else '<'}{width}}}" for i, width in enumerate(widths)]
    return "\n".join("  ".join(aligned).format(*line).rstrip() for line in (headings, *rows))


def score_table(scores: Sequence[Score]) -> str:
    """Lay out the scores of measures; there is a column for intervals of the original if any score has one."""
    has_both = any(score.original_interval for score in scores)
    rows = [
        (s.measure, s.label, s.figure(s.original))
        + ((_interval(s.original_interval, s.unit),) if has_both else ())
        + (s.figure(s.value), s.basis(), _interval(s.interval, s.unit), s.note)
        for s in scores
    ]
    between = ["95 % interval"] if has_both else []
    headings = ("measure", "", "original", *between, "release", "of", "95 % interval", "")
    return table(headings, rows, numbers=(2, headings.index("release")))


def _interval(bounds: tuple[float, float] | None, unit: str) -> str:
    return " – ".join(f"{bound:.{1 if unit == '%' else 3}f}" for bound in bounds or ())
