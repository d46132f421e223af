"""`queryveil measure`: what a release kept of its log, and how many people it still singles out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from queryveil.cli.options import whole_number, with_parameters
from queryveil.cli.output import print_json, progress_bar, score_table
from queryveil.logs.options import READING, Reading


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("measure")(measure)


@with_parameters(READING)
def measure(
    release: Annotated[Path, typer.Argument(help="A release folder.", show_default=False)],
    against: Annotated[list[Path], typer.Option(help="Files of the log it was made from.", show_default=False)],
    private: Annotated[Path | None, typer.Option(help="The release's private folder.", show_default=False)] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="What to measure (queryveil list measures); again for more.", show_default=False),
    ] = None,
    market: Annotated[
        Path | None,
        typer.Option(help="A market table (columns term, bid, clicks, impressions).", show_default=False),
    ] = None,
    taxonomy: Annotated[
        Path | None,
        typer.Option(help="The taxonomy by which vocabularies were made, if by one.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random draws.", parser=whole_number, metavar="N")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
    **options: Any,
) -> int:
    """Measure a release against the log it was made from; the log is cleaned as the manifest says."""
    from queryveil.workflows.measure import measure as run

    with progress_bar() as progress:
        scores = run(
            release,
            against,
            measures=tuple(measure or ()),
            private=private,
            market=market,
            taxonomy=taxonomy,
            reading=Reading(**options),
            seed=seed,
            progress=progress,
        )
    if as_json:
        print_json([score.__dict__ for score in scores])
    else:
        typer.echo(score_table(scores))
    return 0
