"""`queryveil generate`: a synthetic log to try things on."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from queryveil.cli.command import command
from queryveil.cli.output import print_json, progress_bar
from queryveil.workflows.requests import GenerateRequest

if TYPE_CHECKING:
    from queryveil.logs.generate import GeneratedLog

_FIGURES = {
    "people": "people",
    "queries": "queries",
    "terms": "distinct terms",
    "occurrences": "term occurrences",
    "pairs": "person-term pairs",
    "largest": "largest history, terms",
}


@command(GenerateRequest, json="Print the counts as JSON.")
def generate(request: GenerateRequest, as_json: bool) -> int:
    """Make a synthetic search log in the AOL format."""
    from queryveil.workflows.generate import generate as generate_log

    started = time.monotonic()
    with progress_bar() as progress:
        log = generate_log(request, progress=progress)
    if as_json:
        print_json(_as_json(log))
        return 0
    typer.echo(
        f"{log.path}: {log.people:,} people, {log.queries:,} queries, {log.terms:,} distinct terms, "
        f"{log.occurrences:,} occurrences"
    )
    for line in _compare_to_original(log):
        typer.echo(line)
    if log.market is not None:
        typer.echo(f"{log.market}: bid, clicks and impressions of {log.priced:,} terms")
    typer.echo(f"done in {time.monotonic() - started:.1f} s", err=True)
    return 0


def _as_json(log: "GeneratedLog") -> dict[str, object]:
    """Return the counts as a dictionary for JSON."""
    paths = {name: str(path) for name in ("path", "market") if (path := getattr(log, name)) is not None}
    return {**vars(log), **paths, "original": dict(log.original)}


def _compare_to_original(log: "GeneratedLog") -> Iterator[str]:
    """Yield the lines of a table that compares the log with the imitated one; none if its figures are not known."""
    if log.original:
        yield f"{'':24}{'made':>12}{log.like:>12}{'deviation':>12}"
    for figure, known in log.original.items():
        value = int(getattr(log, figure))
        yield f"{_FIGURES[figure]:24}{value:12,}{known:12,}{(value - known) / known:12.2%}"
