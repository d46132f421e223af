"""Make the bundled model of sensitive queries from labelled queries, word vectors and WordNet's topics.

    python -m scripts.build_query_model --queries scripts/labelled-queries.tsv --out src/queryveil/lexicons/data

A logistic regression adds up, over the words of a query, a function of the word's vector (its components, and how near
it is to each of 300 centres), how a regression on WordNet's labelled nouns alone would judge the vector, the word's
weight in naive Bayes, and a weight of the word itself; over phrases of two words, a weight of the phrase and the topics
of WordNet's lemma of that name (`scripts/query_regression.py`). Names of people and places that are no other words are
neutral. All of it is fixed once training ends, so the model is a table with one weight for each word and phrase. Words
that occur next to each other are added as one word, and sensitive words mistyped.
"""

import argparse
import csv
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.lexicons.word_lists import STOP_WORDS, frequent_names, ordinary_words, personal_places
from queryveil.lexicons.wordnet import load_wordnet
from queryveil.logs.terms import terms
from queryveil.semantics.word_vectors import bundled_vectors
from queryveil.sensitivity.model import BAYES, SensitivityModel, model_bytes, read_model
from queryveil.sensitivity.training import base_form, score_predictions
from scripts.build_lexicons import write
from scripts.build_sensitivity import show, topic_words
from scripts.query_regression import EXPONENT, HALVING, Floats, Pair, encode, fit
from scripts.sensitivity_examples import _sense_share, everyday_words
from scripts.sensitivity_topics import SENSITIVE, label_synsets

NAME = "labelled queries, word vectors and topics of WordNet 3.0"
CENTRES, SHARPNESS, ROUNDS = 300, 8.0, 5  # of the clusters of vectors, their softness, and rounds of k-means
FREQUENT = 40_000  # words of which the centres are taken
SCALES = {"vector": 2.0, "bayes": 0.3, "own": 6.0, "phrase": 4.0, "lemma": 3.0}  # the larger, the freer the weight
EVERYDAY, LEAST_SHARE, RIDGE = 3.0, 0.2, 3.0
OF_NAMES = 1500.0  # queries that all listed names together count as
LEAST_BEARERS = 10  # of a listed name, in thousandths of a per cent of people
LEAST_ASKED, SHORTEST = 2, 6  # queries that hold a word whose mistyped forms are added, and letters of a form
UNKNOWN = 0.35  # the probability of a query without a known word: nearly half of those written, 15 % of real ones
FOLDS, DECIMALS = 5, 2


@dataclass(frozen=True)
class LabelledQueries:
    """Queries as words without stop words and repetitions, their labels and topics."""

    words: tuple[tuple[str, ...], ...]
    is_sensitive: NDArray[np.bool_]
    topics: tuple[str, ...]

    def join(self, other: "LabelledQueries") -> "LabelledQueries":
        """Return these queries followed by others."""
        labels = np.concatenate((self.is_sensitive, other.is_sensitive))
        return LabelledQueries(self.words + other.words, labels, self.topics + other.topics)

    def select(self, mask: NDArray[np.bool_]) -> "LabelledQueries":
        """Return some of the queries."""
        chosen = np.flatnonzero(mask).tolist()
        return LabelledQueries(
            tuple(self.words[i] for i in chosen), self.is_sensitive[mask], tuple(self.topics[i] for i in chosen)
        )


