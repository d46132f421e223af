"""The order in which a profile puts what the engine found: by the cosine of profile and document vector.

Zhu and Xiong 2010, section 2, re-rank the engine's list by that cosine alone (`blend=0`); `blend` weighs the engine's
own score, as a share of the best one of the list, against it: (1 − blend) · cosine + blend · score / best score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import indptr_of
from queryveil.kernels.histories import cosines as cosine_kernel
from queryveil.search.vectors import ProfileVector

if TYPE_CHECKING:
    from queryveil.search.index import Index


@dataclass(frozen=True, eq=False)
class Ranked:
    """Documents in the order of their ranks."""

    documents: NDArray[np.int32]  # numbers in the index
    scores: NDArray[np.float32]  # what they are ordered by: the engine's scores, or those of a profile

    def __len__(self) -> int:
        return len(self.documents)


def cosines(index: "Index", documents: NDArray[np.int32], profiles: Sequence[ProfileVector]) -> NDArray[np.float32]:
    """Return the cosine of every profile and document, as (profiles, documents); a compiled kernel does the sums.

    The cost of a profile is its length and that of all the documents together.
    """
    lengths = [len(profile) for profile in profiles]
    indptr = indptr_of(lengths)
    ids = np.concatenate([np.empty(0, np.int32), *(profile.ids for profile in profiles)])
    weights = np.concatenate([np.empty(0, np.float32), *(profile.weights for profile in profiles)])
    out = np.empty((len(profiles), len(documents)), np.float32)
    scattered = np.zeros(len(index.terms), np.float32)
    cosine_kernel(index.indptr, index.ids, index.weights, documents, indptr, ids, weights, scattered, out)
    return out


def blended(similarity: NDArray[np.float32], ranked: Ranked, blend: float) -> NDArray[np.float32]:
    """Weigh the engine's scores against the cosines of the same documents."""
    best = ranked.scores.max(initial=0.0)
    if blend == 0 or best <= 0:
        return similarity
    mixed: NDArray[np.float32] = ((1 - blend) * similarity + blend * (ranked.scores / best)).astype(np.float32)
    return mixed


def rerank(index: "Index", ranked: Ranked, profile: ProfileVector, blend: float = 0.0) -> Ranked:
    """Order what the engine found for a profile; ties, and an empty profile, keep the engine's order."""
    if not len(profile):
        return ranked
    scores = blended(cosines(index, ranked.documents, [profile])[0], ranked, blend)
    order = np.argsort(-scores, kind="stable")
    return Ranked(ranked.documents[order], scores[order])
