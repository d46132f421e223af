"""Topics of the evaluation: queries of people, the engine's results, and relevance judgments.

Zhu and Xiong 2010, section 4: the documents that a person's own profile ranks first among the engine's results count as
relevant. The paper does not say how queries were chosen and how many results were re-ranked. Here a query is a term of
the person's own profile; a second and a third term are added if it finds too few documents to rank. All variants of a
profile get the same queries.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from queryveil.core.evidence import GroupMembers
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import BoolArray, FloatArray, Int32Array, IntArray, indptr_of, row_numbers, select_entries
from queryveil.search.evaluation.group_profiles import TermMapping, WeightedRows
from queryveil.search.evaluation.metrics import MetricValues, compute_metrics
from queryveil.search.index import Index
from queryveil.search.ranking import RankedDocuments, RankingProfile, blend_scores, cosines
from queryveil.search.ranking_settings import PAPER, RANKINGS, RankingSettings

MAX_QUERY_TERMS = 3


@dataclass(frozen=True)
class TopicPlan:
    """How many people and queries are sampled, and how many results count as relevant."""

    people: int = 1_000
    queries: int = 5  # per person
    depth: int = 100  # results that are ranked
    relevant: int = 30  # of them


@dataclass(frozen=True, eq=False)
class Topics:
    """Queries of people with their results and relevance judgments."""

    people: IntArray  # (people with queries,): ascending
    person: IntArray  # (queries,): position in `people`, ascending
    queries: tuple[str, ...]
    documents: Int32Array  # (queries, depth): in the engine's order, padded with −1
    engine_scores: FloatArray  # (queries, depth)
    query_cosines: FloatArray  # (queries, depth): similarity of the documents to the query's own terms
    is_relevant: BoolArray  # (queries, depth)
    without_term: int = 0  # people of whom the index knows no term
    without_query: int = 0  # sampled people for whom no query finds enough documents

    @property
    def n_relevant(self) -> IntArray:
        """Count the relevant documents of each query."""
        counts: IntArray = self.is_relevant.sum(axis=1, dtype=np.int64)
        return counts

    def metrics(self, order: IntArray) -> MetricValues:
        """Return every metric of every query for rankings."""
        return compute_metrics(np.take_along_axis(self.is_relevant, order, axis=1), self.n_relevant)

    def by_person(self) -> Iterator[slice]:
        """Yield the range of each person's queries."""
        bounds = np.searchsorted(self.person, np.arange(len(self.people) + 1)).tolist()
        return (slice(a, b) for a, b in pairwise(bounds))


def choose_topics(
    index: Index,
    mapping: TermMapping,
    members: GroupMembers,
    plan: TopicPlan,
    *,
    rng: np.random.Generator,
    among: IntArray | None = None,
    progress: Progress = silent,
) -> Topics:
    """Sample people, of those given or of all, and queries, search, and judge relevance by everybody's own profile."""
    is_known = mapping.is_known[members.ids]
    with_term = np.flatnonzero(np.diff(select_entries(members.indptr, is_known)))
    eligible = with_term if among is None else np.intersect1d(with_term, among)
    sampled = np.sort(rng.permutation(eligible)[: plan.people])
    found: dict[int, list[tuple[str, RankedDocuments]]] = {}  # person → queries with their results
    for number, person in enumerate(sampled.tolist()):
        progress("searching", number, len(sampled))
        entries = np.arange(members.indptr[person], members.indptr[person + 1])
        terms = [members.terms[i] for i in members.ids[entries[is_known[entries]]].tolist()]
        queries = list(_draw_queries(index, [terms[i] for i in rng.permutation(len(terms))], plan))
        if queries:
            found[person] = queries
    topics = replace(
        collect_topics(index, found, plan.depth),
        without_term=len(members.group) - len(with_term),
        without_query=len(sampled) - len(found),
    )
    own_profiles = WeightedRows(members.indptr, members.ids, members.weights).take(topics.people)
    own_vectors = map(RankingProfile, mapping.vectors(own_profiles))
    order = rank_by_profiles(index, topics, own_vectors, RANKINGS[PAPER])
    np.put_along_axis(topics.is_relevant, order[:, : plan.relevant], True, axis=1)
    topics.is_relevant[topics.documents < 0] = False
    return topics


def _draw_queries(index: Index, terms: list[str], plan: TopicPlan) -> Iterator[tuple[str, RankedDocuments]]:
    """Yield up to `plan.queries` queries, made of consecutive terms, with their results.

    A query gets further terms until its results fill `plan.depth`. It is skipped if it finds fewer than twice as many
    documents as count as relevant: where most results are relevant, every ranking is good.
    """
    n_queries = 0
    for start in range(len(terms)):
        if n_queries == plan.queries:
            return
        for end in range(start + 1, min(start + MAX_QUERY_TERMS, len(terms)) + 1):
            query = " ".join(terms[start:end])
            results = index.search(query, plan.depth)
            if len(results) == plan.depth:
                break
        if len(results) >= 2 * plan.relevant:
            n_queries += 1
            yield query, results


def collect_topics(index: Index, found: Mapping[int, Sequence[tuple[str, RankedDocuments]]], depth: int) -> Topics:
    """Return the queries of people as arrays, with no document judged relevant yet."""
    queries = [pair for pairs in found.values() for pair in pairs]
    shape = (len(queries), depth)
    documents, engine_scores = np.full(shape, -1, np.int32), np.zeros(shape)
    for row, (_, results) in enumerate(queries):
        documents[row, : len(results)] = results.documents
        engine_scores[row, : len(results)] = results.scores
    return Topics(
        np.array(list(found), np.int64),
        row_numbers(indptr_of([len(pairs) for pairs in found.values()])),
        tuple(query for query, _ in queries),
        documents,
        engine_scores,
        _query_cosines(index, (query for query, _ in queries), documents),
        np.zeros(shape, np.bool_),
    )


def rank_by_profiles(
    index: Index, topics: Topics, profiles: Iterable[RankingProfile], settings: RankingSettings
) -> IntArray:
    """Re-rank the results of each person's queries by the person's profile: (queries, depth) positions, best first.

    This equals `rerank` for many queries. Ties, and an empty profile, keep the engine's order; padding comes last.
    """
    order = np.tile(np.arange(topics.documents.shape[1]), (len(topics.queries), 1))
    for profile, queries in zip(profiles, topics.by_person(), strict=True):
        if not profile.is_known(settings):
            continue
        weighted = profile.weighted(settings)
        documents = topics.documents[queries]
        similarity = np.zeros(documents.shape)
        is_document = documents >= 0
        found = cosines(index, documents[is_document], [vector for vector, _ in weighted])
        similarity[is_document] = np.array([weight for _, weight in weighted]) @ found
        similarity += settings.query_weight * topics.query_cosines[queries]
        for row, query in enumerate(range(queries.start, queries.stop)):
            n = int(is_document[row].sum())
            scores = blend_scores(topics.engine_scores[query, :n], similarity[row, :n], settings.blend)
            order[query, :n] = np.argsort(-scores, kind="stable")
    return order


def _query_cosines(index: Index, queries: Iterable[str], documents: Int32Array) -> FloatArray:
    """Return the cosine of every query's own terms with its results; 0 at the padding."""
    found = np.zeros(documents.shape)
    for row, query in enumerate(queries):
        is_document = documents[row] >= 0
        found[row, is_document] = cosines(index, documents[row, is_document], [index.vector((query,), (1.0,))])[0]
    return found