def read_queries(path: Path, split: str) -> tuple[LabelledQueries, list[str]]:
    """Return the queries of a split, and their texts."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if row["split"] == split]
    labels = np.array([row["label"] == "sensitive" for row in rows])
    texts = [row["query"] for row in rows]
    return LabelledQueries(tuple(map(cut, texts)), labels, tuple(row["topic"] for row in rows)), texts


def cut(text: str) -> tuple[str, ...]:
    """Return the distinct words of a query without stop words."""
    return tuple(dict.fromkeys(word for word in terms(text) if word not in STOP_WORDS))


def listed_names(vectors: Mapping[str, int]) -> LabelledQueries:
    """Return names of people and places that are no other words, as neutral queries of one word each."""
    people = frequent_names("female", "male", "last", share=LEAST_BEARERS) - ordinary_words("name")
    places = {folded[0] for place in personal_places() if len(folded := terms(place)) == 1}
    listed = sorted(word for word in people | places if word in vectors)
    return LabelledQueries(tuple((word,) for word in listed), np.zeros(len(listed), np.bool_), ("names",) * len(listed))


class WordFeatures:
    """What is known of every word before training: its vector, its likeness to centres, and two earlier judgements."""

    def __init__(self) -> None:
        """Compute the features of all words that have a vector."""
        vectors = bundled_vectors()
        rows = vectors.rows.astype(np.float64)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        self.number = {word: i for i, word in enumerate(vectors.words)}
        self.table = np.hstack((rows, 3.0 * _soft_clusters(rows)))
        judged = np.hstack((self.table, np.ones((len(rows), 1)))) @ self._fit_nouns()
        self.table = np.hstack((SCALES["vector"] * self.table, judged[:, None]))
        bayes = read_model(BAYES)
        given = zip(bayes.words, bayes.weights.tolist(), strict=True)
        self.bayes = {word: weight for word, weight in given if terms(word) == [word]}
        self.size = self.table.shape[1] + 1

    def _fit_nouns(self) -> Floats:
        """Return a ridge regression of "sensitive" on the features of WordNet's labelled lemmas and everyday words."""
        network, sensitive, importance = load_wordnet(), list[float](), list[float]()
        numbers = list[int]()
        lemmas = [
            (lemma, _sense_share(network, lemma, each.synset), each.topic)
            for each in label_synsets()
            if each.by_root
            for lemma in network.words(each.synset)
        ]
        lemmas = [each for each in lemmas if each[1] >= LEAST_SHARE]
        for word, share, topic in (*lemmas, *((word, EVERYDAY, topic) for topic, word in everyday_words())):
            if word in self.number:
                numbers.append(self.number[word])
                sensitive.append(1.0 if topic.is_sensitive else -1.0)
                importance.append(share)
        target, weight = np.array(sensitive), np.array(importance)
        for label in (-1.0, 1.0):
            weight[target == label] /= weight[target == label].sum() / (len(target) / 2)
        found = np.hstack((self.table[numbers], np.ones((len(numbers), 1))))
        weighted = (found * weight[:, None]).T
        fitted: Floats = np.linalg.solve(weighted @ found + RIDGE * np.eye(found.shape[1]), weighted @ target)
        return fitted

    def of(self, words: Sequence[str]) -> Floats:
        """Return the features of words; those of its base form for a word without a vector."""
        found = np.zeros((len(words), self.size))
        for i, word in enumerate(words):
            place = self.number.get(word, self.number.get(base_form(word), -1))
            if place >= 0:
                found[i, :-1] = self.table[place]
            found[i, -1] = SCALES["bayes"] * self.bayes.get(word, 0.0)
        return found


def _soft_clusters(rows: Floats) -> Floats:
    """Return how much each vector belongs to each centre of a k-means over the most frequent words."""
    frequent = rows[:FREQUENT]
    centres = frequent[np.random.default_rng(0).choice(FREQUENT, CENTRES, replace=False)]
    for _ in range(ROUNDS):
        nearest = (frequent @ centres.T).argmax(axis=1)
        centres = np.array([frequent[nearest == c].mean(axis=0) for c in range(CENTRES)])
        centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    likeness = np.exp(SHARPNESS * (rows @ centres.T))
    return np.asarray(likeness / likeness.sum(axis=1, keepdims=True))


def lemma_phrases() -> dict[Pair, float]:
    """Return WordNet's lemmas of two words that have a topic: from −1, neutral, to 1, sensitive."""
    network, found = load_wordnet(), dict[Pair, float]()
    for each in label_synsets():
        for lemma in network.words(each.synset):
            words = tuple(terms(lemma))
            if len(words) == 2 and each.by_root:
                share = _sense_share(network, lemma, each.synset)
                found[words] = found.get(words, 0.0) + (share if each.topic.is_sensitive else -share)
    return {words: float(np.clip(value, -1.0, 1.0)) for words, value in found.items()}


