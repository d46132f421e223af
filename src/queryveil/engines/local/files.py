"""The files of a log, the layout of each, and the SQL that selects person, query, time, rank, url and part from one."""

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from queryveil.core.errors import LogError
from queryveil.engines import LogSource
from queryveil.engines.local.connection import MAX_LINE_BYTES
from queryveil.logs.files import Compression, take_sample
from queryveil.logs.formats import find_format
from queryveil.logs.formats.table import arrow_layout
from queryveil.logs.layout import Layout, with_partition

_MAX_RECORDED = 1_000_000  # bad lines beyond this are counted, but not recorded one by one
_LARGEST_BUFFER = 32_000_000  # several threads share a buffer
_EPOCH = "TRY(make_timestamp(round(try_cast({{0}} AS DOUBLE) * {0})::BIGINT))"
_PARSED_TIMES = {
    "iso": "try_cast({0} AS TIMESTAMP)",
    "offset": "try_cast({0} AS TIMESTAMPTZ)::TIMESTAMP",
    "excite": "try_strptime({0}, '%y%m%d%H%M%S')",
    "seconds": _EPOCH.format("1000000"),
    "milliseconds": _EPOCH.format("1000"),
    "microseconds": _EPOCH.format("1"),
    "nanoseconds": _EPOCH.format("0.001"),
}
MEMORY_TABLE = "memory_table"  # the name under which a log that is a table is registered
# time formats that DuckDB's reader of delimited files parses, rejecting lines where it cannot
_READER_TIMES = {"iso": "TIMESTAMP", "offset": "TIMESTAMPTZ", "excite": "TIMESTAMP"}


@dataclass(frozen=True)
class LogFile:
    """One file of a log, or a table in memory, and its layout."""

    name: str  # of the file, for messages
    layout: Layout
    format: str
    path: Path = Path()  # the file to read, or a copy of it with uniform line ends
    compression: Compression = "none"
    n_blank_lines: int = 0  # before the header
    in_memory: bool = False


def find_files(source: LogSource) -> list[LogFile]:
    """Return every file of a log, or its table, with its layout."""
    roles, partition = source.reading.column_roles(), source.cleaning.partition_by
    if source.table is not None:
        layout = with_partition(arrow_layout(source.table, roles), partition, "the table")
        return [LogFile("the table", layout, "table", in_memory=True)]
    files: list[LogFile] = []
    for path in expand_paths(source.paths):
        sample = take_sample(path, "" if source.reading.is_utf8 else source.reading.encoding)
        found = find_format(sample, source.reading.format, roles)
        layout = found.layout(sample, roles) if found.layout else Layout("lines", {})
        layout = with_partition(layout, partition, str(path))
        files.append(LogFile(str(path), layout, found.name, path, sample.compression, sample.n_blank_lines))
    timed = [each for each in files if "time" in each.layout.roles]
    if 0 < len(timed) < len(files):
        without = next(each for each in files if "time" not in each.layout.roles)
        raise LogError(
            f"{without.name} has no time column and {timed[0].name} has one; name it with --columns time=COLUMN, "
            "or read the files as two logs."
        )
    return files


def expand_paths(paths: Sequence[Path]) -> list[Path]:
    """Return the files of paths and glob patterns, those of a pattern sorted."""
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


def rows_sql(file: LogFile, columns: tuple[str, ...], *, first_person: int = 0, memory_bytes: int = 0) -> str:
    """Return SQL that reads a file into the columns of `raw`; an unusable record gets the person NULL."""
    layout = file.layout
    if layout.shape == "parquet":
        source = parquet_sql(file)
    elif layout.shape == "delimited":
        types = ["VARCHAR"] * len(layout.columns)
        if "time" in layout.roles and layout.time in _READER_TIMES:
            types[layout.columns.index(layout.roles["time"])] = _READER_TIMES[layout.time]
        source = _csv_sql(file, layout, types, memory_bytes)
    else:
        lines = _csv_sql(file, Layout("lines", {}, delimiter="\x01\x02\x03"), ["VARCHAR"], memory_bytes)
        if layout.shape == "lines":  # every basket is a person of its own, named by its number in the log
            parts = {"person": f"({first_person} + row_number() OVER ())::VARCHAR", "query": "c0"}
            return f"SELECT {', '.join(parts[name] for name in columns)} FROM {lines} WHERE trim(c0) <> ''"
        source = f"(SELECT CASE WHEN json_valid(c0) THEN c0 END AS record FROM {lines} WHERE trim(c0) <> '')"
    found, _ = column_expressions(layout)
    return f"SELECT {', '.join(found[name] for name in columns)} FROM {source}"


