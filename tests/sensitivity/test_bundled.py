import numpy as np
import pytest

from queryveil.lexicons import private_words
from queryveil.lexicons.wordnet import load
from queryveil.sensitivity.bundled import SETTING, examples
from queryveil.sensitivity.lists import load_lists
from queryveil.sensitivity.topics import NEUTRAL, SENSITIVE, Labelled, labelled, root
from queryveil.sensitivity.training import Examples, cross_validate
from queryveil.sensitivity.words import base_of


@pytest.fixture(scope="module")
def found() -> list[Labelled]:
    return labelled()


@pytest.fixture(scope="module")
def texts() -> tuple[Examples, np.ndarray]:
    return examples()


def test_topics_are_those_of_the_project() -> None:
    names = "health sexuality religion politics ethnicity crime addiction money-trouble family identity"
    assert [topic.name for topic in SENSITIVE] == [name.replace("-", " ") for name in names.split()]
    assert all(topic.is_sensitive for topic in SENSITIVE)
    assert not any(topic.is_sensitive for topic in NEUTRAL)


def test_known_synsets_have_their_topics(found: list[Labelled]) -> None:
    topic = {each.synset: each.topic.name for each in found}
    expected = {"leukemia n 1": "health", "rabbi n 1": "religion", "burglary n 1": "crime", "soup n 1": "food"}
    assert {name: topic[root(name)] for name in expected} == expected


def test_no_lemma_stands_in_two_groups(found: list[Labelled], texts: tuple[Examples, np.ndarray]) -> None:
    made, judged = texts
    groups: dict[str, set[int]] = {}
    network, place = load(), 0
    for each in found:
        lemmas = network.words(each.synset)
        assert judged[place] == each.by_root
        for lemma in lemmas:
            groups.setdefault(lemma, set()).add(int(made.group[place]))
        place += 1 + len(lemmas)
    assert all(len(numbers) == 1 for numbers in groups.values())


def test_the_bundled_model_meets_its_bar(texts: tuple[Examples, np.ndarray]) -> None:
    made, judged = texts
    judgement = cross_validate(made, SETTING, rng=np.random.default_rng(0), judged=judged)
    assert judgement.accuracy >= 0.9
    assert judgement.balanced_accuracy >= 0.9


def test_private_words_are_not_those_the_model_was_trained_on(found: list[Labelled]) -> None:
    network = load()
    trained = {lemma for each in found for lemma in network.words(each.synset)}
    trained |= {base_of(word) for topic in (*SENSITIVE, *NEUTRAL) for word in topic.everyday.split()}
    assert len(private_words.load()) > 500
    assert not private_words.load() & trained
    assert not load_lists().words & trained
