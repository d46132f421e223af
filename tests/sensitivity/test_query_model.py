"""The bundled model of queries, against the labelled queries that took no part in its training."""

import csv
import hashlib
from pathlib import Path

import numpy as np
import pytest

from queryveil.logs.terms import terms
from queryveil.sensitivity.model import BAYES, load_model
from queryveil.sensitivity.topics import topic_of
from queryveil.sensitivity.training import base_form, score_predictions
from queryveil.workflows.sensitivity import explain
from scripts.build_query_model import LabelledQueries, read_queries
from scripts.sensitivity_topics import NEUTRAL, SENSITIVE

ROOT = Path(__file__).resolve().parents[2]
QUERIES = ROOT / "scripts" / "labelled-queries.tsv"
EXCITE = ROOT / "benchmarks" / "labels"


@pytest.fixture(scope="module")
def held_out() -> tuple[LabelledQueries, list[str]]:
    return read_queries(QUERIES, "held-out")


def test_the_labelled_queries_are_different_and_have_topics_of_their_label() -> None:
    lines = QUERIES.read_text().splitlines()
    assert lines[0] == "query\tlabel\ttopic\tsplit"
    rows = [line.split("\t") for line in lines[1:]]
    assert len({query for query, *_ in rows}) == len(rows) > 2_000
    sensitive = {topic.name for topic in SENSITIVE}
    assert {topic for _, label, topic, _ in rows if label == "sensitive"} == sensitive
    neutral = {topic for _, label, topic, _ in rows if label == "neutral"}
    assert neutral == {topic.name for topic in NEUTRAL} | {"names"}


def test_no_more_than_400_queries_are_held_out_those_with_the_smallest_digests_of_the_first_ones(
    held_out: tuple[LabelledQueries, list[str]],
) -> None:
    queries, texts = held_out
    assert (len(texts), int(queries.is_sensitive.sum())) == (400, 200)
    largest = max(hashlib.sha256(text.encode()).hexdigest() for text in texts)
    assert largest < "3"


def test_what_is_judged_is_not_trained_on(held_out: tuple[LabelledQueries, list[str]]) -> None:
    queries, texts = read_queries(QUERIES, "train")
    bags = [frozenset(map(base_form, words)) for words in held_out[0].words]
    rows: dict[str, list[int]] = {}
    for row, bag in enumerate(bags):
        for word in bag:
            rows.setdefault(word, []).append(row)
    for words, text in zip(queries.words, texts, strict=True):
        bag = frozenset(map(base_form, words))
        near = {row for word in bag for row in rows.get(word, ())}
        assert all(3 * len(bag & bags[row]) < 2 * len(bag | bags[row]) for row in near), text
    sample = set[str]()
    for path in sorted(EXCITE.glob("excite*.tsv")):
        with path.open(encoding="utf-8", newline="") as stream:
            sample |= {row["sha256"] for row in csv.DictReader(stream, delimiter="\t")}
    assert len(sample) == 800
    assert sample.isdisjoint(hashlib.sha256(" ".join(terms(text)).encode()).hexdigest() for text in texts)


def test_held_out_queries_are_told_apart_better_than_by_naive_bayes(
    held_out: tuple[LabelledQueries, list[str]],
) -> None:
    queries, texts = held_out
    found, before = (
        score_predictions(load_model(path).probabilities(texts), queries.is_sensitive) for path in (None, BAYES)
    )
    assert found.balanced_accuracy >= 0.88
    assert found.balanced_accuracy > before.balanced_accuracy + 0.05
    assert found.calibration_error < 0.08


def test_the_meaning_decides_and_not_a_word() -> None:
    model = load_model()
    neutral = ["cancer zodiac", "how to kill a process", "breast stroke"]
    sensitive = ["cancer treatment", "how to kill my husband", "breast lump"]
    assert (model.probabilities(sensitive) > 0.6).all()
    assert (model.probabilities(neutral) < 0.55).all()
    assert (model.probabilities(sensitive) > model.probabilities(neutral) + 0.2).all()


def test_an_explanation_names_the_topic_of_a_sensitive_query() -> None:
    assert explain("hepatitis treatment").topic == "health"
    assert explain("breast cancer").topic == "health"  # and "breast" alone sexuality
    assert explain("chicken soup").topic == ""
    assert "cancer zodiac" in dict(explain("cancer zodiac").words)


def test_joined_and_mistyped_words_count_like_what_they_stand_for() -> None:
    model = load_model()
    weight = dict(model.explain("naked women").words)
    joined = dict(model.explain("nakedwomen").words)["nakedwomen"]
    assert joined == pytest.approx(sum(weight.values()), abs=0.01)
    typed, meant = model.explain("hepattis"), model.explain("hepatitis")
    assert typed.words[0][1] == pytest.approx(meant.words[0][1], abs=0.01)
    assert explain("hepattis").topic == "health"


def test_topics_of_sensitive_queries_are_mostly_told(held_out: tuple[LabelledQueries, list[str]]) -> None:
    queries, texts = held_out
    model = load_model()
    is_found = queries.is_sensitive & (model.probabilities(texts) >= 0.5)
    told = [topic_of(model.split(texts[i])[0]) == queries.topics[i] for i in np.flatnonzero(is_found).tolist()]
    assert len(told) > 150
    assert np.mean(told) >= 0.7


def test_classifying_is_the_same_for_few_and_many_queries(held_out: tuple[LabelledQueries, list[str]]) -> None:
    _, texts = held_out
    model = load_model()
    assert np.array_equal(model.probabilities(texts * 3)[: len(texts)], model.probabilities(texts))
    assert model.probabilities(texts)[:5].tolist() == [model.explain(text).probability for text in texts[:5]]
