"""Settings of a server: where it listens, keeps its state and may read files; and its listening socket."""

import os
import re
import resource
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queryveil.core.errors import InputError
from queryveil.core.names import Integer
from queryveil.core.options import FreeText, LocalPath, OptionGroup, option

LOOPBACK = ("127.0.0.1", "::1", "localhost")
BACKLOG = 4_096  # connections that may wait to be accepted
UVICORN_OPTIONS: Mapping[str, Any] = {
    "ws": "none",
    "backlog": BACKLOG,
    "log_level": "warning",
    "access_log": False,  # it would record which pages people looked at
    "server_header": False,
    "timeout_graceful_shutdown": 5,  # seconds for responses that are under way
}
_SIZES = {"kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
_SHORTEST_TOKEN = 16  # characters


@dataclass(frozen=True)
class Settings(OptionGroup):
    """Where a server listens, which files it may touch, what it serves, and its limits."""

    host: str = option("127.0.0.1", FreeText(), "The address to listen on; any but this machine's own needs a token.")
    port: int = option(8000, Integer(minimum=0), "The port; 0 takes any that is free.")
    folder: Path | None = option(None, LocalPath(), "A folder whose files may be chosen on the page; no others.")
    home: Path | None = option(
        None, LocalPath(), "The private folder of logs, runs and releases.", default_text="~/.local/share/queryveil"
    )
    token_file: Path | None = option(None, LocalPath(), "A file with the token to ask for; or set QUERYVEIL_TOKEN.")
    max_upload: str = option("500MB", FreeText(), "The largest log that may be sent, such as 500MB or 2GB.")
    jobs: int = option(2, Integer(minimum=0), "The maximum number of runs at once.")
    index: Path | None = option(None, LocalPath(), "An index for the search page; else the bundled corpus.")
    search: Path | None = option(
        None, LocalPath(), "Serve searches in this index alone, for applications; with --groups."
    )
    groups: Path | None = option(None, LocalPath(), "A release of groups, by which searches are made personal.")
    token: str | None = None  # required on any address but this machine's own
    demo_people: int = 2_000  # in the demo log

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.port > 65_535:
            raise InputError(f"--port must be from 0 to 65535, not {self.port}; give another.")
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?\s*[kMG]B", self.max_upload) is None:
            raise InputError(
                f"--max-upload must be a size such as 500MB or 2GB, not {self.max_upload!r}; give another value."
            )
        for name in ("folder", "home", "index"):
            if self.search is not None and getattr(self, name) is not None:
                raise InputError(
                    f"--{name} is for the pages, and --search serves searches alone; leave one of them out."
                )

    @property
    def largest_upload(self) -> int:
        """Return the largest size of an uploaded log in bytes."""
        return int(float(self.max_upload[:-2]) * _SIZES[self.max_upload[-2:]])

    @property
    def state_folder(self) -> Path:
        """Return the private folder of the server's state; the default follows the XDG convention."""
        data = os.environ.get("XDG_DATA_HOME") or Path("~/.local/share").expanduser()
        return self.home or Path(data) / "queryveil"

    def check(self) -> None:
        """Raise for settings that cannot or must not be served with."""
        check_address(self.host, self.token)
        for name, path in (("folder", self.folder), ("index", self.index), ("groups", self.groups)):
            if path is not None and not path.is_dir():
                raise InputError(f"--{name}: there is no folder {path}; make it, or give another.")
        if self.jobs < 1:
            raise InputError("--jobs must be at least 1; give a larger number, or leave it out.")

    def file(self, relative: str, field: str = "path") -> Path:
        """Return a file of the allowed folder by its path in there, or raise if that leads outside."""
        if self.folder is None:
            raise InputError("the server has no folder of files to choose from; start it with --folder.", field=field)
        root = self.folder.resolve()
        refusal = InputError("that is not a file in the server's folder; choose one that is listed.", field=field)
        try:
            found = (root / relative).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # missing, a cycle of links, or not a valid path
            raise refusal from None
        if not found.is_relative_to(root) or not found.is_file():
            raise refusal
        return found


def check_address(host: str, token: str | None) -> None:
    """Raise if other machines could reach the server without a token."""
    if host not in LOOPBACK and not token:
        raise InputError(
            f"--host {host} can be reached from other machines, so a token is required; put one into a file "
            "and give it by --token-file, or set QUERYVEIL_TOKEN."
        )


def host_in(header: str) -> str:
    """Return the name or address in a Host header, without the port."""
    return header[1:].partition("]")[0] if header.startswith("[") else header.partition(":")[0].lower()


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket, or raise if the port cannot be bound; allow as many open connections as possible."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise InputError(f"cannot listen on {host}, port {port}: {error.strerror}; give another --port.") from None
    listening.set_inheritable(True)
    return listening


def address_of(listening: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def read_token(file: Path | None) -> str | None:
    """Return the token to ask for, from a file or from the environment; None if there is none."""
    token, source = os.environ.get("QUERYVEIL_TOKEN", ""), "QUERYVEIL_TOKEN"
    if file is not None:
        try:
            token, source = file.read_text().strip(), f"--token-file {file}"
        except (OSError, UnicodeDecodeError):
            raise InputError(f"--token-file: {file} cannot be read; give a text file with the token in it.") from None
    elif not token:
        return None
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise InputError(
            f"{source}: a token has at least {_SHORTEST_TOKEN} plain characters in one line; make one with "
            "python3 -c 'import secrets; print(secrets.token_urlsafe())'."
        )
    return token
