"""New queries as rows of entries: patterns of slots, filled from the lexicon; and queries that many people share."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from queryveil.core.rows import FloatArray, IntArray
from queryveil.logs.generate.invented import IDENTIFIERS, direct_identifiers, model_numbers, screen_names
from queryveil.logs.generate.lexicon import NOTHING, QueryLexicon, repeated
from queryveil.logs.generate.patterns import LONGEST, PatternTable, Slot
from queryveil.logs.generate.shape import LogShape
from queryveil.logs.generate.topics import TOPICS
from queryveil.logs.generate.weighted_ids import Ids, WeightedIds, Zipf, weighted_ids

_ATTEMPTS = 3  # to replace an entry that is in a query twice
_INTERESTS = np.cumsum([topic.interest for topic in TOPICS]) / sum(topic.interest for topic in TOPICS)
_GROUPS = len(TOPICS) * LONGEST
_SHARED_LAW = Zipf(0.9, 2.0)  # how popularity falls among the shared queries of a topic and length


@dataclass(frozen=True, eq=False)
class QueryPlan:
    """What the queries to be composed are to be like; each field has one row per query."""

    topics: IntArray
    lengths: IntArray  # slots, 1 to LONGEST
    rarity: FloatArray  # probability that a word of the topic is replaced by a rare term
    strange: FloatArray  # probability that any other entry is
    personal: Mapping[Slot, Ids] = field(default_factory=dict)  # entries that depend on the person who types

    def __len__(self) -> int:
        return len(self.topics)


def compose(plan: QueryPlan, patterns: PatternTable, lexicon: QueryLexicon, rng: np.random.Generator) -> Ids:
    """Return the queries: (queries, LONGEST), NOTHING after the last entry of each."""
    slots = patterns.draw_slots(plan.lengths, rng)
    chance = np.where(slots == ord(Slot.TOPIC_WORD), plan.rarity[:, None], plan.strange[:, None])
    slots[(slots != 0) & (rng.random(slots.shape) < chance)] = ord(Slot.RARE)
    queries = np.full(slots.shape, NOTHING, np.int32)
    for slot, sampler in lexicon.samplers.items():
        rows, columns = np.nonzero(slots == ord(slot))
        queries[rows, columns] = sampler.draw(plan.topics[rows], rng)
    for slot, entries in plan.personal.items():
        rows, columns = np.nonzero(slots == ord(slot))
        queries[rows, columns] = entries[rows]
    for slot in sorted(patterns.slots & {Slot.MODEL_NUMBER, Slot.SCREEN_NAME, *IDENTIFIERS}):
        rows, columns = np.nonzero(slots == ord(slot))
        queries[rows, columns] = _make_up(slot, rows, plan, lexicon, rng)
    _replace_repeated(queries, plan.topics, lexicon, rng)
    return queries


def _make_up(slot: Slot, rows: IntArray, plan: QueryPlan, lexicon: QueryLexicon, rng: np.random.Generator) -> Ids:
    """Make up an entry for a slot of each of the given queries."""
    known_names = (Slot.KNOWN_FIRST_NAME, Slot.KNOWN_LAST_NAME)
    first, last = (lexicon.texts.take(plan.personal[name][rows]).to_pylist() for name in known_names)
    if slot == Slot.MODEL_NUMBER:
        return lexicon.add(model_numbers(len(rows), rng))
    if slot == Slot.SCREEN_NAME:
        return lexicon.add(screen_names(first, rng))
    entries = lexicon.add(direct_identifiers(slot, zip(first, last, strict=True), rng))
    lexicon.identifiers.update(entries.tolist())
    return entries


def _replace_repeated(queries: Ids, topics: IntArray, lexicon: QueryLexicon, rng: np.random.Generator) -> None:
    """Put another word of the topic where an entry is in a query for the second time."""
    rows = np.arange(len(queries))
    for _ in range(_ATTEMPTS):
        part = queries[rows]
        where, columns = np.nonzero(repeated(part))
        part[where, columns] = lexicon.samplers[Slot.TOPIC_WORD].draw(topics[rows[where]], rng)
        queries[rows] = part
        rows = rows[np.unique(where)]


@dataclass(frozen=True, eq=False)
class SharedQueries:
    """Queries that many people think of independently, such as well-known names or the sites of a field."""

    queries: Ids  # (queries, LONGEST)
    by_group: WeightedIds  # row numbers by topic and length

    def draw(self, topics: IntArray, lengths: IntArray, rng: np.random.Generator) -> Ids:
        """Draw a query of each given topic and length."""
        return self.queries[self.by_group.draw(_group(topics, lengths), rng)]


def make_shared_queries(shape: LogShape, lexicon: QueryLexicon, rng: np.random.Generator) -> SharedQueries | None:
    """Compose the queries, at least one of each topic and length; None where the shape has none."""
    if not shape.sizes.shared_queries:
        return None
    n, patterns = max(shape.sizes.shared_queries, _GROUPS), shape.queries.patterns
    topics, lengths = draw_topics(n, rng), patterns.draw_lengths(n, rng)
    topics[:_GROUPS], lengths[:_GROUPS] = np.divmod(np.arange(_GROUPS), LONGEST)
    lengths[:_GROUPS] += 1
    plan = QueryPlan(topics, lengths, np.full(n, shape.queries.rarity), np.zeros(n))
    groups = _group(topics, lengths)
    order = np.argsort(groups, kind="stable").astype(np.int32)
    cuts = np.searchsorted(groups[order], np.arange(1, _GROUPS))
    queries = compose(plan, patterns, lexicon, rng)
    return SharedQueries(queries, weighted_ids(np.split(order, cuts), _SHARED_LAW))


def draw_topics(n: int, rng: np.random.Generator) -> IntArray:
    """Draw topics as people in general care for them."""
    return np.searchsorted(_INTERESTS[:-1], rng.random(n), side="right")


def _group(topics: IntArray, lengths: IntArray) -> IntArray:
    return topics * LONGEST + lengths - 1
