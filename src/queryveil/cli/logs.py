"""Commands about logs: `describe`, `profiles` and `generate`."""

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from queryveil.cli.command import command, workflow_command
from queryveil.cli.output import print_json, progress_bar, table
from queryveil.workflows.requests import DescribeRequest, GenerateRequest, ProfilesRequest

if TYPE_CHECKING:
    from queryveil.logs.generate import GeneratedLog
    from queryveil.report.description import LogDescription
    from queryveil.workflows.logs import WrittenProfiles

_FIGURES = {
    "people": "people",
    "queries": "queries",
    "terms": "distinct terms",
    "occurrences": "term occurrences",
    "pairs": "person-term pairs",
    "largest": "largest history, terms",
}


@workflow_command(
    DescribeRequest,
    "queryveil.workflows.describe:describe",
    json="Print the figures as JSON.",
    example="queryveil describe log.tsv --out description.html",
)
def describe(found: "LogDescription", request: DescribeRequest) -> None:
    """Say what is in a log, in figures: who is singled out, what is rare or sensitive, and what to try next."""
    for part in found.sections():
        typer.echo(f"{part.title}\n{part.lead}")
        if part.rows:
            typer.echo(table(part.headings, part.rows, numbers=range(1, len(part.headings))))
        typer.echo()
    typer.echo("What to try next")
    for line, reason in found.next_commands():
        typer.echo(f"  {line}\n    {reason}")
    if found.page is not None:
        typer.echo(f"page: {found.page}")
    typer.echo(f"done in {found.seconds:.1f} s", err=True)


@workflow_command(
    ProfilesRequest,
    "queryveil.workflows.logs:write_profiles",
    record=asdict,
    example="queryveil profiles log.tsv --out profiles.csv",
)
def profiles(done: "WrittenProfiles", request: ProfilesRequest) -> None:
    """Write the profiles of a log (user, term, weight); keep the file secret, it names people."""
    typer.echo(f"{done.path}: {done.people:,} people, {done.terms:,} terms, {done.rows:,} rows (keep it secret)")


@command(GenerateRequest, json="Print the counts as JSON.", example="queryveil generate log.tsv --users 2000")
def generate(request: GenerateRequest, as_json: bool) -> int:
    """Make a synthetic search log in the AOL format."""
    from queryveil.workflows.logs import generate as run

    started = time.monotonic()
    with progress_bar() as progress:
        log = run(request, progress=progress)
    if as_json:
        print_json({**vars(log), "original": dict(log.original)})
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


def _compare_to_original(log: "GeneratedLog") -> Iterator[str]:
    """Yield the lines of a table that compares the log with the imitated one; none if its figures are not known."""
    if log.original:
        yield f"{'':24}{'made':>12}{log.like:>12}{'deviation':>12}"
    for figure, known in log.original.items():
        value = int(getattr(log, figure))
        yield f"{_FIGURES[figure]:24}{value:12,}{known:12,}{(value - known) / known:12.2%}"
