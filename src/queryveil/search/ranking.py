"""Vector space model: tf-idf document vectors, profile vectors, and re-ranking by their cosine.

The weight of a term in a document is (1 + ln tf) · ln(1 + N / df): tf counts its occurrences in the title and text, df
the documents that contain it, N all documents; document vectors have unit length. A profile is mapped onto the same
terms with its own weights.

Zhu and Xiong 2010, section 2, re-rank the engine's results by the cosine alone (`blend=0`). `blend` mixes in the
engine's score, divided by the best score of the result list: (1 − blend) · cosine + blend · score / best score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import IntArray, indptr_of, row_numbers
from queryveil.kernels.histories import cosines as cosine_kernel

if TYPE_CHECKING:
    from queryveil.search.index import Index


@dataclass(frozen=True, eq=False)
class RankedDocuments:
    """Documents in rank order, with the scores that they are ranked by."""

    documents: NDArray[np.int32]  # numbers in the index
    scores: NDArray[np.float32]  # BM25, or the score by a profile after re-ranking

    def __len__(self) -> int:
        return len(self.documents)


@dataclass(frozen=True, eq=False)
class TermCounts:
    """Term frequencies of the documents: a documents × terms matrix in compressed sparse rows."""

    indptr: IntArray  # (documents + 1,)
    ids: NDArray[np.int32]  # (postings,): ascending and unique within a document
    counts: NDArray[np.int32]  # (postings,)

    def tf_idf(self, n_terms: int) -> NDArray[np.float32]:
        """Return the tf-idf weight of every posting, normalized to unit length per document."""
        document_frequency = np.bincount(self.ids, minlength=n_terms)
        n_documents = len(self.indptr) - 1
        raw = (1 + np.log(self.counts)) * np.log1p(n_documents / np.maximum(document_frequency, 1))[self.ids]
        rows = row_numbers(self.indptr)
        lengths = np.sqrt(np.bincount(rows, raw**2, minlength=n_documents))
        weights: NDArray[np.float32] = (raw / lengths[rows]).astype(np.float32)
        return weights


@dataclass(frozen=True, eq=False)
class ProfileVector:
    """A profile as a vector of unit length over the terms of an index; empty if the index has none of its terms."""

    ids: NDArray[np.int32]  # ascending and unique
    weights: NDArray[np.float32]
    n_known: int  # terms of the profile with at least one word in the index
    n_terms: int  # all terms of the profile

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def normalized(
        cls, ids: NDArray[np.int32], weights: NDArray[np.float64], n_known: int, n_terms: int
    ) -> "ProfileVector":
        """Return the vector scaled to unit length."""
        length = float(np.sqrt(np.sum(weights**2)))
        return cls(ids, (weights / (length or 1.0)).astype(np.float32), n_known, n_terms)


def cosines(index: "Index", documents: NDArray[np.int32], profiles: Sequence[ProfileVector]) -> NDArray[np.float32]:
    """Return the cosine similarities as (profiles, documents).

    The cost per profile is its length plus the total length of the documents.
    """
    indptr = indptr_of(np.array([len(profile) for profile in profiles], np.int64))
    ids = np.concatenate([np.empty(0, np.int32), *(profile.ids for profile in profiles)])
    weights = np.concatenate([np.empty(0, np.float32), *(profile.weights for profile in profiles)])
    out = np.empty((len(profiles), len(documents)), np.float32)
    scattered = np.zeros(len(index.terms), np.float32)
    cosine_kernel(index.indptr, index.ids, index.weights, documents, indptr, ids, weights, scattered, out)
    return out


def rerank(index: "Index", ranked: RankedDocuments, profile: ProfileVector, blend: float = 0.0) -> RankedDocuments:
    """Re-rank the engine's results by a profile; ties, and an empty profile, keep the engine's order."""
    if not len(profile):
        return ranked
    scores = cosines(index, ranked.documents, [profile])[0]
    best = ranked.scores.max(initial=0.0)
    if blend != 0 and best > 0:
        scores = ((1 - blend) * scores + blend * (ranked.scores / best)).astype(np.float32)
    order = np.argsort(-scores, kind="stable")
    return RankedDocuments(ranked.documents[order], scores[order])
