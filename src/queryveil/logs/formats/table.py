"""Any table with a user and a query column: CSV, TSV, JSON lines or Parquet."""

import csv
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from queryveil.core.errors import LogError
from queryveil.logs.formats.base import Format, Layout, TimeStyle
from queryveil.logs.formats.columns import find_roles, usual_roles
from queryveil.logs.formats.json_lines import json_keys, json_records
from queryveil.logs.formats.times import time_style
from queryveil.logs.sample import Sample

if TYPE_CHECKING:
    import pyarrow as pa

DELIMITERS = (",", "\t", ";", "|")
_LOOKED_AT = 100


def recognise(sample: Sample) -> bool:
    """Look for Parquet, JSON objects, or a header that names a user and a query."""
    if sample.is_parquet or json_records(sample):
        return True
    roles = usual_roles(_header(sample)[1])
    return "person" in roles and "query" in roles


def layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Find the columns by the names given, else by their usual names."""
    if sample.is_parquet:
        return _parquet_layout(sample, columns)
    records = json_records(sample)
    if records:
        keys = json_keys(records)
        roles = find_roles(str(sample.path), keys, columns)
        times = (record.get(roles["time"]) for record in records) if "time" in roles else ()
        return Layout("json", roles, keys, time=time_style(times))
    delimiter, names = _header(sample)
    roles = find_roles(f"{sample.path}, line 1", names, columns)
    quote = "" if delimiter == "\t" and _has_stray_quotes(sample) else '"'
    rows = csv.reader(sample.lines[1:], delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE)
    place = names.index(roles["time"]) if "time" in roles else len(names)
    style = time_style(row[place] for row in rows if len(row) > place)
    return Layout("delimited", roles, tuple(names), delimiter=delimiter, quote=quote, header=True, time=style)


def _parquet_layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(sample.path) as file:
            names = file.schema_arrow.names
            roles = find_roles(str(sample.path), names, columns, shown=True)
            style: TimeStyle = "none"
            if "time" in roles:
                batches = file.iter_batches(_LOOKED_AT, columns=[roles["time"]])
                style = stored_style(file.schema_arrow.field(roles["time"]).type, (batch[0] for batch in batches))
    except (pa.ArrowException, OSError):
        raise LogError(f"{sample.path} is a truncated or damaged Parquet file; write it again.") from None
    return Layout("parquet", roles, tuple(names), time=style)


def arrow_layout(table: "pa.Table", columns: Mapping[str, str]) -> Layout:
    """Return the layout of a table in memory."""
    roles = find_roles("the table", table.column_names, columns, shown=True)
    style: TimeStyle = "none"
    if "time" in roles:
        times = table[roles["time"]]
        style = stored_style(times.type, iter(times.chunks))
    return Layout("parquet", roles, tuple(table.column_names), time=style)


def stored_style(kind: "pa.DataType", chunks: "Iterator[pa.Array]") -> TimeStyle:
    """Return the style of a typed column: stored as times, else as its first values that are there tell."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "stored"
    values = (value for chunk in chunks for value in chunk.drop_null().slice(0, _LOOKED_AT).to_pylist())
    return time_style(islice(values, _LOOKED_AT))


def _has_stray_quotes(sample: Sample) -> bool:
    """Say whether quotes are text: fields between tabs that begin with one and do not end with one."""
    fields = (field for line in sample.lines for field in line.split("\t"))
    return any(field.startswith('"') and (len(field) == 1 or not field.endswith('"')) for field in fields)


def _header(sample: Sample) -> tuple[str, list[str]]:
    """Return the delimiter, the one that the first line holds most, and the names in that line."""
    first = sample.lines[0] if sample.lines else ""
    delimiter = max(DELIMITERS, key=first.count)
    return delimiter, next(csv.reader([first], delimiter=delimiter), [])


TABLE = Format(
    name="table",
    purpose="CSV, TSV, JSON lines or Parquet with a user and a query column, which --columns can name",
    recognise=recognise,
    layout=layout,
)
