"""The local engine: a log opened, cleaned and streamed by DuckDB within a memory limit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.display import Tabular
from queryveil.core.progress import Progress, silent
from queryveil.engines import LogSource, Step
from queryveil.engines.local.cleaning import clean
from queryveil.engines.local.connection import Connection, careful
from queryveil.engines.local.inputs import expand, find_inputs
from queryveil.engines.local.reading import append_table, count, create_raw, drop_bad_rows, read_file, read_table
from queryveil.engines.local.selecting import Input
from queryveil.logs.formats import Layout

__all__ = ["LocalLog", "expand", "open_log", "open_part"]

BATCH_ROWS = 50_000
_ORDER = ("person", "query", "time", "rank", "url", "part")


@dataclass(frozen=True)
class LocalLog(Tabular):
    """A cleaned log in a DuckDB database of this process."""

    source: LogSource
    opening: tuple[Step, ...]  # what opening the log did
    has_times: bool
    format: str
    has_single_terms: bool  # each row holds one term rather than a query
    columns: tuple[str, ...]
    partition_values: tuple[str, ...]
    connection: Connection
    later: dict[str, Step] = field(default_factory=dict)  # what was done since

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return what each step of cleaning did."""
        return (*self.opening, *self.later.values())

    def record(self, step: Step) -> None:
        """Add a step that is done while the log is streamed."""
        self.later[step.name] = step

    def __enter__(self) -> "LocalLog":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up the log and remove all its temporary files."""
        self.connection.close()

    @property
    def n_queries(self) -> int:
        """Count the queries that are left."""
        with careful("the log"):
            return count(self.connection.database, "SELECT count(*) FROM queries")

    def batches(self, keep: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yield record batches of `history, query` and the columns to keep, in no particular order."""
        names = ", ".join(("history", "query", *keep))
        with careful("the log"):
            yield from self.connection.database.sql(f"SELECT {names} FROM queries").to_arrow_reader(BATCH_ROWS)

    def histories(self) -> tuple[NDArray[np.int32], NDArray[np.int32] | None]:
        """Return the person and the part of every history; history h is position h."""
        database = self.connection.database
        part = ", any_value(part) AS part" if "part" in self.columns else ""
        with careful("the log"):
            if not part and self.source.cleaning.history == "user":
                return np.arange(count(database, "SELECT count(*) FROM people"), dtype=np.int32), None
            table = database.sql(
                f"SELECT history, any_value(person) AS person{part} FROM queries GROUP BY 1 ORDER BY 1"
            ).to_arrow_table()
        persons = table["person"].to_numpy().astype(np.int32)
        if not part:
            return persons, None
        number = {value: i for i, value in enumerate(self.partition_values)}
        return persons, np.array([number[value] for value in table["part"].to_pylist()], np.int32)

    def persons(self) -> tuple[str, ...]:
        """Return the identifiers of people as they stand in the log, by number."""
        with careful("the log"):
            table = self.connection.database.sql("SELECT person FROM people ORDER BY id").to_arrow_table()
        return tuple(table["person"].to_pylist())

    def to_arrow(self) -> pa.Table:
        """Return the whole log as an Arrow table: person, query_id, query, and time, rank, url where there are any."""
        names = [name for name in ("time", "rank", "url") if name in self.columns]
        extra = "".join(f", queries.{name}" for name in names)
        # query_id numbers the rows in the order of their content, which no engine can disagree on
        order = ", ".join(("people.id", *(["time"] if self.has_times else []), "query", *names))
        with careful("the log"):
            return self.connection.database.sql(
                f"SELECT people.person, (row_number() OVER (ORDER BY {order}) - 1) AS query_id, queries.query{extra}"
                f" FROM queries JOIN people ON people.id = queries.person ORDER BY query_id"
            ).to_arrow_table()


def open_log(source: LogSource, *, progress: Progress = silent) -> LocalLog:
    """Read and clean a log; the caller closes it."""
    inputs = find_inputs(source)
    connection = Connection(source.reading.memory_bytes())
    try:
        return _open(source, inputs, connection, progress)
    except BaseException:
        connection.close()
        raise


def open_part(table: pa.Table, layout: Layout, source: LogSource, *, has_times: bool) -> LocalLog:
    """Clean the rows of some of a log's people; what is decided for the whole log is told, and nobody may be left."""
    given = Input(Path("the log"), layout, "table", in_memory=True)
    connection = Connection(source.reading.memory_bytes())
    try:
        database = connection.database
        columns = tuple(name for name in _ORDER if name in layout.roles)
        create_raw(database, columns)
        with careful("the log"):
            tally = append_table(connection, table, given, columns)
            drop_bad_rows(database)
            columns = tuple(name for name in columns if name != "time" or has_times)
            steps = clean(database, columns, source.cleaning, may_be_empty=True)
            values = _partition_values(connection) if "part" in columns else ()
        single = layout.roles["query"].lower() == "term"
        steps = [*_counted(tally.n_rows - tally.n_unusable, tally.n_unusable), *steps]
        return LocalLog(source, tuple(steps), has_times, "table", single, columns, values, connection)
    except BaseException:
        connection.close()
        raise


def _open(source: LogSource, inputs: list[Input], connection: Connection, progress: Progress) -> LocalLog:
    database = connection.database
    unwanted = {"rank", "url"} - set(source.keep)
    columns = tuple(name for name in _ORDER if all(name in _columns(each.layout) - unwanted for each in inputs))
    create_raw(database, columns)
    n_bad = 0
    for number, each in enumerate(inputs):
        progress("reading", number, len(inputs))
        if each.in_memory:
            n_bad += read_table(connection, source.table, each, source.reading, columns)
        else:
            n_bad += read_file(connection, each, source.reading, columns)
    progress("reading", len(inputs), len(inputs))
    progress("cleaning", 0, 1)
    with careful("the log"):
        if n_bad:
            drop_bad_rows(database)
        n_rows = count(database, "SELECT count(*) FROM raw")
        has_times = "time" in columns and count(database, "SELECT count(time) FROM raw") > 0
        if not has_times:
            columns = tuple(name for name in columns if name != "time")
        baskets = all(each.layout.shape == "lines" for each in inputs)
        steps = clean(database, columns, source.cleaning, baskets=baskets)
        values = _partition_values(connection) if "part" in columns else ()
    progress("cleaning", 1, 1)
    first = _counted(n_rows, n_bad)
    single = all(each.layout.roles["query"].lower() == "term" for each in inputs)
    return LocalLog(source, (*first, *steps), has_times, inputs[0].format, single, columns, values, connection)


def _counted(n_rows: int, n_bad: int) -> list[Step]:
    return [Step("rows", n_rows, "rows read"), Step("bad lines", n_bad, "unreadable lines left out")]


def _columns(layout: Layout) -> set[str]:
    """Return the columns of `raw` that a layout can fill; a basket's person is its line."""
    return set(layout.roles) | {"person"}


def _partition_values(connection: Connection) -> tuple[str, ...]:
    rows = connection.database.execute("SELECT DISTINCT part FROM queries ORDER BY part").fetchall()
    return tuple(str(row[0]) for row in rows)
