"""The canonical order of released rows, and the ids of released histories.

The id of a released history is its rank in the sorted released content: there is no randomness to guess, no original
order to recover, and every engine produces the same rows. Histories are compared by the ranks of their texts.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from queryveil.core.arrow import arrow_numbers, arrow_texts, break_ties
from queryveil.core.rows import BoolArray, Int32Array, IntArray, gather_rows
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import gather


def rank_texts(entries: Sequence[str], ids: Int32Array) -> tuple[Int32Array, pa.Array]:
    """Return the rank of every entry among the released ids (-1 for the others) and the released texts in order."""
    released = np.flatnonzero(np.bincount(ids, minlength=len(entries))).tolist()
    order = np.array(sorted(released, key=entries.__getitem__), np.int64)
    rank = np.full(len(entries), -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank, arrow_texts([entries[i] for i in order])


def order_rows(indptr: IntArray, ranks: Int32Array, partition: Int32Array | None) -> IntArray:
    """Return the non-empty rows sorted by partition and by their ranks; equal rows keep their order.

    The first two ranks decide nearly all comparisons; only longer rows with an equal beginning are compared as bytes.
    """
    row = np.flatnonzero(np.diff(indptr))
    length = indptr[row + 1] - indptr[row]
    second = np.where(length > 1, ranks[np.minimum(indptr[row] + 1, len(ranks) - 1)], -1)
    following = 2 * (second + 1) + (length > 2)  # of two rows with equal beginnings the shorter one is first
    keys = [following.astype(np.int32), ranks[indptr[row]], *([] if partition is None else [partition[row]])]
    order = np.arange(len(row), dtype=np.int32)
    for key in keys:  # from the least significant one, by stable counting sorts
        _, order = gather(key[order], order, int(key.max(initial=-1)) + 1)
    row, length, keys = row[order], length[order], [key[order] for key in keys]
    equals_next = np.logical_and.reduce([key[1:] == key[:-1] for key in keys]) & (length[1:] > 2)

    def bytes_of(rows: IntArray) -> pa.Array:
        """Return rows as bytes that sort as their ranks do."""
        bounds, entries = gather_rows(indptr, rows)
        buffers = [None, pa.py_buffer(4 * bounds), pa.py_buffer(ranks[entries].astype(">u4"))]
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(rows), buffers)

    break_ties(row, equals_next, bytes_of)
    return row


def sort_keys(indptr: IntArray, ranks: Int32Array) -> list[bytes]:
    """Return each row as bytes that sort as its ranks do."""
    data = ranks.astype(">u4").tobytes()
    return [data[a:b] for a, b in pairwise((4 * indptr).tolist())]


def ids_of_order(order: IntArray, n_histories: int) -> IntArray:
    """Return the release id of every history from the order of the released ones; -1 where nothing is released."""
    release_ids = np.full(n_histories, -1, np.int64)
    release_ids[order] = np.arange(len(order))
    return release_ids


def order_by_keys(keys: Sequence[bytes], is_released: BoolArray) -> IntArray:
    """Return the released histories sorted by their keys."""
    return np.array(sorted(np.flatnonzero(is_released).tolist(), key=keys.__getitem__), np.int64)


def partition_column(profiles: Profiles, histories: IntArray, lengths: IntArray) -> pa.Array:
    """Return the partition of every history of a log that was cut into partitions, repeated by `lengths`."""
    number = np.zeros(0, np.int32) if profiles.partition is None else profiles.partition
    return arrow_texts(profiles.partition_values).take(arrow_numbers(np.repeat(number[histories], lengths)))
