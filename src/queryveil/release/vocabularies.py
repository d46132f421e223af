"""A release of vocabularies read back."""

import numpy as np
import pyarrow as pa

from queryveil.core.errors import ReleaseError
from queryveil.core.evidence import ReleasedVocabularies
from queryveil.release.reader import as_array


def vocabularies_of(rows: pa.Table) -> ReleasedVocabularies:
    """Return the vocabularies of released rows, each in the order of its texts and levels."""
    if any(rows[name].null_count for name in rows.column_names):
        raise ReleaseError("the release has rows in which something is missing; it is damaged.")
    counts, levels = (as_array(rows[name]).astype(np.int32) for name in ("count", "level"))
    if (counts < 1).any() or (levels < 0).any():
        raise ReleaseError("the release has rows with a count below 1 or a level below 0; it is damaged.")
    users, user = np.unique(as_array(rows["user"]), return_inverse=True)
    encoded = rows["term"].combine_chunks().dictionary_encode()
    terms = encoded.dictionary.to_pylist()
    by_text = sorted(range(len(terms)), key=terms.__getitem__)
    rank = np.empty(len(terms), np.int32)
    rank[by_text] = np.arange(len(terms), dtype=np.int32)
    ids = rank[as_array(encoded.indices.cast(pa.int64()))]
    order = np.lexsort((levels, ids, user))
    keys = np.stack((user[order], ids[order], levels[order]))
    if (keys[:, 1:] == keys[:, :-1]).all(axis=0).any():
        raise ReleaseError("the release has the same term of a history twice; it is damaged.")
    indptr = np.searchsorted(user[order], np.arange(len(users) + 1)).astype(np.int64)
    names = tuple(terms[i] for i in by_text)
    return ReleasedVocabularies(users, indptr, ids[order], counts[order], levels[order], names)
