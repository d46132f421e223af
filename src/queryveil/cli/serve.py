"""`queryveil serve`: the web pages and the REST service, or the search service alone."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import typer

from queryveil.cli.command import command
from queryveil.core.errors import InputError
from queryveil.core.names import Integer
from queryveil.core.options import FreeText, LocalPath, OptionGroup, option

_SIZES = {"kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
_SHORTEST_TOKEN = 16  # characters


@dataclass(frozen=True)
class ServeOptions(OptionGroup):
    """Where a server listens, which files it may touch and what it serves."""

    host: str = option("127.0.0.1", FreeText(), "The address to listen on; any but this machine's own needs a token.")
    port: int = option(8000, Integer(minimum=0), "The port; 0 takes any that is free.")
    folder: Path | None = option(None, LocalPath(), "A folder whose files may be chosen on the page; no others.")
    home: Path | None = option(
        None,
        LocalPath(),
        "The private folder of logs, runs and releases.",
        default_text="~/.local/share/queryveil",
    )
    token_file: Path | None = option(None, LocalPath(), "A file with the token to ask for; or set QUERYVEIL_TOKEN.")
    max_upload: str = option("500MB", FreeText(), "The largest log that may be sent, such as 500MB or 2GB.")
    jobs: int = option(2, Integer(minimum=0), "At most so many runs at once.")
    index: Path | None = option(None, LocalPath(), "An index for the search page; else the bundled corpus.")
    search: Path | None = option(
        None, LocalPath(), "Serve searches in this index alone, for applications; with --groups."
    )
    groups: Path | None = option(None, LocalPath(), "A release of groups, by which searches are made personal.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.port > 65_535:
            raise InputError(f"--port must be from 0 to 65535, not {self.port}; give another.")
        if self.search is not None:
            for name in ("folder", "home", "index"):
                if getattr(self, name) is not None:
                    raise InputError(
                        f"--{name} is for the pages, and --search serves searches alone; leave one of them out."
                    )


@command(ServeOptions)
def serve(options: ServeOptions, as_json: bool) -> int:
    """Open the pages and the REST service, or with --search the search service alone."""
    token, largest = _token(options.token_file), _bytes(options.max_upload)
    if options.search is not None:
        return _serve_search(options.search, options, token)
    from queryveil.serve.servers.web_server import serve as run
    from queryveil.serve.settings import Settings, default_home

    settings = Settings(
        home=options.home or default_home(),
        host=options.host,
        port=options.port,
        token=token,
        folder=options.folder,
        max_upload=largest,
        jobs=options.jobs,
        index=options.index,
        groups=options.groups,
    )
    run(settings, _announce)
    return 0


def _serve_search(index: Path, options: ServeOptions, token: str | None) -> int:
    from queryveil.serve.servers.search_service import serve_search

    if options.groups is None:
        raise InputError("--search needs a release of groups to search by; give it by --groups.")
    serve_search(index, options.groups, host=options.host, port=options.port, token=token, announce=_announce)
    return 0


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
