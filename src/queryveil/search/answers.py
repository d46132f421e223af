"""The answer to a query: the engine's results, re-ranked by a profile if there is one, and explained on request."""

from dataclasses import dataclass

import numpy as np

from queryveil.core.display import Brief
from queryveil.core.errors import InputError
from queryveil.kernels import uncompiled
from queryveil.search.index import Index
from queryveil.search.ranking import RankingProfile, rerank
from queryveil.search.ranking_settings import BLENDED, RANKINGS, RankingSettings

_EXPLAINED_TERMS = 5  # per document
_LEAST_EXPLAINED = 0.0005  # what adds less to the similarity would be shown as 0.000
NO_WORD = "the query has no word to search for"
NO_TERM = "no term of the profile is in the index, so the order is the engine's own"


@dataclass(frozen=True, repr=False)
class Hit(Brief):
    """A document in the result list."""

    _shown = ("rank", "engine_rank", "score", "id")
    rank: int  # from 1
    engine_rank: int  # before re-ranking
    score: float  # ranked by
    id: str
    title: str
    text: str
    terms: tuple[tuple[str, float], ...] = ()  # largest contributions to the similarity, if requested


@dataclass(frozen=True, repr=False)
class Answer(Brief):
    """The result list of a query, best first."""

    _shown = ("hits", "note")
    query: str
    hits: tuple[Hit, ...]
    note: str = ""  # why nothing was found, or why a profile changed nothing


@dataclass(frozen=True)
class SearchOptions:
    """How a query is answered."""

    n: int = 10  # documents to return
    depth: int = 100  # results of the engine that a profile re-ranks
    ranking: RankingSettings = RANKINGS[BLENDED]
    explain: bool = False  # return which terms contributed to the similarity

    def __post_init__(self) -> None:
        for name in ("n", "depth"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise InputError(f"{name} must be a whole number of at least 1, not {getattr(self, name)}; change it.")


def answer(
    index: Index, query: str, profile: RankingProfile | None = None, options: SearchOptions = SearchOptions()
) -> Answer:
    """Answer a query in the engine's order, or re-ranked by a profile."""
    ranked_by = profile if profile is not None and profile.is_known(options.ranking) else None
    found = index.search(query, options.n if ranked_by is None else max(options.depth, options.n))
    note = NO_TERM if profile is not None and ranked_by is None else ""
    if not len(found) and not index.analyzer.terms(query):
        note = NO_WORD
    ranked = (
        found if ranked_by is None else rerank(index, found, ranked_by, index.vector((query,), (1.0,)), options.ranking)
    )
    engine_rank = {number: rank for rank, number in enumerate(found.documents.tolist(), start=1)}
    explained_by = ranked_by if options.explain else None
    best = zip(ranked.documents[: options.n].tolist(), ranked.scores[: options.n].tolist(), strict=True)
    hits = [
        Hit(
            rank,
            engine_rank[number],
            score,
            *index.documents.get(number),
            () if explained_by is None else contributions(index, number, explained_by, options.ranking),
        )
        for rank, (number, score) in enumerate(best, start=1)
    ]
    return Answer(query, tuple(hits), note)


def answer_uncompiled(index: Index, query: str, profile: RankingProfile | None, options: SearchOptions) -> Answer:
    """Answer the only query of a process: without numba, because loading it would take longer than the query."""
    with uncompiled():
        return answer(index, query, profile, options)


def contributions(
    index: Index, number: int, profile: RankingProfile, settings: RankingSettings
) -> tuple[tuple[str, float], ...]:
    """Return the profile's terms that add most to the similarity of a document, largest first; negligible ones not."""
    row = slice(index.indptr[number], index.indptr[number + 1])
    ids, added = index.ids[row], np.zeros(index.indptr[number + 1] - index.indptr[number])
    for vector, weight in profile.weighted(settings):
        _, in_document, in_profile = np.intersect1d(ids, vector.ids, assume_unique=True, return_indices=True)
        added[in_document] += weight * index.weights[row][in_document] * vector.weights[in_profile]
    order = np.argsort(-added, kind="stable")[:_EXPLAINED_TERMS].tolist()
    return tuple((index.terms[ids[i]], float(added[i])) for i in order if added[i] >= _LEAST_EXPLAINED)
