"""Arrow columns as NumPy arrays, tables as Parquet bytes, sorting by Arrow keys, and Arrow's memory."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_DICTIONARY_BYTES = 1 << 27  # keeps a column of terms dictionary-encoded, which is several times as fast to read


def as_array(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return the values of a numeric column without nulls."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    # not column.to_numpy(): that imports pandas where it is installed, which costs more than a small verification
    return np.array(np.from_dlpack(array))


def arrow_numbers(values: NDArray[Any], is_null: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return an array of numbers as an Arrow array that shares its memory.

    Unlike `pa.array`, this does not import pandas where it is installed: 60 MB, and half a second.
    """
    values = np.ascontiguousarray(values)
    valid = None if is_null is None else pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, pa.py_buffer(values)])


def arrow_texts(texts: Sequence[str], kind: pa.DataType | None = None) -> pa.Array:
    """Return texts as an Arrow array, strings unless another type is given; it does not import pandas either."""
    encoded = [text.encode() for text in texts]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    buffers = pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))
    return pa.LargeStringArray.from_buffers(len(texts), *buffers).cast(kind or pa.string())


def parquet_bytes(table: pa.Table, **options: Any) -> bytes:
    """Return a table as the bytes of a Parquet file; `options` are those of pyarrow."""
    import pyarrow.parquet as pq  # slow to import, and commands that list names read no files

    sink, texts = pa.BufferOutputStream(), [field.name for field in table.schema if pa.types.is_string(field.type)]
    usual = {"dictionary_pagesize_limit": _DICTIONARY_BYTES, "use_dictionary": texts}  # of numbers it costs more
    pq.write_table(table, sink, compression="zstd", **{**usual, **options})
    data: bytes = sink.getvalue().to_pybytes()
    return data


def csv_bytes(table: pa.Table | pa.RecordBatch, **options: Any) -> bytes:
    """Return a table as CSV, by default with every text quoted, so that an empty one differs from none."""
    import pyarrow.csv as csv

    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(**options))
    data: bytes = sink.getvalue().to_pybytes()
    return data


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
