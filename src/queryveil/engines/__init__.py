"""Engines read, clean and query logs: `local` on one machine with DuckDB, `spark` on a cluster."""

import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queryveil.core.display import Brief, Tabular, counted
from queryveil.core.errors import InputError, UnknownNameError
from queryveil.core.names import Declaration, declarations, nearest
from queryveil.core.options import AnyObject, FreeText, Location, OptionGroup, option
from queryveil.core.progress import Progress, silent
from queryveil.engines.kept_columns import KeptColumn
from queryveil.logs.options import CleaningOptions, ReadingOptions

if TYPE_CHECKING:  # listing the engines must import neither DuckDB nor PySpark
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from queryveil.engines.local.connection import Connection
    from queryveil.engines.spark.session import SparkCluster


@dataclass(frozen=True)
class Engine(Declaration):
    """An engine: the options that it takes, and what makes, verifies and measures releases on it."""

    options: tuple[str, ...] = ()
    workflows: Mapping[str, str] = field(default_factory=dict)  # action → "module:function" or "module:class"


LOCAL = Engine(
    name="local",
    purpose="one machine: DuckDB within --memory-limit, spilling to a private temporary folder",
    functions={"local": "queryveil.engines.local.reading:open_files"},
    workflows={
        "release": "queryveil.workflows.local_run:LocalRun",
        "verify": "queryveil.workflows.verify:verify_locally",
        "measure": "queryveil.workflows.measure:measure_locally",
    },
)

SPARK = Engine(
    name="spark",
    purpose="a cluster: Spark within what --spark-conf gives it, on the master that --spark-master names",
    functions={"spark": "queryveil.engines.spark.reading:read_log"},
    options=("spark_master", "spark_conf", "spark"),
    workflows={
        "release": "queryveil.workflows.spark_run:SparkRun",
        "verify": "queryveil.workflows.spark_verify:verify_on_spark",
        "measure": "queryveil.workflows.spark_measure:measure_on_spark",
    },
)

DECLARATIONS = (LOCAL, SPARK)

BATCH_ROWS = 50_000
_COUNT = re.compile(r"(\d[\d,]*) (.+)")
BASKETS = "baskets read"  # the unit of the step `rows` where each row is a basket of items


