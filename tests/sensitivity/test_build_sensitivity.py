import numpy as np
import pytest

from queryveil.lexicons.word_lists import private_words
from queryveil.lexicons.wordnet import load_wordnet
from queryveil.sensitivity.model import BAYES, load_model
from queryveil.sensitivity.training import Examples, cross_validate, train
from scripts.sensitivity_examples import NAME, OPTIONS, bundled_examples, is_withheld
from scripts.sensitivity_topics import NEUTRAL, SENSITIVE, LabelledSynset, find_root, label_synsets


@pytest.fixture(scope="module")
def found() -> list[LabelledSynset]:
    return label_synsets()


@pytest.fixture(scope="module")
def texts() -> tuple[Examples, np.ndarray]:
    return bundled_examples(private_words())


def test_topics_are_those_of_the_project() -> None:
    names = "health sexuality religion politics ethnicity crime addiction money-trouble family identity"
    assert [topic.name for topic in SENSITIVE] == [name.replace("-", " ") for name in names.split()]
    assert all(topic.is_sensitive for topic in SENSITIVE)
    assert not any(topic.is_sensitive for topic in NEUTRAL)


def test_known_synsets_have_their_topics(found: list[LabelledSynset]) -> None:
    topic = {each.synset: each.topic.name for each in found}
    expected = {"leukemia n 1": "health", "rabbi n 1": "religion", "burglary n 1": "crime", "soup n 1": "food"}
    assert {name: topic[find_root(name)] for name in expected} == expected


def test_no_lemma_is_in_two_groups(found: list[LabelledSynset], texts: tuple[Examples, np.ndarray]) -> None:
    made, scored = texts
    groups: dict[str, set[int]] = {}
    network, place, withheld = load_wordnet(), 0, private_words()
    for each in found:
        lemmas = [lemma for lemma in network.words(each.synset) if not is_withheld(lemma, withheld)]
        assert scored[place] == each.by_root
        for lemma in lemmas:
            groups.setdefault(lemma, set()).add(int(made.group[place]))
        place += 1 + len(lemmas)
    assert all(len(numbers) == 1 for numbers in groups.values())


def test_the_bundled_model_classifies_nine_of_ten_definitions(texts: tuple[Examples, np.ndarray]) -> None:
    made, scored = texts
    judgement = cross_validate(made, OPTIONS, rng=np.random.default_rng(0), scored=scored)
    assert judgement.accuracy >= 0.9
    assert judgement.balanced_accuracy >= 0.9


def test_the_bundled_table_is_what_training_gives(texts: tuple[Examples, np.ndarray]) -> None:
    trained, bundled = train(texts[0], OPTIONS, name=NAME), load_model(BAYES)
    assert trained.words == bundled.words
    assert trained.weights.tolist() == bundled.weights.tolist()
    assert (trained.base, trained.name) == (bundled.base, bundled.name)


def test_the_model_is_not_trained_on_private_words(found: list[LabelledSynset]) -> None:
    network, private = load_wordnet(), private_words()
    marked = {word for word in private if " " in word}
    lemmas = {lemma for each in found for lemma in network.words(each.synset)}
    assert {"cancer", "cancers", "plaintiff"} <= private
    assert not marked & lemmas
    assert len(private) > 1_000


def test_withheld_words_are_never_labelled(texts: tuple[Examples, np.ndarray]) -> None:
    taught = {word for text in texts[0].features if len(text) == 1 for word in text}
    assert "leukemia" in taught
    definitions = {word for text in texts[0].features if len(text) > 1 for word in text}
    assert "cancer" in definitions - taught
    assert not taught & private_words()
