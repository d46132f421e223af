"""A logistic regression on queries whose words and phrases have features: what each word or phrase comes to speak for.

A word's value is a sum over its features. The values above zero of a query are added up, and those below zero count for
less the larger that sum is: halved where it is `HALVING`. So "mississippi" alone speaks for a neutral query, and hardly
does next to "prisons". The total is divided by a power of the number of words and added to the log-odds of a query
without a known word, which are given: they are a prior, and are not learnt from queries that were written.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from queryveil.sensitivity.training import base_form

EXPONENT = 0.25  # of the number of words, by which a total is divided
HALVING = 16.0
MOST_STEPS = 300
Floats = NDArray[np.float64]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Features:
    """What is known of every different word and phrase, and which query holds which."""

    known: Floats  # (words, features): what is known before training
    own: csr_matrix  # (words, base forms)
    topics: Floats  # (phrases, 2): of WordNet's lemma of that name
    phrase: csr_matrix  # (phrases, phrases)
    held: NDArray[np.int64]  # (occurrences,): the number of a word, or behind the words that of a phrase
    query: NDArray[np.int64]  # (occurrences,)
    share: Floats  # (queries,): by which a total is multiplied

    @property
    def blocks(self) -> tuple[Floats | csr_matrix, ...]:
        """Return the features of words, then those of phrases."""
        return self.known, self.own, self.topics, self.phrase

    def cut(self, weights: Floats) -> list[Floats]:
        """Return the weights of each block."""
        return np.split(weights, np.cumsum([block.shape[1] for block in self.blocks])[:-1])


def number(things: Iterable[Any]) -> dict[Any, int]:
    """Number distinct things in the order of their first occurrence."""
    return {thing: i for i, thing in enumerate(dict.fromkeys(things))}


def encode(
    queries: Sequence[Sequence[str]],
    known: Mapping[str, Floats],
    topics: Mapping[Pair, float],
    scales: Mapping[str, float],
) -> tuple[Features, dict[str, int], dict[Pair, int]]:
    """Return the features of queries, the numbers of the base forms of their words, and those of their phrases."""
    words = number(word for query in queries for word in query)
    phrases = number(pair for query in queries for pair in pairwise(query))
    own = number(map(base_form, words))
    of_lemma = np.array([topics.get(pair, 0.0) for pair in phrases])
    held = [words[word] for query in queries for word in query]
    held += [len(words) + phrases[pair] for query in queries for pair in pairwise(query)]
    sizes = np.array([len(query) for query in queries])
    rows = np.arange(len(queries))
    features = Features(
        np.array([known[word] for word in words]),
        _ones(np.array([own[base_form(word)] for word in words]), len(own)) * scales["own"],
        scales["lemma"] * np.stack((np.maximum(of_lemma, 0.0), np.minimum(of_lemma, 0.0)), axis=1),
        _ones(np.arange(len(phrases)), len(phrases)) * scales["phrase"],
        np.array(held),
        np.concatenate((np.repeat(rows, sizes), np.repeat(rows, np.maximum(sizes - 1, 0)))),
        np.maximum(sizes, 1.0) ** -EXPONENT,
    )
    return features, own, phrases


def _ones(columns: NDArray[np.int64], size: int) -> csr_matrix:
    """Return a matrix with a one in each row."""
    return csr_matrix((np.ones(len(columns)), columns, np.arange(len(columns) + 1)), shape=(len(columns), size))


def fit(features: Features, labels: NDArray[np.bool_], importance: Floats, prior: float) -> list[Floats]:
    """Return the weights of each block of features, with a ridge penalty of 1; `prior` is the log-odds of nothing."""
    target = labels.astype(np.float64)
    known, own, topics, phrase = features.blocks
    transposed = (known.T, csr_matrix(own.T), topics.T, csr_matrix(phrase.T))
    n_words, n_things = known.shape[0], known.shape[0] + topics.shape[0]
    held, query, share = features.held, features.query, features.share

    def loss(weights: Floats) -> tuple[float, Floats]:
        parts = features.cut(weights)
        value = np.concatenate((known @ parts[0] + own @ parts[1], topics @ parts[2] + phrase @ parts[3]))[held]
        above, below = (np.bincount(query, side, minlength=len(share)) for side in _sides(value))
        eased = HALVING / (HALVING + above)
        odds = prior + share * (above + eased * below)
        fault = importance * (1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0))) - target)
        total = importance @ (np.logaddexp(0.0, odds) - target * odds) + 0.5 * weights @ weights
        rising, falling = fault * share * (1.0 - below * eased**2 / HALVING), fault * share * eased
        of_thing = np.bincount(held, np.where(value > 0, rising[query], falling[query]), minlength=n_things)
        slopes = np.split(of_thing, [n_words])
        gradient = [block @ slopes[i // 2] for i, block in enumerate(transposed)]
        return float(total), np.concatenate(gradient) + weights

    size = sum(block.shape[1] for block in features.blocks)
    found = minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS})
    return features.cut(np.asarray(found.x))


def _sides(value: Floats) -> tuple[Floats, Floats]:
    """Return the values above zero and those below it."""
    return np.maximum(value, 0.0), np.minimum(value, 0.0)
