"""(k,m)-anonymity in rounds, over an in-process exchange, checked by brute force."""

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from queryveil.methods.rounds import protocol
from queryveil.methods.rounds.protocol import CombinationQuery
from tests.methods.rounds.exchange import InProcess, blocks_of

History = tuple[int, dict[int, int]]  # the person, and how often each term
HISTORIES = st.lists(
    st.tuples(st.integers(0, 7), st.dictionaries(st.integers(0, 6), st.integers(1, 3), max_size=6)),
    min_size=1,
    max_size=14,
)


def exchange_of(histories: list[History], n_blocks: int, n_buckets: int) -> InProcess:
    histories = sorted(histories, key=lambda history: history[0])
    rows = [sorted(terms.items()) for _, terms in histories]
    return InProcess(
        blocks_of(
            np.cumsum([0, *map(len, rows)], dtype=np.int64),
            np.array([term for row in rows for term, _ in row], np.int32),
            np.array([count for row in rows for _, count in row], np.int32),
            np.array([owner for owner, _ in histories], np.int32),
            n_blocks,
        ),
        n_buckets,
    )


def kept_terms_of(exchange: InProcess) -> list[tuple[int, tuple[int, ...]]]:
    """Return the person and the kept terms of every history, in an order that no block decides."""
    found = []
    for block in exchange.blocks:
        for h, owner in enumerate(block.owner.tolist()):
            a, b = block.indptr[h : h + 2].tolist()
            found.append((owner, tuple(block.ids[a:b][block.kept[a:b]].tolist())))
    return sorted(found)


def infrequent_combinations(left: list[tuple[int, tuple[int, ...]]], k: int, m: int) -> list[tuple[int, ...]]:
    """Count the people of every combination in a dictionary; a person with several histories counts once."""
    people: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for owner, terms in left:
        for size in range(1, m + 1):
            for combination in combinations(terms, size):
                people[combination].add(owner)
    return [combination for combination, who in people.items() if len(who) < k]


@given(HISTORIES, st.integers(2, 4), st.integers(1, 3))
@settings(max_examples=80)
@example([(0, {0: 1, 1: 1}), (0, {0: 1, 1: 1}), (1, {0: 1})], 2, 2)  # two histories of one person are one holder
def test_result_is_anonymous_and_independent_of_the_number_of_buckets(histories: list[History], k: int, m: int) -> None:
    for n_blocks in (1, 2, 3):
        results = []
        for n_buckets in (1, 5):
            exchange = exchange_of(histories, n_blocks, n_buckets)
            summary = protocol.run_rounds(exchange, k=k, m=m)
            results.append((kept_terms_of(exchange), summary))
        left, summary = results[0]
        assert not infrequent_combinations(left, k, m)
        assert results[1] == (left, summary)
        assert summary["rounds"] <= protocol.MAX_ROUNDS


ONE_TRIPLE_LEFT = [(0, {0, 1, 3, 4, 5, 6}), (1, {0, 1, 2, 3, 4, 5}), (2, {0, 1, 2, 3, 4, 6}), (3, {0, 1, 2, 5, 6})]


@given(
    HISTORIES,
    st.integers(2, 4),
    st.integers(1, 3),
    st.sampled_from([protocol._MAX_HITTING_SET_KEYS, 0]),
    st.integers(0, 3),
    st.integers(0, 3),
)
@settings(max_examples=80)
@example([(person, dict.fromkeys(terms, 1)) for person, terms in ONE_TRIPLE_LEFT], 2, 3, 1_000, 1, 2)
def test_the_result_is_anonymous_whatever_the_limits_of_the_rounds(
    histories: list[History], k: int, m: int, limit: int, max_rounds: int, pair_rounds: int
) -> None:
    """After rounds that only looked at pairs, triples may still be infrequent."""
    exchange = exchange_of(histories, 2, 3)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(protocol, "_MAX_HITTING_SET_KEYS", limit)
        changed.setattr(protocol, "MAX_ROUNDS", max_rounds)
        changed.setattr(protocol, "_PAIR_ROUNDS", pair_rounds)
        protocol.run_rounds(exchange, k=k, m=m)
    assert not infrequent_combinations(kept_terms_of(exchange), k, m)


@given(HISTORIES, st.integers(2, 3))
@settings(max_examples=50)
def test_every_frequent_term_is_kept_for_m_1(histories: list[History], k: int) -> None:
    exchange = exchange_of(histories, 2, 3)
    protocol.run_rounds(exchange, k=k, m=1)
    holders = Counter(term for _, term in {(owner, term) for owner, terms in histories for term in terms})
    wanted = sorted((owner, tuple(sorted(term for term in terms if holders[term] >= k))) for owner, terms in histories)
    assert kept_terms_of(exchange) == wanted


@pytest.mark.parametrize("sizes", [(1,), (1, 2), (1, 2, 3, 4)])
def test_replies_count_each_person_once(sizes: tuple[int, ...]) -> None:
    everything = dict.fromkeys(range(5), 1)
    exchange = exchange_of([(0, everything), (0, everything), (1, everything), (5, everything)], 2, 3)
    keys = exchange.infrequent(CombinationQuery(sizes, below=10), 1_000)
    assert keys is not None
    assert set(keys.people.tolist()) == {3}
