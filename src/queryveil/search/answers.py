"""The answer to a query: what the engine found, in the order of a profile where there is one, and why."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from queryveil.core.errors import InputError
from queryveil.kernels import uncompiled
from queryveil.search.ranking import Ranked, rerank
from queryveil.search.vectors import ProfileVector

if TYPE_CHECKING:
    from queryveil.search.index import Index

_SHOWN = 5  # terms of an explanation
NO_WORD = "the query has no word to search for"
NO_TERM = "no term of the profile is in the index, so the order is the engine's own"


@dataclass(frozen=True)
class Hit:
    """A document that was found."""

    rank: int  # from 1
    engine_rank: int  # where the engine had it
    score: float  # what the order goes by
    id: str
    title: str
    text: str
    terms: tuple[tuple[str, float], ...] = ()  # what each shared term adds to the cosine, the most first; if asked for


@dataclass(frozen=True)
class Answer:
    """The documents that were found for a query, the best first."""

    query: str
    hits: tuple[Hit, ...]
    note: str = ""  # why nothing was found, or why a profile changed nothing


@dataclass(frozen=True)
class Asking:
    """How a query is answered."""

    n: int = 10  # documents to return
    depth: int = 100  # documents of the engine that a profile puts in order
    blend: float = 0.0  # how much of the order the engine's own score is, from 0 to 1
    explain: bool = False  # say which terms moved a document

    def __post_init__(self) -> None:
        for name in ("n", "depth"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise InputError(f"{name} must be a whole number of at least 1, not {getattr(self, name)}; change it.")
        if not 0 <= self.blend <= 1:
            raise InputError(f"blend must be a number from 0 to 1, not {self.blend}; change it.")


def answer(index: "Index", query: str, profile: ProfileVector | None = None, asking: Asking = Asking()) -> Answer:
    """Answer a query as nobody, or in the order of a profile."""
    has_profile = profile is not None and len(profile) > 0
    found = index.search(query, max(asking.depth, asking.n) if has_profile else asking.n)
    note = NO_TERM if profile is not None and not has_profile else ""
    if not len(found) and not index.analyser.terms(query):
        note = NO_WORD
    ordered = rerank(index, found, profile, asking.blend) if profile is not None and has_profile else found
    engine_rank = {number: rank for rank, number in enumerate(found.documents.tolist(), start=1)}
    explained = profile if asking.explain and has_profile else None
    return Answer(query, tuple(_hits(index, ordered, engine_rank, explained, asking.n)), note)


def answer_once(index: "Index", query: str, profile: ProfileVector | None, asking: Asking) -> Answer:
    """Answer a single query in a process that answers no other, so that starting numba would take longest."""
    with uncompiled():
        return answer(index, query, profile, asking)


def _hits(
    index: "Index", ordered: Ranked, engine_rank: dict[int, int], explained: ProfileVector | None, n: int
) -> list[Hit]:
    numbers, scores = ordered.documents[:n].tolist(), ordered.scores[:n].tolist()
    return [
        Hit(
            rank,
            engine_rank[number],
            score,
            *index.documents.get(number),
            contributions(index, number, explained) if explained is not None else (),
        )
        for rank, (number, score) in enumerate(zip(numbers, scores, strict=True), start=1)
    ]


def contributions(index: "Index", number: int, profile: ProfileVector) -> tuple[tuple[str, float], ...]:
    """Return what the terms that a profile shares with a document add to their cosine, the most first."""
    row = slice(index.indptr[number], index.indptr[number + 1])
    shared, in_document, in_profile = np.intersect1d(
        index.ids[row], profile.ids, assume_unique=True, return_indices=True
    )
    added = index.weights[row][in_document] * profile.weights[in_profile]
    order = np.argsort(-added, kind="stable")[:_SHOWN]
    return tuple((index.terms[shared[i]], float(added[i])) for i in order)
