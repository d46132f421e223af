"""The texts that the bundled model is trained on: the definitions of WordNet's synsets, and their lemmas as queries."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from queryveil.lexicons.wordnet import WordNet, glosses, load
from queryveil.sensitivity.topics import NEUTRAL, SENSITIVE, Labelled, Topic, definition, labelled
from queryveil.sensitivity.training import Examples, Setting
from queryveil.sensitivity.words import base_of, features

NAME = "topics of WordNet 3.0"
# What a definition does not say tells nothing about queries, which are much shorter; so the share of sensitive queries
# is set: half of those about people, places and private things, as Carpineto and Romano found, and a few others.
SETTING = Setting(unknown=0.3)
EVERYDAY = 20.0  # how much a word of a topic's everyday words counts; a lemma counts at most 1


def examples(withheld: frozenset[str]) -> tuple[Examples, NDArray[np.bool_]]:
    """Return the definition of every labelled synset and its lemmas, and which of these texts a judge may look at.

    Judged are definitions of what a root tells to be about a topic: where a word of the gloss told, the judgement
    would be about that word. A lemma counts as much as the labelled sense is of all its senses. Words that are
    withheld are labelled nowhere; a definition may use them.
    """
    network, texts, found = load(), glosses().to_pylist(), labelled()
    parts, sensitive, group, importance, judged = [], [], [], [], []
    first: dict[str, int] = {}  # lemma → a labelled synset that has it
    groups = _groups(network, found, first)
    for each in found:
        lemmas = network.words(each.synset)
        documents = [(" ".join((definition(texts[each.synset]), *lemmas)), 1.0)]
        taught = [lemma for lemma in lemmas if not is_withheld(lemma, withheld)]
        documents += [(lemma, _share(network, lemma, each.synset)) for lemma in taught]
        parts += [features(text) for text, _ in documents]
        importance += [share for _, share in documents]
        judged += [each.by_root] + [False] * len(taught)
        sensitive += [each.topic.is_sensitive] * len(documents)
        group += [groups[each.synset]] * len(documents)
    for number, (topic, word) in enumerate(everyday()):
        if is_withheld(word, withheld):
            continue
        parts.append(frozenset({base_of(word)}))
        sensitive.append(topic.is_sensitive)
        group.append(groups.get(first.get(base_of(word), -1), network.n_synsets + number))
        importance.append(EVERYDAY)
        judged.append(False)
    return Examples(tuple(parts), np.array(sensitive), np.array(group), np.array(importance)), np.array(judged)


def is_withheld(text: str, withheld: frozenset[str]) -> bool:
    """Say whether a text is one of the withheld words, inflected or not ("the bible" is one word)."""
    words = features(text)
    return text in withheld or (len(words) == 1 and not words.isdisjoint(withheld))


def everyday() -> Iterator[tuple[Topic, str]]:
    """Yield the words that people type about each topic."""
    for topic in (*SENSITIVE, *NEUTRAL):
        for word in topic.everyday.split():
            yield topic, word


def _share(network: WordNet, lemma: str, synset: int) -> float:
    """Return how much of a lemma's use is one of its senses, from tagged texts; an untagged sense counts one half."""
    number = network.lemma_ids[lemma]
    senses = slice(network.sense_indptr[number], network.sense_indptr[number + 1])
    counts = network.sense_counts[senses] + 0.5
    return float(counts[network.sense_synsets[senses] == synset].sum() / counts.sum())


def _groups(network: WordNet, found: Iterable[Labelled], first: dict[str, int]) -> dict[int, int]:
    """Number the synsets so that those which share a lemma, directly or by others, have the same number."""
    group: dict[int, int] = {}
    for each in found:
        group[each.synset] = each.synset
        for lemma in network.words(each.synset):
            _join(group, each.synset, first.setdefault(lemma, each.synset))
    return {synset: _top(group, synset) for synset in group}


def _join(group: dict[int, int], one: int, other: int) -> None:
    a, b = _top(group, one), _top(group, other)
    group[max(a, b)] = min(a, b)


def _top(group: dict[int, int], synset: int) -> int:
    while group[synset] != synset:
        group[synset] = group[group[synset]]
        synset = group[synset]
    return synset
