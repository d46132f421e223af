"""Arrow columns as NumPy arrays, and tables as Parquet bytes."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

_DICTIONARY_BYTES = 1 << 27  # keeps a column of terms dictionary-encoded, which is several times as fast to read


def as_array(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return the values of a numeric column without nulls."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    # not column.to_numpy(): that imports pandas where it is installed, which costs more than a small verification
    return np.array(np.from_dlpack(array))


def parquet_bytes(table: pa.Table) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", dictionary_pagesize_limit=_DICTIONARY_BYTES)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def encode_texts(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Return a number for every text, in the order of the texts, and the distinct texts in that order."""
    encoded = column.combine_chunks().dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(texts), np.int32)
    rank[order] = np.arange(len(texts), dtype=np.int32)
    return rank[as_array(encoded.indices.cast(pa.int64()))], tuple(texts[i] for i in order)
