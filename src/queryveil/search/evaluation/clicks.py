"""Clicked queries: what people searched for and which results they clicked; these are the relevant ones.

A click judges the order that the person saw: results near the top are clicked more often whatever they hold, and a
document that was not shown could not be clicked. That favours the engine that was used over every other order.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from queryveil.core.progress import Progress, silent
from queryveil.core.rows import FloatArray, IntArray
from queryveil.search.evaluation.group_profiles import WeightedRows
from queryveil.search.evaluation.topics import Topics, collect_topics, rank_by_profiles
from queryveil.search.evaluation.variants import SearchSetup
from queryveil.search.index import Index
from queryveil.search.ranking import ProfileVector, RankedDocuments, RankingProfile

PERSON = "the person's own profile, the query's terms left out"


@dataclass(frozen=True, eq=False)
class ClickLog:
    """The clicks of a log, in the order of people, queries and addresses."""

    person: IntArray  # (clicks,): as `GroupMembers` numbers people; ascending
    queries: tuple[str, ...]  # (clicks,): as typed
    urls: tuple[str, ...]  # (clicks,)
    ranks: FloatArray  # (clicks,): where the log says the result stood, from 1; NaN where it does not


@dataclass(frozen=True)
class ClickPlan:
    """How many people and queries are sampled, and among how many results a clicked one is looked for."""

    people: int = 1_000
    queries: int = 5  # per person
    depth: int = 100


@dataclass(frozen=True, eq=False)
class ClickedTopics:
    """Queries of which the engine finds a clicked document, and how many it does not."""

    topics: Topics
    logged_ranks: FloatArray  # (queries,): the best rank of a clicked document in the log; NaN where it has none
    n_clicks: int  # of people in the release's log
    n_indexed: int  # of these, clicks on documents of the index
    n_missed: int  # sampled queries that find no clicked document


def choose_clicked(
    index: Index, clicks: ClickLog, plan: ClickPlan, *, rng: np.random.Generator, progress: Progress = silent
) -> ClickedTopics:
    """Sample people, of those who clicked a document of the index, and queries of theirs, and search."""
    numbers = np.array([index.documents.number_of.get(url, -1) for url in clicks.urls], np.int64)
    known = np.flatnonzero(numbers >= 0)
    people = np.unique(clicks.person[known])
    sampled = np.sort(rng.permutation(people)[: plan.people])
    found: dict[int, list[tuple[str, RankedDocuments]]] = {}  # person → queries with their results
    relevant: list[IntArray] = []  # of each query, the clicked documents
    ranks: list[float] = []
    n_missed = 0
    for step, person in enumerate(sampled.tolist()):
        progress("searching", step, len(sampled))
        begin, end = np.searchsorted(clicks.person[known], (person, person + 1)).tolist()
        by_query = _by_query(clicks, known[begin:end].tolist())
        texts = sorted(by_query)
        for query in (texts[i] for i in rng.permutation(len(texts))[: plan.queries]):
            results, documents = index.search(query, plan.depth), numbers[by_query[query]]
            if not np.isin(results.documents, documents).any():
                n_missed += 1
                continue
            found.setdefault(person, []).append((query, results))
            relevant.append(documents)
            logged = clicks.ranks[by_query[query]]
            ranks.append(float(np.nanmin(logged)) if not np.isnan(logged).all() else np.nan)
    topics = collect_topics(index, found, plan.depth)
    for row, documents in enumerate(relevant):
        topics.is_relevant[row] = np.isin(topics.documents[row], documents)
    return ClickedTopics(topics, np.array(ranks), len(clicks.urls), len(known), n_missed)


def _by_query(clicks: ClickLog, rows: list[int]) -> Mapping[str, list[int]]:
    """Return the rows of each query's clicks."""
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(clicks.queries[row], []).append(row)
    return found


def rank_by_person(setup: SearchSetup) -> IntArray:
    """Rank every query by the person's own profile without the query's terms, which it has because of this query."""
    topics, members = setup.topics, setup.members
    own = WeightedRows(members.indptr, members.ids, members.weights).take(topics.people[topics.person])
    alone = replace(topics, people=topics.people[topics.person], person=np.arange(len(topics.queries)))
    profiles = map(RankingProfile, _without_query(setup, setup.mapping.map(own)))
    return rank_by_profiles(setup.index, alone, profiles, setup.settings)


def _without_query(setup: SearchSetup, rows: WeightedRows) -> Iterator[ProfileVector]:
    """Yield the vector of each query's row over index terms, without the terms of the query."""
    for query, (begin, end) in zip(setup.topics.queries, pairwise(rows.indptr.tolist()), strict=True):
        ids, weights = rows.ids[begin:end], rows.weights[begin:end]
        is_other = ~np.isin(ids, setup.index.vector((query,), (1.0,)).ids)
        n_terms = int(is_other.sum())
        yield ProfileVector.normalized(ids[is_other], weights[is_other], n_terms, n_terms)
