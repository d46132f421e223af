import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.errors import InputError
from queryveil.logs.terms import terms
from queryveil.sensitivity.model import BAYES, BUNDLED, SensitivityModel, load_model, model_bytes, read_model

WORDS = {"ill": 2.0, "soup": -1.5, "é": 0.25}
PHRASES = {"ill soup": -3.0, "soup é": 1.25, "soup ill": 0.5}
MODEL = SensitivityModel(tuple(WORDS), np.array(list(WORDS.values())), -0.5, "test")
OF_PHRASES = replace(
    MODEL, phrases=tuple(PHRASES), phrase_weights=np.array(list(PHRASES.values())), exponent=0.25, halving=4.0
)


def twin(query: str) -> float:
    """Sum the weights of the different known words of a query, the slow and obvious way."""
    odds = -0.5 + sum(WORDS.get(word, 0.0) for word in set(terms(query)))
    return 1 / (1 + math.exp(-odds))


def twin_of_phrases(query: str) -> float:
    """Add the weights of phrases of a known word and the next, and divide by the fourth root of the number of words.

    What is below zero is divided by 1, plus 1 for every 4 above zero.
    """
    known: list[str] = []
    for word in terms(query):
        if word in WORDS and word not in known:
            known.append(word)
    weights = [WORDS[word] for word in known]
    for i in range(len(known) - 1):
        weights.append(PHRASES.get(f"{known[i]} {known[i + 1]}", 0.0))
    above = sum(max(weight, 0.0) for weight in weights)
    total = above + sum(min(weight, 0.0) for weight in weights) / (1 + above / 4)
    return 1 / (1 + math.exp(0.5 - total / max(1, len(known)) ** 0.25))


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from(["ill", "ILL", "soup", "É", "x", "-", ""]), max_size=5), max_size=6))
def test_probabilities_are_those_of_the_twin(queries: list[list[str]]) -> None:
    texts = [" ".join(words) for words in queries]
    assert MODEL.probabilities(texts).tolist() == pytest.approx([twin(text) for text in texts])


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from(["ill", "ILL", "soup", "É", "x", "-", ""]), max_size=6), max_size=6),
    st.sampled_from([1, 1_000]),  # few texts are weighed in plain Python
)
def test_phrases_and_the_number_of_words_count_as_in_the_twin(queries: list[list[str]], times: int) -> None:
    texts = [" ".join(words) for words in queries]
    found = OF_PHRASES.probabilities(texts * times)[: len(texts)].tolist()
    assert found == pytest.approx([twin_of_phrases(text) for text in texts])
    for text, probability in zip(texts, found, strict=True):
        why = OF_PHRASES.explain(text)
        added = why.base + sum(weight for _, weight in why.words)
        assert probability == pytest.approx(1 / (1 + math.exp(-added)))


def test_compiled_and_plain_tokenizing_agree() -> None:
    texts = ["ill soup ill", "nothing", ""]
    many = MODEL.probabilities(texts * 1_000)
    assert many[:3].tolist() == MODEL.probabilities(texts).tolist()
    assert many.shape == (3_000,)


def test_an_explanation_adds_up() -> None:
    why = MODEL.explain("Soup, ill & whatever")
    assert why.words == (("soup", -1.5), ("ill", 2.0))
    assert why.unknown == ("whatever",)
    assert why.probability == pytest.approx(1 / (1 + math.exp(-(why.base + 0.5))))


def test_extreme_weights_do_not_overflow() -> None:
    model = SensitivityModel(("a", "b"), np.array([5_000.0, -5_000.0]), 0.0)
    assert model.probabilities(["a", "b", "a b"]).tolist() == [1.0, 0.0, 0.5]


def test_the_bundled_model_classifies_obvious_cases() -> None:
    model = load_model()
    sensitive = ["breast cancer symptoms", "bankruptcy lawyer", "gay porn", "mosque prayer times", "divorce custody"]
    neutral = ["chicken soup recipe", "hotel in rome", "football scores", "windows printer drivers", "garden flowers"]
    assert (model.probabilities(sensitive) > 0.8).all()
    assert (model.probabilities(neutral) < 0.2).all()
    assert load_model(BAYES).probabilities(["qwzx"])[0] == pytest.approx(0.3, abs=1e-4)


