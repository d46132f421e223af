"""`queryveil generate`: a synthetic log to try things on."""

import time
from pathlib import Path
from typing import Annotated

import typer

from queryveil.cli.options import whole_number
from queryveil.cli.output import print_json, progress_bar


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("generate")(generate)


def generate(
    out: Annotated[Path, typer.Argument(help="The file to write; .gz is compressed.", show_default=False)],
    like: Annotated[str, typer.Option(help="Which log it resembles: demo.")] = "demo",
    users: Annotated[
        int | None, typer.Option(help="How many people search.", parser=whole_number, metavar="N", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same log.", parser=whole_number, metavar="N")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace an older file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> int:
    """Make a synthetic search log in the AOL format."""
    import numpy as np

    from queryveil.logs.generate import generate as run

    started = time.monotonic()
    with progress_bar() as progress:
        made = run(out, like=like, users=users, rng=np.random.default_rng(seed), overwrite=force, progress=progress)
    if as_json:
        print_json({key: str(value) if isinstance(value, Path) else value for key, value in made.__dict__.items()})
        return 0
    typer.echo(
        f"{made.path}: {made.people:,} people, {made.queries:,} queries, {made.terms:,} distinct terms, "
        f"{made.occurrences:,} occurrences"
    )
    typer.echo(f"done in {time.monotonic() - started:.1f} s", err=True)
    return 0
