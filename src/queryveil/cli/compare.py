"""`queryveil compare`: several methods, or a sweep of one, on the same log, side by side."""

from pathlib import Path
from typing import Annotated, Any

import typer

from queryveil.cli.options import whole_number, with_parameters
from queryveil.cli.output import print_json, progress_bar, table
from queryveil.logs.options import Cleaning, Reading


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


@with_parameters(Reading.options(), Cleaning.options())
def compare(
    log: Annotated[list[Path], typer.Argument(help="Files or patterns of one log.", show_default=False)],
    method: Annotated[
        list[str],
        typer.Option(help="A method or a sweep, such as 'km(k=2|10, m=2|3)'; again for more.", show_default=False),
    ],
    out: Annotated[Path | None, typer.Option(help="An HTML page with charts to write.", show_default=False)] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="What to measure (queryveil list measures); again for more.", show_default=False),
    ] = None,
    values: Annotated[
        Path | None, typer.Option(help="Term values (columns term, value) for target=file.", show_default=False)
    ] = None,
    market: Annotated[
        Path | None,
        typer.Option(
            help="A market table (columns term, bid, clicks, impressions) for targets and measures.", show_default=False
        ),
    ] = None,
    reuse: Annotated[
        bool, typer.Option("--reuse/--no-reuse", help="Start a run from the result of the same run with a smaller m.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Seed of every run.", parser=whole_number, metavar="N")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an older page.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
    **options: Any,
) -> int:
    """Run several methods on a log, verify and measure each, and show them side by side; nothing is released."""
    from queryveil.workflows.compare import compare as run
    from queryveil.workflows.requests import CompareRequest

    own = {"log": log, "methods": method, "measures": measure, "values": values, "market": market}
    more = {"seed": seed, "reuse": reuse, "page": out, "force": force}
    with progress_bar() as progress:
        done = run(CompareRequest.from_values({**own, **more, **options}), progress=progress)
    if as_json:
        print_json(done.record())
        return 0
    headings, rows = done.table()
    typer.echo(table(headings, rows, numbers=range(1, len(headings) - 1)))
    if done.page is not None:
        typer.echo(f"page: {done.page}")
    typer.echo(f"done in {done.seconds:.1f} s", err=True)
    return 0
