"""What a run that writes a release gives back, and what its private record says of its inputs."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from queryveil.core.display import Tabular
from queryveil.core.errors import InputError
from queryveil.core.results import Score, Scores, Verdict
from queryveil.engines import LogSource
from queryveil.engines.local import expand_paths
from queryveil.release.reader import load


@dataclass(frozen=True)
class Anonymized(Tabular):
    """What a run made: the release, its verdict, what was kept and what it took."""

    place: Path | str  # of the release: a path of this machine, or an address elsewhere such as hdfs://…
    private_place: Path | str | None
    manifest: Mapping[str, Any]
    verdict: Verdict
    scores: tuple[Score, ...]
    summary: Mapping[str, Any]
    seconds: float

    @property
    def release(self) -> Path:
        """Return the folder of the release, if it is on this machine."""
        return _here(self.place)

    @property
    def private(self) -> Path | None:
        """Return the private folder, if there is one and it is on this machine."""
        return None if self.private_place is None else _here(self.private_place)

    @property
    def report(self) -> Path:
        """Return the path of the report, if it is on this machine."""
        return self.release / "report.html"

    def to_arrow(self) -> Any:
        """Return the released rows as an Arrow table."""
        return load(self.release).to_arrow()

    def _repr_html_(self) -> str:
        place = f"<code>{escape(str(self.place))}</code>"
        return f"<p>{self.verdict._repr_html_()} Release: {place}</p>{Scores(self.scores)._repr_html_()}"


def _here(place: Path | str) -> Path:
    if isinstance(place, str):
        raise InputError(f"{place} is not on this machine; read it with Spark.")
    return place


def digests_of(source: LogSource) -> list[dict[str, str]]:
    """Return the SHA-256 of every file of the log, for the private record."""
    if source.table is not None:
        return []
    return [{"path": str(path), "sha256": str(digest_of(path))} for path in expand_paths(source.paths)]


def digest_of(path: Path | None) -> str | None:
    """Return the SHA-256 of a file; None where there is none, or it is a pipe, which cannot be read again."""
    if path is None or not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
