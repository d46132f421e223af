"""Reads the files of a log into one data frame of texts: person, query, and those of time, rank, url, part it has."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from queryveil.core.errors import LogError
from queryveil.engines import LogSource
from queryveil.engines.spark.storage import Storage
from queryveil.logs.files import SAMPLE_BYTES, Sample
from queryveil.logs.formats import find_format
from queryveil.logs.layout import Layout, find_roles, time_style, with_partition

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

ROLES = ("person", "query", "time", "rank", "url", "part")
_SAMPLED_TIMES = 100
_BAD = "_bad"  # the column in which Spark puts a line that it could not parse
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class RawLog:
    """The rows of a log before cleaning."""

    frame: "DataFrame"  # a column of texts per role; all are NULL for a line that could not be parsed
    layout: Layout  # of `frame`, for the local engine
    format: str
    has_single_terms: bool


def read_log(spark: "SparkSession", source: LogSource) -> RawLog:
    """Read the files of a log; folders named COLUMN=VALUE add a column, as usual with Spark."""
    if not source.uris:
        raise LogError("no log is given; name at least one file or folder.")
    if not source.reading.is_utf8:
        raise LogError("--encoding goes with --engine local; convert the files to UTF-8 for --engine spark.")
    storage = Storage(spark)
    first = next(iter(storage.files(source.uris[0])), None)
    if first is None:
        raise LogError(f"{source.uris[0]} is a folder without files; check the path.")
    data = storage.head(first, SAMPLE_BYTES)
    if data.startswith(b"PAR1"):
        return _read_parquet(spark, source)
    sample = _sample(first, data)
    roles = source.reading.column_roles()
    found = find_format(sample, source.reading.format, roles)
    if found.layout is None:
        raise LogError(f"{first}: --engine spark reads no log of baskets; use --engine local, or write it as a table.")
    layout = with_partition(found.layout(sample, roles), source.cleaning.partition_by, first)
    if layout.shape != "json":
        return _select_roles(_read_lines(spark, source, layout), layout, found.name, source)
    # a line that is not JSON, or lacks the keys, gives a row of NULLs
    frame = spark.read.json(
        list(source.uris), schema=_schema(layout.columns), mode="PERMISSIVE", columnNameOfCorruptRecord=_BAD
    )
    return _select_roles(frame, layout, found.name, source)


def _sample(uri: str, data: bytes) -> Sample:
    """Return the decompressed beginning of a text file."""
    if data.startswith(_GZIP):
        data = zlib.decompressobj(wbits=31).decompress(data, SAMPLE_BYTES)
    if not data.strip():
        raise LogError(f"{uri} is empty; give a log with at least one line.")
    if b"\x00" in data:
        raise LogError(f"{uri} holds NUL bytes, so it is not UTF-8 text; convert it to UTF-8 text or Parquet.")
    return Sample(Path(uri), data)


def _read_parquet(spark: "SparkSession", source: LogSource) -> RawLog:
    frame = spark.read.parquet(*source.uris)
    where = source.uris[0]
    roles = find_roles(where, frame.columns, source.reading.column_roles(), shown=True)
    layout = with_partition(Layout("parquet", roles, tuple(frame.columns)), source.cleaning.partition_by, where)
    time = roles.get("time")
    if time is not None and frame.schema[time].dataType.typeName() in ("timestamp", "timestamp_ntz", "date"):
        layout = replace(layout, time="stored")
    elif time is not None:
        first = frame.select(frame[time].cast("string")).dropna().limit(_SAMPLED_TIMES).collect()
        layout = replace(layout, time=time_style(row[0] for row in first))
    return _select_roles(frame, layout, "table", source)


def _read_lines(spark: "SparkSession", source: LogSource, layout: Layout) -> "DataFrame":
    """Read delimited lines; those with too few or too many fields are bad."""
    # with column pruning Spark would not notice lines with too few or too many fields
    return spark.read.option("columnPruning", "false").csv(
        list(source.uris),
        schema=_schema(layout.columns),
        sep=layout.delimiter,
        quote=layout.quote,
        escape=layout.quote or "\\",
        header=layout.header,
        mode="PERMISSIVE",
        columnNameOfCorruptRecord=_BAD,
        enforceSchema=True,
        nullValue=None,
        emptyValue="",
    )


def _schema(names: Sequence[str]) -> str:
    """Return a schema of texts; column names are quoted, since they may contain any character."""
    columns = [f"`{name.replace('`', '``')}` STRING" for name in names]
    return ", ".join([*columns, f"{_BAD} STRING"])


def _select_roles(frame: "DataFrame", layout: Layout, name: str, source: LogSource) -> RawLog:
    """Select the columns of the roles, as texts except for stored times."""
    roles = [role for role in ROLES if role in layout.roles and role not in source.unwanted_roles]
    columns = [_column(frame, layout, role).alias(role) for role in roles]
    selected = Layout("parquet", {role: role for role in roles}, tuple(roles), time=layout.time)
    return RawLog(frame.select(*columns), selected, name, layout.roles["query"].lower() == "term")


def _column(frame: "DataFrame", layout: Layout, role: str) -> "Column":
    from pyspark.sql import functions as f

    value = frame[f"`{layout.roles[role].replace('`', '``')}`"]
    if role == "time" and layout.time == "stored":
        return value.cast("timestamp_ntz")
    text = value.cast("string")
    if role == "person" and _BAD in frame.columns:
        return f.when(frame[_BAD].isNull(), text)
    return text
