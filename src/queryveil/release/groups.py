"""A release of groups read back, and its private side: who is in which group, and everybody's profile."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from queryveil.core.errors import ReleaseError
from queryveil.core.evidence import GroupMembers, ReleasedGroups
from queryveil.histories.profiles import Profiles, Vocabulary
from queryveil.release.private import MEMBERSHIP, PROFILES
from queryveil.release.reader import as_array


def groups_of(rows: pa.Table) -> ReleasedGroups:
    """Return the groups of released rows; rows keep their order within a group."""
    if any(rows[name].null_count for name in rows.column_names):
        raise ReleaseError("the release has rows in which something is missing; it is damaged.")
    groups, group = np.unique(as_array(rows["group"]), return_inverse=True)
    order = np.argsort(group, kind="stable")
    encoded = rows["term"].combine_chunks().dictionary_encode()
    terms = encoded.dictionary.to_pylist()
    by_text = sorted(range(len(terms)), key=terms.__getitem__)
    rank = np.empty(len(terms), np.int32)
    rank[by_text] = np.arange(len(terms), dtype=np.int32)
    return ReleasedGroups(
        groups,
        np.searchsorted(group[order], np.arange(len(groups) + 1)).astype(np.int64),
        rank[as_array(encoded.indices.cast(pa.int64()))[order]],
        as_array(rows["weight"])[order],
        tuple(terms[i] for i in by_text),
    )


def members_of(profiles: Profiles, release_id: NDArray[np.int64], released: ReleasedGroups) -> GroupMembers:
    """Return the private side of a release from what it was made of."""
    place = dict(zip(released.terms, range(len(released.terms)), strict=True))
    others = [entry for entry in profiles.vocabulary.entries if entry not in place]
    place |= dict(zip(others, range(len(place), len(place) + len(others)), strict=True))
    ids = np.array([place[entry] for entry in profiles.vocabulary.entries], np.int32)[profiles.ids]
    rows = profiles.row_numbers()
    order = np.lexsort((ids, rows))
    weights = np.ones(len(ids)) if profiles.weights is None else profiles.weights
    group = np.searchsorted(released.groups, release_id).astype(np.int32)
    group[~np.isin(release_id, released.groups)] = -1
    return GroupMembers(group, profiles.indptr, ids[order], weights[order], (*released.terms, *others))


def load_members(private: Path, released: ReleasedGroups) -> tuple[GroupMembers, NDArray[np.int64]]:
    """Return the private side of a release from its private folder, and the group of every person in the release."""
    try:
        membership = pq.ParquetFile(private / MEMBERSHIP).read(columns=["history", "release_id"])
        pairs = pq.ParquetFile(private / PROFILES).read(columns=["history", "term", "weight"])
        release_id = np.array([-1 if i is None else i for i in membership["release_id"].to_pylist()], np.int64)
        history = as_array(pairs["history"])
        terms = pairs["term"].cast(pa.string()).combine_chunks().dictionary_encode()
        number = as_array(terms.indices.cast(pa.int64()))
        weights = as_array(pairs["weight"])
        is_whole = np.array_equal(as_array(membership["history"]), np.arange(len(release_id)))
    except (OSError, KeyError, ValueError, pa.ArrowException):
        raise ReleaseError(f"{private} is missing something or damaged; check --private.") from None
    if not is_whole or not np.all(history[1:] >= history[:-1]) or history.max(initial=-1) >= len(release_id):
        raise ReleaseError(f"{private} is damaged: its histories are not in order; check --private.")
    entries = tuple(terms.dictionary.to_pylist())
    profiles = Profiles(
        Vocabulary(entries),
        np.searchsorted(history, np.arange(len(release_id) + 1)).astype(np.int64),
        number.astype(np.int32),
        np.ones(len(number), np.int32),
        np.arange(len(release_id), dtype=np.int32),
        (),
        weights=weights,
    )
    return members_of(profiles, release_id, released), release_id
