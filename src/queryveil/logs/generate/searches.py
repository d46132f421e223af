"""What people type, query after query, as rows of entries: new queries, and earlier ones repeated or refined."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from queryveil.core.rows import IntArray, indptr_of, row_numbers_of
from queryveil.logs.generate.composition import QueryPlan, SharedQueries, compose, draw_topics
from queryveil.logs.generate.invented import misspell_phrases
from queryveil.logs.generate.lexicon import NOTHING, QueryLexicon, repeated
from queryveil.logs.generate.patterns import LONGEST, Slot
from queryveil.logs.generate.people import HEAVIEST_LENGTH, TOPICS_EACH, SyntheticPeople, draw_towns
from queryveil.logs.generate.shape import LogShape, QueryMix
from queryveil.logs.generate.weighted_ids import Ids

_FAVOURITE_TOPIC = 0.6  # probability that a query is on the person's first topic, or else on the next, and so on
_SHORTEN = 0.4  # of the refinements: remove a term
_RUN_TOGETHER = 0.15  # of the misspelled queries: the space between the first two words is missing


class Move(IntEnum):
    """How a query comes from earlier ones of the same person."""

    REPEAT = 0
    REFINE = 1
    RECALL = 2
    NEW = 3


@dataclass(frozen=True, eq=False)
class SearchWorld:
    """What all people share: the shape of the log, the lexicon, and the queries that many think of."""

    shape: LogShape
    lexicon: QueryLexicon
    shared: SharedQueries | None


def make_queries(people: SyntheticPeople, world: SearchWorld, rng: np.random.Generator) -> tuple[IntArray, Ids]:
    """Return the person of every query, ascending, and its entries: (queries, LONGEST), NOTHING after the last."""
    mix, lexicon = world.shape.queries, world.lexicon
    owners = row_numbers_of(people.n_queries)
    moves, sources = _draw_moves(owners, people.n_queries, mix, rng)
    authors = owners[moves == Move.NEW]
    topics = _draw_own_topics(people, authors, mix, rng)
    new = _make_new_queries(people, authors, topics, world, rng)
    _insert_operator(new, np.flatnonzero(people.is_operator[authors]), lexicon.samplers[Slot.OPERATOR].ids)
    queries = new[sources]
    _refine(queries, np.flatnonzero(moves == Move.REFINE), topics[sources], world, rng)
    for person in np.flatnonzero(people.is_heaviest).tolist():
        _make_terms_distinct(queries, np.flatnonzero(owners == person), people.topics[person], world, rng)
    _write_bot_queries(queries, owners, people, lexicon, rng)
    lexicon.shorten(queries)
    lexicon.settle(queries, rng)
    _misspell(queries, mix.misspelled, lexicon, rng)
    return owners, queries


def _draw_moves(
    owners: IntArray, n_queries: IntArray, mix: QueryMix, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw the move of every query, and find the new query, counted among those, that each is derived from."""
    here = np.arange(len(owners))
    first = indptr_of(n_queries)[owners]
    moves = np.searchsorted(np.cumsum([mix.repeat, mix.refine, mix.recall]), rng.random(len(owners)), side="right")
    moves[here == first] = Move.NEW
    sources = np.cumsum(moves == Move.NEW) - 1
    recalls = np.flatnonzero(moves == Move.RECALL)
    back = first[recalls] + (rng.random(len(recalls)) * (recalls - first[recalls])).astype(np.int64)
    sources[recalls] = sources[back]
    return moves, sources


def _draw_own_topics(people: SyntheticPeople, authors: IntArray, mix: QueryMix, rng: np.random.Generator) -> IntArray:
    """Draw the topic of each new query among those of the person who types it."""
    n = len(authors)
    topics: IntArray = people.topics[authors, np.minimum(rng.geometric(_FAVOURITE_TOPIC, n), TOPICS_EACH) - 1]
    if mix.same_topic:
        stays = (rng.random(n) < mix.same_topic) & (np.diff(authors, prepend=-1) == 0)
        topics = topics[np.maximum.accumulate(np.where(stays, 0, np.arange(n)))]
    return topics


def _make_new_queries(
    people: SyntheticPeople, authors: IntArray, topics: IntArray, world: SearchWorld, rng: np.random.Generator
) -> Ids:
    """Make new queries: some that many people think of, some the person's own."""
    n, mix, is_stranger = len(topics), world.shape.queries, people.is_stranger[authors]
    lengths = mix.patterns.draw_lengths(n, rng)
    is_shared = (rng.random(n) < mix.shared) & ~is_stranger
    shared, own = np.flatnonzero(is_shared), np.flatnonzero(~is_shared)
    queries = np.empty((n, LONGEST), np.int32)
    if world.shared is not None:
        is_universal = rng.random(len(shared)) < mix.universal
        on = np.where(is_universal, draw_topics(len(shared), rng), topics[shared])
        queries[shared] = world.shared.draw(on, lengths[shared], rng)
    strange = np.where(is_stranger[own], mix.strange, 0.0)
    personal = people.personal_entries(authors[own], world.lexicon, rng)
    plan = QueryPlan(topics[own], lengths[own], np.maximum(strange, mix.rarity), strange, personal)
    queries[own] = compose(plan, mix.patterns, world.lexicon, rng)
    return queries


