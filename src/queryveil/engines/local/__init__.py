"""The local engine: a log opened, cleaned and streamed by DuckDB within a memory limit."""

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.engines import LogSource, Step
from queryveil.engines.local.cleaning import clean
from queryveil.engines.local.connection import Connection, careful
from queryveil.engines.local.reading import count, create_raw, read_file, read_table
from queryveil.errors import LogError
from queryveil.logs.formats import Layout, find_format
from queryveil.logs.formats.table import find_roles
from queryveil.logs.formats.times import time_style
from queryveil.logs.sample import take_sample
from queryveil.types import Progress, Tabular, silent

BATCH_ROWS = 50_000
_ORDER = ("person", "query", "time", "rank", "url", "part")


@dataclass(frozen=True)
class LocalLog(Tabular):
    """A cleaned log in a DuckDB database of this process."""

    source: LogSource
    steps: tuple[Step, ...]
    has_times: bool
    format: str
    has_single_terms: bool  # each row holds one term rather than a query
    columns: tuple[str, ...]
    partition_values: tuple[str, ...]
    connection: Connection

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
        return count(self.connection.database, "SELECT count(*) FROM queries")

    def batches(self, keep: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yield record batches of `history, query` and the columns to keep, in no particular order."""
        names = ", ".join(("history", "query", *keep))
        with careful("the log"):
            yield from self.connection.database.sql(f"SELECT {names} FROM queries").to_arrow_reader(BATCH_ROWS)

    def histories(self) -> tuple[NDArray[np.int32], NDArray[np.int32] | None]:
        """Return the person and the part of every history; history h is position h."""
        database = self.connection.database
        if "part" not in self.columns and self.source.cleaning.history == "user":
            return np.arange(count(database, "SELECT count(*) FROM people"), dtype=np.int32), None
        part = ", any_value(part) AS part" if "part" in self.columns else ""
        rows = database.sql(f"SELECT history, any_value(person) AS person{part} FROM queries GROUP BY 1 ORDER BY 1")
        table = rows.to_arrow_table()
        persons = table["person"].to_numpy().astype(np.int32)
        if not part:
            return persons, None
        number = {value: i for i, value in enumerate(self.partition_values)}
        return persons, np.array([number[value] for value in table["part"].to_pylist()], np.int32)

    def persons(self) -> tuple[str, ...]:
        """Return the identifiers of people as they stand in the log, by number."""
        table = self.connection.database.sql("SELECT person FROM people ORDER BY id").to_arrow_table()
        return tuple(table["person"].to_pylist())

    def to_arrow(self) -> pa.Table:
        """Return the whole log as an Arrow table: person, query_id, query, and time, rank, url where there are any."""
        names = [name for name in ("time", "rank", "url") if name in self.columns]
        extra = "".join(f", queries.{name}" for name in names)
        # query_id numbers the rows in the order of their content, which no engine can disagree on
        order = f"people.id, {', '.join(('time', 'query') if self.has_times else ('query',))}"
        with careful("the log"):
            return self.connection.database.sql(
                f"SELECT people.person, (row_number() OVER (ORDER BY {order}) - 1) AS query_id, queries.query{extra}"
                f" FROM queries JOIN people ON people.id = queries.person ORDER BY query_id"
            ).to_arrow_table()


def open_log(source: LogSource, *, progress: Progress = silent) -> LocalLog:
    """Read and clean a log; the caller closes it."""
    inputs = _inputs(source)
    connection = Connection(source.reading.memory_limit)
    try:
        return _open(source, inputs, connection, progress)
    except BaseException:
        connection.close()
        raise


def _open(
    source: LogSource, inputs: list[tuple[Path, Layout, str]], connection: Connection, progress: Progress
) -> LocalLog:
    database = connection.database
    unwanted = {"rank", "url"} - set(source.keep)
    columns = tuple(name for name in _ORDER if all(name in _columns(layout) - unwanted for _, layout, _ in inputs))
    create_raw(database, columns)
    n_bad = 0
    for number, (path, layout, _) in enumerate(inputs):
        progress("reading", number, len(inputs))
        if source.table is None:
            n_bad += read_file(database, path, layout, source.reading, columns)
        else:
            n_bad += read_table(database, source.table, layout, source.reading, columns)
    progress("reading", len(inputs), len(inputs))
    progress("cleaning", 0, 1)
    n_rows = count(database, "SELECT count(*) FROM raw")
    has_times = "time" in columns and count(database, "SELECT count(time) FROM raw") > 0
    with careful("the log"):
        steps = clean(database, columns, source.cleaning)
        values = _partition_values(connection) if "part" in columns else ()
    progress("cleaning", 1, 1)
    first = [Step("rows", n_rows, "rows read"), Step("bad lines", n_bad, "unreadable lines left out")]
    single = all(layout.roles["query"].lower() == "term" for _, layout, _ in inputs)
    return LocalLog(source, (*first, *steps), has_times, inputs[0][2], single, columns, values, connection)


def _columns(layout: Layout) -> set[str]:
    """Return the columns of `raw` that a layout can fill; a basket's person is its line."""
    return set(layout.roles) | {"person"}


def _partition_values(connection: Connection) -> tuple[str, ...]:
    rows = connection.database.execute("SELECT DISTINCT part FROM queries ORDER BY part").fetchall()
    return tuple(str(row[0]) for row in rows)


def _inputs(source: LogSource) -> list[tuple[Path, Layout, str]]:
    """Return every file with its layout and the name of its format."""
    given, partition = source.reading.column_roles(), source.cleaning.partition_by
    if source.table is not None:
        return [(Path("the table"), _table_layout(source, given, partition), "table")]
    inputs = []
    for path in expand(source.paths):
        sample = take_sample(path)
        found = find_format(sample, source.reading.format)
        layout = found.layout(sample, given) if found.layout else Layout("lines", {})
        inputs.append((path, _with_partition(layout, partition, str(path)), found.name))
    return inputs


def _table_layout(source: LogSource, given: dict[str, str], partition: str) -> Layout:
    names = list(source.table.column_names)
    roles = find_roles("the table", names, given)
    values = source.table[roles["time"]].slice(0, 100).to_pylist() if "time" in roles else ()
    return _with_partition(Layout("parquet", roles, tuple(names), time=time_style(values)), partition, "the table")


def _with_partition(layout: Layout, column: str, where: str) -> Layout:
    """Add the column by which the log is cut to the roles."""
    if not column:
        return layout
    if layout.columns and column not in layout.columns:
        raise LogError(
            f"{where}: there is no column {column!r} to partition by; there are {', '.join(layout.columns)}."
        )
    if layout.shape == "lines":
        raise LogError(f"{where}: a log of baskets has no columns to partition by; leave --partition-by out.")
    return Layout(
        layout.shape, {**layout.roles, "part": column}, layout.columns, layout.delimiter, layout.quote,
        layout.header, layout.time,
    )  # fmt: skip


def expand(paths: Sequence[Path]) -> list[Path]:
    """Return the files that paths and glob patterns stand for, patterns in sorted order."""
    files: list[Path] = []
    for path in paths:
        if glob.has_magic(str(path)) and not path.exists():
            matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207  (the pattern may be absolute)
            if not matches:
                raise LogError(f"no file matches {path}; check the pattern.")
            files += [Path(match) for match in matches]
        else:
            files.append(path)
    if not files:
        raise LogError("no log is given; name at least one file.")
    return files
