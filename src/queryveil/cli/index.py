"""`queryveil index`: documents made searchable."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from queryveil.cli.output import print_json, progress_bar

if TYPE_CHECKING:
    from queryveil.workflows.index import Indexed


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("index")(index)


def index(
    corpus: Annotated[
        str,
        typer.Argument(help="A file or folder of documents, or wordnet, the bundled corpus.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="The folder of the index.", show_default=False)],
    form: Annotated[
        str,
        typer.Option("--format", help="The form of the documents (queryveil list corpora); else it is guessed."),
    ] = "",
    add: Annotated[bool, typer.Option("--add", help="Add the documents to the index there is.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an older index.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> int:
    """Make an index of documents, to be searched with queryveil search."""
    from queryveil.workflows.index import index as run
    from queryveil.workflows.requests import IndexRequest

    with progress_bar() as progress:
        done = run(IndexRequest(corpus=corpus, out=out, form=form, add=add, force=force), progress=progress)
    if as_json:
        print_json({**asdict(done), "path": str(done.path)})
        return 0
    typer.echo(
        f"{done.path}: documents {done.documents:,}, terms {done.terms:,}, added {done.added:,} (form {done.corpus})"
    )
    for line in _remarks(done):
        typer.echo(line, err=True)
    return 0


def _remarks(done: "Indexed") -> list[str]:
    """Say what was left out."""
    remarks = []
    if done.known:
        remarks.append(f"in the index already: {done.known:,}")
    if done.without_text:
        remarks.append(f"left out, having no text: {done.without_text:,}, the first at {done.first_without_text}")
    if done.files_passed_over:
        remarks.append(f"files passed over, being in another form: {done.files_passed_over:,}")
    return remarks
