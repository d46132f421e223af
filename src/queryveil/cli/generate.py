"""`queryveil generate`: a synthetic log to try things on."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from queryveil.cli.command import whole_number
from queryveil.cli.output import print_json, progress_bar

if TYPE_CHECKING:
    from queryveil.logs.generate import GeneratedLog

_FIGURES = {
    "people": "people",
    "queries": "queries",
    "terms": "distinct terms",
    "occurrences": "term occurrences",
    "pairs": "person-term pairs",
    "largest": "largest history, terms",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("generate")(generate)


def generate(
    out: Annotated[Path, typer.Argument(help="The file to write; .gz is compressed.", show_default=False)],
    like: Annotated[str, typer.Option(help="Which log it resembles: demo, altavista or aol.")] = "demo",
    users: Annotated[
        int | None, typer.Option(help="How many people search.", parser=whole_number, metavar="N", show_default=False)
    ] = None,
    market_out: Annotated[
        Path | None,
        typer.Option(
            help="Also write a market table of the log's terms (CSV: term, bid, clicks, impressions).",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same log.", parser=whole_number, metavar="N")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace older files.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> int:
    """Make a synthetic search log in the AOL format."""
    import numpy as np

    from queryveil.logs.generate import generate as run

    started = time.monotonic()
    with progress_bar() as progress:
        made = run(
            out,
            like=like,
            users=users,
            rng=np.random.default_rng(seed),
            market_out=market_out,
            overwrite=force,
            progress=progress,
        )
    if as_json:
        print_json(_plain(made))
        return 0
    typer.echo(
        f"{made.path}: {made.people:,} people, {made.queries:,} queries, {made.terms:,} distinct terms, "
        f"{made.occurrences:,} occurrences"
    )
    for line in _beside_original(made):
        typer.echo(line)
    if made.market is not None:
        typer.echo(f"{made.market}: bid, clicks and impressions of {made.priced:,} terms")
    typer.echo(f"done in {time.monotonic() - started:.1f} s", err=True)
    return 0


def _plain(made: "GeneratedLog") -> dict[str, object]:
    """Return the counts as JSON can hold them."""
    paths = {name: str(path) for name in ("path", "market") if (path := getattr(made, name)) is not None}
    return {**vars(made), **paths, "original": dict(made.original)}


def _beside_original(made: "GeneratedLog") -> Iterator[str]:
    """Yield a table of the log's figures beside those of the log it imitates; nothing where these are not known."""
    if made.original:
        yield f"{'':24}{'made':>12}{made.like:>12}{'deviation':>12}"
    for figure, known in made.original.items():
        value = int(getattr(made, figure))
        yield f"{_FIGURES[figure]:24}{value:12,}{known:12,}{(value - known) / known:12.2%}"
