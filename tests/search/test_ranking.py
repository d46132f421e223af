"""Profile vectors, cosines and re-ranking, against the slow twin and by hand."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queryveil.search.ranking import TermCounts, cosines, rerank
from tests.search import twin
from tests.search.small_index import index_of
from tests.search.test_index import SLOW, TEXTS, WORDS


@given(
    texts=st.lists(TEXTS.filter(twin.analyze), min_size=1, max_size=8),
    profiles=st.lists(st.dictionaries(st.sampled_from((*WORDS, "new java", "unheard")), st.floats(0.1, 9)), max_size=4),
)
@SLOW
def test_cosines_equal_the_twin(texts: list[str], profiles: list[dict[str, float]], tmp_path: Path) -> None:
    index = index_of(texts, tmp_path)
    documents = np.arange(len(texts), dtype=np.int32)[::-1].copy()
    found = cosines(index, documents, [index.vector(profile, profile.values()) for profile in profiles])
    assert found.shape == (len(profiles), len(texts))
    vectors = twin.vectors(texts)
    for row, weights in zip(found, profiles, strict=True):
        expected = [twin.cosine(twin.profile(weights, set(index.terms)), vectors[i]) for i in documents]
        assert row.tolist() == pytest.approx(expected, abs=1e-5)


def test_a_profile_vector_counts_the_known_terms(tmp_path: Path) -> None:
    index = index_of(["coffee beans", "an island"], tmp_path)
    profile = index.vector(["coffee shop", "Islands", "unheard"], [3.0, 4.0, 5.0])
    assert (profile.n_known, profile.n_terms, len(profile)) == (2, 3, 2)
    assert [index.terms[i] for i in profile.ids] == ["coffee", "island"]
    assert profile.weights.tolist() == pytest.approx([0.6, 0.8])
    assert len(index.vector(["unheard"], [1.0])) == 0


def test_a_profile_reranks_and_ties_keep_the_engines_order(tmp_path: Path) -> None:
    index = index_of([("java", "island"), ("java", "language"), ("java", "coffee beans and more coffee")], tmp_path)
    plain = index.search("java")
    assert plain.documents.tolist() == [0, 1, 2]
    coffee = index.vector(["coffee"], [1.0])
    assert rerank(index, plain, coffee).documents.tolist() == [2, 0, 1]
    assert rerank(index, plain, coffee, blend=1.0).documents.tolist() == [0, 1, 2]
    half = rerank(index, plain, coffee, blend=0.5)
    assert half.documents.tolist() == [2, 0, 1]
    assert half.scores[1] == pytest.approx(0.5)
    assert rerank(index, plain, index.vector(["unheard"], [1.0])) is plain


def test_tf_idf_weights_by_hand() -> None:
    counts = TermCounts(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([1, 3, 1], np.int32))
    first, second = np.log(3.0), (1 + np.log(3.0)) * np.log(2.0)  # document frequencies 1 and 2 of 2
    length = np.hypot(first, second)
    assert counts.tf_idf(3).tolist() == pytest.approx([first / length, second / length, 1.0])
