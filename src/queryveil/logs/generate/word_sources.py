"""Building the lexicon of a log: the texts of every slot and topic in order of popularity, from lists or invented."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from queryveil.lexicons.word_lists import load_names, places
from queryveil.lexicons.wordnet import NOUN, WordNet, load_wordnet
from queryveil.logs.generate.invented import brand_names, pick, site_names, town_names
from queryveil.logs.generate.lexicon import MOST_TERMS, QueryLexicon, WeightedIds
from queryveil.logs.generate.shape import LogShape, Slot

NAMES = (Slot.FIRST_NAME, Slot.LAST_NAME)
_FOUNDERS = 4_000  # towns are named after the more common families
_SHORTEST = 3


def _read_declared(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))


# Slot → its words and phrases, the most popular first
_WORDS: dict[Slot, list[str]] = {Slot[name.upper()]: words for name, words in _read_declared("words").items()}
_WORDS[Slot.DETAIL] = _WORDS[Slot.PRODUCT_DETAIL] + _WORDS[Slot.SITE_DETAIL]


@dataclass(frozen=True, eq=False)
class SearchTopic:
    """One field of interest."""

    name: str
    interest: float  # how many people care, relative to other topics
    roots: list[str]  # nouns with the number of the sense meant; every noun below one belongs to the topic
    companions: list[str]  # words that people add to queries about the topic
    is_sensitive: bool = False


TOPICS = tuple(SearchTopic(name, **fields) for name, fields in _read_declared("topics").items())


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
    sizes, split = shape.sizes, partial(_entries, has_phrases=shape.has_phrases)
    topics = [split(topic_phrases(topic)[: sizes.topic_words]) for topic in TOPICS]
    first_names = chain.from_iterable(zip(load_names("female"), load_names("male"), strict=False))
    single: dict[Slot, Sequence[str]] = {
        **{slot: split(words) for slot, words in _WORDS.items()},
        Slot.STATE: split(_state_names()),
        Slot.PLACE: split(_destinations()),
        Slot.FIRST_NAME: split(first_names),
        Slot.LAST_NAME: load_names("last")[: sizes.last_names],
        Slot.SITE: site_names(sizes.sites, rng),
        Slot.BRAND: brand_names(sizes.brands, rng),
    }
    famous = []
    for slot in NAMES:
        sampler = WeightedIds.of([np.arange(len(single[slot]), dtype=np.int32)], shape.law(slot))
        famous.append([single[slot][at] for at in sampler.draw_many(sizes.famous_people, rng).tolist()])
    single[Slot.FAMOUS_NAME] = [" ".join(name) for name in zip(*famous, strict=True)]
    single[Slot.FAMOUS_LAST_NAME] = famous[1]
    # The well-known cities come first, others are invented
    n_towns, states = sizes.home_towns, _state_names()
    known = _known_cities(states) if n_towns else []
    invented = town_names(max(n_towns - len(known), 0), load_names("last")[:_FOUNDERS], rng)
    single[Slot.HOME_TOWN] = [*(town for town, _ in known), *invented][:n_towns]
    single[Slot.HOME_STATE] = [*(state for _, state in known), *pick(states, len(invented), rng)][:n_towns]
    texts: dict[Slot, list[Sequence[str]]] = {
        Slot.TOPIC_WORD: [*topics],
        Slot.COMPANION: [split(topic.companions) for topic in TOPICS],
        Slot.TOPIC_PLURAL: [[_plural(phrase) for phrase in phrases] for phrases in topics],
        **{slot: [group] for slot, group in single.items()},
    }
    used = {*shape.patterns.slots, *NAMES, Slot.OPERATOR}
    return {slot: texts[slot] for slot in Slot if slot in texts and slot in used}


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
    for name, meanings in places().items():
        for place in meanings if any(place.kind == "city" for place in meanings) else ():
            match = in_state.search(wordnet.gloss(place.synset).casefold())
            if match and name == wordnet.words(place.synset)[0]:
                found[name, match.group(1)] = int(wordnet.gloss_counts[wordnet.lemma_ids[name]])
    return sorted(found, key=lambda town: (-found[town], town))


def _entries(phrases: Iterable[str], *, has_phrases: bool) -> list[str]:
    """Return the phrases that are short enough for an entry, or the words of all, each once, in their order."""
    short = (phrase for phrase in phrases if len(phrase.split()) <= MOST_TERMS)
    words = (word for phrase in phrases for word in phrase.split())
    return list(dict.fromkeys(short if has_phrases else words))


def _plural(phrase: str) -> str:
    """Return the plural of a phrase, as far as English is regular."""
    if phrase.endswith(("s", "ing", "ness", "ity")):
        return phrase
    if phrase.endswith(("x", "ch", "sh")):
        return f"{phrase}es"
    if phrase.endswith("y") and phrase[-2:-1] not in "aeiou":
        return f"{phrase[:-1]}ies"
    return f"{phrase}s"


@cache
def topic_phrases(topic: SearchTopic) -> tuple[str, ...]:
    """Return the words and phrases of a topic, those that WordNet's glosses use most often first.

    A word belongs to the topic if its first sense does: "port" is a harbour before it is a wine.
    """
    wordnet = load_wordnet()
    numbered = [root.rpartition(" ") for root in topic.roots]
    roots = [int(wordnet.synsets(lemma, NOUN)[int(number) - 1]) for lemma, _, number in numbered]
    synsets, frontier = set(roots), roots
    while frontier:
        children = {child for synset in frontier for child in wordnet.hyponyms(synset).tolist()} - synsets
        frontier = [child for child in children if not wordnet.is_instance(child)]  # not single people and places
        synsets.update(frontier)
    found = {
        lemma
        for synset in synsets
        for lemma in wordnet.word_lemmas[wordnet.word_indptr[synset] : wordnet.word_indptr[synset + 1]].tolist()
        if wordnet.sense_synsets[wordnet.sense_indptr[lemma]] == synset
    }
    ordered = sorted(found, key=lambda lemma: (-wordnet.gloss_counts[lemma], lemma))
    return tuple(lemma for lemma in map(wordnet.lemmas.__getitem__, ordered) if _is_searchable(wordnet, lemma))


def _is_searchable(wordnet: WordNet, lemma: str) -> bool:
    """Return whether people know all words of a lemma: WordNet's glosses use them."""
    ids = [wordnet.lemma_ids.get(word) for word in lemma.split(" ")]
    is_familiar = all(known is not None and wordnet.gloss_counts[known] for known in ids)
    return is_familiar and len(lemma) >= _SHORTEST and lemma.replace(" ", "").isalpha()
