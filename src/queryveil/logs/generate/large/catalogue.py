"""Queries that many people think of alike: phrases, well-known names, the sites of a field."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.large.compose import LONGEST, Wanted, compose
from queryveil.logs.generate.large.rack import Numbers, Rack, make_rack
from queryveil.logs.generate.large.shape import LargeShape
from queryveil.logs.generate.large.words import Words
from queryveil.logs.generate.topics import TOPICS

_INTERESTS = np.cumsum([topic.interest for topic in TOPICS]) / sum(topic.interest for topic in TOPICS)
_GROUPS = len(TOPICS) * LONGEST


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The queries, and their numbers by topic and length."""

    queries: Numbers  # (queries, LONGEST)
    by_group: Rack

    def draw(self, topics: NDArray[np.int64], lengths: NDArray[np.int64], rng: np.random.Generator) -> Numbers:
        """Draw a query of each topic and length."""
        return self.queries[self.by_group.draw(_group(topics, lengths), rng)]


def make_catalogue(shape: LargeShape, words: Words, rng: np.random.Generator) -> Catalogue:
    """Compose the queries; there is at least one of each topic and length."""
    n = max(shape.sizes.catalogue, _GROUPS)
    topics, lengths = draw_topics(n, rng), draw_lengths(n, shape, rng)
    topics[:_GROUPS], lengths[:_GROUPS] = np.divmod(np.arange(_GROUPS), LONGEST)
    lengths[:_GROUPS] += 1
    wanted = Wanted(topics, lengths, np.full(n, shape.manners.rarity), np.zeros(n))
    groups = _group(topics, lengths)
    order = np.argsort(groups, kind="stable").astype(np.int32)
    cuts = np.searchsorted(groups[order], np.arange(1, _GROUPS))
    return Catalogue(compose(wanted, words, rng), make_rack(np.split(order, cuts), shape.laws["catalogue"]))


def draw_topics(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw topics as people in general care for them."""
    return np.searchsorted(_INTERESTS[:-1], rng.random(n), side="right")


def draw_lengths(n: int, shape: LargeShape, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw how many terms fresh queries have."""
    bounds = np.cumsum(shape.manners.lengths)
    lengths: NDArray[np.int64] = 1 + np.searchsorted(bounds[:-1] / bounds[-1], rng.random(n), side="right")
    return lengths


def _group(topics: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return topics * LONGEST + lengths - 1
