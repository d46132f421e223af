"""Settings of a server: where it listens, keeps its state and may read files; and its listening socket."""

import os
import resource
import socket
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queryveil.core.errors import InputError
from queryveil.core.names import Integer, Text
from queryveil.core.options import FreeText, OptionGroup, option, optional_file
from queryveil.serve.store import QuotaError

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
_SIZE = Text(r"[0-9]{1,9}(\.[0-9]+)?\s*[kMG]B", "a size such as 500MB or 2GB")
_SIZES = {"kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
_SHORTEST_TOKEN = 16  # characters
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Settings(OptionGroup):
    """Where a server listens, which files it may touch, what it serves, and its limits."""

    host: str = option("127.0.0.1", FreeText(), "The address to listen on; any but this machine's own needs a token.")
    port: int = option(8000, Integer(0, 65_535), "The port; 0 takes any that is free.")
    folder: Path | None = optional_file("A folder whose files may be chosen on the page; no others.")
    home: Path | None = optional_file(
        "The private folder of logs, runs and releases.", default_text="~/.local/share/queryveil"
    )
    token_file: Path | None = optional_file(
        "A file with the owner's token, for you alone to read; or set QUERYVEIL_TOKEN."
    )
    analyst_token_file: Path | None = optional_file(
        "A file with a token for analysts, who run, compare and download; or set QUERYVEIL_ANALYST_TOKEN."
    )
    max_upload: str = option("500MB", _SIZE, "The largest log that may be sent, such as 500MB or 2GB.")
    max_unpacked: str = option("5GB", _SIZE, "The largest size that a compressed log may have unpacked.")
    max_disk: str = option("100GB", _SIZE, "The most that all logs, runs and releases together may take.")
    max_queue: int = option(500, Integer(minimum=1), "The maximum number of runs that wait.")
    forget_after: int = option(
        0, Integer(minimum=0), "Days after which who is behind a release is forgotten; 0 for never."
    )
    jobs: int = option(2, Integer(minimum=1), "The maximum number of runs at once.")
    index: Path | None = optional_file("An index for the search page; else the bundled corpus.")
    search: Path | None = optional_file("Serve searches in this index alone, for applications; with --groups.")
    groups: Path | None = optional_file("A release of groups, by which searches are made personal.")
    token: str | None = None  # of the owner; the pages make one at every start unless it is given
    analyst_token: str | None = None
    demo_people: int = 2_000  # in the demo log

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("folder", "home", "index", "analyst_token_file"):
            if self.search is not None and getattr(self, name) is not None:
                flag = f"--{name.replace('_', '-')}"
                raise InputError(f"{flag} is for the pages, and --search serves searches alone; leave one of them out.")

    @property
    def largest_upload(self) -> int:
        """Return the largest size of an uploaded log in bytes."""
        return bytes_of(self.max_upload)

    def check_disk(self) -> int:
        """Return how many bytes may still be written into the home folder, or raise if it is full."""
        used = sum(size_of(Path(folder) / name) for folder, _, names in os.walk(self.state_folder) for name in names)
        left = bytes_of(self.max_disk) - used
        if left <= 0:
            raise QuotaError(
                f"logs, runs and releases take the {self.max_disk} that this server may use; delete some, "
                "or start it with a larger --max-disk."
            )
        return left

    @property
    def state_folder(self) -> Path:
        """Return the private folder of the server's state; the default follows the XDG convention."""
        data = os.environ.get("XDG_DATA_HOME") or Path("~/.local/share").expanduser()
        return self.home or Path(data) / "queryveil"

    def check(self) -> None:
        """Raise for settings that cannot or must not be served with."""
        check_address(self.host, self.token)
        if self.analyst_token is not None and self.analyst_token == self.token:
            raise InputError("--analyst-token-file: analysts need a token other than the owner's; make another.")
        for name, path in (("folder", self.folder), ("index", self.index), ("groups", self.groups)):
            if path is not None and not path.is_dir():
                raise InputError(f"--{name}: there is no folder {path}; make it, or give another.")

    def file(self, relative: str, field: str = "path", *, may_be_folder: bool = False) -> Path:
        """Return a file, or a folder, of the allowed folder by its path in there, or raise if that leads outside."""
        if self.folder is None:
            raise InputError("the server has no folder of files to choose from; start it with --folder.", field=field)
        root = self.folder.resolve()
        refusal = InputError("that is not a file in the server's folder; choose one that is listed.", field=field)
        try:
            found = (root / relative).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # missing, a cycle of links, or not a valid path
            raise refusal from None
        if not found.is_relative_to(root) or not (found.is_file() or (may_be_folder and found.is_dir())):
            raise refusal
        return found


def size_of(path: Path) -> int:
    """Return the size of a file; 0 if it is gone."""
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def bytes_of(size: str) -> int:
    """Return a size such as 500MB in bytes."""
    return int(float(size[:-2]) * _SIZES[size[-2:]])


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


def read_token(file: Path | None, flag: str, variable: str) -> str | None:
    """Return the token in a file or in an environment variable; None if there is neither."""
    token, source = os.environ.get(variable, ""), variable
    if file is not None:
        try:
            token, source, mode = file.read_text().strip(), f"{flag} {file}", file.stat().st_mode
        except (OSError, UnicodeDecodeError):
            raise InputError(f"{flag}: {file} cannot be read; give a text file with the token in it.") from None
        if mode & _OTHERS:
            raise InputError(f"{flag}: other accounts can read {file}; make it yours alone with chmod 600 {file}.")
    elif not token:
        return None
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise InputError(
            f"{source}: a token has at least {_SHORTEST_TOKEN} plain characters in one line; make one with "
            "python3 -c 'import secrets; print(secrets.token_urlsafe())'."
        )
    return token
