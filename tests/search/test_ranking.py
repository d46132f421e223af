"""Profile vectors, cosines and re-ranking, against the slow twin and by hand."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queryveil.core.errors import InputError
from queryveil.search.ranking import ProfileVector, RankedDocuments, RankingProfile, TermCounts, cosines, rerank
from queryveil.search.ranking_settings import PAPER, RANKINGS, RankingSettings, ranking_settings
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


NO_QUERY = ProfileVector.empty()


def test_a_profile_reranks_and_ties_keep_the_engines_order(tmp_path: Path) -> None:
    index = index_of([("java", "island"), ("java", "language"), ("java", "coffee beans and more coffee")], tmp_path)
    plain = index.search("java")
    assert plain.documents.tolist() == [0, 1, 2]
    coffee = RankingProfile(index.vector(["coffee"], [1.0]))
    paper = rerank(index, plain, coffee, NO_QUERY, RANKINGS[PAPER])
    assert paper.documents.tolist() == [2, 0, 1]
    assert paper.scores.tolist() == cosines(index, paper.documents, [coffee.own])[0].tolist()
    assert rerank(index, plain, coffee, NO_QUERY, RankingSettings(1, 0, 0)).documents.tolist() == [0, 1, 2]
    assert rerank(index, plain, coffee, NO_QUERY, RankingSettings(0.5, 0, 0)).documents.tolist() == [2, 0, 1]
    unknown = RankingProfile(index.vector(["unheard"], [1.0]), coffee.own)
    assert rerank(index, plain, unknown, NO_QUERY, RANKINGS[PAPER]) is plain


WEIGHTS = st.sampled_from((0.0, 0.2, 0.5, 1.0))


@given(
    texts=st.lists(TEXTS.filter(twin.analyze), min_size=1, max_size=8),
    profiles=st.lists(st.dictionaries(st.sampled_from(WORDS), st.floats(0.1, 9), min_size=1), min_size=2, max_size=2),
    query=st.sampled_from(WORDS),
    engine=st.lists(st.sampled_from((1.0, 2.0, 7.5)), min_size=8, max_size=8),
    weights=st.tuples(WEIGHTS, WEIGHTS, WEIGHTS),
)
@SLOW
def test_blended_ranking_equals_the_twin(
    texts: list[str],
    profiles: list[dict[str, float]],
    query: str,
    engine: list[float],
    weights: tuple[float, float, float],
    tmp_path: Path,
) -> None:
    index, settings = index_of(texts, tmp_path), RankingSettings(*weights)
    scores = sorted(engine[: len(texts)], reverse=True)
    ranked = RankedDocuments(np.arange(len(texts), dtype=np.int32), np.array(scores, np.float32))
    own, everybody = (index.vector(profile, profile.values()) for profile in profiles)
    found = rerank(index, ranked, RankingProfile(own, everybody), index.vector([query], [1.0]), settings)
    if not len(own) and not (len(everybody) and settings.shrink):
        assert found is ranked
        return
    known = set(index.terms)
    vectors = [twin.profile(weights, known) for weights in (*profiles, {query: 1.0})]
    blend, shrink, query_weight = weights
    cosines = [[twin.cosine(v, d) for d in twin.vectors(texts)] for v in vectors]
    expected = twin.blended(scores, cosines, blend, shrink if vectors[0] else 1.0, query_weight)
    assert found.scores.tolist() == pytest.approx(sorted(expected, reverse=True), abs=2e-3)
    assert [expected[i] for i in found.documents] == pytest.approx(sorted(expected, reverse=True), abs=2e-3)


def test_what_is_equal_for_all_documents_does_not_count(tmp_path: Path) -> None:
    index = index_of(["java island", "java coffee", "java beans"], tmp_path)
    ranked = RankedDocuments(np.arange(3, dtype=np.int32), np.full(3, 0.1, np.float32))
    profile = RankingProfile(index.vector(["coffee"], [1.0]))
    found = rerank(index, ranked, profile, NO_QUERY, RankingSettings(0.9, 0, 0))
    assert found.documents.tolist() == [1, 0, 2]
    assert np.isfinite(found.scores).all()
    same = rerank(index, ranked, RankingProfile(index.vector(["java"], [1.0])), NO_QUERY, RankingSettings(0.5, 0, 0))
    assert (same.documents.tolist(), same.scores.tolist()) == ([0, 1, 2], [0.0, 0.0, 0.0])
    empty = RankedDocuments(np.empty(0, np.int32), np.empty(0, np.float32))
    assert len(rerank(index, empty, profile, NO_QUERY, RankingSettings(0.5, 0.5, 0.5))) == 0


def test_given_weights_replace_those_of_the_named_ranking() -> None:
    assert ranking_settings("paper") == RankingSettings(0, 0, 0)
    assert ranking_settings("paper", shrink=0.25) == RankingSettings(0, 0.25, 0)
    assert ranking_settings(blend=0.0).shrink == ranking_settings().shrink > 0
    with pytest.raises(InputError, match="ranking must be one of blended, paper, not 'best'"):
        ranking_settings("best")
    with pytest.raises(InputError, match="shrink must be a number from 0 to 1, not nan; change it"):
        ranking_settings(shrink=float("nan"))


def test_tf_idf_weights_by_hand() -> None:
    counts = TermCounts(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([1, 3, 1], np.int32))
    first, second = np.log(3.0), (1 + np.log(3.0)) * np.log(2.0)  # document frequencies 1 and 2 of 2
    length = np.hypot(first, second)
    assert counts.tf_idf(3).tolist() == pytest.approx([first / length, second / length, 1.0])
