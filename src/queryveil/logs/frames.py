"""Logs that are pandas, Polars or Arrow tables, as Arrow tables whose values read as they would in a file."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pyarrow as pa

from queryveil.core.errors import InputError

_MISSING = ("NoneType", "NAType", "NaTType")


def arrow_table(frame: Any) -> pa.Table:
    """Return a pandas, Polars or Arrow table as an Arrow table; identifiers of any type can be read as texts."""
    if not hasattr(frame, "__arrow_c_stream__"):
        raise InputError(
            f"a log is a file, files, or a pandas, Polars or Arrow table, not {type(frame).__name__}; "
            "give one of these."
        )
    names = frame.column_names if isinstance(frame, pa.Table) else list(getattr(frame, "columns", ()))
    texts = list(map(str, names))
    if len(set(texts)) < len(texts):
        raise InputError("the table has two columns of the same name; rename one of them.")
    if hasattr(frame, "dtypes") and (texts != names or any(str(each) == "Object" for each in frame.dtypes)):
        table = _from_columns(frame, names)
    else:
        try:
            table = pa.table(frame)
        except pa.ArrowException:  # of objects that have no common Arrow type
            table = _from_columns(frame, names)
    shown = texts or table.column_names  # a pandas index is no column of the log
    return pa.table({name: _readable(table[name]) for name in shown})


def _from_columns(frame: Any, names: Iterable[Any]) -> pa.Table:
    """Return a table of columns that Arrow cannot take as they are: what has no type of Arrow's becomes text."""
    return pa.table({str(name): _column(frame[name].to_list()) for name in names})


def _column(values: list[Any]) -> pa.Array:
    present = [None if type(value).__name__ in _MISSING or value != value else value for value in values]
    with suppress(pa.ArrowException):
        return pa.array(present)
    return pa.array([None if value is None else _text(value) for value in present], pa.string())


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _readable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return bytes as text, by their hexadecimal digits where they are none, and whole numbers without a fraction.

    pandas holds whole numbers as floating-point numbers if some are missing.
    """
    kind = column.type
    if pa.types.is_floating(kind):
        with suppress(pa.ArrowInvalid):
            return column.cast(pa.int64())
    is_fixed = pa.types.is_fixed_size_binary(kind)
    if is_fixed or pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        with suppress(pa.ArrowInvalid):
            return column.cast(pa.binary()).cast(pa.string())
        return pa.chunked_array([[None if value is None else value.hex() for value in column.to_pylist()]], pa.string())
    return column
