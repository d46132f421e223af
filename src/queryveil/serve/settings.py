"""What a server is told when it starts, and which files it may touch."""

import os
from dataclasses import dataclass
from pathlib import Path

from queryveil.core.errors import InputError

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Settings:
    """Where the server listens, keeps its state and may read, and how much it takes on."""

    home: Path  # the private folder of its state: logs, runs, releases
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None  # required on any address but this machine's own
    folder: Path | None = None  # whose files may be chosen on the page
    max_upload: int = 500_000_000  # bytes
    jobs: int = 2  # runs at once
    index: Path | None = None  # what the search page searches, in place of the bundled corpus
    groups: Path | None = None  # a release of groups that the search page offers besides those made here
    demo_people: int = 2_000  # in the demo log

    def check(self) -> None:
        """Refuse settings that cannot or must not be served with."""
        check_address(self.host, self.token)
        for option, place in (("--folder", self.folder), ("--index", self.index), ("--groups", self.groups)):
            if place is not None and not place.is_dir():
                raise InputError(f"{option}: there is no folder {place}; make it, or give another.")
        if self.jobs < 1:
            raise InputError("--jobs must be at least 1; give a larger number, or leave it out.")

    def file(self, relative: str, field: str = "path") -> Path:
        """Return a file of the allowed folder by its path in there; whatever leads outside is refused."""
        if self.folder is None:
            raise InputError("the server has no folder of files to choose from; start it with --folder.", field=field)
        root = self.folder.resolve()
        refusal = InputError("that is not a file in the server's folder; choose one that is listed.", field=field)
        try:
            found = (root / relative).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # not there, a circle of links, no text for a path
            raise refusal from None
        if not found.is_relative_to(root) or not found.is_file():
            raise refusal
        return found


def check_address(host: str, token: str | None) -> None:
    """Refuse to serve other machines without a token."""
    if host not in LOOPBACK and not token:
        raise InputError(
            f"--host {host} can be reached from other machines, so a token is required; put one into a file "
            "and give it by --token-file, or set QUERYVEIL_TOKEN."
        )


def host_in(header: str) -> str:
    """Return the name or address in a Host header, without the port."""
    return header[1:].partition("]")[0] if header.startswith("[") else header.partition(":")[0].lower()


def default_home() -> Path:
    """Return where state is kept unless the user says otherwise: the place for programs' own data."""
    base = os.environ.get("XDG_DATA_HOME") or Path("~/.local/share").expanduser()
    return Path(base) / "queryveil"
