"""The training texts of the bundled model: the definitions of WordNet's synsets, and their lemmas as queries."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from queryveil.lexicons.wordnet import WordNet, glosses, load_wordnet
from queryveil.sensitivity.training import Examples, TrainingOptions, base_form, features
from scripts.sensitivity_topics import NEUTRAL, SENSITIVE, LabelledSynset, Topic, definition, label_synsets

NAME = "topics of WordNet 3.0"
# A definition is much longer than a query, so the words it lacks say nothing about queries. The share of sensitive
# queries is set instead: half of those about people, places and private things (Carpineto, Romano), and a few others.
OPTIONS = TrainingOptions(unknown=0.3)
EVERYDAY = 20.0  # the importance of a topic's everyday words; that of a lemma is at most 1


def bundled_examples(withheld: frozenset[str]) -> tuple[Examples, NDArray[np.bool_]]:
    """Return the definition and lemmas of every labelled synset as texts, and which texts may be scored.

    Only definitions of synsets labelled by a root are scored: where a gloss word decided the label, the score would
    be about that word. A lemma's importance is the share of the labelled sense in its uses. Withheld words are never
    labelled, but definitions may contain them.
    """
    network, texts, found = load_wordnet(), glosses().to_pylist(), label_synsets()
    parts, sensitive, group, importance, scored = [], [], [], [], []
    first: dict[str, int] = {}  # lemma → a labelled synset that has it
    groups = _group_by_lemma(network, found, first)
    for each in found:
        lemmas = network.words(each.synset)
        documents = [(" ".join((definition(texts[each.synset]), *lemmas)), 1.0)]
        taught = [lemma for lemma in lemmas if not is_withheld(lemma, withheld)]
        documents += [(lemma, _sense_share(network, lemma, each.synset)) for lemma in taught]
        parts += [features(text) for text, _ in documents]
        importance += [share for _, share in documents]
        scored += [each.by_root] + [False] * len(taught)
        sensitive += [each.topic.is_sensitive] * len(documents)
        group += [groups[each.synset]] * len(documents)
    for number, (topic, word) in enumerate(everyday_words()):
        if is_withheld(word, withheld):
            continue
        parts.append(frozenset({base_form(word)}))
        sensitive.append(topic.is_sensitive)
        group.append(groups.get(first.get(base_form(word), -1), network.n_synsets + number))
        importance.append(EVERYDAY)
        scored.append(False)
    return Examples(tuple(parts), np.array(sensitive), np.array(group), np.array(importance)), np.array(scored)


def is_withheld(text: str, withheld: frozenset[str]) -> bool:
    """Return whether a text is one of the withheld words, inflected or not ("the bible" is one word)."""
    words = features(text)
    return text in withheld or (len(words) == 1 and not words.isdisjoint(withheld))


def everyday_words() -> Iterator[tuple[Topic, str]]:
    """Yield every topic's words that people type."""
    for topic in (*SENSITIVE, *NEUTRAL):
        for word in topic.everyday.split():
            yield topic, word


def _sense_share(network: WordNet, lemma: str, synset: int) -> float:
    """Return the share of a sense in the tagged uses of a lemma; half a use is added to every sense."""
    number = network.lemma_ids[lemma]
    senses = slice(network.sense_indptr[number], network.sense_indptr[number + 1])
    counts = network.sense_counts[senses] + 0.5
    return float(counts[network.sense_synsets[senses] == synset].sum() / counts.sum())


def _group_by_lemma(network: WordNet, found: Iterable[LabelledSynset], first: dict[str, int]) -> dict[int, int]:
    """Return the group of every synset: connected components of synsets that share a lemma (union-find)."""
    group: dict[int, int] = {}
    for each in found:
        group[each.synset] = each.synset
        for lemma in network.words(each.synset):
            _union(group, each.synset, first.setdefault(lemma, each.synset))
    return {synset: _find(group, synset) for synset in group}


def _union(group: dict[int, int], one: int, other: int) -> None:
    a, b = _find(group, one), _find(group, other)
    group[max(a, b)] = min(a, b)


def _find(group: dict[int, int], synset: int) -> int:
    while group[synset] != synset:
        group[synset] = group[group[synset]]
        synset = group[synset]
    return synset
