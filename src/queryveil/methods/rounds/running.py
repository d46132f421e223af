"""The rounds from the whole log to an anonymous one, over whatever exchange brings questions and answers about."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from queryveil.core.progress import Progress, silent
from queryveil.methods.rounds.blocks import Keys
from queryveil.methods.rounds.steps import Act, Cover, Narrow, PutBack, Question, Without, is_careful, slack

MAX_ROUNDS = 12
_FIRST_ROUNDS = 2  # rounds in which only pairs are looked at before larger combinations
_MOST_LEFT = 1_000_000  # combinations that the finish chooses among; beyond that, the rarest term of each goes


class Exchange(Protocol):
    """Where the blocks are, and how they are told what others hold."""

    def turn(self, question: Question | None, act: Act) -> int:
        """Let every block ask, be told and act; return the sum of what they counted."""

    def below(self, question: Question, limit: int) -> Keys | None:
        """Return all combinations with a sum below the question's bound; None if they are more than the limit."""

    def rarest_below(self, question: Question) -> tuple[int, ...]:
        """Return the rarest term of every combination with a sum below the question's bound."""

    def occurrences(self, terms: tuple[int, ...]) -> Mapping[int, int]:
        """Return how often each term is kept."""


def run(exchange: Exchange, *, k: int, m: int, progress: Progress = silent) -> dict[str, Any]:
    """Make the blocks (k,m)-anonymous together; return what was done."""
    rounds, left = 0, 0
    for rounds in range(1, MAX_ROUNDS + 1):
        progress("rounds", rounds - 1, MAX_ROUNDS)
        sizes = m if rounds > _FIRST_ROUNDS else min(m, 2)
        below = k + slack(k) if is_careful(rounds - 1) else k
        question = Question(tuple(range(1, sizes + 1)), below=below)
        left = exchange.turn(question, Cover(k, sizes, rounds - 1))
        if not left and sizes == m:
            break
    finished = _finish(exchange, k, m) if left else 0
    progress("rounds", MAX_ROUNDS, MAX_ROUNDS)
    inserted = _put_back(exchange, k, m, progress)
    return {
        "algorithm": "rounds",
        "rounds": rounds,
        "terms deleted at last from all histories": finished,
        "pairs put back": inserted,
    }


def _finish(exchange: Exchange, k: int, m: int) -> int:
    """Delete from all histories terms that hit every combination that is still held by too few."""
    question = Question(tuple(range(1, m + 1)), below=k)
    keys = exchange.below(question, _MOST_LEFT)
    terms = exchange.rarest_below(question) if keys is None else _hitting(keys, exchange.occurrences(_terms_of(keys)))
    if terms:
        exchange.turn(None, Without(terms))
    return len(terms)


def _terms_of(keys: Keys) -> tuple[int, ...]:
    return tuple(np.unique(_members(keys)).tolist())


def _members(keys: Keys) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Return the terms of each combination in four columns, some of them repeated."""
    columns = [keys.high >> 32, keys.high & 0xFFFFFFFF]
    low_first, low_last = keys.low >> 32, keys.low & 0xFFFFFFFF
    is_short = keys.low == 0
    columns += [np.where(is_short, columns[0], low_first), np.where(is_short, columns[1], low_last)]
    return np.stack(columns, axis=1)


def _hitting(keys: Keys, occurrences: Mapping[int, int]) -> tuple[int, ...]:
    """Choose terms that hit every combination: each time the one in most of them for what it costs."""
    members = _members(keys)
    terms, place = np.unique(members, return_inverse=True)
    place = place.reshape(members.shape)
    cost = np.array([max(1, occurrences.get(term, 0)) for term in terms.tolist()], np.float64)
    is_left = np.ones(len(members), np.bool_)
    chosen: list[int] = []
    while is_left.any():
        rows = [np.unique(row) for row in place[is_left]]
        hits = np.bincount(np.concatenate(rows), minlength=len(terms))
        best = int(np.flatnonzero(hits / cost == (hits / cost).max())[-1])  # of equally good ones the rarest
        chosen.append(int(terms[best]))
        is_left &= ~(place == best).any(axis=1)
    return tuple(sorted(chosen))


def _put_back(exchange: Exchange, k: int, m: int, progress: Progress) -> int:
    """Put terms back, in one pass: none brings a combination that too few hold up to k, so a second would find none."""
    progress("putting terms back", 0, 1)
    for sizes in range(2, m):  # fewer are asked about larger combinations
        exchange.turn(Question(tuple(range(1, sizes + 1)), at_least=k), Narrow(sizes))
    inserted = exchange.turn(Question(tuple(range(1, m + 1)), at_least=k), PutBack(m))
    progress("putting terms back", 1, 1)
    return inserted