def _insert_operator(queries: Ids, rows: IntArray, operator: Ids) -> None:
    """Insert the operator after the first term of some queries, unless they contain it already."""
    part = queries[rows]
    combined = np.insert(part[:, :-1], 1, operator, axis=1)
    queries[rows] = np.where((part == operator).any(axis=1, keepdims=True), part, combined)


def _refine(queries: Ids, rows: IntArray, topics: IntArray, world: SearchWorld, rng: np.random.Generator) -> None:
    """Remove the last entry of some of the queries and append one to the others, unless they contain it already."""
    samplers = world.lexicon.samplers
    part, on = queries[rows], topics[rows]
    lengths = (part != NOTHING).sum(axis=1)
    is_shorter = (lengths > 2) & ((rng.random(len(rows)) < _SHORTEN) | (lengths == LONGEST))
    is_ordinary = rng.random(len(rows)) < world.shape.queries.ordinary
    words, companions = samplers[Slot.TOPIC_WORD].draw(on, rng), samplers[Slot.COMPANION].draw(on, rng)
    added = np.where(is_ordinary, words, companions)
    where = np.where(is_shorter, lengths - 1, lengths)
    part[np.arange(len(rows)), where] = np.where(is_shorter, NOTHING, added)
    part[repeated(part)] = NOTHING
    queries[rows] = part


def _make_terms_distinct(
    queries: Ids, rows: IntArray, topics: IntArray, world: SearchWorld, rng: np.random.Generator
) -> None:
    """Rewrite the queries of one person so that no term occurs twice: repeated ones become rare terms."""
    n, lexicon = len(rows), world.lexicon
    plan = QueryPlan(np.resize(topics, n), np.full(n, HEAVIEST_LENGTH), np.full(n, 0.5), np.zeros(n))
    terms = compose(plan, world.shape.queries.patterns, lexicon, rng)[:, :HEAVIEST_LENGTH].ravel()
    again = np.setdiff1d(np.arange(len(terms)), np.unique(terms, return_index=True)[1])
    rare = lexicon.samplers[Slot.RARE].draw(np.zeros(8 * len(terms), np.int64), rng)
    terms[again] = np.setdiff1d(rare, terms)[: len(again)]
    queries[rows] = NOTHING
    queries[rows, :HEAVIEST_LENGTH] = terms.reshape(n, HEAVIEST_LENGTH)


def _write_bot_queries(
    queries: Ids, owners: IntArray, people: SyntheticPeople, lexicon: QueryLexicon, rng: np.random.Generator
) -> None:
    """Let every bot ask the same about one town after the other, as a program that collects addresses does."""
    rows = np.flatnonzero(people.is_bot[owners])
    if len(rows):
        errands = lexicon.samplers[Slot.ERRAND].draw(np.zeros(len(people), np.int64), rng)
        queries[rows] = NOTHING
        queries[rows, 0] = errands[owners[rows]]
        queries[rows, 1:3] = draw_towns(len(rows), lexicon, rng)


def _misspell(queries: Ids, share: float, lexicon: QueryLexicon, rng: np.random.Generator) -> None:
    """Misspell an entry of some queries, or run the first two words together; a repeat is often correct again."""
    if not share:
        return
    rows = np.flatnonzero(rng.random(len(queries)) < share)
    columns = (rng.random(len(rows)) * (queries[rows] != NOTHING).sum(axis=1)).astype(np.int64)
    is_joined = (rng.random(len(rows)) < _RUN_TOGETHER) & (queries[rows, 1] != NOTHING)
    is_edited = ~is_joined & (queries[rows, columns] != NOTHING)
    edited = (rows[is_edited], columns[is_edited])
    queries[edited] = lexicon.add(misspell_phrases(lexicon.texts.take(queries[edited]).to_pylist(), rng))
    _join_first_words(queries, rows[is_joined], lexicon)


def _join_first_words(queries: Ids, rows: IntArray, lexicon: QueryLexicon) -> None:
    """Replace the first two entries of some queries, where both are words, by one that runs them together."""
    first, second = (lexicon.texts.take(queries[rows, column]).to_pylist() for column in (0, 1))
    texts = [a + b for a, b in zip(first, second, strict=True)]
    rows = rows[np.array([text.isalpha() for text in texts], np.bool_)]
    queries[rows, 0] = lexicon.add([text for text in texts if text.isalpha()])
    queries[rows, 1:-1] = queries[rows, 2:]
    queries[rows, -1] = NOTHING
