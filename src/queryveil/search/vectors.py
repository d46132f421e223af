"""Document vectors: the tf-idf weights of a document's terms, of unit length.

The weight of a term is (1 + ln tf) · ln(1 + N / df): tf its occurrences in the title and text of the document, df the
documents that have it, N all documents. A profile is mapped onto the same terms with its own weights.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import row_numbers
from queryveil.search.analyser import Analyser


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each document uses each term, in compressed sparse rows."""

    indptr: NDArray[np.int64]  # (documents + 1,)
    ids: NDArray[np.int32]  # (pairs,): ascending and unique within a document
    counts: NDArray[np.int32]  # (pairs,)

    def weights(self, n_terms: int) -> NDArray[np.float32]:
        """Return the tf-idf weight of every pair, so that each document has unit length."""
        holders = np.bincount(self.ids, minlength=n_terms)
        n_documents = len(self.indptr) - 1
        raw = (1 + np.log(self.counts)) * np.log1p(n_documents / np.maximum(holders, 1))[self.ids]
        rows = row_numbers(self.indptr)
        lengths = np.sqrt(np.bincount(rows, raw**2, minlength=n_documents))
        weights: NDArray[np.float32] = (raw / lengths[rows]).astype(np.float32)
        return weights


@dataclass(frozen=True, eq=False)
class ProfileVector:
    """A profile over the terms of an index, of unit length; empty where the index knows none of its terms."""

    ids: NDArray[np.int32]  # ascending and unique
    weights: NDArray[np.float32]
    n_known: int  # terms of the profile of which the index has a word
    n_terms: int  # all terms of the profile

    def __len__(self) -> int:
        return len(self.ids)


def profile_vector(
    terms: Iterable[str], weights: Iterable[float], analyser: Analyser, number_of: Mapping[str, int]
) -> ProfileVector:
    """Map a profile onto index terms; every word of a phrase gets the phrase's weight, and equal words add up."""
    found: dict[int, float] = {}
    n_known = n_terms = 0
    for term, weight in zip(terms, weights, strict=True):
        numbers = [number_of[word] for word in analyser.terms(term) if word in number_of]
        for number in numbers:
            found[number] = found.get(number, 0.0) + float(weight)
        n_known += bool(numbers)
        n_terms += 1
    ids = np.array(sorted(found), np.int32)
    values = np.array([found[number] for number in ids.tolist()], np.float64)
    length = float(np.sqrt(np.sum(values**2)))
    return ProfileVector(ids, (values / (length or 1.0)).astype(np.float32), n_known, n_terms)
