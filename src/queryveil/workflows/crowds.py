"""How many people share each thing that a release publishes: a term, a query, a vocabulary or a group."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from queryveil.core.arrow import as_array
from queryveil.core.rows import IntArray
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.release.reader import load_release


@dataclass(frozen=True)
class Crowds:
    """The sizes of the crowds behind what a release publishes."""

    unit: str  # what is published
    number: int  # of these
    smallest: int
    median: float
    largest: int


def crowds(release: Path, private: Path) -> Crowds:
    """Count the people behind each published thing; a person with several histories counts once."""
    loaded = load_release(release, check_rows=False)
    membership = PrivateFolder(private).membership()
    membership = membership.filter(membership["release_id"].is_valid())
    person = as_array(membership["person"].combine_chunks().dictionary_encode().indices).astype(np.int64)
    evidence = loaded.kind.read_evidence(loaded.rows, None, 1)
    things, persons = loaded.kind.crowd_members(evidence, as_array(membership["release_id"]), person)
    return _sizes(loaded.kind.crowd, things, persons)


def _sizes(unit: str, things: IntArray, persons: IntArray) -> Crowds:
    pairs = np.unique(np.stack((things, persons)), axis=1)
    _, sizes = np.unique(pairs[0], return_counts=True)
    if not len(sizes):
        return Crowds(unit, 0, 0, 0.0, 0)
    return Crowds(unit, len(sizes), int(sizes.min()), float(np.median(sizes)), int(sizes.max()))
