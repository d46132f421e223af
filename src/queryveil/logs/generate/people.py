"""The people of a block: who they are, what they care about, and how much they search."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.shape import Shape
from queryveil.logs.generate.stock import Stock, full_names

FAVOURITE_SITES = 4
_TOPICS_EACH = 3
_LARGEST_STEP = 800  # between the identifiers of two people
_FALLING = np.array([0.6, 0.25, 0.15])  # interest in a person's first, second, … topic


@dataclass(frozen=True, eq=False)
class People:
    """Some people, in the order of their identifiers."""

    identifiers: NDArray[np.int64]
    n_queries: NDArray[np.int64]
    is_bot: NDArray[np.bool_]
    is_vain: NDArray[np.bool_]  # looks for the own name
    topics: NDArray[np.int64]  # (people, topics each): the dearest first
    names: list[str] = field(repr=False)
    towns: list[str] = field(repr=False)  # "name, state"
    favourites: list[str] = field(repr=False)  # sites: FAVOURITE_SITES for each person, one after the other

    def __len__(self) -> int:
        return len(self.identifiers)


def make_people(n: int, after: int, shape: Shape, stock: Stock, rng: np.random.Generator) -> People:
    """Make n people whose identifiers are larger than `after`."""
    activity = shape.activity
    wanted = rng.lognormal(activity.queries_log_mean, activity.queries_log_sigma, size=n)
    is_bot = _bots(n, activity.bots_per_person, rng)
    fewest, most = activity.bot_queries
    searched_by_bots = rng.integers(fewest, most, size=n, endpoint=True)
    return People(
        identifiers=after + np.cumsum(rng.integers(1, _LARGEST_STEP, size=n, endpoint=True)),
        n_queries=np.where(is_bot, searched_by_bots, np.clip(wanted, 1, activity.max_queries).astype(np.int64)),
        is_bot=is_bot,
        is_vain=rng.random(n) < shape.habits.vanity,
        topics=_topics(n, stock, rng),
        names=full_names(stock.first_names, stock.last_names, n, rng),
        towns=stock.towns.take(n, rng),
        favourites=stock.sites.take(n * FAVOURITE_SITES, rng),
    )


def _bots(n: int, rate: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Make so many of n people bots as the rate says, rounded up or down by chance."""
    is_bot = np.zeros(n, dtype=np.bool_)
    is_bot[rng.permutation(n)[: int(n * rate + rng.random())]] = True
    return is_bot


def _topics(n: int, stock: Stock, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw different topics for each person: sorting by noise / interest draws without replacement."""
    waiting = rng.standard_exponential((n, len(stock.interests))) / stock.interests
    return np.argsort(waiting, axis=1)[:, :_TOPICS_EACH]


def session_topics(people: People, owners: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the topic of each session among its owner's."""
    place = np.searchsorted(np.cumsum(_FALLING), rng.random(len(owners)) * _FALLING.sum(), side="right")
    topics: NDArray[np.int64] = people.topics[owners, np.minimum(place, _TOPICS_EACH - 1)]
    return topics
