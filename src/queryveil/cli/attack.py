"""`queryveil attack`: what somebody who knows something about a person gets out of a release."""

from pathlib import Path
from typing import Annotated, Any

import typer

from queryveil.cli.options import whole_number, with_parameters
from queryveil.cli.output import print_json, progress_bar, table
from queryveil.logs.options import Reading


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("attack")(attack)


@with_parameters(Reading.options())
def attack(
    release: Annotated[Path, typer.Argument(help="A release folder.", show_default=False)],
    against: Annotated[list[Path], typer.Option(help="Files of the log it was made from.", show_default=False)],
    private: Annotated[
        Path | None, typer.Option(help="The release's private folder: who is behind it.", show_default=False)
    ] = None,
    attack: Annotated[
        list[str] | None,
        typer.Option(help="An attack (queryveil list attacks), again for more; else all.", show_default=False),
    ] = None,
    control: Annotated[
        list[Path] | None,
        typer.Option(
            help="Files of a log of other people, for the control; else people are taken out of the release.",
            show_default=False,
        ),
    ] = None,
    targets: Annotated[
        int, typer.Option(help="At most so many people are attacked.", parser=whole_number, metavar="N")
    ] = 5_000,
    seed: Annotated[int, typer.Option(help="Seed of the random draws.", parser=whole_number, metavar="N")] = 0,
    out: Annotated[Path | None, typer.Option(help="An HTML page to write.", show_default=False)] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an older page.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    **options: Any,
) -> int:
    """Attack a release with knowledge drawn from its log: success, control, guess and the same attack on the log."""
    from queryveil.workflows.attack import attack as run
    from queryveil.workflows.requests import AttackRequest

    own = {"release": release, "against": against, "private": private, "attacks": attack, "control": control}
    more = {"targets": targets, "seed": seed, "page": out, "force": force}
    with progress_bar() as progress:
        done = run(AttackRequest.from_values({**own, **more, **options}), progress=progress)
    if as_json:
        print_json(done.record())
        return 0
    headings, rows = done.table()
    typer.echo(table(headings, rows, numbers=range(2, len(headings))))
    for name, why in done.skipped.items():
        typer.echo(f"not run: {name}: {why}")
    if done.page is not None:
        typer.echo(f"page: {done.page}")
    typer.echo(f"done in {done.seconds:.1f} s", err=True)
    return 0
