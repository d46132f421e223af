"""The people of a large log: how much each searches, and what for."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.large.shape import LargeShape, Rhythm
from queryveil.logs.generate.topics import TOPICS

TOPICS_EACH = 3
HEAVIEST_LENGTH = 5  # terms in each query of the person with the largest history
_LARGEST_STEP = 800  # between the identifiers of two people
_INTERESTS = np.array([topic.interest for topic in TOPICS], np.float64)


@dataclass(frozen=True, eq=False)
class People:
    """Some people, in the order of their identifiers."""

    identifiers: NDArray[np.int64]
    n_queries: NDArray[np.int64]
    is_operator: NDArray[np.bool_]  # combines terms by "or"
    is_heaviest: NDArray[np.bool_]  # one person has the largest history
    is_stranger: NDArray[np.bool_]  # uses words that few others use
    topics: NDArray[np.int64]  # (people, TOPICS_EACH): the dearest first

    def __len__(self) -> int:
        return len(self.identifiers)

    def part(self, begin: int, end: int) -> "People":
        """Return the people from one place to another."""
        return People(*(values[begin:end] for values in vars(self).values()))


def make_people(n: int, shape: LargeShape, rng: np.random.Generator) -> People:
    """Make n people who type together as many queries as the shape says."""
    is_operator, is_heaviest = _roles(n, shape, rng)
    fixed = np.where(is_operator, shape.manners.operator_queries, 0)
    fixed[is_heaviest] = shape.largest // HEAVIEST_LENGTH
    return People(
        identifiers=np.cumsum(rng.integers(1, _LARGEST_STEP, size=n, endpoint=True)),
        n_queries=_n_queries(fixed, shape.rhythm, rng),
        is_operator=is_operator,
        is_heaviest=is_heaviest,
        is_stranger=rng.random(n) < shape.manners.strangers,
        topics=_topics(n, rng),
    )


def _roles(n: int, shape: LargeShape, rng: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Choose the operators, and in a log of full size the one with the largest history."""
    order = rng.permutation(n)
    is_operator, is_heaviest = np.zeros((2, n), np.bool_)
    is_operator[order[: round(n * shape.manners.operators)]] = True
    if shape.largest and n >= shape.users:
        is_heaviest[order[-1]] = True
    return is_operator, is_heaviest


def _n_queries(fixed: NDArray[np.int64], rhythm: Rhythm, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw how much each person searches for whom it is not fixed, so that the sum is right."""
    total, is_free = round(len(fixed) * rhythm.queries), fixed == 0
    mean = (total - fixed.sum()) / max(np.count_nonzero(is_free), 1)
    drawn = rng.lognormal(np.log(max(mean, 1.0)) - rhythm.sigma**2 / 2, rhythm.sigma, size=len(fixed))
    counts = np.where(is_free, np.clip(drawn, 1, rhythm.most_queries).astype(np.int64), fixed)
    while missing := total - int(counts.sum()):  # some search once more or less; who searched once still does
        step = 1 if missing > 0 else -1
        able = np.flatnonzero(is_free & (counts > (1 if step > 0 else 2)) & (counts < rhythm.most_queries))
        if not len(able):
            break
        counts[rng.permutation(able)[: abs(missing)]] += step
    return counts


def _topics(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw different topics for each person: sorting by noise / interest draws without replacement."""
    waiting = rng.standard_exponential((n, len(_INTERESTS)), np.float32) / _INTERESTS.astype(np.float32)
    return np.argsort(waiting, axis=1)[:, :TOPICS_EACH]
