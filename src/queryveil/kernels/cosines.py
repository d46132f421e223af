"""Many profiles against one list of documents: the cosine of every pair, all vectors being of unit length."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit


@jit
def cosines(
    indptr: NDArray[np.int64],  # (documents + 1,): row d is ids[indptr[d]:indptr[d + 1]]
    ids: NDArray[np.int32],
    weights: NDArray[np.float32],
    documents: NDArray[np.int32],  # the rows that are wanted, in this order
    profile_indptr: NDArray[np.int64],  # (profiles + 1,)
    profile_ids: NDArray[np.int32],
    profile_weights: NDArray[np.float32],
    scattered: NDArray[np.float32],  # (terms,): zeros; one profile at a time is written out here, and wiped
    out: NDArray[np.float32],  # (profiles, documents)
) -> None:
    """Write out the cosines; sums are taken in double precision, in the order of a document's terms."""
    for profile in range(len(profile_indptr) - 1):
        first, end = profile_indptr[profile], profile_indptr[profile + 1]
        for pair in range(first, end):
            scattered[profile_ids[pair]] = profile_weights[pair]
        for place in range(len(documents)):
            total = 0.0
            document = documents[place]
            for pair in range(indptr[document], indptr[document + 1]):
                total += np.float64(weights[pair]) * np.float64(scattered[ids[pair]])  # float() would stay single here
            out[profile, place] = total
        for pair in range(first, end):
            scattered[profile_ids[pair]] = 0.0
