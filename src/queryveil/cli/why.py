"""`queryveil why`: what became of a person's terms, for the owner of the log."""

from pathlib import Path
from typing import Annotated

import typer

from queryveil.cli.options import whole_number
from queryveil.cli.output import print_json, progress_bar, table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("why")(why)


def why(
    release: Annotated[Path, typer.Argument(help="A release folder.", show_default=False)],
    private: Annotated[Path, typer.Option(help="The release's private folder.", show_default=False)],
    user: Annotated[str, typer.Option(help="The person, as in the log.", show_default=False)],
    history: Annotated[
        int | None,
        typer.Option(
            help="One history, by its number in the private folder; else all of the person.",
            parser=whole_number,
            metavar="N",
            show_default=False,
        ),
    ] = None,
    term: Annotated[str | None, typer.Option(help="One term; else all of them.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reasons as JSON.")] = False,
) -> int:
    """Say why terms of a person went: the smallest combination that too few would share. For the owner only."""
    from queryveil.workflows.fates import OWNER_ONLY
    from queryveil.workflows.requests import WhyRequest
    from queryveil.workflows.why import why as run

    request = WhyRequest(release=release, private=private, user=user, history=history, term=term)
    with progress_bar() as progress:
        found = run(request, progress=progress)
    if as_json:
        print_json(found.record())
        return 0
    typer.echo(OWNER_ONLY, err=True)
    typer.echo(f"{found.guarantee}: every combination of terms needs {found.required:,} people.", err=True)
    headings, rows = found.table()
    typer.echo(table(headings, rows, numbers=[headings.index("queries")]))
    return 0