@pytest.mark.parametrize("times", [1, 1_000])  # few texts are weighed in plain Python
def test_measures_count_no_query_as_sensitive_of_which_no_word_is_known(times: int) -> None:
    texts = ["whatever", "soup", "", "ill whatever"]
    found = MODEL.sensitivities(texts * times)[:4]
    assert (found == 0).tolist() == [True, False, True, False]
    assert found[[1, 3]].tolist() == MODEL.probabilities(texts)[[1, 3]].tolist()


def test_inflected_forms_have_the_weight_of_the_base_form() -> None:
    words = dict(load_model(BAYES).explain("symptom symptoms diagnose diagnosed goose geese").words)
    assert words["symptom"] == words["symptoms"]
    assert words["diagnose"] == words["diagnosed"]
    assert words["goose"] == words["geese"]


def test_listed_words_make_a_query_sensitive(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("# ours\nQwzx\n\n")
    assert load_model(None, path).probabilities(["qwzx"])[0] == pytest.approx(0.98)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("two words\n", "line 1: a word list has one word on each line"), ("# none\n", "holds no word")],
)
def test_a_bad_word_list(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "words.txt"
    path.write_text(content)
    with pytest.raises(InputError, match=sentence):
        load_model(None, path)


def test_a_missing_or_binary_word_list(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no word list"):
        load_model(None, tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as UTF-8"):
        load_model(None, tmp_path / "binary")


def written(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    path.write_bytes(model_bytes(MODEL))
    return path


def test_a_model_file_reads_back(tmp_path: Path) -> None:
    read = load_model(written(tmp_path))
    assert read.words == MODEL.words
    assert read.weights.tolist() == MODEL.weights.tolist()
    assert (read.base, read.name) == (-0.5, "test")
    (tmp_path / "phrases").write_bytes(model_bytes(OF_PHRASES))
    again = read_model(tmp_path / "phrases")
    assert (again.phrases, again.exponent, again.halving) == (OF_PHRASES.phrases, 0.25, 4.0)
    assert read.halving == np.inf
    assert again.phrase_weights.tolist() == OF_PHRASES.phrase_weights.tolist()


def test_naive_bayes_is_found_by_its_name() -> None:
    assert load_model(Path("bayes")).name == load_model(BAYES).name != load_model().name


def changed(path: Path, metadata: dict[str, str] | None = None, *, rows: int | None = None) -> Path:
    table = pq.read_table(path)
    facts = {key.decode(): value.decode() for key, value in table.schema.metadata.items()} | (metadata or {})
    pq.write_table(table.slice(0, rows).replace_schema_metadata(facts), path)
    return path


def test_a_model_of_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="of version 9, and this queryveil reads version 3"):
        read_model(changed(written(tmp_path), {"queryveil.sensitivity.version": "9"}))


def test_a_changed_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="damaged: it has not the digest"):
        read_model(changed(written(tmp_path), rows=2))
    with pytest.raises(InputError, match="damaged: it has not the digest"):
        read_model(changed(written(tmp_path), {"queryveil.sensitivity.base": "nan"}))


def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    with pytest.raises(InputError, match="is not a sensitivity model"):
        read_model(tmp_path / "text")
    with pytest.raises(InputError, match="is not a sensitivity model"):
        read_model(BUNDLED.with_name("names.parquet"))
    with pytest.raises(InputError, match="there is no sensitivity model"):
        read_model(tmp_path / "none")


def test_what_speaks_against_counts_half_where_the_rest_reaches_the_bound() -> None:
    eased = replace(MODEL, halving=2.0)
    assert eased.explain("ill soup").words == (("ill", 2.0), ("soup", -0.75))
    assert eased.explain("soup").words == MODEL.explain("soup").words == (("soup", -1.5),)
