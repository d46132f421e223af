"""Topics of the evaluation: sampled queries, their results, and relevance judged by a person's own profile."""

from pathlib import Path

import numpy as np
import pytest

from queryveil.core.evidence import GroupMembers
from queryveil.core.rows import indptr_of
from queryveil.search.evaluation.group_profiles import TermMapping, WeightedRows, map_terms
from queryveil.search.evaluation.topics import TopicPlan, Topics, choose_topics, rank_by_profiles
from queryveil.search.index import Index
from queryveil.search.ranking import ProfileVector, RankingProfile, rerank
from queryveil.search.ranking_settings import PAPER, RANKINGS, RankingSettings
from tests.search.small_index import index_of

WORDS = ("coffee", "tea", "cup", "island", "beach", "hotel")
PEOPLE = (("coffee", "cup"), ("island", "beach", "hotel"), ("unheard",), ("tea", "unheard"))
PLAN = TopicPlan(people=10, queries=2, depth=12, relevant=3)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("topics")
    rng = np.random.default_rng(0)
    return index_of([" ".join(rng.choice(WORDS, 4)) for _ in range(60)], folder)


def people() -> GroupMembers:
    terms = tuple(sorted({term for row in PEOPLE for term in row}))
    ids = [sorted(terms.index(term) for term in row) for row in PEOPLE]
    flat = np.array([i for row in ids for i in row], np.int32)
    return GroupMembers(
        np.full(len(PEOPLE), -1, np.int32), indptr_of([len(row) for row in ids]), flat, np.ones(len(flat)), terms
    )


def topics_of(index: Index, plan: TopicPlan = PLAN) -> tuple[Topics, TermMapping, GroupMembers]:
    members = people()
    mapping = map_terms(index, members.terms)
    return choose_topics(index, mapping, members, plan, rng=np.random.default_rng(1)), mapping, members


def test_queries_are_terms_of_the_persons_profile(index: Index) -> None:
    topics, _, _ = topics_of(index)
    assert topics.people.tolist() == [0, 1, 3]
    assert topics.without_term == 1  # whose only term is unheard
    assert topics.without_query == 0
    for person, queries in zip(topics.people.tolist(), topics.by_person(), strict=True):
        assert 1 <= len(topics.queries[queries]) <= PLAN.queries
        assert all(set(query.split()) <= set(PEOPLE[person]) for query in topics.queries[queries])
    for row, query in enumerate(topics.queries):
        found = index.search(query, PLAN.depth).documents.tolist()
        assert topics.documents[row, : len(found)].tolist() == found
        assert set(topics.documents[row, len(found) :].tolist()) <= {-1}


def test_the_documents_that_the_own_profile_ranks_first_are_relevant(index: Index) -> None:
    topics, mapping, members = topics_of(index)
    rows = WeightedRows(members.indptr, members.ids, members.weights).take(topics.people)
    profiles = mapping.vectors(rows)
    assert topics.n_relevant.tolist() == [PLAN.relevant] * len(topics.queries)
    for row, query in enumerate(topics.queries):
        profile = RankingProfile(profiles[topics.person[row]])
        found = rerank(index, index.search(query, PLAN.depth), profile, ProfileVector.empty(), RANKINGS[PAPER])
        best = found.documents[: PLAN.relevant]
        assert set(topics.documents[row][topics.is_relevant[row]].tolist()) == set(best.tolist())


@pytest.mark.parametrize("settings", [RANKINGS[PAPER], RankingSettings(0.4, 0.3, 0.2)])
def test_ranking_many_queries_equals_reranking_each(index: Index, settings: RankingSettings) -> None:
    topics, mapping, members = topics_of(index)
    rows = WeightedRows(members.indptr, members.ids, members.weights).take(topics.people)
    profiles = [RankingProfile(vector, index.vector(["hotel"], [1.0])) for vector in mapping.vectors(rows)]
    order = rank_by_profiles(index, topics, profiles, settings)
    for row, query in enumerate(topics.queries):
        profile, vector = profiles[topics.person[row]], index.vector([query], [1.0])
        expected = rerank(index, index.search(query, PLAN.depth), profile, vector, settings).documents
        assert topics.documents[row][order[row]][: len(expected)].tolist() == expected.tolist()


def test_mapped_vectors_equal_those_of_the_index(index: Index) -> None:
    members = people()
    vectors = map_terms(index, members.terms).vectors(WeightedRows(members.indptr, members.ids, members.weights))
    for terms, vector in zip(PEOPLE, vectors, strict=True):
        expected = index.vector(terms, [1.0] * len(terms))
        assert vector.ids.tolist() == expected.ids.tolist()
        assert vector.weights.tolist() == pytest.approx(expected.weights.tolist())
        assert (vector.n_known, vector.n_terms) == (expected.n_known, expected.n_terms)


def test_a_query_that_finds_too_little_is_skipped(index: Index) -> None:
    topics, _, _ = topics_of(index, TopicPlan(people=10, queries=2, depth=100, relevant=31))
    assert topics.queries == ()
    assert (topics.without_term, topics.without_query) == (1, 3)
    assert topics.documents.shape == (0, 100)
