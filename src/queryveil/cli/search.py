"""`queryveil index` and `search`: documents made searchable, and the best of them for a query."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from queryveil.cli.command import command
from queryveil.cli.output import print_json, progress_bar, table
from queryveil.core.display import printable
from queryveil.workflows.requests import IndexRequest, SearchRequest

if TYPE_CHECKING:
    from queryveil.search.answers import Answer, Hit
    from queryveil.workflows.index import Indexed

_TITLE, _TEXT = 40, 70  # characters that are shown


@command(IndexRequest, json="Print the counts as JSON.")
def index(request: IndexRequest, as_json: bool) -> int:
    """Make an index of documents, to be searched with queryveil search."""
    from queryveil.workflows.index import index as run

    with progress_bar() as progress:
        done = run(request, progress=progress)
    if as_json:
        print_json({**asdict(done), "path": str(done.path)})
        return 0
    typer.echo(
        f"{done.path}: documents {done.documents:,}, terms {done.terms:,}, added {done.added:,} (form {done.corpus})"
    )
    for line in _left_out(done):
        typer.echo(line, err=True)
    return 0


def _left_out(done: "Indexed") -> Iterator[str]:
    """Yield a sentence on each sort of document that was not added."""
    if done.known:
        yield f"in the index already: {done.known:,}"
    if done.without_text:
        yield f"left out, having no text: {done.without_text:,}, the first at {done.first_without_text}"
    if done.files_passed_over:
        yield f"files passed over, being in another form: {done.files_passed_over:,}"


@command(SearchRequest, json="Print the documents as JSON.")
def search(request: SearchRequest, as_json: bool) -> int:
    """Search an index: as nobody, in the order of a group's profile, or in that of a person's."""
    from queryveil.workflows.search import search as run

    found = run(request)
    if as_json:
        print_json(asdict(found))
        return 0
    if found.note or not found.hits:
        typer.echo(f"{found.note or 'nothing was found'}.", err=True)
    if found.hits:
        has_profile = request.group is not None or request.person is not None
        typer.echo(_hit_table(found, has_profile=has_profile, explain=request.explain))
    return 0


def _hit_table(found: "Answer", *, has_profile: bool, explain: bool) -> str:
    """Lay out the documents; with a profile, also the engine's own rank and, if asked for, why a document moved."""
    headings = ["", *(["was"] if has_profile else []), "score", "id", "title", "why" if explain else "text"]
    rows = [_hit_row(hit, has_profile=has_profile, explain=explain) for hit in found.hits]
    return table(headings, rows, numbers=(0, 1, 2) if has_profile else (0, 1))


def _hit_row(hit: "Hit", *, has_profile: bool, explain: bool) -> list[str]:
    last = " + ".join(f"{term} {added:.3f}" for term, added in hit.terms) if explain else _short(hit.text, _TEXT)
    texts = [printable(text) for text in (hit.id, _short(hit.title, _TITLE), last)]
    return [str(hit.rank), *([str(hit.engine_rank)] if has_profile else []), f"{hit.score:.3f}", *texts]


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
