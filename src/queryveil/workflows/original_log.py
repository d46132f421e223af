"""The log that a release was made from: another one would make every figure meaningless, so it is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.core.arrow import as_array
from queryveil.core.errors import InputError
from queryveil.core.rows import IntArray
from queryveil.engines import LogSource
from queryveil.engines.local.files import expand_paths
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Counts
from queryveil.kinds.private_folder import RunRecord
from queryveil.release.atomic_folder import file_digest
from queryveil.release.manifest import Manifest


def are_same_files(run: RunRecord, source: LogSource) -> bool:
    """Return whether the files of a log are known to be those that a run read, by their digests."""
    digests = [file_digest(path) or "" for path in expand_paths(source.paths)] if source.table is None else [""]
    return all(digests) and sorted(digests) == sorted(str(each.get("sha256")) for each in run.inputs)


def refuse_other_counts(manifest: Manifest, found: Counts) -> None:
    """Refuse a log that has other counts than the manifest says of the one that the release was made from."""
    stated, meaning = manifest.counts["before"], manifest.cleaning.meaning or {}
    wrong = [name for name, number in found.record().items() if stated.get(name) != number]
    if wrong and meaning.get("unknown_terms") != "drop":  # else the method saw fewer terms
        raise InputError(
            f"--against: this is not the log that the release was made from, it has another number of "
            f"{', '.join(wrong)}; give that one."
        )


def find_people(membership: pa.Table, profiles: Profiles, *, is_ordered: bool) -> IntArray:
    """Return the number in the log of the person behind every history of the private folder.

    If it is ordered, the log must have the same histories in the same order.
    """
    person = pc.fill_null(pc.index_in(membership["person"], pa.array(profiles.persons, pa.string())), -1)
    found = as_array(person.combine_chunks().cast(pa.int64()))
    if not (found >= 0).any():
        raise InputError(
            "--against: nobody in this log is behind the release; give the log that the release was made from."
        )
    is_same = bool((found >= 0).all()) and len(np.unique(found)) == profiles.n_people
    if not is_same or (is_ordered and not np.array_equal(found, profiles.owner)):
        raise InputError(
            "--against: this is not the log that the release was made from, other people are in it; give that one."
        )
    return found
