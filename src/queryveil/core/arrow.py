"""Arrow columns as NumPy arrays, tables as Parquet bytes, sorting by Arrow keys, and Arrow's memory."""

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_GROUP_ROWS = 1 << 20
_MOST_BYTES = (1 << 31) - 1  # of the texts of an array of strings
_TAKEN_AT_ONCE = 1 << 24  # texts of 128 bytes on average
_DICTIONARY_BYTES = 1 << 27  # keeps a column of terms dictionary-encoded, which is several times as fast to read


def as_array(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return the values of a numeric column without nulls."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    # not column.to_numpy(): that imports pandas where it is installed, which costs more than a small verification
    return np.concatenate([np.from_dlpack(chunk) for chunk in chunks or [column.combine_chunks()]])


def arrow_numbers(values: NDArray[Any], is_null: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return an array of numbers as an Arrow array that shares its memory.

    Unlike `pa.array`, this does not import pandas where it is installed: 60 MB, and half a second.
    """
    values = np.ascontiguousarray(values)
    valid = None if is_null is None else pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, pa.py_buffer(values)])


def arrow_texts(texts: Sequence[str], kind: pa.DataType | None = None) -> pa.Array:
    """Return texts as an Arrow array, strings unless another type is given; it does not import pandas either."""
    joined = "".join(texts)
    lengths = map(len, texts) if joined.isascii() else (len(text.encode()) for text in texts)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.fromiter(lengths, np.int64, len(texts)))))
    data = pa.py_buffer(joined.encode())
    if kind is None and len(data) <= _MOST_BYTES:
        return pa.StringArray.from_buffers(len(texts), pa.py_buffer(offsets.astype(np.int32)), data)
    return pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(offsets), data).cast(kind or pa.string())


def take_texts(texts: pa.Array, positions: NDArray[Any]) -> pa.ChunkedArray:
    """Return the texts at some positions, in chunks, since one array of all of them could be too long for Arrow."""
    starts = range(0, max(len(positions), 1), _TAKEN_AT_ONCE)
    return pa.chunked_array([texts.take(arrow_numbers(positions[i : i + _TAKEN_AT_ONCE])) for i in starts])


def parquet_bytes(table: pa.Table, **options: Any) -> bytes:
    """Return a table as the bytes of a Parquet file; `options` are those of pyarrow."""
    write_parquet(sink := pa.BufferOutputStream(), (table,), **options)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def csv_bytes(table: pa.Table | pa.RecordBatch, **options: Any) -> bytes:
    """Return a table as CSV, by default with every text quoted, so that an empty one differs from none."""
    import pyarrow.csv as csv

    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(**options))
    data: bytes = sink.getvalue().to_pybytes()
    return data


def write_parquet(sink: Any, tables: Iterable[pa.Table], **options: Any) -> None:
    """Write tables of one schema, at least one, as a Parquet file; each is written before the next one is made."""
    import pyarrow.parquet as pq  # slow to import, and commands that list names read no files

    tables = iter(tables)
    table = next(tables)
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    usual = {"dictionary_pagesize_limit": _DICTIONARY_BYTES, "use_dictionary": texts}  # of numbers it costs more
    with pq.ParquetWriter(sink, table.schema, compression="zstd", **{**usual, **options}) as writer:
        writer.write_table(table)
        for table in tables:
            writer.write_table(table)


def row_groups(n_rows: int) -> Iterator[slice]:
    """Yield the rows of each group of rows of a Parquet file, as pyarrow cuts a table; at least one."""
    for begin in range(0, max(n_rows, 1), _GROUP_ROWS):
        yield slice(begin, min(begin + _GROUP_ROWS, n_rows))


def memory_file(data: bytes) -> Any:
    """Return a file that Arrow can read from these bytes, copied into memory of Arrow's own.

    A worker thread of Arrow may be the last to let go of the memory. If that belonged to Python, the thread would need
    the interpreter, and would abort the process if that were just ending, as after an error (apache/arrow#34314).
    """
    sink = pa.BufferOutputStream()
    sink.write(data)
    return pa.BufferReader(sink.getvalue())


def open_parquet(data: bytes, **options: Any) -> Any:
    """Return the Parquet file in these bytes."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(memory_file(data), **options)


def encode_texts(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Return a number for every text, in the order of the texts, and the distinct texts in that order."""
    encoded = column.dictionary_encode().combine_chunks()
    texts = encoded.dictionary.to_pylist()
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(texts), np.int32)
    rank[order] = np.arange(len(texts), dtype=np.int32)
    return rank[as_array(encoded.indices)], tuple(texts[i] for i in order)


def break_ties(order: NDArray[np.int64], equals_next: NDArray[np.bool_], keys: Callable[[Any], pa.Array]) -> None:
    """Sort the runs of tied elements of an order by `keys`, in place; elements with equal keys keep their order.

    The order is by a short key that decides nearly all comparisons; `equals_next` (elements - 1,) tells where the short
    keys of neighbours are equal. So the full keys (texts or bytes), which cost more, are needed for tied elements only.
    """
    import pyarrow.compute as pc

    tied = np.flatnonzero(np.append(equals_next, False) | np.insert(equals_next, 0, False))
    run = np.cumsum(~np.insert(equals_next, 0, False))[tied]
    table = pa.table({"run": arrow_numbers(run), "key": keys(order[tied])})
    resolved = as_array(pc.sort_indices(table, [("run", "ascending"), ("key", "ascending")]))
    order[tied] = order[tied[resolved]]


def release_freed_memory() -> None:
    """Return memory that is not in use any more, which Arrow and the C library would keep for later, to the system.

    After a method has run on a large log that is half of what the process holds. Only glibc has to be asked for it.
    """
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
