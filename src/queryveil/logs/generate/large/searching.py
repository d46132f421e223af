"""What people type, query after query, as rows of term numbers: fresh ones, and earlier ones repeated or refined."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.large.catalogue import Catalogue, draw_lengths, draw_topics
from queryveil.logs.generate.large.compose import LONGEST, NOTHING, Wanted, compose, doubles
from queryveil.logs.generate.large.people import HEAVIEST_LENGTH, TOPICS_EACH, People
from queryveil.logs.generate.large.rack import Numbers
from queryveil.logs.generate.large.shape import LargeShape
from queryveil.logs.generate.large.words import OPERATOR, RARE, Words

_DEAREST = 0.6  # chance that a query is on the dearest of the topics left
_SHORTEN = 0.4  # of the refinements: a term less
_ORDINARY = 0.5  # of the terms added: any word of the topic


class Move(IntEnum):
    """How a query comes from earlier ones of the same person."""

    REPEAT = 0
    REFINE = 1
    RECALL = 2
    FRESH = 3


@dataclass(frozen=True, eq=False)
class World:
    """All that people share: the kind of log, the terms, the queries that many think of."""

    shape: LargeShape
    words: Words
    catalogue: Catalogue


def make_queries(people: People, world: World, rng: np.random.Generator) -> tuple[NDArray[np.int64], Numbers]:
    """Return the person of every query, in order, and its terms: (queries, LONGEST), NOTHING after the last."""
    owners = np.repeat(np.arange(len(people)), people.n_queries)
    moves, sources = _moves(owners, people.n_queries, world.shape, rng)
    asked = owners[moves == Move.FRESH]
    topics = people.topics[asked, np.minimum(rng.geometric(_DEAREST, len(asked)), TOPICS_EACH) - 1]
    fresh = _fresh(topics, people.is_stranger[asked], world, rng)
    _combine(fresh, np.flatnonzero(people.is_operator[asked]), world.words.racks[OPERATOR].things)
    queries = fresh[sources]
    _refine(queries, np.flatnonzero(moves == Move.REFINE), topics[sources], world.words, rng)
    for person in np.flatnonzero(people.is_heaviest).tolist():
        _never_twice(queries, np.flatnonzero(owners == person), people.topics[person], world.words, rng)
    return owners, queries


def _moves(
    owners: NDArray[np.int64], n_queries: NDArray[np.int64], shape: LargeShape, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the move of every query, and find the fresh query, counted among those, that each stems from."""
    here = np.arange(len(owners))
    first = (np.cumsum(n_queries) - n_queries)[owners]
    manners = shape.manners
    bounds = np.cumsum([manners.repeat, manners.refine, manners.recall])
    moves = np.searchsorted(bounds, rng.random(len(owners)), side="right")
    moves[here == first] = Move.FRESH
    is_fresh = moves == Move.FRESH
    sources = np.cumsum(is_fresh) - 1
    recalls = np.flatnonzero(moves == Move.RECALL)
    back = first[recalls] + (rng.random(len(recalls)) * (recalls - first[recalls])).astype(np.int64)
    sources[recalls] = sources[back]
    return moves, sources


def _fresh(
    topics: NDArray[np.int64], is_stranger: NDArray[np.bool_], world: World, rng: np.random.Generator
) -> Numbers:
    """Make fresh queries: some as others think of them, some the person's own."""
    n, manners = len(topics), world.shape.manners
    lengths = draw_lengths(n, world.shape, rng)
    is_shared = (rng.random(n) < manners.shared) & ~is_stranger
    shared, own = np.flatnonzero(is_shared), np.flatnonzero(~is_shared)
    is_universal = rng.random(len(shared)) < manners.universal
    on = np.where(is_universal, draw_topics(len(shared), rng), topics[shared])
    strange = np.where(is_stranger[own], manners.strange, 0.0)
    wanted = Wanted(topics[own], lengths[own], np.maximum(strange, manners.rarity), strange)
    queries = np.empty((n, LONGEST), np.int32)
    queries[shared] = world.catalogue.draw(on, lengths[shared], rng)
    queries[own] = compose(wanted, world.words, rng)
    return queries


def _combine(queries: Numbers, rows: NDArray[np.int64], operator: Numbers) -> None:
    """Put the operator after the first term of some queries, unless it is there already."""
    part = queries[rows]
    combined = np.insert(part[:, :-1], 1, operator, axis=1)
    queries[rows] = np.where((part == operator).any(axis=1, keepdims=True), part, combined)


def _refine(
    queries: Numbers, rows: NDArray[np.int64], topics: NDArray[np.int64], words: Words, rng: np.random.Generator
) -> None:
    """Take the last term from some queries and add one to the others, unless it is there already."""
    part, on = queries[rows], topics[rows]
    lengths = (part != NOTHING).sum(axis=1)
    is_shorter = (lengths > 2) & ((rng.random(len(rows)) < _SHORTEN) | (lengths == LONGEST))
    is_ordinary = rng.random(len(rows)) < _ORDINARY
    added = np.where(is_ordinary, words.racks["W"].draw(on, rng), words.racks["C"].draw(on, rng))
    where = np.where(is_shorter, lengths - 1, lengths)
    part[np.arange(len(rows)), where] = np.where(is_shorter, NOTHING, added)
    part[doubles(part)] = NOTHING
    queries[rows] = part


def _never_twice(
    queries: Numbers, rows: NDArray[np.int64], topics: NDArray[np.int64], words: Words, rng: np.random.Generator
) -> None:
    """Make queries of one person in which no term ever returns: what stands there again becomes a rare term."""
    n = len(rows)
    wanted = Wanted(np.resize(topics, n), np.full(n, HEAVIEST_LENGTH), np.full(n, 0.5), np.zeros(n))
    terms = compose(wanted, words, rng)[:, :HEAVIEST_LENGTH].ravel()
    again = np.setdiff1d(np.arange(len(terms)), np.unique(terms, return_index=True)[1])
    rare = words.racks[RARE].draw(np.zeros(8 * len(terms), np.int64), rng)
    terms[again] = np.setdiff1d(rare, terms)[: len(again)]
    queries[rows] = NOTHING
    queries[rows, :HEAVIEST_LENGTH] = terms.reshape(n, HEAVIEST_LENGTH)
