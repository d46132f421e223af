"""The terms of a stream of queries, numbered in the order in which they are first met."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.kernels.tokens import enter, tokenise
from queryveil.logs.characters import fold

Scalar = TypeVar("Scalar", bound=np.generic)
Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]  # row in the batch, number of the entry


class Tokeniser:
    """Turns batches of queries into (row, term) pairs; a term counts once per query, unless repeats are wanted."""

    def __init__(self, charset: str = "letters", *, whole: bool = False, repeats: bool = False) -> None:
        self.charset = charset
        self.whole = whole
        self.repeats = repeats
        self.n_terms = 0
        self._n_rows = 0
        self._table: NDArray[np.uint64] = np.zeros((1 << 12, 2), np.uint64)
        self._arena: NDArray[np.uint8] = np.empty(1 << 16, np.uint8)
        self._starts: NDArray[np.int64] = np.zeros(1 << 12, np.int64)
        self._keys: NDArray[np.uint64] = np.empty(1 << 12, np.uint64)
        self._seen: NDArray[np.int64] = np.empty(1 << 12, np.int64)

    def add(self, queries: pa.Array) -> Pairs:
        """Return the row in the batch and the term of every pair."""
        return self._add(self._folded(queries))

    def take_over(self, entries: pa.Array) -> NDArray[np.int32]:
        """Return the number of each entry of another tokeniser here; they are folded, and folding twice is wrong."""
        return self._add(entries)[1]

    def _add(self, folded: pa.Array) -> Pairs:
        data, offsets = text_bytes(folded)
        # An entry and what divides it from the next need two bytes, so this many can be new at most.
        room = (len(data) + len(offsets)) // 2 + 1
        self._make_room(room, len(data) + len(offsets))
        rows, terms = np.empty(room, np.int32), np.empty(room, np.int32)
        n_pairs = row = 0
        while row < len(folded):
            n_pairs, self.n_terms, next_row = tokenise(
                data, offsets, row, self.whole, self.repeats, self._table, self._arena, self._starts, self._keys,
                self._seen, self.n_terms, self._n_rows, rows, terms, n_pairs,
            )  # fmt: skip
            if next_row < len(folded):
                self._table = np.zeros((2 * len(self._table), 2), np.uint64)
                enter(self._table, self._keys, self.n_terms)
            row = next_row
        self._n_rows += len(folded)
        return rows[:n_pairs].copy(), terms[:n_pairs].copy()  # the room was for the worst case

    def vocabulary(self) -> pa.Array:
        """Return the terms by number, as Arrow strings."""
        offsets = self._starts[: self.n_terms + 1].copy()
        arena = self._arena[: offsets[-1]].copy()
        return pa.LargeStringArray.from_buffers(self.n_terms, pa.py_buffer(offsets), pa.py_buffer(arena))

    def _folded(self, queries: pa.Array) -> pa.Array:
        """Fold the queries that are not plain ASCII; the kernel does the others by itself."""
        needs_folding = pc.invert(pc.string_is_ascii(queries))
        if not pc.any(needs_folding).as_py():
            return queries
        folded = [fold(text, self.charset) for text in queries.filter(needs_folding).to_pylist()]
        return pc.replace_with_mask(queries, needs_folding, pa.array(folded, queries.type))

    def _make_room(self, n_new: int, n_bytes: int) -> None:
        """Make room for so many new terms of so many bytes, except in the table."""
        n_terms = self.n_terms
        if n_terms + n_new + 1 > len(self._starts):
            size = 2 * (n_terms + n_new + 1)
            self._starts = _enlarged(self._starts, size)
            self._keys = _enlarged(self._keys, size)
            self._seen = _enlarged(self._seen, size)
        if self._starts[n_terms] + n_bytes > len(self._arena):
            self._arena = _enlarged(self._arena, int(2 * (self._starts[n_terms] + n_bytes)))


class Entries:
    """Takes every text of a batch as one entry, just as it stands."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def take_over(self, entries: pa.Array) -> NDArray[np.int32]:
        """Return the number of each entry of another one here."""
        return self.add(entries)[1]

    def add(self, queries: pa.Array) -> Pairs:
        """Return the row in the batch and the entry of every text that is not empty."""
        numbers = [self._numbers.setdefault(text, len(self._numbers)) for text in queries.to_pylist() if text]
        rows = [row for row, text in enumerate(queries.to_pylist()) if text]
        return np.array(rows, np.int32), np.array(numbers, np.int32)

    def vocabulary(self) -> pa.Array:
        """Return the entries by number, as Arrow strings."""
        return pa.array(list(self._numbers), pa.large_string())


class Crew:
    """Several tokenisers at work side by side, each in a thread of its own; the kernels leave Python's lock."""

    def __init__(self, members: Sequence[Tokeniser | Entries], *, waiting: int = 2) -> None:
        self._members = members
        self._most = waiting * len(members)  # batches that are given out and not done
        self._threads = [ThreadPoolExecutor(1) for _ in members]
        self._work: list[tuple[int, Future[Pairs]]] = []  # whose, and what

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *exception: object) -> None:
        for thread in self._threads:
            thread.shutdown(cancel_futures=True)

    def add(self, queries: pa.Array, *, member: int | None = None) -> None:
        """Give a batch to a member, or to the one whose turn it is; few enough wait, so that batches do not pile up."""
        turn = len(self._work) % len(self._members) if member is None else member
        if len(self._work) >= self._most:
            self._work[-self._most][1].result()
        self._work.append((turn, self._threads[turn].submit(self._members[turn].add, queries)))

    def finish(self) -> tuple[list[Pairs], pa.Array]:
        """Return the pairs of all batches in order, numbered alike, and the entries by number."""
        found = [work.result() for _, work in self._work]
        first, *others = self._members
        for turn, member in enumerate(others, start=1):
            numbers = first.take_over(member.vocabulary())
            for place, (whose, _) in enumerate(self._work):
                if whose == turn:
                    rows, terms = found[place]
                    found[place] = rows, numbers[terms]
        return found, first.vocabulary()


def _enlarged(array: NDArray[Scalar], size: int) -> NDArray[Scalar]:
    larger = np.empty(size, array.dtype)
    larger[: len(array)] = array
    return larger


def text_bytes(queries: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes and offsets of an array of strings."""
    strings = queries.cast(pa.large_string())
    _, offset_buffer, data_buffer = strings.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.empty(0, np.uint8)
    return data[offsets[0] : offsets[-1]], offsets - offsets[0]
