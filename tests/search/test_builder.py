"""Building an index: batches of documents, and term frequencies over several batches."""

import numpy as np
import pytest

from queryveil.search import builder
from queryveil.search.builder import IndexTermCounter, batches
from queryveil.search.corpora.base import Document
from queryveil.search.ranking import TermCounts


def documents(*texts: str) -> list[Document]:
    return [Document(str(number), "", text, "") for number, text in enumerate(texts)]


def test_batches_are_limited_by_documents_and_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "_BATCH_DOCUMENTS", 3)
    monkeypatch.setattr(builder, "_BATCH_CHARACTERS", 10)
    corpus = documents("a", "b", "c", "a long document", "d", "e")
    found = list(batches(iter(corpus)))
    assert [[document.text for document in batch] for batch in found] == [
        ["a", "b", "c"],
        ["a long document"],
        ["d", "e"],
    ]
    assert list(batches(iter(()))) == []


def as_dicts(terms: list[str], counts: TermCounts) -> list[dict[str, int]]:
    rows = zip(counts.indptr, counts.indptr[1:], strict=False)
    return [{terms[i]: n for i, n in zip(counts.ids[a:b], counts.counts[a:b].tolist(), strict=True)} for a, b in rows]


def test_term_frequencies_are_counted_over_batches_and_sorted_by_term() -> None:
    by_first_use = ["pear", "apple", "fig"]
    counter = IndexTermCounter()
    counter.add(np.array([0, 0, 2, 0]), np.array([0, 1, 1, 0], np.int32), 3)  # the second document has no terms
    counter.add(np.array([0, 0]), np.array([2, 0], np.int32), 1)
    terms, counts = counter.finish(by_first_use)
    assert terms == ["apple", "fig", "pear"]
    assert as_dicts(terms, counts) == [{"apple": 1, "pear": 2}, {}, {"apple": 1}, {"fig": 1, "pear": 1}]
    assert all((np.diff(counts.ids[a:b]) > 0).all() for a, b in zip(counts.indptr, counts.indptr[1:], strict=False))


def test_counting_continues_from_an_existing_index() -> None:
    first = IndexTermCounter()
    first.add(np.array([0, 1]), np.array([0, 1], np.int32), 2)
    terms, counts = first.finish(["apple", "pear"])
    more = IndexTermCounter(counts)
    more.add(np.array([0, 0]), np.array([1, 2], np.int32), 1)
    terms, counts = more.finish([*terms, "banana"])
    assert terms == ["apple", "banana", "pear"]
    assert as_dicts(terms, counts) == [{"apple": 1}, {"pear": 1}, {"banana": 1, "pear": 1}]
