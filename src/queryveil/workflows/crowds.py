"""How many people stand behind each thing that a release publishes: a term, a query, a vocabulary or a group."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.rows import per_entry
from queryveil.release import private as privates
from queryveil.release.reader import Release, as_array, histories_of, load
from queryveil.release.vocabularies import vocabularies_of

UNITS = {"histories": "term", "log": "term", "queries": "query", "groups": "group", "vocabularies": "vocabulary"}


@dataclass(frozen=True)
class Crowds:
    """The sizes of the crowds behind what a release publishes."""

    unit: str  # what is published
    number: int  # of these
    smallest: int
    median: float
    largest: int


def crowds(release: Path, private: Path) -> Crowds:
    """Count the people behind each thing; whoever has several histories counts once."""
    loaded = load(release, check_rows=False)
    membership = privates.load_membership(private).filter(_is_released(private))
    person = as_array(membership["person"].combine_chunks().dictionary_encode().indices).astype(np.int64)
    unit = as_array(membership["release_id"])  # of a group its members have all the same
    if loaded.kind == "groups":
        return _sized("group", unit, person)
    behind = np.zeros(int(unit.max(initial=-1)) + 1, np.int64)
    behind[unit] = person
    things, users = _vocabularies(loaded) if loaded.kind == "vocabularies" else _entries(loaded)
    return _sized(UNITS[loaded.kind], things, behind[users])


def _is_released(private: Path) -> pa.ChunkedArray:
    return privates.load_membership(private)["release_id"].is_valid()


def _entries(release: Release) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return every term, or query, of every released history."""
    histories = histories_of(release.rows)
    return histories.ids.astype(np.int64), per_entry(histories.users, histories.indptr)


def _vocabularies(release: Release) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the vocabulary of every released history, the same number for the same."""
    found = vocabularies_of(release.rows)
    rows = np.stack((found.ids, found.counts, found.levels), axis=1)
    numbers: dict[bytes, int] = {}
    texts = (rows[begin:end].tobytes() for begin, end in zip(found.indptr[:-1], found.indptr[1:], strict=True))
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64), found.users


def _sized(unit: str, things: NDArray[np.int64], persons: NDArray[np.int64]) -> Crowds:
    pairs = np.unique(np.stack((things, persons)), axis=1)
    _, sizes = np.unique(pairs[0], return_counts=True)
    if not len(sizes):
        return Crowds(unit, 0, 0, 0.0, 0)
    return Crowds(unit, len(sizes), int(sizes.min()), float(np.median(sizes)), int(sizes.max()))
