"""How well rankings put relevant documents first.

Zhu and Xiong 2010 give "average precision at top 10 relevant search results" without a formula, so it is taken in three
ways. Beside each stands what `ir-measures` and trec_eval call it, for R relevant documents:

    AP at 10              Σ_{i≤10} P(i)·rel(i) / min(10, R)    AP@10 · R / min(10, R)
    AP to 10 relevant     mean of P(i) over the first 10 relevant, wherever they stand; no counterpart
    AP                    Σ_i P(i)·rel(i) / R                   AP
    P@10, nDCG@10         as everywhere; relevance is yes or no

A document that was not retrieved has precision 0.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

TOP = 10
AP_TOP, AP_FIRST, AP_ALL, PRECISION, NDCG = "AP at 10", "AP to 10 relevant", "AP", "P@10", "nDCG@10"
METRICS = (AP_TOP, AP_FIRST, AP_ALL, PRECISION, NDCG)

Reals = NDArray[np.float64]


def judge(is_relevant: NDArray[np.bool_], n_relevant: NDArray[np.int64]) -> Mapping[str, Reals]:
    """Return every metric of every ranking.

    `is_relevant` is (rankings, ranks), filled up with False; `n_relevant` counts the relevant documents there are, one
    at least.
    """
    ranks = np.arange(1, is_relevant.shape[1] + 1)
    found = np.cumsum(is_relevant, axis=1)
    gains = np.where(is_relevant, found / ranks, 0.0)  # precision where a relevant document stands
    few = np.minimum(TOP, n_relevant)
    return {
        AP_TOP: gains[:, :TOP].sum(axis=1) / few,
        AP_FIRST: np.where(found <= TOP, gains, 0.0).sum(axis=1) / few,
        AP_ALL: gains.sum(axis=1) / n_relevant,
        PRECISION: is_relevant[:, :TOP].sum(axis=1) / TOP,
        NDCG: _discounted(is_relevant[:, :TOP]) / _ideal()[few],
    }


def _discounted(is_relevant: NDArray[np.bool_]) -> Reals:
    total: Reals = (is_relevant / np.log2(np.arange(2, is_relevant.shape[1] + 2))).sum(axis=1)
    return total


def _ideal() -> Reals:
    """Return the discounted gain of 0, 1, … TOP relevant documents that all stand first."""
    return np.concatenate((np.zeros(1), np.cumsum(1.0 / np.log2(np.arange(2, TOP + 2)))))
