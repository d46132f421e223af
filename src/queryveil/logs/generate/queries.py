"""What people type, query after query, as rows of entries: new queries, and earlier ones repeated or refined.

A new query is a pattern of slots filled from the lexicon, or one of the queries that many people share.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

import numpy as np

from queryveil.core.rows import FloatArray, IntArray, indptr_of, row_numbers
from queryveil.logs.generate.invented import IDENTIFIERS, direct_identifiers, misspell, model_numbers, screen_names
from queryveil.logs.generate.lexicon import NOTHING, Ids, QueryLexicon, WeightedIds, repeated
from queryveil.logs.generate.people import HEAVIEST_LENGTH, TOPICS_EACH, SyntheticPeople, draw_towns
from queryveil.logs.generate.shape import LONGEST, LogShape, Slot, Zipf, cumulated
from queryveil.logs.generate.word_sources import TOPICS

_ATTEMPTS = 3  # to replace an entry that is in a query twice
_INTERESTS = cumulated(topic.interest for topic in TOPICS)
_GROUPS = len(TOPICS) * LONGEST  # of shared queries: by topic and length
_SHARED_LAW = Zipf(0.9, 2.0)  # how popularity falls within such a group
_UNIVERSAL = 0.3  # of the shared queries: on any topic, not one of the person's own
_STRANGE = 0.7  # of the terms of people who use words that few others use: replaced by a rare term
_FAVOURITE_TOPIC = 0.6  # probability that a query is on the person's first topic, or else on the next, and so on
_SHORTEN = 0.4  # of the refinements: remove a term
_RUN_TOGETHER = 0.15  # of the misspelled queries: the space between the first two words is missing


class Move(IntEnum):
    """How a query comes from earlier ones of the same person."""

    REPEAT = 0
    REFINE = 1
    RECALL = 2
    NEW = 3


class QueryGenerator:
    """Makes the queries of people; all of them use the same lexicon and the same shared queries.

    Queries are rows of entries: (queries, LONGEST), NOTHING after the last entry of each.
    """

    def __init__(self, shape: LogShape, lexicon: QueryLexicon, rng: np.random.Generator) -> None:
        self._shape, self._mix, self._patterns = shape, shape.queries, shape.patterns
        self._lexicon, self._rng = lexicon, rng
        if shape.sizes.shared_queries:
            self._make_shared_queries(max(shape.sizes.shared_queries, _GROUPS))

    def make_queries(self, people: SyntheticPeople) -> tuple[IntArray, Ids]:
        """Return the person of every query, ascending, and the queries."""
        lexicon = self._lexicon
        owners = row_numbers(indptr_of(people.n_queries))
        moves, sources = self._draw_moves(owners, people.n_queries)
        authors = owners[moves == Move.NEW]
        topics = self._draw_own_topics(people, authors)
        new = self._make_new_queries(people, authors, topics)
        # A program's operator comes after the first term, unless the query contains it already
        rows, operator = np.flatnonzero(people.is_operator[authors]), lexicon.samplers[Slot.OPERATOR].ids
        part = new[rows]
        combined = np.insert(part[:, :-1], 1, operator, axis=1)
        new[rows] = np.where((part == operator).any(axis=1, keepdims=True), part, combined)
        queries = new[sources]
        self._refine(queries, np.flatnonzero(moves == Move.REFINE), topics[sources])
        for person in np.flatnonzero(people.is_heaviest).tolist():
            self._make_terms_distinct(queries, np.flatnonzero(owners == person), people.topics[person])
        self._write_bot_queries(queries, owners, people)
        lexicon.shorten(queries)
        lexicon.replace_rare_ids(queries, self._rng)
        if self._mix.misspelled:
            self._misspell(queries, self._mix.misspelled)
        return owners, queries

    def _make_shared_queries(self, n: int) -> None:
        """Compose n queries that many people think of independently, at least one of each topic and length."""
        topics, lengths = _draw_topics(n, self._rng), self._patterns.draw_lengths(n, self._rng)
        topics[:_GROUPS], lengths[:_GROUPS] = np.divmod(np.arange(_GROUPS), LONGEST)
        lengths[:_GROUPS] += 1
        groups = topics * LONGEST + lengths - 1
        order = np.argsort(groups, kind="stable").astype(np.int32)
        cuts = np.searchsorted(groups[order], np.arange(1, _GROUPS))
        self._shared = self._compose(topics, lengths, self._mix.rarity, 0.0)
        self._shared_rows = WeightedIds.of(np.split(order, cuts), _SHARED_LAW)

    def _compose(
        self,
        topics: IntArray,
        lengths: IntArray,
        rarity: FloatArray | float,
        strange: FloatArray | float,
        personal: Mapping[Slot, Ids] = MappingProxyType({}),
    ) -> Ids:
        """Compose queries of these topics and lengths.

        A word of the topic is replaced by a rare term with the probability `rarity`, any other entry with `strange`:
        one number, or (queries, 1). `personal` has the entries that depend on the person who types.
        """
        slots = self._patterns.draw_slots(lengths, self._rng)
        chance = np.where(slots == ord(Slot.TOPIC_WORD), rarity, strange)
        slots[(slots != 0) & (self._rng.random(slots.shape) < chance)] = ord(Slot.RARE)
        queries = np.full(slots.shape, NOTHING, np.int32)
        for slot, sampler in self._lexicon.samplers.items():
            rows, columns = np.nonzero(slots == ord(slot))
            queries[rows, columns] = sampler.draw(topics[rows], self._rng)
        for slot, entries in personal.items():
            rows, columns = np.nonzero(slots == ord(slot))
            queries[rows, columns] = entries[rows]
        for slot in sorted(self._patterns.slots & {Slot.MODEL_NUMBER, Slot.SCREEN_NAME, *IDENTIFIERS}):
            rows, columns = np.nonzero(slots == ord(slot))
            queries[rows, columns] = self._make_up(slot, rows, personal)
        self._replace_repeated(queries, topics)
        return queries

    def _make_up(self, slot: Slot, rows: IntArray, personal: Mapping[Slot, Ids]) -> Ids:
        """Make up an entry for a slot of each of the given queries."""
        texts, known_names = self._lexicon.texts, (Slot.KNOWN_FIRST_NAME, Slot.KNOWN_LAST_NAME)
        first, last = (texts.take(personal[name][rows]).to_pylist() for name in known_names)
        if slot == Slot.MODEL_NUMBER:
            return self._lexicon.add(model_numbers(len(rows), self._rng))
        if slot == Slot.SCREEN_NAME:
            return self._lexicon.add(screen_names(first, self._rng))
        entries = self._lexicon.add(direct_identifiers(slot, zip(first, last, strict=True), self._rng))
        self._lexicon.identifiers.update(entries.tolist())
        return entries

    def _replace_repeated(self, queries: Ids, topics: IntArray) -> None:
        """Put another word of the topic where an entry is in a query for the second time."""
        rows = np.arange(len(queries))
        for _ in range(_ATTEMPTS):
            part = queries[rows]
            where, columns = np.nonzero(repeated(part))
            part[where, columns] = self._lexicon.samplers[Slot.TOPIC_WORD].draw(topics[rows[where]], self._rng)
            queries[rows] = part
            rows = rows[np.unique(where)]

    def _draw_moves(self, owners: IntArray, n_queries: IntArray) -> tuple[IntArray, IntArray]:
        """Draw the move of every query, and find the new query, counted among those, that each is derived from."""
        mix, rng = self._mix, self._rng
        first = indptr_of(n_queries)[owners]
        moves = np.searchsorted(np.cumsum([mix.repeat, mix.refine, mix.recall]), rng.random(len(owners)), side="right")
        moves[np.arange(len(owners)) == first] = Move.NEW
        sources = np.cumsum(moves == Move.NEW) - 1
        recalls = np.flatnonzero(moves == Move.RECALL)
        back = first[recalls] + (rng.random(len(recalls)) * (recalls - first[recalls])).astype(np.int64)
        sources[recalls] = sources[back]
        return moves, sources

    def _draw_own_topics(self, people: SyntheticPeople, authors: IntArray) -> IntArray:
        """Draw the topic of each new query among those of the person who types it."""
        n = len(authors)
        topics: IntArray = people.topics[authors, np.minimum(self._rng.geometric(_FAVOURITE_TOPIC, n), TOPICS_EACH) - 1]
        if self._mix.same_topic:
            stays = (self._rng.random(n) < self._mix.same_topic) & (np.diff(authors, prepend=-1) == 0)
            topics = topics[np.maximum.accumulate(np.where(stays, 0, np.arange(n)))]
        return topics

    def _make_new_queries(self, people: SyntheticPeople, authors: IntArray, topics: IntArray) -> Ids:
        """Make new queries: some that many people think of, some the person's own."""
        n, rng, is_stranger = len(topics), self._rng, people.is_stranger[authors]
        lengths = self._patterns.draw_lengths(n, rng)
        is_shared = (rng.random(n) < self._mix.shared) & ~is_stranger
        shared, own = np.flatnonzero(is_shared), np.flatnonzero(~is_shared)
        queries = np.empty((n, LONGEST), np.int32)
        if self._mix.shared:
            is_universal = rng.random(len(shared)) < _UNIVERSAL
            on = np.where(is_universal, _draw_topics(len(shared), rng), topics[shared])
            queries[shared] = self._shared[self._shared_rows.draw(on * LONGEST + lengths[shared] - 1, rng)]
        strange = np.where(is_stranger[own], _STRANGE, 0.0)[:, None]
        personal = people.personal_entries(authors[own], self._lexicon, rng)
        rarity = np.maximum(strange, self._mix.rarity)
        queries[own] = self._compose(topics[own], lengths[own], rarity, strange, personal)
        return queries

    def _refine(self, queries: Ids, rows: IntArray, topics: IntArray) -> None:
        """Remove the last entry of some of the queries and append one to the others, unless they contain it already."""
        samplers, rng, n = self._lexicon.samplers, self._rng, len(rows)
        part, on = queries[rows], topics[rows]
        lengths = (part != NOTHING).sum(axis=1)
        is_shorter = (lengths > 2) & ((rng.random(n) < _SHORTEN) | (lengths == LONGEST))
        is_ordinary = rng.random(n) < self._mix.ordinary
        words, companions = samplers[Slot.TOPIC_WORD].draw(on, rng), samplers[Slot.COMPANION].draw(on, rng)
        added = np.where(is_ordinary, words, companions)
        part[np.arange(n), lengths - is_shorter] = np.where(is_shorter, NOTHING, added)
        part[repeated(part)] = NOTHING
        queries[rows] = part

    def _make_terms_distinct(self, queries: Ids, rows: IntArray, topics: IntArray) -> None:
        """Rewrite the queries of one person so that no term occurs twice: repeated ones become rare terms."""
        n = len(rows)
        composed = self._compose(np.resize(topics, n), np.full(n, HEAVIEST_LENGTH), 0.5, 0.0)
        terms = composed[:, :HEAVIEST_LENGTH].ravel()
        again = np.setdiff1d(np.arange(len(terms)), np.unique(terms, return_index=True)[1])
        rare = self._lexicon.samplers[Slot.RARE].draw_many(8 * len(terms), self._rng)
        terms[again] = np.setdiff1d(rare, terms)[: len(again)]
        queries[rows] = NOTHING
        queries[rows, :HEAVIEST_LENGTH] = terms.reshape(n, HEAVIEST_LENGTH)

    def _write_bot_queries(self, queries: Ids, owners: IntArray, people: SyntheticPeople) -> None:
        """Let every bot ask the same about one town after the other, as a program that collects addresses does."""
        rows = np.flatnonzero(people.is_bot[owners])
        if len(rows):
            errands = self._lexicon.samplers[Slot.ERRAND].draw_many(len(people), self._rng)
            queries[rows] = NOTHING
            queries[rows, 0] = errands[owners[rows]]
            queries[rows, 1:3] = draw_towns(len(rows), self._lexicon, self._rng)

    def _misspell(self, queries: Ids, share: float) -> None:
        """Misspell an entry of some queries, or run the first two words together; a repeat is often correct again."""
        rng, lexicon = self._rng, self._lexicon
        rows = np.flatnonzero(rng.random(len(queries)) < share)
        columns = (rng.random(len(rows)) * (queries[rows] != NOTHING).sum(axis=1)).astype(np.int64)
        is_joined = (rng.random(len(rows)) < _RUN_TOGETHER) & (queries[rows, 1] != NOTHING)
        is_edited = ~is_joined & (queries[rows, columns] != NOTHING)
        edited = (rows[is_edited], columns[is_edited])
        queries[edited] = lexicon.add(misspell(lexicon.texts.take(queries[edited]).to_pylist(), rng))
        rows = rows[is_joined]
        first, second = (lexicon.texts.take(queries[rows, column]).to_pylist() for column in (0, 1))
        texts = [a + b for a, b in zip(first, second, strict=True)]
        rows = rows[np.array([text.isalpha() for text in texts], np.bool_)]  # both entries are words
        queries[rows, 0] = lexicon.add([text for text in texts if text.isalpha()])
        queries[rows, 1:-1] = queries[rows, 2:]
        queries[rows, -1] = NOTHING


def _draw_topics(n: int, rng: np.random.Generator) -> IntArray:
    """Draw topics as people in general care for them."""
    return np.searchsorted(_INTERESTS, rng.random(n), side="right")
