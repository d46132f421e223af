"""From the files of a log to one table `raw`: person, query, and time, rank, url, part where there are any."""

from pathlib import Path

import duckdb
import pyarrow as pa

from queryveil.engines.local.connection import MAX_LINE_BYTES, careful
from queryveil.errors import LogError
from queryveil.logs.formats import Layout
from queryveil.logs.options import Reading

TYPES = {
    "person": "VARCHAR",
    "query": "VARCHAR",
    "time": "TIMESTAMP",
    "rank": "VARCHAR",
    "url": "VARCHAR",
    "part": "VARCHAR",
}
# More bad lines than this are not recorded one by one.
_RECORDED = 1_000_000
_FAULTS = {
    "MISSING COLUMNS": "too few columns",
    "TOO MANY COLUMNS": "too many columns",
    "INVALID ENCODING": "bytes that are not UTF-8",
    "CAST": "a time that cannot be read",
    "UNQUOTED VALUE": "a quote that is not closed",
    "LINE SIZE OVER MAXIMUM": "a line that is too long",
}
_NO_USER = "no user, or a time or record that cannot be read"
_PARSED_TIMES = {
    "iso": "try_cast({0} AS TIMESTAMP)",
    "excite": "try_strptime({0}, '%y%m%d%H%M%S')",
    "seconds": "make_timestamp((try_cast({0} AS DOUBLE) * 1000000)::BIGINT)",
    "milliseconds": "make_timestamp((try_cast({0} AS DOUBLE) * 1000)::BIGINT)",
}


def create_raw(database: duckdb.DuckDBPyConnection, columns: tuple[str, ...]) -> None:
    """Make the empty table that the files are read into."""
    database.execute(f"CREATE TABLE raw ({', '.join(f'{name} {TYPES[name]}' for name in columns)})")


def read_file(
    database: duckdb.DuckDBPyConnection, path: Path, layout: Layout, reading: Reading, columns: tuple[str, ...]
) -> int:
    """Append the rows of one file to `raw`; return how many bad lines were left out, or refuse the file."""
    with careful(str(path)):
        start = count(database, "SELECT count(*) FROM raw")
        database.execute("DROP TABLE IF EXISTS bad_lines; DROP TABLE IF EXISTS bad_scans")
        database.execute(f"INSERT INTO raw {_select(path, layout, columns)}")
        rejected = _rejected_lines(database) if layout.shape != "parquet" else []
        return _settle(database, path, layout, reading, start, rejected)


def read_table(
    database: duckdb.DuckDBPyConnection, table: pa.Table, layout: Layout, reading: Reading, columns: tuple[str, ...]
) -> int:
    """Append the rows of an Arrow table to `raw`; return how many bad rows were left out."""
    with careful("the table"):
        database.register("given", table)
        database.execute(f"INSERT INTO raw {_select_columns('given', layout, columns)}")
        database.unregister("given")
        return _settle(database, Path("the table"), layout, reading, 0, [])


def _settle(
    database: duckdb.DuckDBPyConnection,
    path: Path,
    layout: Layout,
    reading: Reading,
    start: int,
    rejected: list[tuple[int, int, str]],
) -> int:
    """Count the bad lines of a file, refuse it if they are too many, and take the bad rows out of `raw`."""
    new_rows = f"rowid >= {start}"
    n_rows = count(database, f"SELECT count(*) FROM raw WHERE {new_rows}")
    n_unusable = count(database, f"SELECT count(*) FROM raw WHERE {new_rows} AND person IS NULL")
    n_bad = sum(lines for _, lines, _ in rejected) + n_unusable
    n_all = n_rows + n_bad - n_unusable
    allowed = reading.allowed_bad_lines(n_all)
    if n_bad > allowed:
        line, fault = _first_fault(database, layout, start, rejected)
        raise LogError(
            f"{path}: {n_bad:,} of {n_all:,} lines are bad and {allowed:,} may be; the first is line {line} "
            f"({fault}); mend the file, check --format and --columns, or raise --max-bad-lines."
        )
    if n_rows == 0:
        raise LogError(f"{path} has no rows; give a log with at least one query.")
    if count(database, f"SELECT count(*) FROM raw WHERE {new_rows} AND contains(query, chr(0))"):
        raise LogError(f"{path} holds NUL bytes, so it is not a text log; mend or convert it.")
    if n_unusable:
        database.execute(f"DELETE FROM raw WHERE {new_rows} AND person IS NULL")
    return n_bad


def _first_fault(
    database: duckdb.DuckDBPyConnection, layout: Layout, start: int, rejected: list[tuple[int, int, str]]
) -> tuple[int, str]:
    """Return the line number and the fault of the first bad line."""
    first_rejected = min((line for line, _, _ in rejected), default=None)
    unusable = f"FROM raw WHERE rowid >= {start} AND person IS NULL"
    if count(database, f"SELECT count(*) {unusable}"):
        line = count(database, f"SELECT min(rowid) {unusable}") - start + 1 + int(layout.header)
        for rejected_line, lines, _ in rejected:  # lines that gave no row stand before it
            line += lines if rejected_line <= line else 0
        if first_rejected is None or line < first_rejected:
            return line, _NO_USER
    line, _, fault = rejected[0]
    return line, fault


