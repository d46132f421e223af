"""`queryveil compare` and `reproduce`: many runs in one table, and the evaluation of a paper."""

from typing import TYPE_CHECKING

import typer

from queryveil.cli.command import command
from queryveil.cli.output import print_json, progress_bar, table
from queryveil.workflows.requests import CompareRequest, ReproduceRequest

if TYPE_CHECKING:
    from queryveil.report.reproduction import Reproduction


@command(CompareRequest, json="Print the comparison as JSON.")
def compare(request: CompareRequest, as_json: bool) -> int:
    """Run several methods on a log, verify and measure each, and show them side by side; nothing is released."""
    from queryveil.workflows.compare import compare as run

    with progress_bar() as progress:
        done = run(request, progress=progress)
    if as_json:
        print_json(done.record())
        return 0
    headings, rows = done.table()
    typer.echo(table(headings, rows, numbers=range(1, len(headings) - 1)))
    if done.page is not None:
        typer.echo(f"page: {done.page}")
    typer.echo(f"done in {done.seconds:.1f} s", err=True)
    return 0


@command(ReproduceRequest, json="Print all numbers as JSON.")
def reproduce(request: ReproduceRequest, as_json: bool) -> int:
    """Make the tables and figures of a paper again, its figures beside ours; every run is verified."""
    from queryveil.workflows.reproduce import reproduce as run

    with progress_bar() as progress:
        done = run(request, progress=progress)
    if as_json:
        print_json(done.numbers)
    else:
        _print_tables(done)
    if done.warning:
        typer.echo(done.warning, err=True)
    typer.echo(f"done in {done.seconds:.1f} s", err=True)
    return 0


def _print_tables(done: "Reproduction") -> None:
    typer.echo(f"{done.paper}\n{done.log}")
    for found in done.tables:
        typer.echo(f"\n{found.name}: {found.caption}")
        typer.echo(table(found.headings, found.rows, numbers=found.numbers()))
        for note in found.notes:
            typer.echo(note)
    for text in done.reading:
        typer.echo(f"\n{text}")
