"""`queryveil measure`: what a release kept of its log, and what it, or anybody's released log, still gives away."""

from pathlib import Path
from typing import Annotated, Any

import typer

from queryveil.cli.engines import ENGINE, SPARK_CONF, SPARK_MASTER
from queryveil.cli.options import whole_number, with_parameters
from queryveil.cli.output import print_json, progress_bar, score_table
from queryveil.logs.options import Reading


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("measure")(measure)


@with_parameters(Reading.options())
def measure(
    release: Annotated[str, typer.Argument(help="A release folder, or anybody's released log.", show_default=False)],
    against: Annotated[list[str], typer.Option(help="Files of the log it was made from.", show_default=False)],
    private: Annotated[str | None, typer.Option(help="The release's private folder.", show_default=False)] = None,
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
    index: Annotated[
        Path | None,
        typer.Option(help="An index (queryveil index) in which the measure search searches.", show_default=False),
    ] = None,
    trec: Annotated[
        Path | None,
        typer.Option(help="A new folder for the rankings of search, as run and qrels files.", show_default=False),
    ] = None,
    map: Annotated[  # noqa: A002  (the option's name)
        Path | None,
        typer.Option(help="Who is who where ids differ: CSV with the columns original, released.", show_default=False),
    ] = None,
    match: Annotated[
        str | None,
        typer.Option(
            help="When a released query stands for an original one: exact, words, partial or terms; exact unless "
            "given, for releases of terms what they allow.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A sensitivity model; the bundled one unless given.", show_default=False),
    ] = None,
    words: Annotated[
        Path | None, typer.Option(help="Sensitive words of your own, one on each line.", show_default=False)
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(help="A CSV file for the figures of every person; it names people.", show_default=False),
    ] = None,
    release_format: Annotated[
        str, typer.Option(help="The format of a released log; guessed unless given.", show_default=False)
    ] = "",
    release_columns: Annotated[
        str, typer.Option(help="The columns of a released log, as in --columns.", show_default=False)
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed of the random draws.", parser=whole_number, metavar="N")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an older file of --people.")] = False,
    engine: ENGINE = "local",
    spark_master: SPARK_MASTER = None,
    spark_conf: SPARK_CONF = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
    **options: Any,
) -> int:
    """Measure a release, or a released log, against the original (cleaned as a release's manifest says)."""
    from queryveil.workflows.measure import measure as run
    from queryveil.workflows.requests import MeasureRequest

    own = {"release": release, "against": against, "private": private, "measures": measure, "market": market}
    inputs = {"taxonomy": taxonomy, "index": index, "trec": trec, "map": map, "match": match, "model": model}
    more = {"words": words, "people": people, "release_format": release_format, "release_columns": release_columns}
    where = {"seed": seed, "force": force, "engine": engine, "spark_master": spark_master, "spark_conf": spark_conf}
    request = MeasureRequest.from_values({**own, **inputs, **more, **where, **options})
    with progress_bar() as progress:
        scores = run(request, progress=progress)
    if as_json:
        print_json([score.__dict__ for score in scores])
    else:
        typer.echo(score_table(scores))
    if trec is not None:
        typer.echo(f"{trec}: what is relevant there was said by people's own profiles; it is for the owner.", err=True)
    return 0
