"""Topics that people search for, declared in topics.toml as parts of WordNet, and their words."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from queryveil.lexicons.wordnet import NOUN, WordNet, load_wordnet

_SHORTEST = 3


@dataclass(frozen=True, eq=False)
class SearchTopic:
    """One field of interest."""

    name: str
    interest: float  # how many people care, relative to other topics
    roots: list[str]  # nouns with the number of the sense meant; every noun below one belongs to the topic
    companions: list[str]  # words that people add to queries about the topic
    is_sensitive: bool = False


_DECLARED = tomllib.loads(Path(__file__).with_name("topics.toml").read_text("utf-8"))
TOPICS = tuple(SearchTopic(name, **fields) for name, fields in _DECLARED.items())


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
