"""`queryveil serve`: the web pages and the REST service, or the search service alone."""

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from queryveil.cli.options import whole_number
from queryveil.core.errors import InputError

_SIZES = {"kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
_SHORTEST_TOKEN = 16  # characters


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(serve)


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; any but this machine's own needs a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[
        int, typer.Option(help="The port; 0 takes any that is free.", parser=whole_number, metavar="N")
    ] = 8000,
    folder: Annotated[
        Path | None,
        typer.Option(help="A folder whose files may be chosen on the page; no others.", show_default=False),
    ] = None,
    home: Annotated[
        Path | None,
        typer.Option(help="The private folder of logs, runs and releases.", show_default="~/.local/share/queryveil"),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="A file with the token to ask for; or set QUERYVEIL_TOKEN.", show_default=False),
    ] = None,
    max_upload: Annotated[str, typer.Option(help="The largest log that may be sent, such as 500MB or 2GB.")] = "500MB",
    jobs: Annotated[int, typer.Option(help="At most so many runs at once.", parser=whole_number, metavar="N")] = 2,
    index: Annotated[
        Path | None,
        typer.Option(help="An index for the search page; else the bundled corpus.", show_default=False),
    ] = None,
    search: Annotated[
        Path | None,
        typer.Option(help="Serve searches in this index alone, for applications; with --groups.", show_default=False),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(help="A release of groups, by which searches are made personal.", show_default=False),
    ] = None,
) -> int:
    """Open the pages and the REST service, or with --search the search service alone."""
    if port > 65_535:
        raise InputError(f"--port must be from 0 to 65535, not {port}; give another.")
    token, largest = _token(token_file), _bytes(max_upload)
    if search is not None:
        _refuse_with_search({"--folder": folder, "--home": home, "--index": index})
        return _serve_search(search, groups, host, port, token)
    from queryveil.serve.running import serve as run
    from queryveil.serve.settings import Settings, default_home

    settings = Settings(
        home=home or default_home(),
        host=host,
        port=port,
        token=token,
        folder=folder,
        max_upload=largest,
        jobs=jobs,
        index=index,
        groups=groups,
    )
    run(settings, _announce)
    return 0


def _serve_search(index: Path, groups: Path | None, host: str, port: int, token: str | None) -> int:
    from queryveil.serve.processes import serve_search

    if groups is None:
        raise InputError("--search needs a release of groups to search by; give it by --groups.")
    serve_search(index, groups, host=host, port=port, token=token, announce=_announce)
    return 0


def _refuse_with_search(places: dict[str, Path | None]) -> None:
    for option, place in places.items():
        if place is not None:
            raise InputError(f"{option} is for the pages, and --search serves searches alone; leave one of them out.")


def _announce(address: str) -> None:
    typer.echo(f"queryveil is at {address} (stop it with Ctrl-C)")


def _token(file: Path | None) -> str | None:
    """Return the token to ask for, where there is one."""
    if file is None:
        token, where = os.environ.get("QUERYVEIL_TOKEN", ""), "QUERYVEIL_TOKEN"
        if not token:
            return None
    else:
        try:
            token, where = file.read_text().strip(), f"--token-file {file}"
        except (OSError, UnicodeDecodeError):
            raise InputError(f"--token-file: {file} cannot be read; give a text file with the token in it.") from None
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise InputError(
            f"{where}: a token has at least {_SHORTEST_TOKEN} plain characters in one line; make one with "
            "python3 -c 'import secrets; print(secrets.token_urlsafe())'."
        )
    return token


def _bytes(size: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]+)?)\s*([kMG]B)", size)
    if match is None:
        raise InputError(f"--max-upload must be a size such as 500MB or 2GB, not {size!r}; give another value.")
    return int(float(match.group(1)) * _SIZES[match.group(2)])
