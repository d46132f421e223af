"""Settings of a server: where it listens, keeps its state and may read files; and its listening socket."""

import os
import resource
import socket
from dataclasses import dataclass
from pathlib import Path

from queryveil.core.errors import InputError

LOOPBACK = ("127.0.0.1", "::1", "localhost")
BACKLOG = 4_096  # connections that may wait to be accepted


@dataclass(frozen=True)
class Settings:
    """Where the server listens, keeps its state and may read, and its limits."""

    home: Path  # the private folder of its state: logs, runs, releases
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None  # required on any address but this machine's own
    folder: Path | None = None  # whose files may be chosen on the page
    max_upload: int = 500_000_000  # bytes
    jobs: int = 2  # concurrent runs
    index: Path | None = None  # what the search page searches, in place of the bundled corpus
    groups: Path | None = None  # a release of groups that the search page offers besides those made here
    demo_people: int = 2_000  # in the demo log

    def check(self) -> None:
        """Raise for settings that cannot or must not be served with."""
        check_address(self.host, self.token)
        for option, path in (("--folder", self.folder), ("--index", self.index), ("--groups", self.groups)):
            if path is not None and not path.is_dir():
                raise InputError(f"{option}: there is no folder {path}; make it, or give another.")
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


def default_home() -> Path:
    """Return the default folder for state, following the XDG convention."""
    base = os.environ.get("XDG_DATA_HOME") or Path("~/.local/share").expanduser()
    return Path(base) / "queryveil"


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket, or raise if the port cannot be bound."""
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


def raise_file_limit() -> None:
    """Raise the soft limit of open files, and so of connections, to the hard limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
