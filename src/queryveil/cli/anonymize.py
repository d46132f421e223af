"""`queryveil anonymize`: from a raw log to a verified release."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from queryveil.cli.engines import ENGINE, SPARK_CONF, SPARK_MASTER
from queryveil.cli.options import whole_number, with_parameters
from queryveil.cli.output import print_json, progress_bar, score_table
from queryveil.logs.options import Cleaning, Reading
from queryveil.semantics.options import SemanticOptions


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("anonymize")(anonymize)


@with_parameters(Reading.options(), Cleaning.options(), SemanticOptions.options())
def anonymize(
    log: Annotated[
        list[str],
        typer.Argument(
            help="Files or patterns of one log; or profiles (columns user, term, weight).", show_default=False
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            help="The method, such as 'km(k=10, m=2)', 'linkability(p=0.4)' or 'vocabulary(k=5, eps=8)'.",
            show_default=False,
        ),
    ],
    out: Annotated[str, typer.Option(help="The folder of the release.", show_default=False)],
    private: Annotated[
        str | None, typer.Option(help="A folder for who is behind the release; keep it secret.", show_default=False)
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="What is released: histories or log (terms by query); other methods have one kind only.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        str, typer.Option(help="Columns to release uncovered: time,rank,url (kinds log, queries).", show_default=False)
    ] = "",
    values: Annotated[
        Path | None, typer.Option(help="Term values (columns term, value) for target=file.", show_default=False)
    ] = None,
    market: Annotated[
        Path | None,
        typer.Option(help="A market table (columns term, bid, clicks, impressions).", show_default=False),
    ] = None,
    taxonomy: Annotated[
        Path | None,
        typer.Option(help="A taxonomy of your own (lines of child,parent) in place of WordNet.", show_default=False),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Make the run repeatable; else the system's randomness is used.",
            parser=whole_number,
            metavar="N",
            show_default=False,
        ),
    ] = None,
    start_from: Annotated[
        Path | None,
        typer.Option(help="A release of this log with smaller k or m; look only at what it kept.", show_default=False),
    ] = None,
    start_from_private: Annotated[
        Path | None, typer.Option(help="The private folder of the --start-from release.", show_default=False)
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(
            help="An older release of groups to go on from: newcomers join, nobody moves without need.",
            show_default=False,
        ),
    ] = None,
    groups_private: Annotated[
        Path | None, typer.Option(help="The private folder of the --groups release.", show_default=False)
    ] = None,
    places: Annotated[
        Path | None,
        typer.Option(help="More places, one on each line, for methods that look for places.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an older release and private folder.")] = False,
    engine: ENGINE = "local",
    spark_master: SPARK_MASTER = None,
    spark_conf: SPARK_CONF = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    **options: Any,
) -> int:
    """Anonymise a log and write a verified release."""
    from queryveil.workflows.anonymize import anonymize as run
    from queryveil.workflows.requests import ReleaseRequest

    own = {"log": log, "method": method, "out": out, "private": private, "kind": kind, "keep": keep, "values": values}
    inputs = {"market": market, "taxonomy": taxonomy, "seed": seed, "start_from": start_from, "force": force}
    old = {"start_from_private": start_from_private, "groups": groups, "groups_private": groups_private}
    where = {"places": places, "engine": engine, "spark_master": spark_master, "spark_conf": spark_conf}
    request = ReleaseRequest.from_values({**own, **inputs, **old, **where, **options})
    with progress_bar() as progress:
        done = run(request, progress=progress)
    if as_json:
        print_json(
            {
                "release": str(done.place),
                "report": f"{done.place}/report.html",
                "private": None if private is None else str(private),
                "verdict": done.verdict.record(),
                "manifest": done.manifest,
                "scores": [score.__dict__ for score in done.scores],
                "summary": done.summary,
                "seconds": round(done.seconds, 2),
            }
        )
        return 0
    _say(done)
    return 0


def _say(done: Any) -> None:
    for step in done.manifest["cleaning"]["steps"]:
        note = f" ({step['note']})" if step["note"] else ""
        typer.echo(f"{step['count']:,} {step['unit']}{note}", err=True)
    for sentence in _what_it_did(done.summary):
        typer.echo(sentence, err=True)
    typer.echo(done.verdict.sentence())
    typer.echo(score_table(done.scores))
    typer.echo(f"release: {done.place}")
    typer.echo(f"report: {done.place}/report.html")
    if done.private_place:
        typer.echo(f"private folder (keep it secret): {done.private_place}")
    typer.echo(f"done in {done.seconds:.1f} s", err=True)


def _what_it_did(summary: Mapping[str, Any]) -> Iterator[str]:
    """Say in sentences what a method tried and chose; a count is said with its name."""
    for what, value in summary.items():
        if isinstance(value, Mapping) and value and all(isinstance(share, float) for share in value.values()):
            tried = ", ".join(f"{share:.2f} by {way}" for way, share in value.items())
            yield f"{what}: {tried}; {summary.get('chosen', 'the best')} was chosen"
        elif isinstance(value, Mapping) and value and all(isinstance(number, int) for number in value.values()):
            yield f"{what}: {', '.join(f'{number:,} {way}' for way, number in value.items())}"
        elif isinstance(value, int) and not isinstance(value, bool):
            yield f"{value:,} {what}"