def line_breaks_sql(file: LogFile, memory_bytes: int) -> str:
    """Return SQL that counts the line breaks inside the fields of a delimited file; consecutive ones count once."""
    n_columns = len(file.layout.columns)
    source = _csv_sql(file, file.layout, ["VARCHAR"] * n_columns, memory_bytes, recorded=False)
    runs = (f"coalesce(len(regexp_extract_all(c{i}, '[\\r\\n]*\\n')), 0)" for i in range(n_columns))
    return f"SELECT coalesce(sum({' + '.join(runs)}), 0) FROM {source}"


def parquet_sql(file: LogFile) -> str:
    """Return the call of DuckDB's Parquet reader, or the name of the table in memory."""
    if file.in_memory:
        return MEMORY_TABLE
    return f"read_parquet({sql_literal(glob.escape(str(file.path)))}, binary_as_string=true)"


def _csv_sql(file: LogFile, layout: Layout, types: list[str], memory_bytes: int, *, recorded: bool = True) -> str:
    """Return the call of DuckDB's CSV reader; only its strict mode reports lines with too many columns.

    Columns are named c0, c1, …, because the names in a header may repeat or be empty.
    """
    names = ", ".join(f"'c{number}': '{type_}'" for number, type_ in enumerate(types))
    quote = sql_literal(layout.quote)
    buffer = min(_LARGEST_BUFFER, max(2 * MAX_LINE_BYTES, memory_bytes // 16))
    options = [
        f"delim={sql_literal(layout.delimiter)}, quote={quote}, escape={quote}, columns={{{names}}}",
        f"header={str(layout.header).lower()}, skip={file.n_blank_lines}",
        f"compression={sql_literal(file.compression)}, max_line_size={MAX_LINE_BYTES}, buffer_size={buffer}",
        "auto_detect=false, ignore_errors=true, strict_mode=true",
    ]
    if recorded:
        options.append(f"store_rejects=true, rejects_table='bad_lines', rejects_limit={_MAX_RECORDED}")
        options.append("rejects_scan='bad_scans'")
    if layout.time == "excite":
        options.append("timestampformat='%y%m%d%H%M%S'")
    return f"read_csv({sql_literal(glob.escape(str(file.path)))}, {', '.join(options)})"


def column_expressions(layout: Layout) -> tuple[dict[str, str], str]:
    """Return the SQL of every role's value, and a condition for records whose time cannot be parsed.

    The condition is empty where there is no time, or where the reader parses it.
    """
    values: dict[str, str] = {}  # role → its value as it is in the file
    for role, column in layout.roles.items():
        if layout.shape == "json":
            key = column.replace("\\", "\\\\").replace('"', '\\"')
            path = f'$."{key}"'
            values[role] = f"json_extract_string(record, {sql_literal(path)})"
        elif layout.shape == "delimited":
            values[role] = f"c{layout.columns.index(column)}"
        else:
            values[role] = '"' + column.replace('"', '""') + '"'
    texts = {role: f"{value}::VARCHAR" for role, value in values.items()}
    person, unreadable = f"nullif(trim({texts['person']}), '')", ""
    found = texts | {"query": f"coalesce({texts['query']}, '')"}
    if "time" in texts:
        if layout.time == "stored" or (layout.shape == "delimited" and layout.time in _READER_TIMES):
            found["time"] = f"{values['time']}::TIMESTAMP"
        else:
            found["time"] = _PARSED_TIMES[layout.time].format(texts["time"])
            unreadable = f"(nullif(trim({texts['time']}), '') IS NOT NULL AND {found['time']} IS NULL)"
    found["person"] = f"CASE WHEN {unreadable} THEN NULL ELSE {person} END" if unreadable else person
    return found, unreadable


def sql_literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
