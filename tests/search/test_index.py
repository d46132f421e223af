"""An index: terms, vectors, scores and cosines as a slow twin has them; documents added later; damage noticed."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queryveil import index
from queryveil.core.errors import CorpusError
from queryveil.search import folder as folders
from queryveil.search.analyser import Analyser
from queryveil.search.analysis import BatchAnalyser
from queryveil.search.index import Index, open_index
from queryveil.search.ranking import cosines, rerank
from tests.search import twin
from tests.search.places import index_of

WORDS = ("java", "islands", "island", "coffee", "the", "beans", "Köln", "C++", "language", "geese", "b", "7")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
SLOW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(texts=st.lists(st.one_of(TEXTS, st.text(max_size=20)), max_size=6))
@SLOW
def test_batches_are_analysed_like_single_texts(texts: list[str]) -> None:
    batch = BatchAnalyser()
    for part in (texts[:3], texts[3:]):
        found = batch.analyse(part)
        single = [Analyser().terms(text) for text in part]
        assert single == [twin.analysed(text) for text in part]
        assert found.joined == [" ".join(terms) for terms in single]
        assert found.lengths.tolist() == [len(terms) for terms in single]
        assert [batch.terms[number] for number in found.terms] == [term for terms in single for term in terms]


def test_a_term_is_its_own_term() -> None:
    words = ["the", "geese", "islands", "went", "glasses", "javanese", "xyzzy's", "Straße"]
    first = [term for word in words for term in Analyser().terms(word)]
    assert first == ["goose", "island", "go", "glasses", "javanese", "xyzzy", "s", "straße"]
    assert [term for word in first for term in Analyser().terms(word)] == first
    assert [term for word in first for term in Analyser(set(first)).terms(word)] == first


@given(pairs=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8), query=TEXTS)
@SLOW
def test_scores_and_vectors_are_those_of_the_twin(pairs: list[tuple[str, str]], query: str, tmp_path: Path) -> None:
    pairs = [("", "java"), *((title, text) for title, text in pairs if twin.analysed(f"{title} {text}"))]
    made = index_of(pairs, tmp_path)
    titles, texts = zip(*pairs, strict=True)
    scores = twin.bm25(query, titles, texts)
    expected = sorted((i for i in range(len(pairs)) if scores[i]), key=lambda i: (-round(scores[i], 4), i))
    found = made.search(query)
    assert [(i, pytest.approx(scores[i], rel=1e-4)) for i in found.documents.tolist()] == list(
        zip(found.documents.tolist(), found.scores.tolist(), strict=True)
    )
    assert found.documents.tolist() == expected
    assert made.search(query, 2).documents.tolist() == expected[:2]
    for number, vector in enumerate(twin.vectors([" ".join(pair) for pair in pairs])):
        row = slice(made.indptr[number], made.indptr[number + 1])
        ours = dict(zip((made.terms[i] for i in made.ids[row]), made.weights[row].tolist(), strict=True))
        assert ours == pytest.approx(vector, rel=1e-5)


@given(
    texts=st.lists(TEXTS.filter(twin.analysed), min_size=1, max_size=8),
    profiles=st.lists(st.dictionaries(st.sampled_from((*WORDS, "new java", "unheard")), st.floats(0.1, 9)), max_size=4),
)
@SLOW
def test_cosines_are_those_of_the_twin(texts: list[str], profiles: list[dict[str, float]], tmp_path: Path) -> None:
    made = index_of(texts, tmp_path)
    documents = np.arange(len(texts), dtype=np.int32)[::-1].copy()
    vectors = [made.vector(profile, profile.values()) for profile in profiles]
    found = cosines(made, documents, vectors)
    assert found.shape == (len(profiles), len(texts))
    slow = twin.vectors(texts)
    for row, weights in zip(found, profiles, strict=True):
        expected = [twin.cosine(twin.profile(weights, set(made.terms)), slow[i]) for i in documents]
        assert row.tolist() == pytest.approx(expected, abs=1e-5)


def test_a_profile_says_how_much_of_it_is_known(tmp_path: Path) -> None:
    made = index_of(["coffee beans", "an island"], tmp_path)
    profile = made.vector(["coffee shop", "Islands", "unheard"], [3.0, 4.0, 5.0])
    assert (profile.n_known, profile.n_terms, len(profile)) == (2, 3, 2)
    assert [made.terms[i] for i in profile.ids] == ["coffee", "island"]
    assert profile.weights.tolist() == pytest.approx([0.6, 0.8])
    assert len(made.vector(["unheard"], [1.0])) == 0


def test_ties_go_by_number_however_many_there_are(tmp_path: Path) -> None:
    made = index_of(["java", *["island java"] * 50], tmp_path)
    assert made.search("java", 7).documents.tolist() == list(range(7))
    assert made.search("island", 7).documents.tolist() == list(range(1, 8))
    assert len(made.search("java", 1000)) == 51
    assert len(made.search("?!", 10)) == len(made.search("the", 10)) == len(made.search("unheard", 10)) == 0


def test_a_profile_orders_and_ties_keep_the_engines_order(tmp_path: Path) -> None:
    made = index_of([("java", "island"), ("java", "language"), ("java", "coffee beans and more coffee")], tmp_path)
    plain = made.search("java")
    assert plain.documents.tolist() == [0, 1, 2]
    coffee = made.vector(["coffee"], [1.0])
    ordered = rerank(made, plain, coffee)
    assert ordered.documents.tolist() == [2, 0, 1]
    assert rerank(made, plain, coffee, blend=1.0).documents.tolist() == [0, 1, 2]
    half = rerank(made, plain, coffee, blend=0.5)
    assert half.documents.tolist() == [2, 0, 1]
    assert half.scores[1] == pytest.approx(0.5)
    assert rerank(made, plain, made.vector(["unheard"], [1.0])) is plain


def test_an_index_is_searched_by_threads(tmp_path: Path) -> None:
    made = index_of(["java island", "java language", "java coffee"], tmp_path)
    found: list[list[int]] = []
    profile = made.vector(["coffee"], [1.0])

    def search() -> None:
        found.extend(rerank(made, made.search("java islands"), profile).documents.tolist() for _ in range(50))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[2, 0, 1]] * 200


def assert_same(one: Index, other: Index) -> None:
    assert one.terms == other.terms
    assert one.documents.table.equals(other.documents.table)
    for name in ("indptr", "ids", "weights"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for query in ("java", "island", "coffee tea"):
        np.testing.assert_array_equal(one.search(query).documents, other.search(query).documents)
        np.testing.assert_array_equal(one.search(query).scores, other.search(query).scores)


def test_documents_added_later_make_the_same_index(tmp_path: Path) -> None:
    texts = ["java island", "java coffee and tea", "an older tea", "island tea", "beans"]
    whole = index_of(texts, tmp_path, "whole")
    index_of(texts[:2], tmp_path, "grown")
    done = index(tmp_path / "whole.jsonl", tmp_path / "grown", add=True)
    assert (done.documents, done.added, done.known) == (5, 3, 2)
    assert_same(open_index(tmp_path / "grown"), whole)
    before = (tmp_path / "grown" / folders.NAME).read_bytes()
    again = index(tmp_path / "whole.jsonl", tmp_path / "grown", add=True)
    assert (again.documents, again.added, again.known) == (5, 0, 5)
    assert (tmp_path / "grown" / folders.NAME).read_bytes() == before


def test_damage_is_noticed(tmp_path: Path) -> None:
    made = index_of(["java island", "java coffee"], tmp_path)
    names = json.loads((made.path / folders.NAME).read_bytes())["files"]
    assert {folders.DOCUMENTS, folders.TERMS, folders.INDPTR, folders.IDS, folders.WEIGHTS} < set(names)
    for name in names:
        path = made.path / name
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(CorpusError, match=r"index is damaged: .* has been changed; make it anew"):
            open_index(made.path)
        path.unlink()
        with pytest.raises(CorpusError, match=r"index is damaged: .* is missing; make it anew"):
            open_index(made.path)
        path.write_bytes(data)
    open_index(made.path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layout": 0}, "was made with another layout than that of queryveil"),
        ({"analyser": {"version": 0}}, "was made with another analyser than that of queryveil"),
        ({"engine": "index_format v1"}, "was made with another engine than that of queryveil"),
        ({"files": 5}, "cannot be read; make it anew"),
    ],
)
def test_another_version_is_noticed(change: dict[str, object], message: str, tmp_path: Path) -> None:
    path = index_of(["java island"], tmp_path).path / folders.NAME
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **change}))
    with pytest.raises(CorpusError, match=message):
        open_index(path.parent)


def test_what_is_no_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"is no index: it has no index\.json; make one with queryveil index"):
        open_index(tmp_path)
    (tmp_path / folders.NAME).write_text("{")
    with pytest.raises(CorpusError, match="cannot be read; make it anew"):
        open_index(tmp_path)
