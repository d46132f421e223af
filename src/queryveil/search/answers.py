"""The answer to a query: the engine's results, re-ranked by a profile if there is one, and explained on request."""

from dataclasses import dataclass

import numpy as np

from queryveil.core.display import Brief
from queryveil.core.errors import InputError
from queryveil.kernels import uncompiled
from queryveil.search.index import Index
from queryveil.search.ranking import ProfileVector, rerank

_EXPLAINED_TERMS = 5  # per document
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
    terms: tuple[tuple[str, float], ...] = ()  # largest contributions to the cosine, if an explanation was requested


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
    blend: float = 0.0  # weight of the engine's score against the cosine, from 0 to 1
    explain: bool = False  # return which terms contributed to the cosine

    def __post_init__(self) -> None:
        for name in ("n", "depth"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise InputError(f"{name} must be a whole number of at least 1, not {getattr(self, name)}; change it.")
        if not 0 <= self.blend <= 1:
            raise InputError(f"blend must be a number from 0 to 1, not {self.blend}; change it.")


def answer(
    index: Index, query: str, profile: ProfileVector | None = None, options: SearchOptions = SearchOptions()
) -> Answer:
    """Answer a query in the engine's order, or re-ranked by a profile."""
    ranked_by = profile if profile is not None and len(profile) > 0 else None
    found = index.search(query, options.n if ranked_by is None else max(options.depth, options.n))
    note = NO_TERM if profile is not None and ranked_by is None else ""
    if not len(found) and not index.analyzer.terms(query):
        note = NO_WORD
    ranked = found if ranked_by is None else rerank(index, found, ranked_by, options.blend)
    engine_rank = {number: rank for rank, number in enumerate(found.documents.tolist(), start=1)}
    explained_by = ranked_by if options.explain else None
    best = zip(ranked.documents[: options.n].tolist(), ranked.scores[: options.n].tolist(), strict=True)
    hits = [
        Hit(
            rank,
            engine_rank[number],
            score,
            *index.documents.get(number),
            () if explained_by is None else contributions(index, number, explained_by),
        )
        for rank, (number, score) in enumerate(best, start=1)
    ]
    return Answer(query, tuple(hits), note)


def answer_uncompiled(index: Index, query: str, profile: ProfileVector | None, options: SearchOptions) -> Answer:
    """Answer the only query of a process: without numba, because loading it would take longer than the query."""
    with uncompiled():
        return answer(index, query, profile, options)


def contributions(index: Index, number: int, profile: ProfileVector) -> tuple[tuple[str, float], ...]:
    """Return the terms that contribute most to the cosine of a document and a profile, largest first."""
    row = slice(index.indptr[number], index.indptr[number + 1])
    shared, in_document, in_profile = np.intersect1d(
        index.ids[row], profile.ids, assume_unique=True, return_indices=True
    )
    added = index.weights[row][in_document] * profile.weights[in_profile]
    order = np.argsort(-added, kind="stable")[:_EXPLAINED_TERMS]
    return tuple((index.terms[shared[i]], float(added[i])) for i in order)
