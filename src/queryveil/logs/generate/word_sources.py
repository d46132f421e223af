"""Building the lexicon of a log: the texts of every slot in order of popularity, from word lists or invented."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from queryveil.lexicons.word_lists import female_names, last_names, male_names, places, places_of_kind
from queryveil.lexicons.wordnet import load_wordnet
from queryveil.logs.generate.invented import brand_names, pick, site_names, town_names
from queryveil.logs.generate.lexicon import MOST_TERMS, QueryLexicon, WeightedIds
from queryveil.logs.generate.shape import LogShape, Slot, Zipf
from queryveil.logs.generate.topics import TOPICS, topic_phrases

NAMES = (Slot.FIRST_NAME, Slot.LAST_NAME)
_FOUNDERS = 4_000  # towns are named after the more common families

# Slot → its words and phrases, the most popular first
_WORDS = {
    Slot.GLUE: """
of, in, the, and, for, to, a, free, on, how, what, is, with, new, pictures, music, by, software, from, download, city,
at, games, i, de, jobs, video, online, home, pics, art, history, sex, codes, page, 2002, school, web, sale, my, la, us,
university, county, info, state, map, company, photos, news, american, world, nude, service, program, an, you, your, do,
black, big, girls, internet, club, health, list, center, where, hot, pc, cheats, real, make, national, car, women, red,
information, live, college, high, business, lyrics, best, house, movie, about, white, blue, mp3, computer, who, movies,
park, research, cheap, law, number, get, services, people, used, are, can, as, it, be, that, into, during, after, vs, 3
""",
    Slot.OPENING: """
free, pictures of, cheap, best, buy, new, history of, used, find, where to buy, the, types of, all about, how to find,
antique, custom, compare, old, 2006, facts about, discount, your own, how to make, wholesale
""",
    Slot.ERRAND: """
pizza, restaurants, hotels, jobs, weather, apartments, map, newspaper, high school, library, real estate, hospital,
movie theaters, police department, yellow pages, animal shelter, car dealers, dentist, church, bank, golf course,
florist, public schools, radio stations, county clerk, attorney, flea market, events, zip code, gym, college, airport,
fire department, funeral home, plumbers, swimming pool, auto repair, museum, day care, chinese food, tv station, taxi
""",
    Slot.PRODUCT_DETAIL: "review, manual, price, parts, for sale, battery, cover, driver, specs, replacement, dealer, "
    "problems, recall",
    Slot.SITE_DETAIL: "login, mail, coupon, games, customer service, home page, chat, search, download, phone number",
    Slot.TRAVEL_DETAIL: "vacation, flights, map",
    Slot.FAMOUS_DETAIL: "pictures, biography, movies",
    Slot.FAMILY_DETAIL: "obituary, family",
    **{Slot.WWW: "www", Slot.COM: "com", Slot.OPERATOR: "or", Slot.AND: "and", Slot.IN: "in"},
}
_WORDS[Slot.DETAIL] = f"{_WORDS[Slot.PRODUCT_DETAIL]}, {_WORDS[Slot.SITE_DETAIL]}"


def build_lexicon(shape: LogShape, rng: np.random.Generator) -> QueryLexicon:
    """Collect all entries that a log of this shape may contain, and their samplers."""
    groups = texts_by_slot(shape, rng)
    flat = pa.chunked_array([pa.array(group, pa.string()) for parts in groups.values() for group in parts])
    encoded = flat.combine_chunks().dictionary_encode()
    ids = encoded.indices.to_numpy()
    samplers: dict[Slot, WeightedIds] = {}
    begin = 0
    for slot, parts in groups.items():
        ends = begin + np.cumsum([len(part) for part in parts])
        samplers[slot] = WeightedIds.of(np.split(ids[begin : ends[-1]], ends[:-1] - begin), shape.law(slot))
        begin = int(ends[-1])
    n_rare = shape.sizes.rare_terms
    if n_rare:
        provisional = np.arange(n_rare, dtype=np.int32) + len(encoded.dictionary)
        samplers[Slot.RARE] = WeightedIds.of([provisional], shape.law(Slot.RARE))
    return QueryLexicon(encoded.dictionary, samplers, n_rare=n_rare, has_phrases=shape.has_phrases)


def texts_by_slot(shape: LogShape, rng: np.random.Generator) -> dict[Slot, list[Sequence[str]]]:
    """Return the texts of all slots that the shape uses: one group per topic for its words, else a single group."""
    sizes, split = shape.sizes, _phrases if shape.has_phrases else _single_words
    topics = [split(phrases) for phrases in topic_phrases(sizes.topic_words)]
    first_names = chain.from_iterable(zip(female_names().names, male_names().names, strict=False))
    single: dict[Slot, Sequence[str]] = {
        **{slot: split(" ".join(words.split()).split(", ")) for slot, words in _WORDS.items()},
        Slot.STATE: split(_state_names()),
        Slot.PLACE: split(_destinations()),
        Slot.FIRST_NAME: split(first_names),
        Slot.LAST_NAME: last_names().names[: sizes.last_names],
        Slot.SITE: site_names(sizes.sites, rng),
        Slot.BRAND: brand_names(sizes.brands, rng),
    }
    famous = [_draw_texts(single[slot], sizes.famous_people, shape.law(slot), rng) for slot in NAMES]
    single[Slot.FAMOUS_NAME] = [" ".join(name) for name in zip(*famous, strict=True)]
    single[Slot.FAMOUS_LAST_NAME] = famous[1]
    single[Slot.HOME_TOWN], single[Slot.HOME_STATE] = _home_towns(sizes.home_towns, rng)
    texts: dict[Slot, list[Sequence[str]]] = {
        Slot.TOPIC_WORD: [*topics],
        Slot.COMPANION: [split(topic.companions) for topic in TOPICS],
        Slot.TOPIC_PLURAL: [[_plural(phrase) for phrase in phrases] for phrases in topics],
        **{slot: [group] for slot, group in single.items()},
    }
    used = {*shape.patterns.slots, *NAMES, Slot.OPERATOR}
    return {slot: texts[slot] for slot in Slot if slot in texts and slot in used}


def _draw_texts(texts: Sequence[str], n: int, law: Zipf, rng: np.random.Generator) -> list[str]:
    """Draw n of the texts by a law of popularity."""
    sampler = WeightedIds.of([np.arange(len(texts), dtype=np.int32)], law)
    return [texts[at] for at in sampler.draw_many(n, rng).tolist()]


def _home_towns(n: int, rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Return n towns and their states; the well-known cities come first, others are invented."""
    states = _state_names()
    known = _known_cities(states) if n else []
    invented = town_names(max(n - len(known), 0), last_names().names[:_FOUNDERS], rng)
    elsewhere = pick(states, len(invented), rng)
    return [*(town for town, _ in known), *invented][:n], [*(state for _, state in known), *elsewhere][:n]


