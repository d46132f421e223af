"""The (k, m) verifier against a slow, obvious twin, and against releases with a single cell changed."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import queryveil.verifiers.km as km
from queryveil.core.names import resolve
from queryveil.core.results import Verdict, Violation

# Ids, texts and their order are three different things: the order of the texts is not that of the ids.
TERMS = ("pear", "Zebra", "apple", "éclair", "fig", "ape", "日本", "zebra", "b c")


@pytest.fixture(scope="module", autouse=True, params=[0, km.FEW_COMBINATIONS], ids=["compiled", "plain"])
def how_kernels_run(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run every test with the compiled kernel and, small as the data is, with the same function as plain Python."""
    with patch.object(km, "FEW_COMBINATIONS", request.param):
        yield


class History(NamedTuple):
    owner: int
    partition: int
    terms: frozenset[int]


def twin(histories: list[History], k: int, m: int) -> Verdict:
    """Collect the owners of every combination in a dictionary, and look at each."""
    claim = f"km(k={k}, m={m})"
    if not any(history.terms for history in histories):
        return Verdict(claim, "unchecked", "people", reason="the release has no rows")
    checked = 0
    for size in range(1, m + 1):
        owners: dict[tuple[int, tuple[str, ...]], set[int]] = defaultdict(set)
        for history in histories:
            for combination in combinations(sorted(TERMS[term] for term in history.terms), size):
                owners[history.partition, combination].add(history.owner)
        checked += len(owners)
        broken = [(len(who), what) for (_, what), who in owners.items() if len(who) < k]
        if broken:
            support, entries = min(broken)
            return Verdict(claim, "violated", "people", checked, len(broken), Violation(entries, support, k))
    return Verdict(claim, "holds", "people", checked)


def verify(histories: list[History], k: int, m: int, cut: bool = True) -> Verdict:
    ids = [term for history in histories for term in sorted(history.terms)]
    return km.check_combinations(
        resolve("guarantee", f"km(k={k}, m={m})"),
        np.cumsum([0, *(len(history.terms) for history in histories)], dtype=np.int64),
        np.array(ids, dtype=np.int32),
        np.array([history.owner for history in histories], dtype=np.int32),
        TERMS,
        counted="people",
        partition=np.array([history.partition for history in histories], dtype=np.int32) if cut else None,
    )


term_sets = st.frozensets(st.integers(0, len(TERMS) - 1), max_size=7)
owners = st.sampled_from([-(2**31), -3, 0, 1, 2, 5, 8, 2**31 - 1])
partitions = st.sampled_from([-(2**31), 0, 4, 2**31 - 1])
logs = st.lists(st.builds(History, owners, partitions, term_sets), max_size=25)
levels = st.integers(2, 4)
sizes = st.integers(1, 4)


@settings(max_examples=300)
@given(logs, levels, sizes)
def test_the_verdict_is_the_twins(histories: list[History], k: int, m: int) -> None:
    assert verify(histories, k, m) == twin(histories, k, m)


@settings(max_examples=200)
@given(logs, levels, sizes)
def test_the_verdict_is_the_twins_without_partitions(histories: list[History], k: int, m: int) -> None:
    whole = [history._replace(partition=0) for history in histories]
    assert verify(histories, k, m, cut=False) == twin(whole, k, m)


@settings(max_examples=100)
@given(logs, levels, sizes, st.integers(1, 20))
def test_where_the_work_is_cut_does_not_matter(histories: list[History], k: int, m: int, steps: int) -> None:
    with patch.object(km, "STEPS_PER_CALL", steps):
        assert verify(histories, k, m) == twin(histories, k, m)


@st.composite
def holding(draw: st.DrawFn) -> tuple[list[History], int]:
    """A log that holds for any m: each base history copied for k distinct owners, in any order."""
    k = draw(levels)
    bases = draw(st.lists(st.tuples(partitions, term_sets.filter(bool)), min_size=1, max_size=6))
    copies = [
        History(owner, partition, terms)
        for partition, terms in bases
        for owner in draw(st.lists(st.integers(-20, 20), min_size=k, max_size=k + 1, unique=True))
    ]
    return draw(st.permutations(copies)), k


@settings(max_examples=200)
@given(holding(), sizes, st.data())
def test_tampering_with_one_cell_is_judged_as_the_twin_judges(
    log: tuple[list[History], int], m: int, data: st.DataObject
) -> None:
    histories, k = log
    assert verify(histories, k, m).holds
    place = data.draw(st.integers(0, len(histories) - 1))
    cell = data.draw(st.integers(0, len(TERMS) - 1))  # deleted where it is there, added where it is not
    changed = histories[place]._replace(terms=histories[place].terms ^ {cell})
    tampered = [*histories[:place], changed, *histories[place + 1 :]]
    assert verify(tampered, k, m) == twin(tampered, k, m)


@settings(max_examples=200)
@given(holding(), sizes, st.data())
def test_a_cell_nobody_else_has_is_always_found(log: tuple[list[History], int], m: int, data: st.DataObject) -> None:
    histories, k = log
    place = data.draw(st.integers(0, len(histories) - 1))
    here = histories[place].partition
    seen = {term for history in histories if history.partition == here for term in history.terms}
    assume(len(seen) < len(TERMS))
    new = data.draw(st.sampled_from(sorted(set(range(len(TERMS))) - seen)))
    changed = histories[place]._replace(terms=histories[place].terms | {new})
    verdict = verify([*histories[:place], changed, *histories[place + 1 :]], k, m)
    assert verdict.counterexample == Violation((TERMS[new],), support=1, required=k)
    assert verdict.violations == 1


@settings(max_examples=100)
@given(levels, sizes, partitions, term_sets.filter(bool), st.data())
def test_a_cell_taken_from_the_last_of_k_is_always_found(
    k: int, m: int, partition: int, terms: frozenset[int], data: st.DataObject
) -> None:
    histories = [History(owner, partition, terms) for owner in range(k)]
    gone = data.draw(st.sampled_from(sorted(terms)))
    histories[data.draw(st.integers(0, k - 1))] = History(k, partition, terms - {gone})
    verdict = verify(histories, k, m)
    assert verdict.counterexample == Violation((TERMS[gone],), support=k - 1, required=k)
