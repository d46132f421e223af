import numpy as np

from queryveil.lexicons.word_lists import sensitive_topics
from queryveil.sensitivity.model import BAYES, SensitivityModel, load_model
from queryveil.sensitivity.topics import OTHER, count_topics
from scripts.build_sensitivity import topic_words
from scripts.sensitivity_topics import SENSITIVE


def test_sensitive_queries_count_under_the_topic_of_their_heaviest_word() -> None:
    queries = ["leukemia symptoms", "divorce lawyer", "casino", "weather", "", "leukemia"]
    assert count_topics(load_model(), queries)["health"] == 2
    assert count_topics(load_model(), ["weather", "xqzt"]).total() == 0


def test_a_sensitive_word_without_a_topic_counts_as_other() -> None:
    model = SensitivityModel(("xqzt",), np.array([3.0]), 0.0)
    assert count_topics(model, ["xqzt"]) == {OTHER: 1}


def test_the_bundled_table_holds_what_the_topics_give_and_every_word_that_makes_a_query_sensitive() -> None:
    made = topic_words(load_model(BAYES))
    assert dict(zip(made["word"].to_pylist(), made["topic"].to_pylist(), strict=True)).items() <= (
        sensitive_topics().items()
    )
    model = load_model()
    speaking = {word for word, weight in zip(model.words, model.weights.tolist(), strict=True) if weight > 0}
    assert speaking <= sensitive_topics().keys()
    assert {*sensitive_topics().values()} == {topic.name for topic in SENSITIVE}
