"""The SQL that selects person, query, time, rank, url and part from one file or table."""

import glob
from dataclasses import dataclass
from pathlib import Path

from queryveil.engines.local.connection import MAX_LINE_BYTES
from queryveil.logs.formats import Layout
from queryveil.logs.lines import Compression

# More bad lines than this are not recorded one by one.
_RECORDED = 1_000_000
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
# Times that the reader of delimited files parses by itself, rejecting the lines where it cannot.
_READER_TIMES = {"iso": "TIMESTAMP", "offset": "TIMESTAMPTZ", "excite": "TIMESTAMP"}


@dataclass(frozen=True)
class Input:
    """One file of a log, or a table in memory, and how it is laid out."""

    path: Path
    layout: Layout
    format: str
    compression: Compression = "none"
    n_blank_lines: int = 0  # before the header
    in_memory: bool = False
    copy: Path | None = None  # the file's copy with even line ends, where one was needed

    @property
    def place(self) -> tuple[Path, Compression]:
        """Where to read, and how that is compressed."""
        return (self.path, self.compression) if self.copy is None else (self.copy, "none")


def select(given: Input, columns: tuple[str, ...], *, first_person: int = 0, memory_bytes: int = 0) -> str:
    """Return SQL that reads a file into the columns of `raw`; the person of an unusable record is NULL."""
    layout = given.layout
    if layout.shape == "parquet":
        return select_columns(read_parquet(given), layout, columns)
    if layout.shape == "delimited":
        kinds = ["VARCHAR"] * len(layout.columns)
        if "time" in layout.roles and layout.time in _READER_TIMES:
            kinds[layout.columns.index(layout.roles["time"])] = _READER_TIMES[layout.time]
        source = _read_csv(given, layout, _numbered(kinds), memory_bytes)
        return select_columns(source, layout, columns)
    lines = _read_csv(given, Layout("lines", {}, delimiter="\x01\x02\x03"), {"line": "VARCHAR"}, memory_bytes)
    if layout.shape == "lines":
        return f"SELECT {_line_columns(columns, first_person)} FROM {lines} WHERE trim(line) <> ''"
    parsed = f"(SELECT CASE WHEN json_valid(line) THEN line END AS record FROM {lines} WHERE trim(line) <> '')"
    return select_columns(parsed, layout, columns)


def select_breaks(given: Input, memory_bytes: int) -> str:
    """Return SQL that counts the line breaks inside the fields of a delimited file, a run of them as one."""
    typed = _numbered(["VARCHAR"] * len(given.layout.columns))
    source = _read_csv(given, given.layout, typed, memory_bytes, recorded=False)
    runs = (f"coalesce(len(regexp_extract_all({name}, '[\\r\\n]*\\n')), 0)" for name in typed)
    return f"SELECT coalesce(sum({' + '.join(runs)}), 0) FROM {source}"


def _numbered(kinds: list[str]) -> dict[str, str]:
    """Return column → type; the names of a header may repeat or be empty, so columns are numbered."""
    return {f"c{number}": kind for number, kind in enumerate(kinds)}


def read_parquet(given: Input) -> str:
    """Return the call of DuckDB's reader of Parquet files."""
    return f"read_parquet({_quoted(given.path)}, binary_as_string=true)"


def select_columns(source: str, layout: Layout, columns: tuple[str, ...]) -> str:
    """Return SQL that takes the columns of `raw` from a relation."""
    return f"SELECT {', '.join(_column(name, layout) for name in columns)} FROM {source}"


def _quoted(path: Path) -> str:
    return literal(glob.escape(str(path)))


def _read_csv(given: Input, layout: Layout, typed: dict[str, str], memory_bytes: int, *, recorded: bool = True) -> str:
    """Return the call of DuckDB's reader of delimited files; only its strict mode tells lines of too many columns."""
    names = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in typed.items())
    quote = literal(layout.quote)
    buffer = min(_LARGEST_BUFFER, max(2 * MAX_LINE_BYTES, memory_bytes // 16))
    options = [
        f"delim={literal(layout.delimiter)}, quote={quote}, escape={quote}, columns={{{names}}}",
        f"header={str(layout.header).lower()}, skip={given.n_blank_lines}",
        f"compression={literal(given.place[1])}, max_line_size={MAX_LINE_BYTES}, buffer_size={buffer}",
        "auto_detect=false, ignore_errors=true, strict_mode=true",
    ]
    if recorded:
        options.append(f"store_rejects=true, rejects_table='bad_lines', rejects_limit={_RECORDED}")
        options.append("rejects_scan='bad_scans'")
    if layout.time == "excite":
        options.append("timestampformat='%y%m%d%H%M%S'")
    return f"read_csv({_quoted(given.place[0])}, {', '.join(options)})"


def _value(name: str, layout: Layout) -> str:
    """Return the SQL of a role's value as it stands in the file."""
    column = layout.roles[name]
    if layout.shape == "json":
        key = column.replace("\\", "\\\\").replace('"', '\\"')
        path = f'$."{key}"'
        return f"json_extract_string(record, {literal(path)})"
    if layout.shape == "delimited":
        return f"c{layout.columns.index(column)}"
    return identifier(column)


def _column(name: str, layout: Layout) -> str:
    value = _value(name, layout)
    if name == "person":
        text = f"nullif(trim({value}::VARCHAR), '')"
        unreadable = unreadable_time(layout)
        return f"CASE WHEN {unreadable} THEN NULL ELSE {text} END" if unreadable else text
    if name == "time":
        return _time(value, layout)
    return f"coalesce({value}::VARCHAR, '')" if name == "query" else f"{value}::VARCHAR"


def _is_parsed(layout: Layout) -> bool:
    return layout.time == "stored" or (layout.shape == "delimited" and layout.time in _READER_TIMES)


def _time(value: str, layout: Layout) -> str:
    return f"{value}::TIMESTAMP" if _is_parsed(layout) else _PARSED_TIMES[layout.time].format(f"{value}::VARCHAR")


def unreadable_time(layout: Layout) -> str:
    """Return SQL that says whether a record has a time that cannot be read; empty where that cannot be."""
    if "time" not in layout.roles or _is_parsed(layout):
        return ""
    value = _value("time", layout)
    return f"(nullif(trim({value}::VARCHAR), '') IS NOT NULL AND {_time(value, layout)} IS NULL)"


def _line_columns(columns: tuple[str, ...], first_person: int) -> str:
    """Return the columns of a basket: each line is its own person, named by its number in the log."""
    parts = {"person": f"({first_person} + row_number() OVER ())::VARCHAR", "query": "line"}
    return ", ".join(parts[name] for name in columns)


def literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a column's name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
