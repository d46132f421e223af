from queryveil.lexicons.word_lists import sensitive_topics
from queryveil.sensitivity.model import load_model
from queryveil.sensitivity.topics import OTHER, count_topics
from scripts.build_sensitivity import topic_words
from scripts.sensitivity_topics import SENSITIVE


def test_sensitive_queries_count_under_the_topic_of_their_heaviest_word() -> None:
    queries = ["leukemia symptoms", "divorce lawyer", "casino", "weather", "", "leukemia"]
    assert count_topics(load_model(), queries)["health"] == 2
    assert count_topics(load_model(), ["weather", "xqzt"]).total() == 0


def test_a_sensitive_word_without_a_topic_counts_as_other() -> None:
    topics, model = sensitive_topics(), load_model()
    weights = zip(model.words, model.weights.tolist(), strict=True)
    word = next(word for word, weight in weights if weight + model.base > 1 and word not in topics)
    assert count_topics(model, [word]) == {OTHER: 1}


def test_the_bundled_table_is_what_the_topics_give() -> None:
    made = topic_words(load_model())
    assert dict(zip(made["word"].to_pylist(), made["topic"].to_pylist(), strict=True)) == sensitive_topics()
    assert {*sensitive_topics().values()} == {topic.name for topic in SENSITIVE}