def _rejected_lines(database: duckdb.DuckDBPyConnection) -> list[tuple[int, int, str]]:
    """Return line, number of lines and fault of what the reader left out.

    A quote that is never closed swallows the lines after it, so the line breaks inside count too.
    """
    rows = database.execute(
        "SELECT line, 1 + max(length(csv_line) - length(replace(csv_line, chr(10), ''))), min(error_type::VARCHAR)"
        " FROM bad_lines GROUP BY line ORDER BY line"
    ).fetchall()
    database.execute("DROP TABLE bad_lines; DROP TABLE bad_scans")
    return [(int(line), int(lines), _FAULTS.get(str(kind), "a malformed line")) for line, lines, kind in rows]


def _select(path: Path, layout: Layout, columns: tuple[str, ...]) -> str:
    place = literal(str(path))
    if layout.shape == "parquet":
        return _select_columns(f"read_parquet({place})", layout, columns)
    if layout.shape == "delimited":
        typed = dict.fromkeys(layout.columns, "VARCHAR")
        if "time" in layout.roles and layout.time in ("iso", "excite"):
            typed[layout.roles["time"]] = "TIMESTAMP"
        return _select_columns(_read_csv(place, layout, typed), layout, columns)
    lines = _read_csv(place, Layout("lines", {}, delimiter="\x01\x02\x03"), {"line": "VARCHAR"})
    if layout.shape == "lines":
        return f"SELECT {_line_columns(columns)} FROM {lines} WHERE trim(line) <> ''"
    parsed = f"(SELECT CASE WHEN json_valid(line) THEN line END AS record FROM {lines} WHERE trim(line) <> '')"
    return f"SELECT {', '.join(_json_column(name, layout) for name in columns)} FROM {parsed}"


def _read_csv(place: str, layout: Layout, typed: dict[str, str]) -> str:
    names = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in typed.items())
    quote = literal(layout.quote)
    style = ", timestampformat='%y%m%d%H%M%S'" if layout.time == "excite" else ""
    return (
        f"read_csv({place}, auto_detect=false, delim={literal(layout.delimiter)}, quote={quote}, escape={quote}, "
        f"header={str(layout.header).lower()}, columns={{{names}}}, ignore_errors=true, store_rejects=true, "
        f"rejects_table='bad_lines', rejects_scan='bad_scans', rejects_limit={_RECORDED}, "
        f"max_line_size={MAX_LINE_BYTES}{style})"
    )


def _select_columns(source: str, layout: Layout, columns: tuple[str, ...]) -> str:
    return f"SELECT {', '.join(_column(name, layout) for name in columns)} FROM {source}"


def _column(name: str, layout: Layout) -> str:
    column = identifier(layout.roles[name])
    if name == "person":
        unreadable = _unreadable_time(identifier(layout.roles["time"]), layout) if "time" in layout.roles else ""
        text = f"nullif(trim({column}::VARCHAR), '')"
        return f"CASE WHEN {unreadable} THEN NULL ELSE {text} END" if unreadable else text
    if name == "time":
        return _time(column, layout)
    return f"coalesce({column}::VARCHAR, '')" if name == "query" else f"{column}::VARCHAR"


def _json_column(name: str, layout: Layout) -> str:
    value = f"json_extract_string(record, {literal('$.' + _json_key(layout.roles[name]))})"
    if name == "person":
        if "time" not in layout.roles:
            return f"nullif(trim({value}), '')"
        time = f"json_extract_string(record, {literal('$.' + _json_key(layout.roles['time']))})"
        return f"CASE WHEN {_unreadable_time(time, layout)} THEN NULL ELSE nullif(trim({value}), '') END"
    if name == "time":
        return _PARSED_TIMES[layout.time].format(value)
    return f"coalesce({value}, '')" if name == "query" else value


def _json_key(key: str) -> str:
    return '"' + key.replace('"', '\\"') + '"'


def _line_columns(columns: tuple[str, ...]) -> str:
    """Return the columns of a basket: each line is its own person, named by its number."""
    parts = {"person": "(row_number() OVER ())::VARCHAR", "query": "line"}
    return ", ".join(parts[name] for name in columns)


def _time(column: str, layout: Layout) -> str:
    if layout.shape == "delimited" and layout.time in ("iso", "excite"):
        return column  # the reader has parsed it, and rejected the lines where it could not
    return _PARSED_TIMES[layout.time].format(f"{column}::VARCHAR")


def _unreadable_time(column: str, layout: Layout) -> str:
    if layout.shape == "delimited" and layout.time in ("iso", "excite"):
        return ""
    text = f"{column}::VARCHAR"
    return f"(nullif(trim({text}), '') IS NOT NULL AND {_PARSED_TIMES[layout.time].format(text)} IS NULL)"


def count(database: duckdb.DuckDBPyConnection, sql: str) -> int:
    """Return the one number that a query gives."""
    return int(database.execute(sql).fetchall()[0][0])


def literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a column's name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
