"""The terms of a large log by number, and the racks that queries draw them from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from queryveil.lexicons.names import female_names, last_names, male_names
from queryveil.lexicons.wordnet import load
from queryveil.logs.generate import invented
from queryveil.logs.generate.large.rack import Rack, make_rack
from queryveil.logs.generate.large.shape import LargeShape
from queryveil.logs.generate.large.tail import tail_terms
from queryveil.logs.generate.stock import ERRANDS, MANUALS, OPENINGS, SITE_ERRANDS
from queryveil.logs.generate.topics import TOPICS, topic_phrases
from queryveil.logs.generate.towns import destinations, state_names

_GLUE = """
of, in, the, and, for, to, a, free, on, how, what, is, with, new, pictures, music, by, software, from, download, city,
at, games, i, de, jobs, video, online, home, pics, art, history, sex, codes, page, 2002, school, web, sale, my, la, us,
university, county, info, state, map, company, photos, news, american, world, nude, service, program, an, you, your, do,
black, big, girls, internet, club, health, list, center, where, hot, pc, cheats, real, make, national, car, women, red,
information, live, college, high, business, lyrics, best, house, movie, about, white, blue, mp3, computer, who, movies,
park, research, cheap, law, number, get, services, people, used, are, can, as, it, be, that, into, during, after, vs, 3
"""

OPERATOR = "Q"  # the letter of "or", which stands in no pattern: only some people combine terms by it


@dataclass(frozen=True, eq=False)
class Words:
    """All terms, and the racks by the letter that stands for them in the patterns of queries."""

    texts: pa.StringArray  # number → term, all different
    racks: Mapping[str, Rack]  # W, C: one group per topic; others: a single group


def make_words(shape: LargeShape, rng: np.random.Generator) -> Words:
    """Collect all terms that a log like this may hold, and put up the racks."""
    laws, sizes = shape.laws, shape.sizes
    groups: dict[str, list[Sequence[str]]] = {
        "W": [_single(phrases) for phrases in topic_phrases(sizes.topic_words)],
        "C": [_single(topic.companions) for topic in TOPICS],
        "G": [_single(_GLUE.replace("\n", " ").split(","))],
        "O": [_single(_items(OPENINGS))],
        "E": [_single(_items(ERRANDS))],
        "V": [_single(_items(MANUALS + ", " + SITE_ERRANDS))],
        "Z": [_single(state_names(load()))],
        "T": [_single(destinations(load()))],
        "F": [_single((*female_names().names[: sizes.first_names], *male_names().names[: sizes.first_names]))],
        "L": [last_names().names[: sizes.last_names]],
        "S": [invented.site_names(sizes.sites, rng)],
        "B": [invented.brand_names(sizes.brands, rng)],
        "A": [["www"]],
        "M": [["com"]],
        OPERATOR: [["or"]],
        "X": [tail_terms(sizes.tail, rng)],
    }
    flat = pa.chunked_array([pa.array(group, pa.string()) for parts in groups.values() for group in parts])
    encoded = flat.combine_chunks().dictionary_encode()
    numbers = encoded.indices.to_numpy()
    racks: dict[str, Rack] = {}
    begin = 0
    for letter, parts in groups.items():
        ends = begin + np.cumsum([len(part) for part in parts])
        racks[letter] = make_rack(np.split(numbers[begin : ends[-1]], ends[:-1] - begin), laws[letter])
        begin = int(ends[-1])
    return Words(encoded.dictionary, racks)


def _items(text: str) -> list[str]:
    return " ".join(text.split()).split(", ")


def _single(phrases: Iterable[str]) -> list[str]:
    """Return the words of phrases, each once, in the order in which they come."""
    return list(dict.fromkeys(word for phrase in phrases for word in phrase.split()))