class Trainer:
    """Fits the regression on some of the queries and turns it into a table."""

    def __init__(self) -> None:
        """Load what does not depend on the queries."""
        self.features, self.lemmas = WordFeatures(), lemma_phrases()
        self.names = listed_names(self.features.number)

    def fit(self, queries: LabelledQueries) -> SensitivityModel:
        """Return the model of some labelled queries, to which the listed names are added with a small importance."""
        importance = np.repeat([1.0, OF_NAMES / len(self.names.words)], [len(queries.words), len(self.names.words)])
        queries = queries.join(self.names)
        words = sorted({word for query in queries.words for word in query})
        known = dict(zip(words, self.features.of(words), strict=True))
        features, own, phrases = encode(queries.words, known, self.lemmas, SCALES)
        prior = round(float(np.log(UNKNOWN / (1 - UNKNOWN))), DECIMALS)
        return self._as_table(fit(features, queries.is_sensitive, importance, prior), own, phrases, prior)

    def _as_table(
        self, fitted: Sequence[Floats], own: Mapping[str, int], phrases: Mapping[Pair, int], prior: float
    ) -> SensitivityModel:
        """Return the regression as a table: the weight of every word with a vector or in naive Bayes."""
        of_known, of_own, of_lemmas, of_phrases = fitted
        every = {*self.features.number, *self.features.bayes, *own} - STOP_WORDS
        words = sorted(word for word in every if " " not in word)
        weights = self.features.of(words) @ of_known
        weights += [SCALES["own"] * of_own[own[base]] if (base := base_form(word)) in own else 0.0 for word in words]
        table = {pair: SCALES["phrase"] * of_phrases[number] for pair, number in phrases.items()}
        for pair, value in self.lemmas.items():
            table[pair] = table.get(pair, 0.0) + SCALES["lemma"] * value * of_lemmas[0 if value > 0 else 1]
        known = frozenset(words)
        kept = {" ".join(pair): value for pair, value in sorted(table.items()) if known.issuperset(pair)}
        rounded = {phrase: value for phrase, value in kept.items() if abs(value) >= 10**-DECIMALS}
        return SensitivityModel(
            tuple(words),
            np.round(weights, DECIMALS),
            prior,
            NAME,
            tuple(rounded),
            np.round(list(rounded.values()), DECIMALS),
            EXPONENT,
            HALVING,
        )


def cross_validate(trainer: Trainer, queries: LabelledQueries, texts: Sequence[str]) -> Floats:
    """Return the probability of every query by a model that was trained on the other folds."""
    fold = np.random.default_rng(0).integers(0, FOLDS, len(texts))
    predicted = np.empty(len(texts))
    for number in range(FOLDS):
        model = trainer.fit(queries.select(fold != number))
        predicted[fold == number] = model.probabilities([texts[i] for i in np.flatnonzero(fold == number).tolist()])
    return predicted


def topics_of(trainer: Trainer, queries: LabelledQueries, model: SensitivityModel, known: pa.Table) -> pa.Table:
    """Return the topic of every word that speaks for "sensitive": as in the given table, else by the word's features.

    A phrase has the topic of most of the sensitive queries that hold it.
    A ridge regression on the words of that table and of the sensitive queries tells the topics apart.
    """
    names = [topic.name for topic in SENSITIVE]
    given = dict(zip(known["word"].to_pylist(), known["topic"].to_pylist(), strict=True))
    asked = [
        (word, topic)
        for words, topic, is_sensitive in zip(queries.words, queries.topics, queries.is_sensitive, strict=True)
        if is_sensitive
        for word in words
    ]
    examples = [(word, topic) for word, topic in (*given.items(), *asked) if word in trainer.features.number]
    found = trainer.features.of([word for word, _ in examples])
    target = np.eye(len(names))[[names.index(topic) for _, topic in examples]]
    fitted = np.linalg.solve(found.T @ found + RIDGE * np.eye(found.shape[1]), found.T @ target)
    speaking = [word for word, weight in zip(model.words, model.weights.tolist(), strict=True) if weight > 0]
    numbers = (trainer.features.of(speaking) @ fitted).argmax(axis=1).tolist()
    made = {word: names[number] for word, number in zip(speaking, numbers, strict=True)}
    made |= given
    of_phrase = defaultdict[str, Counter[str]](Counter)
    for words, topic, is_sensitive in zip(queries.words, queries.topics, queries.is_sensitive, strict=True):
        for pair in pairwise(words) if is_sensitive else ():
            of_phrase[" ".join(pair)][topic] += 1
    speaking = [text for text, weight in zip(model.phrases, model.phrase_weights.tolist(), strict=True) if weight > 0]
    made |= {phrase: of_phrase[phrase].most_common(1)[0][0] for phrase in speaking if phrase in of_phrase}
    return pa.table({"word": list(made), "topic": pa.array(list(made.values()))})