@dataclass(frozen=True)
class EngineOptions(OptionGroup):
    """Where a command runs: on this machine or on a cluster."""

    panel = "Engine"
    engine: str = option("local", FreeText(), "Where it runs: local, or spark (a cluster).")
    spark_master: str | None = option(
        None, FreeText(), "With --engine spark: local[*], spark://HOST:PORT, yarn or k8s://…", default_text="local[*]"
    )
    spark_conf: tuple[str, ...] = option(
        (), FreeText(), "With --engine spark: a setting such as spark.executor.memory=4g.", is_repeatable=True
    )
    spark: Any = option(
        None, AnyObject(), "A Spark session of yours, which is used as it is and left open.", is_python_only=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        engines = {name: each for name, each in declarations("engine").items() if isinstance(each, Engine)}
        if self.engine not in engines:
            raise UnknownNameError(f"--engine: there is no engine {self.engine!r}; {nearest(self.engine, engines)}")
        for each in self.own_options()[1:]:
            if getattr(self, each.name) != each.default and each.name not in engines[self.engine].options:
                engine = next(name for name, other in engines.items() if each.name in other.options)
                if each.is_python_only:
                    raise InputError(f'{each.name}=… goes with engine="{engine}"; add that, or leave it out.')
                raise InputError(f"{each.flag} goes with --engine {engine}; add that, or leave it out.")

    def workflow(self, action: str) -> Any:
        """Import and return what does an action (`release`, `verify` or `measure`) on the engine."""
        engine = declarations("engine")[self.engine]
        if not isinstance(engine, Engine):
            raise TypeError(f"{self.engine} is registered as an engine but is not an Engine")
        return pkgutil.resolve_name(engine.workflows[action])

    def cluster(self) -> "SparkCluster":
        """Return the cluster to run on."""
        from queryveil.engines.spark.session import SparkCluster, parse_conf

        return SparkCluster(self.spark_master or SparkCluster.master, parse_conf(self.spark_conf), self.spark)


@dataclass(frozen=True, repr=False)
class LogSource(Brief):
    """A log and how to read and clean it; nothing is open yet, so it can be pickled and stored."""

    _shown = ("paths", "keep")
    paths: tuple[Path, ...] = ()
    reading: ReadingOptions = ReadingOptions()
    cleaning: CleaningOptions = CleaningOptions()
    keep: tuple[KeptColumn, ...] = ()  # which of time, rank and url are released together with the terms, and how
    table: Any = None  # an Arrow table instead of files
    uris: tuple[str, ...] = ()  # the paths as given, for a cluster: files, patterns and folders
    excluded: frozenset[str] = field(default=frozenset(), repr=False)  # terms that are never published

    @property
    def unwanted_roles(self) -> set[str]:
        """Return the columns of clicks, which are read only to be kept, that are not."""
        return {"rank", "url"} - {column.name for column in self.keep}


@dataclass(frozen=True)
class Step:
    """The effect of one cleaning step; over all steps, rows and people add up to what is left of the log."""

    name: str
    count: int
    unit: str
    note: str = ""
    rows: int = 0  # that were read; below 0, that the step took away
    people: int = 0  # whose rows were read; below 0, whose last row the step took away

    def __str__(self) -> str:
        taken = [f"−{counted(-n, what)}" for n, what in ((self.rows, "rows"), (self.people, "people")) if n < 0]
        note = f" ({self.note})" if self.note else ""
        return counted(self.count, self.unit) + note + (f": {', '.join(taken)}" if taken else "")

    def counts_by_kind(self) -> dict[str, int]:
        """Return the counts that a note such as "2 email, 1 card" gives; empty if it gives anything else."""
        counts = [_COUNT.fullmatch(item) for item in self.note.split(", ")]
        return {each[2]: int(each[1].replace(",", "")) for each in counts if each} if all(counts) else {}


@dataclass(frozen=True, repr=False)
class QueryLog(Tabular, AbstractContextManager["QueryLog"]):
    """A cleaned log in a database, as the tables `queries` and `people`; a context manager.

    `queries` has one row per query: `person, history, query` and of `time, rank, url, part` those that the log has.
    Person and history are numbers from 0. `people` has the identifier `person` of every person number `id`.
    """

    _shown = ("format", "columns", "has_times", "partition_values")
    source: LogSource
    steps: dict[str, Step]  # the cleaning steps by name, in order; building profiles adds those that find terms
    has_times: bool
    format: str
    has_single_terms: bool  # each row is one term instead of a query
    columns: tuple[str, ...]  # person, query, and of time, rank, url, part those that the log has
    partition_values: tuple[str, ...]  # the values by which the log is cut into partitions, sorted
    connection: "Connection"

    def __exit__(self, *exception: object) -> None:
        self.connection.close()

    def close(self) -> None:
        """Close the database and remove all its temporary files."""
        self.connection.close()

    @property
    def n_queries(self) -> int:
        """Count the queries after cleaning."""
        return int(self.connection.query_table("SELECT count(*) AS n FROM queries")["n"][0].as_py())

    def has_values(self, column: KeptColumn) -> bool:
        """Return whether the log has a column, and values in it."""
        sql = f"SELECT count({column.sql}) AS n FROM queries"
        return column.name in self.columns and bool(self.connection.query_table(sql)["n"][0].as_py())

    def batches(self, keep: Sequence[KeptColumn] = ()) -> "Iterator[pa.RecordBatch]":
        """Yield record batches of `history, query` and the columns to keep, in no particular order."""
        names = ", ".join(("history", "query", *(f"{column.sql} AS {column.name}" for column in keep)))
        return self.connection.query_batches(f"SELECT {names} FROM queries", BATCH_ROWS)

    def owners_and_partitions(self) -> "tuple[NDArray[np.int32], NDArray[np.int32] | None]":
        """Return the person and the partition number of every history; history h is position h."""
        import numpy as np

        from queryveil.core.arrow import as_array

        has_parts = "part" in self.columns
        if not has_parts and self.source.cleaning.history == "user":
            sql = "SELECT id AS person FROM people ORDER BY id"
        else:
            part = ", any_value(part) AS part" if has_parts else ""
            sql = f"SELECT history, any_value(person) AS person{part} FROM queries GROUP BY 1 ORDER BY 1"
        table = self.connection.query_table(sql)
        persons = as_array(table["person"])
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
        forms = {column.name: column.sql for column in self.source.keep}
        extra = "".join(f", {forms.get(name, name)} AS {name}" for name in names)
        # query_id numbers the rows in the order of their content, so that it is the same on every engine
        order = ", ".join(("people.id", *(["time"] if self.has_times else []), "query", *names))
        return self.connection.query_table(
            f"SELECT people.person, (row_number() OVER (ORDER BY {order}) - 1) AS query_id, queries.query{extra}"
            f" FROM queries JOIN people ON people.id = queries.person ORDER BY query_id"
        )


def log_source(
    log: Any,
    reading: ReadingOptions,
    cleaning: CleaningOptions,
    keep: tuple[KeptColumn, ...] = (),
    excluded: frozenset[str] = frozenset(),
) -> LogSource:
    """Return a log and how to open it; it is a file, files, a pandas, Polars or Arrow table, or an open log."""
    if isinstance(log, QueryLog):
        return replace(log.source, cleaning=cleaning, keep=keep, excluded=excluded)
    files = [log] if isinstance(log, Location) else log
    if isinstance(files, Sequence) and all(isinstance(file, Location) for file in files):
        paths, uris = tuple(map(Path, files)), tuple(map(str, files))
        return LogSource(paths, reading, cleaning, keep, uris=uris, excluded=excluded)
    from queryveil.logs.frames import arrow_table

    return LogSource((), reading, cleaning, keep, arrow_table(log), excluded=excluded)


def open_log(source: LogSource, *, progress: Progress = silent) -> QueryLog:
    """Read and clean a log on this machine; the caller closes it."""
    from queryveil.engines.local.reading import open_files

    return open_files(source, progress=progress)
