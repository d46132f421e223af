"""Ranking metrics and their bootstrap confidence intervals.

Zhu and Xiong 2010 give "average precision at top 10 relevant search results" without a formula, so it is computed in
three ways. For R relevant documents, with the name that `ir-measures` and trec_eval use:

    AP at 10              Σ_{i≤10} P(i)·rel(i) / min(10, R)    AP@10 · R / min(10, R)
    AP to 10 relevant     mean of P(i) over the first 10 relevant documents, at any rank; no counterpart
    AP                    Σ_i P(i)·rel(i) / R                   AP
    P@10, nDCG@10         as usual, with binary relevance

A relevant document that was not retrieved has precision 0. The bootstrap resamples people, not queries, because queries
of one person are not independent. All figures are estimated on the same resamples, so that what two variants have in
common cancels in their difference.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from queryveil.core.rows import BoolArray, FloatArray, IntArray

TOP = 10
AP_TOP, AP_FIRST, AP_ALL, PRECISION, NDCG = "AP at 10", "AP to 10 relevant", "AP", "P@10", "nDCG@10"
METRICS = (AP_TOP, AP_FIRST, AP_ALL, PRECISION, NDCG)
RECIPROCAL = "MRR"  # of the first relevant document; `RR` of ir-measures
RESAMPLES = 2_000
CONFIDENCE = 0.95

MetricValues = Mapping[str, FloatArray]  # metric → (queries,)


def compute_metrics(is_relevant: BoolArray, n_relevant: IntArray) -> MetricValues:
    """Return every metric of every ranking: metric → (rankings,).

    `is_relevant` is (rankings, ranks), padded with False; `n_relevant` counts all relevant documents, at least one per
    ranking.
    """
    ranks = np.arange(1, is_relevant.shape[1] + 1)
    found = np.cumsum(is_relevant, axis=1)
    precision = np.where(is_relevant, found / ranks, 0.0)  # at the ranks of relevant documents
    n_ideal = np.minimum(TOP, n_relevant)
    discounts = np.log2(np.arange(2, TOP + 2))
    ideal_gains = np.cumsum(1.0 / discounts)  # of 1, 2, … TOP relevant documents ranked first
    return {
        AP_TOP: precision[:, :TOP].sum(axis=1) / n_ideal,
        AP_FIRST: np.where(found <= TOP, precision, 0.0).sum(axis=1) / n_ideal,
        AP_ALL: precision.sum(axis=1) / n_relevant,
        PRECISION: is_relevant[:, :TOP].sum(axis=1) / TOP,
        NDCG: (is_relevant[:, :TOP] / discounts[: is_relevant.shape[1]]).sum(axis=1) / ideal_gains[n_ideal - 1],
    }


def reciprocal_ranks(is_relevant: BoolArray) -> FloatArray:
    """Return 1 / rank of the first relevant document of every ranking, of which each has one: (rankings,)."""
    ranks: FloatArray = 1.0 / (1 + is_relevant.argmax(axis=1))
    return ranks


class Estimate(NamedTuple):
    """A figure and its confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class BootstrapResamples:
    """Resamples of the people who issued the queries."""

    times: FloatArray  # (resamples, people): how often each person was drawn
    person: IntArray  # (queries,)

    def mean(self, figures: FloatArray) -> Estimate:
        """Return the mean of a figure (queries,) over queries."""
        totals, n_queries = self._totals(figures), self._totals(np.ones(len(figures)))
        return _estimate(float(figures.mean()), totals / n_queries)

    def ratio(self, ours: FloatArray, theirs: FloatArray) -> Estimate | None:
        """Return the ratio of the means of two figures; None if the denominator is 0 in any resample."""
        numerator, denominator = self._totals(ours), self._totals(theirs)
        if not denominator.all():
            return None
        return _estimate(float(ours.sum() / theirs.sum()), numerator / denominator)

    def _totals(self, figures: FloatArray) -> FloatArray:
        """Return the sum of a figure in every resample."""
        by_person = np.bincount(self.person, figures, minlength=self.times.shape[1])
        total: FloatArray = self.times @ by_person
        return total


def draw_resamples(person: IntArray, rng: np.random.Generator, n_resamples: int = RESAMPLES) -> BootstrapResamples:
    """Draw the people who have queries with replacement, as many as there are, `n_resamples` times."""
    _, number = np.unique(person, return_inverse=True)
    n_people = int(number.max(initial=-1)) + 1
    times = rng.multinomial(n_people, np.full(n_people, 1.0 / n_people), size=n_resamples)
    return BootstrapResamples(times.astype(np.float64), number.astype(np.int64))


def _estimate(value: float, resampled: FloatArray) -> Estimate:
    low, high = np.quantile(resampled, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    return Estimate(value, float(low), float(high))
