"""`queryveil verify`: whether a release keeps what it claims."""

from pathlib import Path
from typing import Annotated, Any

import typer

from queryveil.cli.engines import ENGINE, SPARK_CONF, SPARK_MASTER
from queryveil.cli.options import with_parameters
from queryveil.cli.output import print_json, progress_bar
from queryveil.logs.options import Reading

_CODES = {"holds": 0, "violated": 1, "unchecked": 2}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


@with_parameters(Reading.options())
def verify(
    release: Annotated[str, typer.Argument(help="A release folder, or any file that is a log.", show_default=False)],
    claim: Annotated[
        str | None,
        typer.Option(help="The guarantee to check, such as 'km(k=10, m=2)'; a release states its own."),
    ] = None,
    private: Annotated[
        str | None, typer.Option(help="The private folder: people are counted instead of histories.")
    ] = None,
    engine: ENGINE = "local",
    spark_master: SPARK_MASTER = None,
    spark_conf: SPARK_CONF = None,
    places: Annotated[
        Path | None, typer.Option(help="The list of places that a ppp release was made with.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
    **options: Any,
) -> int:
    """Check a release, ours or anybody's file: exit code 0 it holds, 1 it is violated, 2 it cannot be checked."""
    from queryveil.workflows.requests import VerifyRequest
    from queryveil.workflows.verify import verify as run

    own = {"release": release, "claim": claim, "private": private, "places": places}
    where = {"engine": engine, "spark_master": spark_master, "spark_conf": spark_conf}
    request = VerifyRequest.from_values({**own, **where, **options})
    with progress_bar() as progress:
        verdict = run(request, progress=progress)
    if as_json:
        print_json(verdict.record())
    else:
        typer.echo(verdict.sentence())
    return _CODES[verdict.state]
