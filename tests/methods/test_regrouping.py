"""km with `split=pairs`: never fewer pairs together than with `none` or `layers`, and all pieces are anonymous."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from queryveil.core.progress import silent
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.regroup import regroup
from queryveil.methods.deletion import count_combinations
from tests.builders import profiles_of, rows, run_method
from tests.methods.test_best import logs, natural_log
from tests.methods.test_pieces import check, pieces_in, released
from tests.twins import pieces as twin

Pairs = set[tuple[int, int, int]]


def pairs_of(pieces: Profiles) -> Pairs:
    """Return the pairs of terms that people have in one piece."""
    return {(owner, *pair) for owner, terms in pieces_in(pieces) for pair in combinations(sorted(terms), 2)}


def published(profiles: Profiles, kept: KeptPairs) -> Pairs:
    return pairs_of(profiles.select(kept.mask) if kept.piece is None else released(profiles, kept))


@settings(max_examples=40)
@given(logs(), st.integers(2, 3), st.integers(2, 4), st.integers(0, 3))
def test_no_fewer_pairs_stay_together_and_all_that_k_people_hold_is_published(
    profiles: Profiles, k: int, m: int, seed: int
) -> None:
    assume(profiles.n_people >= k)
    none, layers, pairs = (
        run_method(profiles, f"km(k={k}, m={m}, split={split})", seed=seed) for split in ("none", "layers", "pairs")
    )
    check(profiles, pairs, k, m)
    assert np.array_equal(pairs.mask, profiles.holder_counts()[profiles.ids] >= k)
    counts = {name: len(published(profiles, kept)) for name, kept in (("none", none), ("layers", layers))}
    assert len(published(profiles, pairs)) >= max(counts.values())
    told = [pairs.summary[f"pairs together by {way}"] for way in ("layers", "regrouping")]
    assert told[0] == counts["layers"]
    assert len(published(profiles, pairs)) == max(told)


def most_pairs(histories: list[list[int]], k: int) -> int:
    """Return how many pairs can stay together at most, by trying all ways to group the terms of all histories."""

    def groupings(terms: list[int]) -> list[list[set[int]]]:
        if not terms:
            return [[]]
        found = []
        for rest in groupings(terms[1:]):
            found.append([{terms[0]}, *rest])
            found += [[*rest[:i], rest[i] | {terms[0]}, *rest[i + 1 :]] for i in range(len(rest))]
        return found

    best = 0
    choices = [
        [frozenset(pair for piece in pieces for pair in combinations(sorted(piece), 2)) for pieces in groupings(terms)]
        for terms in histories
    ]

    def extend(number: int, people: dict[tuple[int, int], int], n_pairs: int) -> None:
        nonlocal best
        if number == len(choices):
            if all(n >= k for n in people.values()):
                best = max(best, n_pairs)
            return
        for pairs in choices[number]:
            extend(number + 1, people | {pair: people.get(pair, 0) + 1 for pair in pairs}, n_pairs + len(pairs))

    extend(0, {}, 0)
    return best


@settings(max_examples=25)
@given(st.lists(st.sets(st.sampled_from("abcd"), min_size=1, max_size=3), min_size=2, max_size=5))
def test_no_more_pairs_stay_together_than_can(histories: list[set[str]]) -> None:
    profiles = profiles_of([sorted(history) for history in histories])
    kept = run_method(profiles, "km(k=2, m=2, split=pairs)")
    assert len(published(profiles, kept)) <= most_pairs(rows(profiles), 2)


def test_a_term_goes_where_more_of_its_pairs_are_shared() -> None:
    """Without splitting a person's a, b, c and d lose two terms; both pairs that others share are published."""
    profiles = profiles_of([["a", "b", "c", "d"]] * 2 + [["a", "b"], ["c", "d"]] * 3 + [["a", "c"]])
    kept = run_method(profiles, "km(k=4, m=2, split=pairs)")
    assert len(published(profiles, kept)) == 10
    assert {tuple(sorted(terms)) for _, terms in pieces_in(released(profiles, kept)) if len(terms) > 1} == {
        tuple(sorted(profiles.vocabulary.index(term) for term in pair)) for pair in ("ab", "cd")
    }


@pytest.mark.parametrize(("m", "people"), [(2, None), (2, 150), (3, None)])
def test_pieces_of_a_larger_log_are_anonymous(m: int, people: int | None) -> None:
    profiles = natural_log(300, 100, 8, seed=4, n_people=people)
    none, pairs = (run_method(profiles, f"km(k=5, m={m}, split={split})") for split in ("none", "pairs"))
    check(profiles, pairs, 5, m)
    assert len(published(profiles, pairs)) >= len(published(profiles, none))
    assert pairs.summary["pairs together by regrouping"] > 0


def test_more_pairs_stay_together_where_people_search_for_several_things() -> None:
    """Each person's terms are of three of twenty topics, and those of a topic are shared by many."""
    rng = np.random.default_rng(1)
    histories = [
        [f"t{topic:02}{word}" for topic in rng.choice(20, 3, replace=False) for word in rng.choice(6, 4, replace=False)]
        for _ in range(150)
    ]
    profiles = profiles_of(histories)
    none, layers, pairs = (
        len(published(profiles, run_method(profiles, f"km(k=5, m=2, split={split})")))
        for split in ("none", "layers", "pairs")
    )
    assert pairs >= 1.15 * max(none, layers)


@settings(max_examples=40)
@given(logs(), st.integers(2, 3), st.data())
def test_regrouping_is_its_twin(profiles: Profiles, k: int, data: st.DataObject) -> None:
    support = profiles.holder_counts()
    source = profiles.select(support[profiles.ids] >= k)
    tree = count_combinations(source, int(np.count_nonzero(support >= k)), k, 2, silent)
    histories = rows(source)
    value = np.array(data.draw(st.lists(st.sampled_from((-3.5, -1.0, 0.25, 1.0, 2.0)), min_size=k + 2, max_size=k + 2)))
    order = np.array(data.draw(st.permutations(range(len(histories)))), np.int64)
    piece = np.concatenate([*(np.arange(len(terms)) for terms in histories), []]).astype(np.int32)
    counted = np.zeros(len(tree.term2), np.int32)
    longest = max(map(len, histories))
    scratch = np.empty(longest, np.int64), np.empty(longest), np.empty(longest, np.int64)
    turn = 0
    while turn < len(order):
        arrays = tree.start2, tree.term2, counted, value, *scratch
        turn = regroup(source.indptr, source.ids, piece, order, turn, 20, *arrays)
    known = {
        frozenset((int(other), rarer))
        for rarer in range(len(tree.start2) - 1)
        for other in tree.term2[tree.start2[rarer] : tree.start2[rarer + 1]]
    }
    expected, having = twin.regroup(histories, known, order.tolist(), value.tolist())
    bounds = zip(source.indptr[:-1].tolist(), source.indptr[1:].tolist(), strict=True)
    assert [piece[a:b].tolist() for a, b in bounds] == expected
    assert counted.tolist() == [
        having[frozenset((int(other), rarer))]
        for rarer in range(len(tree.start2) - 1)
        for other in tree.term2[tree.start2[rarer] : tree.start2[rarer + 1]]
    ]
