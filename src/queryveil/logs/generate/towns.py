"""Where people live: cities of the United States from WordNet, and small towns that do not exist."""

import re

import numpy as np

from queryveil.lexicons.word_lists import last_names, places, places_of_kind
from queryveil.lexicons.wordnet import WordNet, load_wordnet
from queryveil.logs.generate.invented import town_names

_FOUNDERS = 4_000  # towns are named after the more common families


def home_towns(n: int, rng: np.random.Generator) -> list[str]:
    """Return n towns as "name, state", the well-known cities first."""
    wordnet = load_wordnet()
    states = state_names(wordnet)
    known = _known_cities(wordnet, states)
    invented = town_names(max(n - len(known), 0), last_names().names[:_FOUNDERS], rng)
    where = rng.integers(len(states), size=len(invented)).tolist()
    return [*known, *(f"{town}, {states[state]}" for town, state in zip(invented, where, strict=True))][:n]


def destinations(wordnet: WordNet) -> list[str]:
    """Return the places of the world that one may travel to, the most familiar first."""
    found = [
        name
        for name, meant in places().items()
        if any(place.kind in ("city", "country", "island", "state") for place in meant)
        and re.fullmatch(r"[a-z]{4,}( [a-z]{3,})?", name)
    ]
    return sorted(found, key=lambda name: (-wordnet.gloss_counts[wordnet.lemma_ids[name]], name))


def state_names(wordnet: WordNet) -> list[str]:
    """Return the fifty states."""
    return [wordnet.words(state)[0] for state in wordnet.hyponyms(wordnet.synsets("american state")[0]).tolist()]


def _known_cities(wordnet: WordNet, states: list[str]) -> list[str]:
    """Return the cities whose gloss places them in a state, the most familiar first."""
    in_state = re.compile(rf"\bin (?:[a-z-]+ )*?({'|'.join(states)})\b")
    found: dict[str, int] = {}
    for name in places_of_kind("city"):
        for place in places()[name]:
            match = in_state.search(wordnet.gloss(place.synset).casefold())
            if match and name == wordnet.words(place.synset)[0]:
                found[f"{name}, {match.group(1)}"] = int(wordnet.gloss_counts[wordnet.lemma_ids[name]])
    return sorted(found, key=lambda town: (-found[town], town))
