"""`queryveil profiles`: everybody's terms with weights, in a file."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from queryveil.cli.options import with_parameters
from queryveil.cli.output import print_json, progress_bar
from queryveil.logs.options import Cleaning, Reading
from queryveil.semantics.options import WeightOptions


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("profiles")(profiles)


@with_parameters(Reading.options(), Cleaning.options(), WeightOptions.options())
def profiles(
    log: Annotated[list[Path], typer.Argument(help="Files or patterns of one log.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The file: .csv, .tsv or .parquet.", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Replace an older file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    **options: Any,
) -> int:
    """Write the profiles of a log (user, term, weight); keep the file secret, it names people."""
    from queryveil.workflows.profiling import write_profiles
    from queryveil.workflows.requests import ProfilesRequest

    with progress_bar() as progress:
        request = ProfilesRequest.from_values({"log": log, "out": out, "force": force, **options})
        done = write_profiles(request, progress=progress)
    if as_json:
        print_json({**asdict(done), "path": str(done.path)})
    else:
        typer.echo(f"{done.path}: {done.people:,} people, {done.terms:,} terms, {done.rows:,} rows (keep it secret)")
    return 0
