"""The command `warm`."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from queryveil.cli.command import workflow_command
from queryveil.cli.output import print_json
from queryveil.workflows.requests import WarmRequest

if TYPE_CHECKING:
    from queryveil.workflows.warm import CompiledKernels


@workflow_command(
    WarmRequest,
    "queryveil.workflows.warm:warm",
    json="Print the result as JSON.",
    example="queryveil warm --method 'km(k=10, m=2)'",
)
def warm(done: "CompiledKernels", request: WarmRequest, as_json: bool) -> None:
    """Compile ahead what methods need, in parallel, for container images and continuous integration."""
    if as_json:
        print_json(asdict(done))
        return
    new = f"{done.added} of them now in {done.seconds:.1f} s"
    typer.echo(f"{done.kernels} kernels are compiled in {done.folder}, {new}")