def other_spellings(model: SensitivityModel, queries: LabelledQueries) -> dict[str, tuple[str, ...]]:
    """Return unknown words and what they stand for: two words of a query joined, or a sensitive word mistyped.

    A word is mistyped if a letter is left out or exchanged with the next.
    """
    weight_of = dict(zip(model.words, model.weights.tolist(), strict=True))
    asked = Counter(word for words in queries.words for word in words)
    found = dict[str, tuple[str, ...]]()
    for word, count in asked.items():
        if count >= LEAST_ASKED and len(word) >= SHORTEST and weight_of.get(word, 0.0) > 0:
            for i in range(1, len(word)):
                for tail in (word[i + 1 :], word[i + 1 : i + 2] + word[i] + word[i + 2 :]):
                    found.setdefault(word[:i] + tail, (word,))
    found |= {"".join(pair): pair for words in queries.words for pair in pairwise(words)}
    return {
        spelling: words
        for spelling, words in found.items()
        if len(spelling) >= SHORTEST
        and spelling.isalpha()
        and spelling not in weight_of
        and weight_of.keys() >= {*words}
    }


def add_spellings(
    model: SensitivityModel, spellings: Mapping[str, Sequence[str]], topics: pa.Table
) -> tuple[SensitivityModel, pa.Table]:
    """Return the model and the topics with other spellings, each of which counts like the words it stands for."""
    topic_of = dict(zip(topics["word"].to_pylist(), topics["topic"].to_pylist(), strict=True))
    weights = dict[str, float]()
    for spelling, words in spellings.items():
        added = dict(model.split(" ".join(words))[0])
        weight, heaviest = round(sum(added.values()), DECIMALS), max(words, key=lambda word: added[word])
        if weight <= 0 or heaviest in topic_of:
            weights[spelling] = weight
            topic_of |= {spelling: topic_of[heaviest]} if weight > 0 else {}
    return model.with_weights(weights), pa.table({"word": list(topic_of), "topic": pa.array(list(topic_of.values()))})


def build(source: Path, out: Path) -> None:
    """Judge, train and write the model and the topics of its words; the held-out queries are only scored."""
    trainer, (queries, texts) = Trainer(), read_queries(source, "train")
    found = cross_validate(trainer, queries, texts)
    show(score_predictions(found, queries.is_sensitive), f"queries, {FOLDS}-fold cross-validation")
    model = trainer.fit(queries)
    topics = topics_of(trainer, queries, model, topic_words(read_model(BAYES)))
    model, topics = add_spellings(model, other_spellings(model, queries), topics)
    data = model_bytes(model)
    temporary = out / "query-sensitivity.parquet.tmp"
    temporary.write_bytes(data)
    temporary.replace(out / "query-sensitivity.parquet")
    print(f"query-sensitivity.parquet: {len(model.words):,} words, {len(model.phrases):,} phrases, {len(data):,} bytes")
    write(topics, out / "sensitive-topics.parquet")
    held, held_texts = read_queries(source, "held-out")
    show(score_predictions(model.probabilities(held_texts), held.is_sensitive), "queries held out")


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description="Make the bundled model of sensitive queries.")
    parser.add_argument("--queries", type=Path, required=True, help="labelled queries: query, label, topic, split")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write the tables to")
    options = parser.parse_args()
    build(options.queries, options.out)


if __name__ == "__main__":
    main()
