"""`queryveil reproduce`: the evaluation of a paper, made again on a log at hand or on a generated one."""

from pathlib import Path
from typing import Annotated, Any

import typer

from queryveil.cli.options import whole_number, with_parameters
from queryveil.cli.output import print_json, progress_bar, table
from queryveil.logs.options import Cleaning, Reading


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce")(reproduce)


@with_parameters(Reading.options(), Cleaning.options())
def reproduce(
    paper: Annotated[str, typer.Argument(help="The paper: burghardt, zhu, liu or carpineto.", show_default=False)],
    log: Annotated[
        list[Path] | None,
        typer.Option(help="Files of a log of your own; again for more (burghardt: with --market).", show_default=False),
    ] = None,
    market: Annotated[
        Path | None,
        typer.Option(help="The log's market table (columns term, bid, clicks, impressions).", show_default=False),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(help="What a generated log resembles; as the paper unless given.", show_default=False),
    ] = None,
    users: Annotated[
        int | None,
        typer.Option(
            help="People of a generated log; zhu: people who take part, 720 unless given.",
            parser=whole_number,
            metavar="N",
            show_default=False,
        ),
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option(help="The index in which zhu's people search; else the bundled corpus.", show_default=False),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of a generated log and of random runs.", parser=whole_number, metavar="N")
    ] = 1,
    algorithm: Annotated[str, typer.Option(help="The algorithm of km.")] = "paper",
    out: Annotated[
        Path | None, typer.Option(help="A folder for a page with charts and all numbers as JSON.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an older folder.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
    **options: Any,
) -> int:
    """Make the tables and figures of a paper again, its figures beside ours; every run is verified."""
    from queryveil.workflows.reproduce import reproduce as run
    from queryveil.workflows.requests import ReproduceRequest

    own = {"paper": paper, "log": log, "market": market, "like": like, "users": users, "seed": seed}
    more = {"algorithm": algorithm, "out": out, "force": force, "index": index}
    with progress_bar() as progress:
        done = run(ReproduceRequest.from_values({**own, **more, **options}), progress=progress)
    if as_json:
        print_json(done.numbers)
    else:
        _say(done)
    if done.warning:
        typer.echo(done.warning, err=True)
    typer.echo(f"done in {done.seconds:.1f} s", err=True)
    return 0


def _say(done: Any) -> None:
    typer.echo(f"{done.paper}\n{done.log}")
    for found in done.tables:
        typer.echo(f"\n{found.name}: {found.caption}")
        typer.echo(table(found.headings, found.rows, numbers=found.numbers()))
        for note in found.notes:
            typer.echo(note)
    for text in done.reading:
        typer.echo(f"\n{text}")