def _destinations() -> list[str]:
    """Return the places of the world that one may travel to, the most familiar first."""
    wordnet = load_wordnet()
    found = [
        name
        for name, meant in places().items()
        if any(place.kind in ("city", "country", "island", "state") for place in meant)
        and re.fullmatch(r"[a-z]{4,}( [a-z]{3,})?", name)
    ]
    return sorted(found, key=lambda name: (-wordnet.gloss_counts[wordnet.lemma_ids[name]], name))


def _state_names() -> list[str]:
    """Return the fifty states."""
    wordnet = load_wordnet()
    return [wordnet.words(state)[0] for state in wordnet.hyponyms(wordnet.synsets("american state")[0]).tolist()]


def _known_cities(states: list[str]) -> list[tuple[str, str]]:
    """Return the cities whose gloss places them in a state, the most familiar first."""
    wordnet = load_wordnet()
    in_state = re.compile(rf"\bin (?:[a-z-]+ )*?({'|'.join(states)})\b")
    found: dict[tuple[str, str], int] = {}
    for name in places_of_kind("city"):
        for place in places()[name]:
            match = in_state.search(wordnet.gloss(place.synset).casefold())
            if match and name == wordnet.words(place.synset)[0]:
                found[name, match.group(1)] = int(wordnet.gloss_counts[wordnet.lemma_ids[name]])
    return sorted(found, key=lambda town: (-found[town], town))


def _single_words(phrases: Iterable[str]) -> list[str]:
    """Return the words of phrases, each once, in the order in which they come."""
    return list(dict.fromkeys(word for phrase in phrases for word in phrase.split()))


def _phrases(phrases: Iterable[str]) -> list[str]:
    """Return the phrases that are short enough for an entry, each once, in the order in which they come."""
    return list(dict.fromkeys(phrase for phrase in phrases if len(phrase.split()) <= MOST_TERMS))


def _plural(phrase: str) -> str:
    """Return the plural of a phrase, as far as English is regular."""
    if phrase.endswith(("s", "ing", "ness", "ity")):
        return phrase
    if phrase.endswith(("x", "ch", "sh")):
        return f"{phrase}es"
    if phrase.endswith("y") and phrase[-2:-1] not in "aeiou":
        return f"{phrase[:-1]}ies"
    return f"{phrase}s"
