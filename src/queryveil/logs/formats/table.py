"""Any table with a user and a query column: CSV, TSV, JSON lines or Parquet."""

import csv
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from queryveil.core.errors import LogError
from queryveil.logs.files import Sample
from queryveil.logs.layout import Format, Layout, TimeStyle, find_roles, time_style, usual_roles

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

DELIMITERS = (",", "\t", ";", "|")
_INSPECTED_TIMES = 100


def recognise(sample: Sample) -> bool:
    """Return whether the file is Parquet, has JSON objects, or a header that names a user and a query."""
    if sample.is_parquet or sample.json_objects:
        return True
    roles = usual_roles(_header(sample)[1])
    return "person" in roles and "query" in roles


def layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the layout; columns are found by the names given, else by usual names."""
    if sample.is_parquet:
        return _parquet_layout(sample, columns)
    if sample.json_objects:
        return json_layout(sample, columns)
    delimiter, names = _header(sample)
    roles = find_roles(f"{sample.path}, line 1", names, columns)
    # Quotes have no meaning if some field between tabs begins with a quote and does not end with one
    fields = (field for line in sample.lines for field in line.split("\t") if field.startswith('"'))
    has_stray_quotes = any(len(field) == 1 or not field.endswith('"') for field in fields)
    quote = "" if delimiter == "\t" and has_stray_quotes else '"'
    rows = csv.reader(sample.lines[1:], delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE)
    place = names.index(roles["time"]) if "time" in roles else len(names)
    style = time_style(row[place] for row in rows if len(row) > place)
    return Layout("delimited", roles, tuple(names), delimiter=delimiter, quote=quote, header=True, time=style)


def json_layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the layout of JSON lines."""
    roles = find_roles(str(sample.path), sample.json_keys, columns)
    times = (record.get(roles["time"]) for record in sample.json_objects) if "time" in roles else ()
    return Layout("json", roles, sample.json_keys, time=time_style(times))


@contextmanager
def parquet_file(path: Path) -> "Iterator[pq.ParquetFile]":
    """Open a Parquet file, or raise if it is damaged, here or while it is read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError):
        raise LogError(f"{path} is a truncated or damaged Parquet file; write it again.") from None


def _parquet_layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    with parquet_file(sample.path) as file:

        def chunks(name: str) -> "Iterator[pa.Array]":
            return (batch[0] for batch in file.iter_batches(_INSPECTED_TIMES, columns=[name]))

        return _typed_layout(str(sample.path), file.schema_arrow, chunks, columns)


def arrow_layout(table: "pa.Table", columns: Mapping[str, str]) -> Layout:
    """Return the layout of a table in memory."""
    return _typed_layout("the table", table.schema, lambda name: iter(table[name].chunks), columns)


def _typed_layout(
    where: str, schema: "pa.Schema", chunks: "Callable[[str], Iterator[pa.Array]]", columns: Mapping[str, str]
) -> Layout:
    """Return the layout of typed columns; the first values decide how times without a time type are written."""
    import pyarrow as pa

    roles = find_roles(where, schema.names, columns, shown=True)
    style: TimeStyle = "none"
    if "time" in roles:
        kind, parts = schema.field(roles["time"]).type, chunks(roles["time"])
        values = (value for part in parts for value in part.drop_null().slice(0, _INSPECTED_TIMES).to_pylist())
        is_time = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
        style = "stored" if is_time else time_style(islice(values, _INSPECTED_TIMES))
    return Layout("parquet", roles, tuple(schema.names), time=style)


def _header(sample: Sample) -> tuple[str, list[str]]:
    """Return the most frequent delimiter of the first line, and the names in that line."""
    first = sample.lines[0] if sample.lines else ""
    delimiter = max(DELIMITERS, key=first.count)
    return delimiter, next(csv.reader([first], delimiter=delimiter), [])


TABLE = Format(
    name="table",
    purpose="CSV, TSV, JSON lines or Parquet with a user and a query column, which --columns can name",
    recognise=recognise,
    layout=layout,
)
