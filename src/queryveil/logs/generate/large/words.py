"""The terms of a large log by number, and the racks that queries draw them from."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from queryveil.lexicons.word_lists import female_names, last_names, male_names
from queryveil.lexicons.wordnet import load_wordnet
from queryveil.logs.generate import invented
from queryveil.logs.generate.large.rack import Numbers, Rack, make_rack
from queryveil.logs.generate.large.shape import LargeShape
from queryveil.logs.generate.large.tail import Tail
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

RARE = "X"
OPERATOR = "Q"  # the letter of "or", which stands in no pattern: only some people combine terms by it


class Words:
    """All terms by number, and the racks by the letter that stands for them in the patterns of queries.

    What is drawn from the rack of rare terms is a place in the tail; `settle` puts the number of a term there.
    """

    def __init__(self, texts: pa.StringArray, racks: Mapping[str, Rack], n_rare: int) -> None:
        self.texts = texts  # number → term, all different; grows as rare terms are used
        self.racks = racks  # W, C: one group per topic; others: a single group
        self.most = len(texts) + n_rare
        self._common = len(texts)
        self._settled = np.full(n_rare, -1, np.int32)  # place in the tail → number of the term, once it is used
        self._tail = Tail(texts.to_pylist())

    def settle(self, queries: Numbers, rng: np.random.Generator) -> None:
        """Make up the rare terms that nobody used before, and put all terms' numbers into the queries."""
        is_rare = queries >= self._common
        places = queries[is_rare] - self._common
        new = np.unique(places[self._settled[places] < 0])
        self._settled[new] = np.arange(len(self.texts), len(self.texts) + len(new))
        self.texts = pa.concat_arrays([self.texts, pa.array(self._tail.take(len(new), rng), pa.string())])
        queries[is_rare] = self._settled[places]


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
        "Z": [_single(state_names(load_wordnet()))],
        "T": [_single(destinations(load_wordnet()))],
        "F": [_single(chain.from_iterable(zip(female_names().names, male_names().names, strict=False)))],
        "L": [last_names().names[: sizes.last_names]],
        "S": [invented.site_names(sizes.sites, rng)],
        "B": [invented.brand_names(sizes.brands, rng)],
        "A": [["www"]],
        "M": [["com"]],
        OPERATOR: [["or"]],
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
    racks[RARE] = make_rack([np.arange(sizes.tail, dtype=np.int32) + len(encoded.dictionary)], laws[RARE])
    return Words(encoded.dictionary, racks, sizes.tail)


def _items(text: str) -> list[str]:
    return " ".join(text.split()).split(", ")


def _single(phrases: Iterable[str]) -> list[str]:
    """Return the words of phrases, each once, in the order in which they come."""
    return list(dict.fromkeys(word for phrase in phrases for word in phrase.split()))
