"""Vector space model: tf-idf document vectors, profile vectors, and re-ranking by their cosine.

The weight of a term in a document is (1 + ln tf) · ln(1 + N / df): tf counts its occurrences in the title and text, df
the documents that contain it, N all documents; document vectors have unit length. A profile is mapped onto the same
terms with its own weights.

Zhu and Xiong 2010, section 2, re-rank the engine's results by the cosine alone. Here the similarity of a document d is

    (1 − shrink) · cos(group, d) + shrink · cos(everybody, d) + query_weight · cos(query, d)

where everybody is the mean of all groups' profiles and the query has its own terms only. Where the index knows no term
of the group, everybody counts alone, as if shrink were 1. If `blend` is 0 documents are ranked by the similarity, else
by blend · z(engine's score) + (1 − blend) · z(similarity), where z standardizes over the results: minus the mean,
divided by the standard deviation. What is equal for all documents has z = 0 and so does not count.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import FloatArray, Int32Array, IntArray, indptr_of, row_numbers
from queryveil.kernels.histories import cosines as cosine_kernel
from queryveil.search.ranking_settings import RankingSettings

if TYPE_CHECKING:
    from queryveil.search.analyzer import Analyzer
    from queryveil.search.index import Index

_ROUNDING = 1e-6  # relative: the precision of scores


@dataclass(frozen=True, eq=False)
class RankedDocuments:
    """Documents in rank order, with the scores that they are ranked by."""

    documents: Int32Array  # numbers in the index
    scores: NDArray[np.float32]  # BM25, or the score by a profile after re-ranking

    def __len__(self) -> int:
        return len(self.documents)


@dataclass(frozen=True, eq=False)
class TermCounts:
    """Term frequencies of the documents: a documents × terms matrix in compressed sparse rows."""

    indptr: IntArray  # (documents + 1,)
    ids: Int32Array  # (postings,): ascending and unique within a document
    counts: Int32Array  # (postings,)

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

    ids: Int32Array  # ascending and unique
    weights: NDArray[np.float32]
    n_known: int  # terms of the profile with at least one word in the index
    n_terms: int  # all terms of the profile

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def empty(cls) -> "ProfileVector":
        """Return the vector of a profile without terms."""
        return cls(np.empty(0, np.int32), np.empty(0, np.float32), 0, 0)

    @classmethod
    def normalized(cls, ids: Int32Array, weights: FloatArray, n_known: int, n_terms: int) -> "ProfileVector":
        """Return the vector scaled to unit length."""
        length = float(np.sqrt(np.sum(weights**2)))
        return cls(ids, (weights / (length or 1.0)).astype(np.float32), n_known, n_terms)


def profile_vector(
    analyzer: "Analyzer", number_of: Callable[[str], int | None], terms: Iterable[str], weights: Iterable[float]
) -> ProfileVector:
    """Map a profile onto numbered terms; each word of a phrase gets its weight, and weights of a word add up."""
    total: dict[int, float] = {}
    n_known = n_terms = 0
    for term, weight in zip(terms, weights, strict=True):
        found = [number for word in analyzer.terms(term) if (number := number_of(word)) is not None]
        for number in found:
            total[number] = total.get(number, 0.0) + float(weight)
        n_known += bool(found)
        n_terms += 1
    ids = sorted(total)
    summed = np.array([total[number] for number in ids], np.float64)
    return ProfileVector.normalized(np.array(ids, np.int32), summed, n_known, n_terms)


def cosines(index: "Index", documents: Int32Array, profiles: Sequence[ProfileVector]) -> NDArray[np.float32]:
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


@dataclass(frozen=True, eq=False)
class RankingProfile:
    """The profile that results are ranked by: a person's or a group's, and with a group's that of everybody."""

    own: ProfileVector
    everybody: ProfileVector | None = None  # without it nothing is shrunk

    def is_known(self, settings: RankingSettings) -> bool:
        """Return whether the index has any term that the ranking could use."""
        return any(len(vector) for vector, _ in self.weighted(settings))

    def weighted(self, settings: RankingSettings) -> list[tuple[ProfileVector, float]]:
        """Return the vectors that count, each with its weight; where the own one is empty, everybody has all of it.

        Otherwise people without a group would be ranked more by the query than everybody is, and so look better off.
        """
        if self.everybody is None or settings.shrink == 0:
            return [(self.own, 1.0)]
        if not len(self.own):
            return [(self.everybody, 1.0)]
        return [(self.own, 1 - settings.shrink), (self.everybody, settings.shrink)]


def rerank(
    index: "Index", ranked: RankedDocuments, profile: RankingProfile, query: ProfileVector, settings: RankingSettings
) -> RankedDocuments:
    """Re-rank the engine's results by a profile; ties, and a profile without a known term, keep the engine's order."""
    if not profile.is_known(settings):
        return ranked
    weighted = [*profile.weighted(settings), (query, settings.query_weight)]
    vectors = [vector for vector, weight in weighted if weight > 0]
    weights = np.array([weight for _, weight in weighted if weight > 0])
    similarity = weights @ cosines(index, ranked.documents, vectors)
    scores = blend_scores(ranked.scores, similarity, settings.blend)
    order = np.argsort(-scores, kind="stable")
    return RankedDocuments(ranked.documents[order], scores[order])


def blend_scores(
    engine: NDArray[np.floating[Any]], similarity: NDArray[np.floating[Any]], blend: float
) -> NDArray[np.float32]:
    """Return the scores that documents are ranked by, in single precision, so that rounding breaks no ties."""
    if blend == 0:
        return similarity.astype(np.float32)
    return (blend * standardized(engine) + (1 - blend) * standardized(similarity)).astype(np.float32)


def standardized(scores: NDArray[np.floating[Any]]) -> FloatArray:
    """Return z-scores: minus the mean, over the standard deviation; 0 where scores differ by rounding only."""
    if not len(scores):
        return np.empty(0)
    exact = scores.astype(np.float64)
    deviations = exact - exact.mean()
    spread = float(np.sqrt(np.mean(deviations**2)))
    if spread <= _ROUNDING * float(np.abs(exact).max()):
        return np.zeros(len(exact))
    found: FloatArray = deviations / spread
    return found
