"""All that queries are made of: words, sites, brands, people and places, each with its popularity."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.lexicons.word_lists import NameList, female_names, last_names, male_names
from queryveil.lexicons.wordnet import load_wordnet
from queryveil.logs.generate import invented
from queryveil.logs.generate.shape import Shape, Zipf
from queryveil.logs.generate.shelf import Shelf, by_rank, by_weight
from queryveil.logs.generate.topics import TOPICS, topic_phrases
from queryveil.logs.generate.towns import destinations, home_towns

OPENINGS = """
free, pictures of, cheap, best, buy, new, history of, used, find, where to buy, the, types of, all about, how to find,
antique, custom, compare, old, 2006, facts about, discount, your own, how to make, wholesale
"""
ERRANDS = """
pizza, restaurants, hotels, jobs, weather, apartments, map, newspaper, high school, library, real estate, hospital,
movie theaters, police department, yellow pages, animal shelter, car dealers, dentist, church, bank, golf course,
florist, public schools, radio stations, county clerk, attorney, flea market, events, zip code, gym, college, airport,
fire department, funeral home, plumbers, swimming pool, auto repair, museum, day care, chinese food, tv station, taxi
"""
SITE_ERRANDS = "login, mail, coupon, games, customer service, home page, chat, search, download, phone number"
MANUALS = "review, manual, price, parts, for sale, battery, cover, driver, specs, replacement, dealer, problems, recall"
_SHORT = Zipf(1.2, 0.0)  # for the short lists of words that go with others
_PLAIN_SURNAMES = 0.001  # weight in per cent of surnames too rare for the Census to give a share


@dataclass(frozen=True, eq=False)
class Stock:
    """The shelves; those marked have one group per topic."""

    interests: NDArray[np.float64]  # (topics,): share of people's interest
    phrases: Shelf  # by topic
    companions: Shelf  # by topic
    openings: Shelf
    errands: Shelf
    sites: Shelf
    site_errands: Shelf
    brands: Shelf
    manuals: Shelf
    first_names: Shelf
    last_names: Shelf
    famous: Shelf
    towns: Shelf  # "name, state"
    destinations: Shelf


def make_stock(shape: Shape, rng: np.random.Generator) -> Stock:
    """Put up all shelves for a shape."""
    pools = shape.pools
    interests = np.array([topic.interest for topic in TOPICS])
    first, last = _name_shelf(female_names(), male_names()), _name_shelf(last_names())
    return Stock(
        interests=interests / interests.sum(),
        phrases=by_rank(topic_phrases(pools.phrases), pools.phrase_law),
        companions=by_rank([topic.companions for topic in TOPICS], _SHORT),
        openings=_list(OPENINGS),
        errands=_list(ERRANDS),
        sites=by_rank([invented.site_names(pools.sites, rng)], pools.site_law),
        site_errands=_list(SITE_ERRANDS),
        brands=by_rank([invented.brand_names(pools.brands, rng)], pools.brand_law),
        manuals=_list(MANUALS),
        first_names=first,
        last_names=last,
        famous=by_rank([full_names(first, last, pools.famous, rng)], pools.famous_law),
        towns=by_rank([home_towns(pools.towns, rng)], pools.town_law),
        destinations=by_rank([destinations(load_wordnet())], pools.town_law),
    )


def full_names(first: Shelf, last: Shelf, n: int, rng: np.random.Generator) -> list[str]:
    """Make n names of people."""
    return [f"{a} {b}" for a, b in zip(first.take(n, rng), last.take(n, rng), strict=True)]


def _list(text: str) -> Shelf:
    """Put up a short list that is written with commas."""
    return by_rank([" ".join(text.split()).split(", ")], _SHORT)


def _name_shelf(*lists: NameList) -> Shelf:
    """Put up names as common as they are in the United States."""
    names = [name for names in lists for name in names.names]
    weights = np.concatenate([np.maximum(names.shares / 1000, _PLAIN_SURNAMES) for names in lists])
    return by_weight([names], [weights])
