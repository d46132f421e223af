"""Engines: where logs are opened, cleaned and streamed; one machine (DuckDB) here, a cluster behind the same face."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from queryveil.core.names import Declaration
from queryveil.core.progress import Progress, silent
from queryveil.logs.options import Cleaning, Reading


@dataclass(frozen=True)
class EngineDeclaration(Declaration):
    """An engine, and the options that it takes."""

    options: tuple[str, ...] = ()


LOCAL = EngineDeclaration(
    name="local",
    purpose="one machine: DuckDB within --memory-limit, spilling to a private temporary folder",
    functions={"local": "queryveil.engines.local:open_log"},
)

SPARK = EngineDeclaration(
    name="spark",
    purpose="a cluster: Spark within what --spark-conf gives it, on the master that --spark-master names",
    functions={"spark": "queryveil.engines.spark.reading:read_log"},
    options=("spark_master", "spark_conf", "spark"),
)

DECLARATIONS = (LOCAL, SPARK)


@dataclass(frozen=True)
class LogSource:
    """A log and how to read and clean it: nothing is open yet, so it can be pickled and stored."""

    paths: tuple[Path, ...] = ()
    reading: Reading = Reading()
    cleaning: Cleaning = Cleaning()
    keep: tuple[str, ...] = ()  # of time, rank and url, what is to be released beside the terms
    table: Any = None  # an Arrow table in place of files
    uris: tuple[str, ...] = ()  # the paths as they were given, for a cluster: files, patterns and folders


@dataclass(frozen=True)
class Step:
    """What one step of cleaning did."""

    name: str
    count: int
    unit: str
    note: str = ""

    def __str__(self) -> str:
        return f"{self.count:,} {self.unit}" + (f" ({self.note})" if self.note else "")


@runtime_checkable
class QueryLog(Protocol):
    """A cleaned log that an engine holds open; a context manager.

    One row per query: `person, query_id, query, time?, rank?, url?`.
    """

    @property
    def source(self) -> LogSource:
        """What was opened."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """What each step of cleaning did."""

    def record(self, step: Step) -> None:
        """Add a step that is done while the log is streamed; one of the same name is replaced."""

    @property
    def has_times(self) -> bool:
        """Whether any query has a time."""

    @property
    def has_single_terms(self) -> bool:
        """Whether each row holds one term rather than a query."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the log has: person, query, and of time, rank, url, part those there are."""

    @property
    def partition_values(self) -> tuple[str, ...]:
        """The values by which the log is cut into parts, in order."""

    def __enter__(self) -> "QueryLog": ...
    def __exit__(self, *exception: object) -> None: ...

    def batches(self, keep: Sequence[str] = ()) -> Iterator[Any]:
        """Yield Arrow record batches of `history, query` and the columns to keep, in no particular order."""

    def histories(self) -> tuple[Any, Any]:
        """Return the person and the partition of every history, as arrays; history h is position h."""

    def persons(self) -> tuple[str, ...]:
        """Return the identifiers of people as they stand in the log, by number."""

    def to_arrow(self) -> Any:
        """Return the whole log as an Arrow table."""


def open_log(source: LogSource, *, engine: str = "local", progress: Progress = silent) -> QueryLog:
    """Open and clean a log on an engine."""
    from queryveil.core.names import declarations

    log: QueryLog = declarations("engine")[engine].load()(source, progress=progress)
    return log
