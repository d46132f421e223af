"""The digest of released rows, the same however they are spread over files."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_HASH_ROWS = 200_000


def content_digest(rows: pa.Table) -> str:
    r"""Return the SHA-256 of the rows in their order, each as its values joined by tabs and ended by a line feed.

    A backslash, tab or line feed inside a value is written as \\, \t or \n, and no value as \N, so that no two
    contents look alike.
    """
    return streamed_digest(rows.column_names, (rows,))


def streamed_digest(columns: Sequence[str], parts: Iterable[pa.Table]) -> str:
    """Return the digest of rows that come in parts, which need not be in memory together."""
    digest = hashlib.sha256("\t".join(columns).encode() + b"\n")
    for rows in parts:
        for line in _lines(rows):
            digest.update(line)
    return digest.hexdigest()


def _lines(rows: pa.Table) -> Iterator[memoryview]:
    """Yield the rows as the text that is digested."""
    for start in range(0, rows.num_rows, _HASH_ROWS):
        part = rows.slice(start, _HASH_ROWS).combine_chunks()
        columns = [_escaped(column) for column in part.columns]
        joined = _joined(columns, b"\t", null_handling="replace", null_replacement="\\N")
        lines = _joined([joined, _repeated(b"", part.num_rows)], b"\n")
        for chunk in lines.chunks:
            _, offsets, data = chunk.buffers()
            first, end = np.frombuffer(offsets, np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
            yield memoryview(data)[first:end]


def _joined(columns: Sequence[pa.ChunkedArray | pa.Array], separator: bytes, **options: str) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(*columns, _repeated(separator, len(columns[0])), **options)


def _repeated(text: bytes, n: int) -> pa.Array:
    """Return a column of one text; not a scalar: that imports pandas where it is, which takes as long as verifying."""
    offsets = np.arange(n + 1, dtype=np.int32) * len(text)
    return pa.StringArray.from_buffers(n, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(text * n))


def _escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = column.cast(pa.string())
    if pa.types.is_string(column.type):
        held = b"".join(chunk.buffers()[2] or b"" for chunk in text.chunks)
        for raw, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n")):
            if raw.encode() in held:
                text = pc.replace_substring(text, raw, written)
    return text
