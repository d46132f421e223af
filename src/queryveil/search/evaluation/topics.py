"""What is searched for, what the engine finds, and which of that is relevant.

Zhu and Xiong 2010, section 4: what a person's own profile puts first among the engine's results counts as relevant. How
queries were chosen and how many results were re-ranked is not said. Here a query is a term of the person's own profile;
another, and a third, is added where it finds too little to be ranked. All variants of a profile get the same queries.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import GroupMembers
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import select_entries
from queryveil.search.evaluation.lexicon import Lexicon
from queryveil.search.evaluation.publication import Rows
from queryveil.search.index import Index
from queryveil.search.ranking import Ranked, cosines
from queryveil.search.vectors import ProfileVector

MOST_WORDS = 3  # of a query


@dataclass(frozen=True)
class Plan:
    """How many people are looked at, with how many queries each, and what counts as relevant."""

    people: int = 1_000
    queries: int = 5
    depth: int = 100  # results that are ranked
    relevant: int = 30  # of them
    blend: float = 0.0  # of the engine's own score; what is relevant is always said by the profile alone


@dataclass(frozen=True, eq=False)
class Topics:
    """Queries of people, the documents found, and which are relevant."""

    people: NDArray[np.int64]  # (people with queries,): ascending
    person: NDArray[np.int64]  # (queries,): the place among `people`, ascending
    queries: tuple[str, ...]
    documents: NDArray[np.int32]  # (queries, depth): in the engine's order; −1 behind the last
    shares: NDArray[np.float64]  # (queries, depth): the engine's scores as shares of the best one
    is_relevant: NDArray[np.bool_]  # (queries, depth)
    without_term: int  # people of whom the index knows no term
    without_query: int  # people looked at of whom no query finds enough

    @property
    def n_relevant(self) -> NDArray[np.int64]:
        """Count the relevant documents of each query."""
        counts: NDArray[np.int64] = self.is_relevant.sum(axis=1, dtype=np.int64)
        return counts

    def of_people(self) -> Iterator[slice]:
        """Yield the queries of each person."""
        bounds = np.searchsorted(self.person, np.arange(len(self.people) + 1)).tolist()
        return (slice(a, b) for a, b in pairwise(bounds))


def choose_topics(
    index: Index,
    lexicon: Lexicon,
    members: GroupMembers,
    plan: Plan,
    *,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Topics:
    """Draw people and queries, and let the profile of each person say what is relevant."""
    known = lexicon.is_known[members.ids]
    before = select_entries(members.indptr, known)
    able = np.flatnonzero(np.diff(before))
    drawn = np.sort(rng.permutation(able)[: plan.people])
    people: list[int] = []
    person: list[int] = []
    found: list[tuple[str, Ranked]] = []
    for number, one in enumerate(drawn.tolist()):
        progress("searching", number, len(drawn))
        pairs = np.arange(members.indptr[one], members.indptr[one + 1])
        terms = [members.terms[i] for i in members.ids[pairs[known[pairs]]].tolist()]
        some = list(_queries(index, rng.permutation(len(terms)).tolist(), terms, plan))
        if some:
            person += [len(people)] * len(some)
            people.append(one)
            found += some
    shape = (len(found), plan.depth)
    documents, shares = np.full(shape, -1, np.int32), np.zeros(shape)
    for row, (_, ranked) in enumerate(found):
        documents[row, : len(ranked)] = ranked.documents
        shares[row, : len(ranked)] = ranked.scores / ranked.scores[0]
    topics = Topics(
        np.array(people, np.int64),
        np.array(person, np.int64),
        tuple(query for query, _ in found),
        documents,
        shares,
        np.zeros(shape, np.bool_),
        int(len(members.group) - len(able)),
        len(drawn) - len(people),
    )
    own = Rows(members.indptr, members.ids, members.weights).take(topics.people)
    order = order_by(index, topics, lexicon.vectors(own))
    np.put_along_axis(topics.is_relevant, order[:, : plan.relevant], True, axis=1)
    topics.is_relevant[topics.documents < 0] = False
    return topics


def _queries(index: Index, order: list[int], terms: list[str], plan: Plan) -> Iterator[tuple[str, Ranked]]:
    """Yield queries that begin with a term each; what finds less than twice what is relevant is none."""
    n_queries = 0
    for place in range(len(order)):
        if n_queries == plan.queries:
            return
        for end in range(place + 1, min(place + MOST_WORDS, len(order)) + 1):
            query = " ".join(terms[i] for i in order[place:end])
            found = index.search(query, plan.depth)
            if len(found) == plan.depth:
                break
        if len(found) >= 2 * plan.relevant:
            n_queries += 1
            yield query, found


def order_by(index: Index, topics: Topics, profiles: list[ProfileVector], blend: float = 0.0) -> NDArray[np.int64]:
    """Return the order in which each person's profile puts the documents of their queries: (queries, depth) places.

    This is what `rerank` does, for many queries. Ties, and an empty profile, keep the engine's order; places without a
    document come last.
    """
    scores = np.full(topics.documents.shape, -np.inf)
    for profile, part in zip(profiles, topics.of_people(), strict=True):
        documents = topics.documents[part]
        filled = documents >= 0
        similarity = cosines(index, documents[filled], [profile])[0]
        scores[part][filled] = (1 - blend) * similarity + blend * topics.shares[part][filled]
    return np.argsort(-scores, axis=1, kind="stable")
