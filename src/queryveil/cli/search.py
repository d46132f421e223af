"""`queryveil search`: the best documents for a query, for nobody, a group or a person."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from queryveil.cli.options import whole_number
from queryveil.cli.output import print_json, table
from queryveil.core.display import printable

if TYPE_CHECKING:
    from queryveil.search.answers import Answer, Hit

_TITLE, _TEXT = 40, 70  # characters that are shown


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("search")(search)


def search(
    index: Annotated[Path, typer.Argument(help="An index (queryveil index).", show_default=False)],
    query: Annotated[str, typer.Argument(help="What to search for.", show_default=False)],
    plain: Annotated[bool, typer.Option("--plain", help="As nobody: the engine's own order.")] = False,
    as_group: Annotated[
        int | None, typer.Option(help="As a group of --groups.", parser=whole_number, metavar="N", show_default=False)
    ] = None,
    groups: Annotated[Path | None, typer.Option(help="A release of groups.", show_default=False)] = None,
    as_user: Annotated[str | None, typer.Option(help="As a person of --profiles.", show_default=False)] = None,
    profiles: Annotated[
        Path | None, typer.Option(help="A file of profiles (user, term, weight).", show_default=False)
    ] = None,
    number: Annotated[
        int, typer.Option("--number", "-n", help="How many documents.", parser=whole_number, metavar="N")
    ] = 10,
    depth: Annotated[
        int, typer.Option(help="How many of the engine's documents are re-ranked.", parser=whole_number, metavar="N")
    ] = 100,
    blend: Annotated[
        float, typer.Option(help="How much the engine's own score counts against the profile, from 0 to 1.")
    ] = 0.0,
    explain: Annotated[bool, typer.Option("--explain", help="Show which terms moved a document.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the documents as JSON.")] = False,
) -> int:
    """Search an index: as nobody, in the order of a group's profile, or in that of a person's."""
    from queryveil.workflows.requests import SearchRequest
    from queryveil.workflows.search import search as run

    whom = {"plain": plain, "group": as_group, "groups": groups, "person": as_user, "profiles": profiles}
    how = {"n": number, "depth": depth, "blend": blend, "explain": explain}
    found = run(SearchRequest.from_values({"index": index, "query": query, **whom, **how}))
    if as_json:
        print_json(asdict(found))
        return 0
    if found.note or not found.hits:
        typer.echo(f"{found.note or 'nothing was found'}.", err=True)
    if found.hits:
        typer.echo(_table(found, has_profile=as_group is not None or as_user is not None, explain=explain))
    return 0


def _table(found: "Answer", *, has_profile: bool, explain: bool) -> str:
    """Lay out what was found; with a profile, also where the engine had it and, if asked for, why it moved."""
    headings = ["", *(["was"] if has_profile else []), "score", "id", "title", "why" if explain else "text"]
    rows = [_row(hit, has_profile=has_profile, explain=explain) for hit in found.hits]
    return table(headings, rows, numbers=(0, 1, 2) if has_profile else (0, 1))


def _row(hit: "Hit", *, has_profile: bool, explain: bool) -> list[str]:
    last = " + ".join(f"{term} {added:.3f}" for term, added in hit.terms) if explain else hit.text
    texts = [printable(text) for text in (hit.id, _short(hit.title, _TITLE), last if explain else _short(last, _TEXT))]
    return [str(hit.rank), *([str(hit.engine_rank)] if has_profile else []), f"{hit.score:.3f}", *texts]


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
