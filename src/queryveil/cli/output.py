"""What commands print: results on stdout, progress on a terminal's stderr only."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show progress where a person watches; elsewhere stay silent."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("starting", total=None)

        def report(stage: str, done: int, total: int) -> None:
            bars.update(task, description=stage, completed=done, total=total or None)

        yield report


def print_json(value: Any) -> None:
    """Print a result as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> str:
    """Lay out rows in columns; the columns named by number are right-aligned."""
    widths = [max(len(line[i]) for line in (headings, *rows)) for i in range(len(headings))]
    aligned = [f"{{:{'>' if i in numbers else '<'}{width}}}" for i, width in enumerate(widths)]
    return "\n".join("  ".join(aligned).format(*line).rstrip() for line in (headings, *rows))


def score_table(scores: Sequence[Score]) -> str:
    """Lay out the scores of measures."""
    rows = []
    for s in scores:
        interval = " – ".join(f"{bound:.{1 if s.unit == '%' else 3}f}" for bound in s.interval or ())
        rows.append((s.measure, s.label, s.figure(s.original), s.figure(s.value), s.basis(), interval, s.note))
    return table(("measure", "", "original", "release", "of", "95 % interval", ""), rows, numbers=(2, 3))
