from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from queryveil.core.errors import GuaranteeError
from queryveil.histories.profiles import Profiles
from queryveil.semantics.network import wordnet
from tests.builders import profiles_of, run_method

Bag = dict[str, int]


def suppressed(log: Profiles, k: int, floor: int | None = None) -> list[Bag]:
    name = f"suppress(k={k})" if floor is None else f"suppress(k={k}, floor={floor})"
    found = run_method(log, name, wordnet())
    assert not found.levels.any()
    return [
        {found.terms[found.ids[i]]: int(found.counts[i]) for i in range(begin, end)}
        for begin, end in pairwise(found.indptr)
    ]


def slowly(log: Profiles, k: int) -> list[Bag]:
    """Delete the rarest term until every vocabulary is shared by k people, counting all over each time."""
    rows = [dict(zip(log.ids[a:b].tolist(), log.counts[a:b].tolist(), strict=True)) for a, b in pairwise(log.indptr)]
    for n_terms in range(len(log.vocabulary), -1, -1):
        left = [{term: count for term, count in row.items() if term < n_terms} for row in rows]
        people: dict[frozenset[int], set[int]] = {}
        for row, owner in zip(left, log.owner.tolist(), strict=True):
            people.setdefault(frozenset(row), set()).add(owner)
        if all(len(sharers) >= k for terms, sharers in people.items() if terms):
            break
    return [
        {log.vocabulary[term]: min(other[term] for other in left if set(other) == set(row)) for term in row}
        for row in left
    ]


def test_rare_terms_go_first_and_counts_are_those_that_all_share() -> None:
    log = profiles_of([("a", "a", "b"), ("a", "a", "a", "b"), ("b", "x"), ("b",), ("y",)])
    assert suppressed(log, 2) == [{"a": 2, "b": 1}, {"a": 2, "b": 1}, {"b": 1}, {"b": 1}, {}]


def test_nothing_left_is_refused() -> None:
    with pytest.raises(GuaranteeError, match="nothing would be left"):
        suppressed(profiles_of([("a",), ("b",), ("c",)]), 2)


def test_a_floor_above_k_leaves_out_more() -> None:
    log = profiles_of([("a", "b"), ("a", "b"), ("a",), ("a",)])
    assert suppressed(log, 2) == [{"a": 1, "b": 1}] * 2 + [{"a": 1}] * 2
    assert suppressed(log, 2, floor=3) == [{"a": 1}] * 4


@settings(max_examples=200)
@given(
    st.lists(st.lists(st.sampled_from("abcde"), max_size=5), min_size=3, max_size=12).filter(any),
    st.integers(2, 3),
    st.integers(1, 2),
)
def test_same_as_deleting_one_by_one(histories: list[list[str]], k: int, each: int) -> None:
    log = profiles_of(histories, [h // each for h in range(len(histories))])
    expected = slowly(log, k)
    assume(any(expected))
    found = suppressed(log, k)
    assert found == expected
    assert min(Counter(str(sorted(bag.items())) for bag in found if bag).values()) >= k or each > 1
