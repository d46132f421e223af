"""Tokenizers: the terms of a stream of queries, numbered in the order of their first occurrence."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.core.arrow import arrow_texts
from queryveil.kernels.tokens import Phrases, cut, enter, number, weigh
from queryveil.logs.terms import fold

Scalar = TypeVar("Scalar", bound=np.generic)
EntryPairs = tuple[NDArray[np.int32], NDArray[np.int32]]  # row in the batch, number of the entry


class Tokenizer:
    """Turns batches of queries into (row, term) pairs; a term counts once per query, except with `repeats`.

    With `whole`, the folded query is a single entry.
    """

    def __init__(self, charset: str = "letters", *, whole: bool = False, repeats: bool = False) -> None:
        self.charset = charset
        self.whole = whole
        self.repeats = repeats
        self.n_terms = 0
        self._n_rows = 0
        self._table: NDArray[np.uint64] = np.zeros((1 << 4, 2), np.uint64)
        self._arena: NDArray[np.uint8] = np.empty(1 << 16, np.uint8)
        self._starts: NDArray[np.int64] = np.zeros(1 << 12, np.int64)
        self._keys: NDArray[np.uint64] = np.empty(1 << 12, np.uint64)
        self._seen: NDArray[np.int64] = np.empty(1 << 12, np.int64)

    def add(self, queries: pa.Array, *, is_folded: bool = False) -> EntryPairs:
        """Return the row in the batch and the term of every pair; `is_folded` if nothing is left to fold."""
        folded = queries if is_folded else self._fold_queries(queries)
        data, offsets = text_bytes(folded)
        # an entry and its delimiter need at least two bytes, which bounds the number of entries
        room = len(folded) if self.whole else (len(data) + len(offsets)) // 2 + 1
        begin = int(self._starts[self.n_terms])
        self._make_room(self.n_terms + room + 1, begin + len(data) + len(offsets))
        row_of, ends, keys = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.uint64)
        n_entries = cut(data, offsets, self.whole, self._arena, begin, row_of, ends, keys)
        rows, terms = np.empty(n_entries, np.int32), np.empty(n_entries, np.int32)
        n_pairs = entry = 0
        while entry < n_entries:
            n_pairs, self.n_terms, entry = number(
                entry,
                n_entries,
                self.whole,
                self.repeats,
                row_of,
                ends,
                keys,
                begin,
                self._table,
                self._arena,
                self._starts,
                self._keys,
                self._seen,
                self.n_terms,
                self._n_rows,
                rows,
                terms,
                n_pairs,
            )
            if entry < n_entries:
                self._table = np.zeros((4 * len(self._table), 2), np.uint64)
                enter(self._table, self._keys, self.n_terms)
        self._n_rows += len(folded)
        return rows[:n_pairs], terms[:n_pairs]

    def _make_room(self, n_entries: int, n_bytes: int) -> None:
        """Enlarge the arrays if they have no room for so many entries, or bytes of their texts, in all."""
        if n_entries > len(self._starts):
            self._starts = _enlarge(self._starts, 2 * n_entries)
            self._keys = _enlarge(self._keys, 2 * n_entries)
            self._seen = _enlarge(self._seen, 2 * n_entries)
        if n_bytes > len(self._arena):
            self._arena = _enlarge(self._arena, 2 * n_bytes)

    def weigh(
        self, texts: pa.Array, weights: NDArray[np.float64], phrases: Phrases
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return what the distinct known terms and the phrases of every text add, (texts, 2), and its number of terms.

        Weights above zero are added up, and those below it. A phrase is a known term and the next one; unknown terms
        are passed over.
        """
        data, offsets = text_bytes(self._fold_queries(texts))
        sums, counts = np.zeros((len(texts), 2), np.float64), np.zeros(len(texts), np.int64)
        weigh(data, offsets, self._table, self._arena, self._starts, weights, phrases, sums, counts)
        return sums, counts

    def vocabulary(self) -> pa.Array:
        """Return the terms by number, as Arrow strings."""
        offsets = self._starts[: self.n_terms + 1].copy()
        arena = self._arena[: offsets[-1]].copy()
        return pa.LargeStringArray.from_buffers(self.n_terms, pa.py_buffer(offsets), pa.py_buffer(arena))

    def _fold_queries(self, queries: pa.Array) -> pa.Array:
        """Fold the queries that are not plain ASCII; the kernel folds ASCII itself."""
        needs_folding = pc.invert(pc.string_is_ascii(queries))
        if not pc.any(needs_folding).as_py():
            return queries
        folded = [fold(text, self.charset) for text in queries.filter(needs_folding).to_pylist()]
        return pc.replace_with_mask(queries, needs_folding, arrow_texts(folded, queries.type))


class WholeTexts:
    """Takes every text of a batch as one entry, unchanged; the same interface as `Tokenizer`."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def add(self, queries: pa.Array, *, is_folded: bool = False) -> EntryPairs:
        """Return the row in the batch and the entry of every non-empty text."""
        numbers = [self._numbers.setdefault(text, len(self._numbers)) for text in queries.to_pylist() if text]
        rows = [row for row, text in enumerate(queries.to_pylist()) if text]
        return np.array(rows, np.int32), np.array(numbers, np.int32)

    def vocabulary(self) -> pa.Array:
        """Return the entries by number, as Arrow strings."""
        return arrow_texts(list(self._numbers), pa.large_string())


def tokenize(
    tokenizers: Sequence[Tokenizer | WholeTexts], batches: Iterable[tuple[int, pa.Array]], *, queued_batches: int = 2
) -> tuple[list[EntryPairs], pa.Array]:
    """Return the pairs of all batches in order, with common entry numbers, and the entries by number.

    A batch is the position of its tokenizer and its queries. Each tokenizer has a thread of its own, because the
    kernels release the global interpreter lock; the next batch is taken once few enough are pending.
    """
    max_pending = queued_batches * len(tokenizers)
    threads = [ThreadPoolExecutor(1) for _ in tokenizers]
    submitted: list[tuple[int, Future[EntryPairs]]] = []  # the worker of every batch, and its result
    try:
        for worker, queries in batches:
            if len(submitted) >= max_pending:
                submitted[-max_pending][1].result()
            submitted.append((worker, threads[worker].submit(tokenizers[worker].add, queries)))
        found = [result.result() for _, result in submitted]
    finally:
        for thread in threads:
            thread.shutdown(cancel_futures=True)
    first, *others = tokenizers
    for worker, tokenizer in enumerate(others, start=1):
        numbers = first.add(tokenizer.vocabulary(), is_folded=True)[1]
        for batch, (submitted_to, _) in enumerate(submitted):
            if submitted_to == worker:
                rows, terms = found[batch]
                found[batch] = rows, numbers[terms]
    return found, first.vocabulary()


def _enlarge(array: NDArray[Scalar], size: int) -> NDArray[Scalar]:
    larger = np.empty(size, array.dtype)
    larger[: len(array)] = array
    return larger


def text_bytes(queries: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes and offsets of an array of strings."""
    strings = queries.cast(pa.large_string())
    _, offset_buffer, data_buffer = strings.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.empty(0, np.uint8)
    data.flags.writeable = False  # always, so that kernels are compiled for one type of array
    return data[offsets[0] : offsets[-1]], offsets - offsets[0]
