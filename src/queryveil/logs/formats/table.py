"""Any table with a user and a query column: CSV, TSV, JSON lines or Parquet."""

import csv
from collections.abc import Iterable, Mapping, Sequence

from queryveil.errors import LogError
from queryveil.logs.formats.base import Format, Layout
from queryveil.logs.formats.times import time_style
from queryveil.logs.formats.ubi import json_records
from queryveil.logs.sample import Sample
from queryveil.spec import nearest

DELIMITERS = (",", "\t", ";", "|")
# What a column is called when nobody says: the first of these that the table has.
USUAL_NAMES = {
    "person": ("user", "user_id", "userid", "anonid", "client_id", "person", "uid"),
    "query": ("query", "user_query", "q", "keywords", "search", "term", "terms"),
    "time": ("time", "timestamp", "querytime", "query_time", "datetime", "date", "ts"),
    "rank": ("rank", "itemrank", "position"),
    "url": ("url", "clickurl", "click_url"),
}


def recognise(sample: Sample) -> bool:
    """Look for Parquet, JSON objects, or a header that names a user and a query."""
    if sample.is_parquet or json_records(sample):
        return True
    roles = _usual_roles(_header(sample)[1])
    return "person" in roles and "query" in roles


def layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Find the columns by the names given, else by their usual names."""
    if sample.is_parquet:
        names = parquet_columns(sample)
        return Layout("parquet", find_roles(str(sample.path), names, columns), tuple(names), time="iso")
    records = json_records(sample)
    if records:
        keys = list(dict.fromkeys(key for record in records for key in record))
        roles = find_roles(str(sample.path), keys, columns)
        times = (record.get(roles["time"]) for record in records) if "time" in roles else ()
        return Layout("json", roles, time=time_style(times))
    delimiter, names = _header(sample)
    roles = find_roles(f"{sample.path}, line 1", names, columns)
    rows = csv.reader(sample.lines[1:], delimiter=delimiter)
    place = names.index(roles["time"]) if "time" in roles else len(names)
    style = time_style(row[place] for row in rows if len(row) > place)
    return Layout("delimited", roles, tuple(names), delimiter=delimiter, quote='"', header=True, time=style)


def parquet_columns(sample: Sample) -> list[str]:
    """Return the column names of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(sample.path).names)
    except (pa.ArrowException, OSError):
        raise LogError(f"{sample.path} is a truncated or damaged Parquet file; write it again.") from None


def find_roles(where: str, names: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return role → column; a user and a query are required."""
    roles = _usual_roles(names)
    for role, column in given.items():
        if column not in names:
            raise LogError(f"{where}: there is no column {column!r} for {role}; {nearest(column, names)}.")
        roles["person" if role == "user" else role] = column
    for role, word in (("person", "user"), ("query", "query")):
        if role not in roles:
            raise LogError(
                f"{where}: no {word} column among {len(names)} ({', '.join(names[:8])}); "
                f"name it with --columns {word}=COLUMN, or check the delimiter."
            )
    return roles


def _usual_roles(names: Iterable[str]) -> dict[str, str]:
    by_lower = {name.strip().lower(): name for name in names}
    found = {}
    for role, usual in USUAL_NAMES.items():
        column = next((by_lower[name] for name in usual if name in by_lower), None)
        if column is not None:
            found[role] = column
    return found


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
