"""The profiles of one part of a log, cut by the values of a column."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.rows import indptr_of
from queryveil.histories.build import entry_order
from queryveil.histories.profiles import Profiles, Vocabulary


def part_of(profiles: Profiles, part: int) -> tuple[Profiles, NDArray[np.int64]]:
    """Return the profiles of the histories in a part, in their own reference order, and where their pairs stood."""
    if profiles.partition is None:
        return profiles, np.arange(len(profiles.ids))
    rows = profiles.row_numbers()
    inside = np.flatnonzero(profiles.partition[rows] == part)
    histories = np.flatnonzero(profiles.partition == part)
    lengths = np.diff(profiles.indptr)[histories]
    cut = replace(
        profiles,
        indptr=indptr_of(lengths),
        ids=profiles.ids[inside],
        counts=profiles.counts[inside],
        owner=profiles.owner[histories],
        log_history=profiles.log_history[histories],
        partition=None,
        partition_values=(),
    )
    words = pa.array(profiles.vocabulary.entries, pa.large_string())
    order, rank = entry_order(cut.indptr, cut.ids, cut.owner, words)
    ids = rank[cut.ids]
    place = np.lexsort((ids, rows[inside]))
    entries = tuple(profiles.vocabulary[i] for i in order)
    part_profiles = replace(cut, vocabulary=Vocabulary(entries), ids=ids[place], counts=cut.counts[place])
    return part_profiles, inside[place]
