"""Engines read, clean and query logs: `local` on one machine with DuckDB, `spark` on a cluster."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queryveil.core.display import Tabular
from queryveil.core.names import Declaration
from queryveil.core.progress import Progress, silent
from queryveil.logs.options import Cleaning, Reading

if TYPE_CHECKING:  # listing the engines must not import DuckDB
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from queryveil.engines.local.connection import Connection


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

BATCH_ROWS = 50_000


@dataclass(frozen=True)
class LogSource:
    """A log and how to read and clean it; nothing is open yet, so it can be pickled and stored."""

    paths: tuple[Path, ...] = ()
    reading: Reading = Reading()
    cleaning: Cleaning = Cleaning()
    keep: tuple[str, ...] = ()  # which of time, rank and url are released together with the terms
    table: Any = None  # an Arrow table instead of files
    uris: tuple[str, ...] = ()  # the paths as given, for a cluster: files, patterns and folders


@dataclass(frozen=True)
class Step:
    """The effect of one cleaning step."""

    name: str
    count: int
    unit: str
    note: str = ""

    def __str__(self) -> str:
        return f"{self.count:,} {self.unit}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True)
class QueryLog(Tabular):
    """A cleaned log in a database, as the tables `queries` and `people`; a context manager.

    `queries` has one row per query: `person, history, query` and of `time, rank, url, part` those that the log has.
    Person and history are numbers from 0. `people` has the identifier `person` of every person number `id`.
    """

    source: LogSource
    opening_steps: tuple[Step, ...]  # cleaning steps done while the log was opened
    has_times: bool
    format: str
    has_single_terms: bool  # each row is one term instead of a query
    columns: tuple[str, ...]  # person, query, and of time, rank, url, part those that the log has
    partition_values: tuple[str, ...]  # the values by which the log is cut into partitions, sorted
    connection: "Connection"
    later_steps: dict[str, Step] = field(default_factory=dict)  # steps done while the log was streamed, by name

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the cleaning steps in order."""
        return (*self.opening_steps, *self.later_steps.values())

    def record(self, step: Step) -> None:
        """Add a step that was done while the log was streamed; it replaces one of the same name."""
        self.later_steps[step.name] = step

    def __enter__(self) -> "QueryLog":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database and remove all its temporary files."""
        self.connection.close()

    @property
    def n_queries(self) -> int:
        """Count the queries after cleaning."""
        return self.connection.query_number("SELECT count(*) FROM queries")

    def batches(self, keep: Sequence[str] = ()) -> "Iterator[pa.RecordBatch]":
        """Yield record batches of `history, query` and the columns to keep, in no particular order."""
        names = ", ".join(("history", "query", *keep))
        return self.connection.query_batches(f"SELECT {names} FROM queries", BATCH_ROWS)

    def histories(self) -> "tuple[NDArray[np.int32], NDArray[np.int32] | None]":
        """Return the person and the partition number of every history; history h is position h."""
        import numpy as np

        has_parts = "part" in self.columns
        if not has_parts and self.source.cleaning.history == "user":
            return np.arange(self.connection.query_number("SELECT count(*) FROM people"), dtype=np.int32), None
        part = ", any_value(part) AS part" if has_parts else ""
        table = self.connection.query_table(
            f"SELECT history, any_value(person) AS person{part} FROM queries GROUP BY 1 ORDER BY 1"
        )
        persons = table["person"].to_numpy().astype(np.int32)
        if not has_parts:
            return persons, None
        number = {value: i for i, value in enumerate(self.partition_values)}
        return persons, np.array([number[value] for value in table["part"].to_pylist()], np.int32)

    def persons(self) -> tuple[str, ...]:
        """Return the original identifiers of people, by number."""
        return tuple(self.connection.query_table("SELECT person FROM people ORDER BY id")["person"].to_pylist())

    def to_arrow(self) -> "pa.Table":
        """Return the log as an Arrow table: person, query_id, query, and those of time, rank, url that it has."""
        names = [name for name in ("time", "rank", "url") if name in self.columns]
        extra = "".join(f", queries.{name}" for name in names)
        # query_id numbers the rows in the order of their content, so that it is the same on every engine
        order = ", ".join(("people.id", *(["time"] if self.has_times else []), "query", *names))
        return self.connection.query_table(
            f"SELECT people.person, (row_number() OVER (ORDER BY {order}) - 1) AS query_id, queries.query{extra}"
            f" FROM queries JOIN people ON people.id = queries.person ORDER BY query_id"
        )


def open_log(source: LogSource, *, progress: Progress = silent) -> QueryLog:
    """Read and clean a log on this machine; the caller closes it."""
    from queryveil.engines import local

    return local.open_log(source, progress=progress)
