"""An index: scores and vectors against a slow twin, adding documents, and refusal of damaged indexes."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queryveil import index
from queryveil.core.errors import CorpusError
from queryveil.search.index import (
    DOCUMENTS_FILE,
    IDS_FILE,
    INDPTR_FILE,
    RECORD_FILE,
    TERMS_FILE,
    WEIGHTS_FILE,
    Index,
    open_index,
)
from queryveil.search.ranking import RankingProfile, rerank
from queryveil.search.ranking_settings import PAPER, RANKINGS
from tests.search import twin
from tests.search.small_index import index_of

WORDS = ("java", "islands", "island", "coffee", "the", "beans", "Köln", "C++", "language", "geese", "b", "7")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
SLOW = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(pairs=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8), query=TEXTS)
@SLOW
def test_scores_and_vectors_equal_the_twin(pairs: list[tuple[str, str]], query: str, tmp_path: Path) -> None:
    pairs = [("", "java"), *((title, text) for title, text in pairs if twin.analyze(f"{title} {text}"))]
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


def test_ties_are_broken_by_document_number(tmp_path: Path) -> None:
    made = index_of(["java", *["island java"] * 50], tmp_path)
    assert made.search("java", 7).documents.tolist() == list(range(7))
    assert made.search("island", 7).documents.tolist() == list(range(1, 8))
    assert len(made.search("java", 1000)) == 51
    assert len(made.search("?!", 10)) == len(made.search("the", 10)) == len(made.search("unheard", 10)) == 0


def test_threads_search_concurrently(tmp_path: Path) -> None:
    made = index_of(["java island", "java language", "java coffee"], tmp_path)
    found: list[list[int]] = []
    coffee = made.vector(["coffee"], [1.0])

    def search() -> None:
        for _ in range(50):
            ranked = rerank(made, made.search("java islands"), RankingProfile(coffee), coffee, RANKINGS[PAPER])
            found.append(ranked.documents.tolist())

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


def test_adding_documents_equals_indexing_them_at_once(tmp_path: Path) -> None:
    texts = ["java island", "java coffee and tea", "an older tea", "island tea", "beans"]
    complete = index_of(texts, tmp_path, "complete")
    index_of(texts[:2], tmp_path, "grown")
    done = index(tmp_path / "complete.jsonl", tmp_path / "grown", add=True)
    assert (done.documents, done.added, done.known) == (5, 3, 2)
    assert_same(open_index(tmp_path / "grown"), complete)
    before = (tmp_path / "grown" / RECORD_FILE).read_bytes()
    again = index(tmp_path / "complete.jsonl", tmp_path / "grown", add=True)
    assert (again.documents, again.added, again.known) == (5, 0, 5)
    assert (tmp_path / "grown" / RECORD_FILE).read_bytes() == before


def test_a_damaged_index_is_refused(tmp_path: Path) -> None:
    made = index_of(["java island", "java coffee"], tmp_path)
    names = json.loads((made.path / RECORD_FILE).read_bytes())["files"]
    assert {DOCUMENTS_FILE, TERMS_FILE, INDPTR_FILE, IDS_FILE, WEIGHTS_FILE} < set(names)
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
def test_an_index_of_another_version_is_refused(change: dict[str, object], message: str, tmp_path: Path) -> None:
    path = index_of(["java island"], tmp_path).path / RECORD_FILE
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **change}))
    with pytest.raises(CorpusError, match=message):
        open_index(path.parent)


def test_a_folder_that_is_not_an_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"is no index: it has no index\.json; make one with queryveil index"):
        open_index(tmp_path)
    (tmp_path / RECORD_FILE).write_text("{")
    with pytest.raises(CorpusError, match="cannot be read; make it anew"):
        open_index(tmp_path)
