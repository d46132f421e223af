"""Trading terms in rounds: what is left stays anonymous, and never has fewer occurrences than before."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.progress import silent
from queryveil.methods.rounds import trading
from queryveil.methods.rounds.blocks import answer_possible
from queryveil.methods.rounds.protocol import CombinationQuery, DeleteTerms
from queryveil.methods.rounds.trading import PossibleQuery
from tests.methods.rounds.exchange import InProcess
from tests.methods.rounds.test_protocol import (
    HISTORIES,
    History,
    exchange_of,
    infrequent_combinations,
    kept_terms_of,
)


def log_size(exchange: InProcess) -> int:
    return sum(int(block.counts[block.kept].sum()) for block in exchange.blocks)


@given(HISTORIES, st.integers(2, 4), st.integers(1, 3), st.sets(st.integers(0, 6), max_size=4))
@settings(max_examples=80)
def test_an_anonymous_log_stays_anonymous_and_loses_no_occurrences(
    histories: list[History], k: int, n_blocks: int, deleted: set[int]
) -> None:
    exchange = exchange_of(histories, n_blocks, 3)
    rest = exchange_of(histories, n_blocks, 3)
    rest.run_round(None, DeleteTerms(tuple(deleted)))
    keys = rest.infrequent(CombinationQuery((1, 2), below=k), 10**6)
    assert keys is not None
    deleted |= set((keys.high & 0xFFFFFFFF).tolist())  # one term of each infrequent pair
    exchange.run_round(None, DeleteTerms(tuple(deleted)))
    before = log_size(exchange)
    trading.trade_terms(exchange, k, silent)
    assert not infrequent_combinations(kept_terms_of(exchange), k, 2)
    assert log_size(exchange) >= before


def test_a_pair_that_nobody_keeps_becomes_frequent() -> None:
    exchange = exchange_of([(person, {0: 1, 1: 2}) for person in range(4)], 2, 3)
    exchange.run_round(None, DeleteTerms((1,)))
    assert trading.trade_terms(exchange, 3, silent) == 4
    assert kept_terms_of(exchange) == [(person, (0, 1)) for person in range(4)]


def test_a_term_is_replaced_by_one_that_is_held_more_often() -> None:
    histories = [(0, {0: 1, 1: 3}), *((person, {0: 1}) for person in range(1, 7)), (7, {1: 1}), (8, {1: 1})]
    exchange = exchange_of(histories, 2, 3)
    exchange.run_round(None, DeleteTerms((1,)))
    trading.trade_terms(exchange, 3, silent)
    assert kept_terms_of(exchange)[0] == (0, (1,))


def test_all_proposals_are_dropped_if_withdrawing_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trading, "_MOST_WITHDRAWALS", 0)
    exchange = exchange_of([(person, {0: 1, 1: 2}) for person in range(4)], 2, 3)
    exchange.run_round(None, DeleteTerms((1,)))
    assert trading.trade_terms(exchange, 3, silent) == 0
    assert kept_terms_of(exchange) == [(person, (0,)) for person in range(4)]


@given(HISTORIES, st.integers(2, 3), st.sets(st.integers(0, 6), max_size=4))
@settings(max_examples=40)
def test_replies_name_what_k_people_could_hold(histories: list[History], k: int, deleted: set[int]) -> None:
    exchange = exchange_of(histories, 1, 1)
    exchange.run_round(None, DeleteTerms(tuple(deleted)))
    (block,) = exchange.blocks
    holders, possible = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for person in {owner for owner, _ in histories}:
        held, could = set[tuple[int, int]](), set[tuple[int, int]]()
        for terms in (set(terms) for owner, terms in histories if owner == person):
            kept = sorted(terms - deleted)
            held |= {(term, term) for term in kept} | set(combinations(kept, 2))
            gone = terms & deleted
            could |= {(term, term) for term in gone}
            could |= {(min(a, b), max(a, b)) for a in gone for b in kept}
        holders.update(held)
        possible.update(could)
    (reply,) = answer_possible([PossibleQuery(k).keys_of(block)], k)
    found = {
        (high >> 32, high & 0xFFFFFFFF): people
        for high, people in zip(reply.high.tolist(), reply.people.tolist(), strict=True)
    }
    wanted = {key for key in holders.keys() | possible.keys() if holders[key] + possible[key] >= k}
    assert found == {key: holders[key] for key in wanted}
