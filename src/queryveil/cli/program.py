"""Commands about the program itself: `list`, `serve` and `warm`."""

import shutil
import textwrap
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import typer

from queryveil.cli.command import command, workflow_command
from queryveil.cli.output import print_json, table
from queryveil.core.extras import needs
from queryveil.core.names import CATEGORIES, category_of, declarations, plural
from queryveil.core.options import FreeText, OptionGroup, option
from queryveil.serve.settings import Settings, read_token
from queryveil.workflows.requests import WarmRequest

if TYPE_CHECKING:
    from queryveil.workflows.warm import CompiledKernels

_WIDTH = 100  # of a line at most


@dataclass(frozen=True)
class ListRequest(OptionGroup):
    """What to list."""

    kind: str | None = option(
        None,
        FreeText(),
        "methods, guarantees, targets, measures, attacks, formats, engines, networks or corpora; else all.",
        is_argument=True,
    )


@command(ListRequest, json="Print the declarations as JSON.", example="queryveil list methods")
def list_names(request: ListRequest, as_json: bool) -> int:
    """List methods, guarantees, targets, measures, attacks, log formats, engines, networks of meaning and corpora."""
    kinds = list(CATEGORIES) if request.kind is None else [category_of(request.kind)]
    if as_json:
        print_json({plural(name): [_record(name, word) for word in declarations(name)] for name in kinds})
        return 0
    for name in kinds:
        typer.echo(plural(name))
        width = min(shutil.get_terminal_size().columns, _WIDTH)
        for each in declarations(name).values():
            for text, indent in ((each.signature(), "  "), (each.marked_purpose, "      ")):
                typer.echo(textwrap.fill(text, width, initial_indent=indent, subsequent_indent="      "))
    if kinds == ["engine"]:
        engines = tuple(declarations("engine"))
        cells = [
            (f"  {kind} {name}", *("yes" if engine in declaration.functions else "–" for engine in engines))
            for kind in ("method", "guarantee", "measure")
            for name, declaration in declarations(kind).items()
        ]
        typer.echo(table(("what runs where", *engines), cells))
    return 0


def _record(kind: str, word: str) -> dict[str, object]:
    declaration = declarations(kind)[word]
    return {
        "name": word,
        "purpose": declaration.marked_purpose,
        "paper": declaration.paper,
        "parameters": [
            {"name": p.name, "values": p.type.describe(), "purpose": p.purpose, "default": p.default}
            for p in declaration.parameters
        ],
        "engines": list(declaration.functions),
    }


@command(Settings, example="queryveil serve --port 8000")
def serve(settings: Settings, as_json: bool) -> int:
    """Open the pages and the REST service, or with --search the search service alone."""
    settings = replace(
        settings,
        token=read_token(settings.token_file, "--token-file", "QUERYVEIL_TOKEN"),
        analyst_token=read_token(settings.analyst_token_file, "--analyst-token-file", "QUERYVEIL_ANALYST_TOKEN"),
    )
    if settings.search is None:
        with needs("serve", "queryveil serve"):
            from queryveil.serve.web_server import serve as run
        run(settings, _announce)
    else:
        with needs("serve", "queryveil serve"):
            from queryveil.serve.search_service import serve_search
        serve_search(settings, _announce)
    return 0


def _announce(address: str) -> None:
    typer.echo(f"queryveil is at {address} (stop it with Ctrl-C)")


@workflow_command(
    WarmRequest,
    "queryveil.workflows.warm:warm",
    record=asdict,
    example="queryveil warm --method 'km(k=10, m=2)'",
)
def warm(done: "CompiledKernels", request: WarmRequest) -> None:
    """Compile ahead what methods need, in parallel, for container images and continuous integration."""
    new = f"{done.added} of them now in {done.seconds:.1f} s"
    typer.echo(f"{done.kernels} kernels are compiled in {done.folder}, {new}")
