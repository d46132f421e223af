import pytest

from queryveil.semantics.lemmas import lemmatize


@pytest.mark.parametrize(
    ("term", "lemma"),
    [
        ("dogs", "dog"),
        ("boxes", "box"),
        ("dresses", "dress"),
        ("cities", "city"),
        ("women", "woman"),
        ("geese", "goose"),
        ("axes", "ax"),
        ("googled", "google"),
        ("bombarded", "bombard"),
        ("bombarding", "bombard"),
        ("hottest", "hot"),
        ("nicer", "nice"),
        ("running", "running"),  # a noun as it stands
        ("Java", "java"),
        ("glass", "glass"),
    ],
)
def test_inflected_forms_have_their_lemma(term: str, lemma: str) -> None:
    assert lemmatize(term) == lemma


@pytest.mark.parametrize(
    ("phrase", "lemma"),
    [
        ("New_York", "new york"),
        ("new  york", "new york"),
        ("ice creams", "ice cream"),
        ("attorneys general", "attorney general"),
        ("Programming Languages", "programming language"),
    ],
)
def test_phrases_have_their_lemma(phrase: str, lemma: str) -> None:
    assert lemmatize(phrase) == lemma


@pytest.mark.parametrize("term", ["myspace", "c++", "", " ", "qs", "kohler", "abcss", "zzzing"])
def test_a_term_unknown_to_wordnet_has_no_lemma(term: str) -> None:
    assert lemmatize(term) is None


def test_a_name_is_not_a_comparative_of_a_noun() -> None:
    assert lemmatize("kohl") == "kohl"
    assert lemmatize("kohler") is None
