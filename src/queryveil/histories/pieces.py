"""Pieces of histories: what is published of a history as several unlinked histories, each of its terms in one of them.

A person's pieces have no term of one history twice, so a combination is in at most one piece of each history.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from queryveil.core.rows import Int32Array, IntArray, indptr_of, row_numbers
from queryveil.histories.occurrences import Occurrences
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import gather


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of all histories as profiles; a history of which nothing is kept has one empty piece."""

    profiles: Profiles  # its histories are the pieces, and its pairs are those that are kept
    history: IntArray  # (pieces,): the history of each, ascending
    position: Int32Array  # (pairs of the log,): the position of each among the kept ones, -1 where it is not kept


def cut_into_pieces(profiles: Profiles, piece: Int32Array) -> Pieces:
    """Return the pieces of histories; `piece` is the number of each pair's piece in its history, -1 for none."""
    kept = np.flatnonzero(piece >= 0)
    row = row_numbers(profiles.indptr, np.int32)[kept]
    n_pieces = np.ones(profiles.n_histories, np.int32)
    np.maximum.at(n_pieces, row, piece[kept] + np.int32(1))
    begin = indptr_of(n_pieces)
    number = begin.astype(np.int32)[row] + piece[kept]
    indptr, order = gather(number, np.arange(len(kept), dtype=np.int32), int(begin[-1]))
    position = np.full(len(piece), -1, np.int32)
    kept = kept[order]  # by piece; the terms of a piece stay in their order
    position[kept] = np.arange(len(kept))
    history = row_numbers(begin)
    cut = replace(
        profiles,
        indptr=indptr,
        ids=profiles.ids[kept],
        counts=profiles.counts[kept],
        owner=profiles.owner[history],
        log_history=profiles.log_history[history] if len(profiles.log_history) else profiles.log_history,
        partition=None if profiles.partition is None else profiles.partition[history],
        weights=None if profiles.weights is None else profiles.weights[kept],
    )
    return Pieces(cut, history, position)


def cut_queries(queries: Occurrences, pieces: Pieces) -> Occurrences:
    """Return the kept occurrences, with each query cut where its terms are in several pieces.

    Kept values of a query that was cut are left out, since equal ones would tell which pieces belong together.
    """
    position = pieces.position[queries.pair]
    is_kept = position >= 0
    pair, query = (each[is_kept].astype(np.int64) for each in (position, queries.query))
    piece = row_numbers(pieces.profiles.indptr)[pair]
    parts, number = np.unique(query * len(pieces.history) + piece, return_inverse=True)
    query, piece = np.divmod(parts, len(pieces.history))
    is_whole = np.bincount(query, minlength=len(queries.history))[query] == 1
    taken = pa.array(query, mask=~is_whole)
    extra = {name: values.take(taken) for name, values in queries.extra.items()}
    return Occurrences(piece, number.astype(np.int32), pair, extra)
