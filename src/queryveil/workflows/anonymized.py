"""What a run that writes a release gives back, and what its private record says of its inputs."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from queryveil.engines import LogSource
from queryveil.engines.local import expand
from queryveil.errors import InputError
from queryveil.release.reader import load
from queryveil.types import Score, Scores, Tabular, Verdict


@dataclass(frozen=True)
class Uri:
    """A place that is not on this machine, such as hdfs://… ."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __truediv__(self, name: str) -> "Uri":
        return Uri(f"{self.text.rstrip('/')}/{name}")


@dataclass(frozen=True)
class Anonymized(Tabular):
    """What a run made: the release, its verdict, what was kept and what it took."""

    release: Path | Uri
    private: Path | Uri | None
    manifest: Mapping[str, Any]
    verdict: Verdict
    scores: tuple[Score, ...]
    summary: Mapping[str, Any]
    seconds: float

    @property
    def report(self) -> Path | Uri:
        """Return the path of the report."""
        return self.release / "report.html"

    def to_arrow(self) -> Any:
        """Return the released rows as an Arrow table."""
        if isinstance(self.release, Uri):
            raise InputError(f"{self.release} is not on this machine; read its data with Spark.")
        return load(self.release).to_arrow()

    def _repr_html_(self) -> str:
        place = f"<code>{escape(str(self.release))}</code>"
        return f"<p>{self.verdict._repr_html_()} Release: {place}</p>{Scores(self.scores)._repr_html_()}"


def digests_of(source: LogSource) -> list[dict[str, str]]:
    """Return the SHA-256 of every file of the log, for the private record."""
    if source.table is not None:
        return []
    return [{"path": str(path), "sha256": str(digest_of(path))} for path in expand(source.paths)]


def digest_of(path: Path | None) -> str | None:
    """Return the SHA-256 of a file; None where there is none, or it is a pipe, which cannot be read again."""
    if path is None or not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
