"""km with `split`: the pieces are anonymous by brute force, nothing less is kept, and `all` reaches the ceiling."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from queryveil.core.names import declarations
from queryveil.core.progress import silent
from queryveil.core.rows import BoolArray, row_numbers
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.pieces import Occurrences, cut_into_pieces, cut_queries
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.pieces import fill_pieces, make_piece_scratch
from queryveil.kernels.km.supports import Tree
from queryveil.kinds.histories import HISTORIES
from queryveil.kinds.log import encode_log
from queryveil.methods.base import MethodTask
from queryveil.methods.deletion import count_combinations
from queryveil.methods.pieces import _Assignment
from tests.builders import histories_in, profiles_of, rows, run_method, verify_histories
from tests.methods.test_best import TERM_VALUES, TERMS, logs, natural_log
from tests.twins.pieces import fill, frequent_combinations, is_anonymous


def pieces_in(profiles: Profiles) -> list[tuple[int, set[int]]]:
    """Return the owner and the terms of every history, or piece."""
    return [(int(owner), set(terms)) for owner, terms in zip(profiles.owner, rows(profiles), strict=True) if terms]


def released(profiles: Profiles, kept: KeptPairs) -> Profiles:
    """Return the pieces that are published."""
    assert kept.piece is not None
    assert np.array_equal(kept.piece >= 0, kept.mask)
    return cut_into_pieces(profiles, kept.piece).profiles


def check(profiles: Profiles, kept: KeptPairs, k: int, m: int) -> None:
    """Check that the pieces are anonymous by brute force and by the verifier, and that each pair is in one piece."""
    pieces = released(profiles, kept)
    assert is_anonymous(pieces_in(pieces), k, m)
    verdict = verify_histories(f"km(k={k}, m={m})", histories_in(pieces), pieces.owner)
    assert verdict.state == ("holds" if kept.mask.any() else "unchecked")
    assert len(pieces.ids) == np.count_nonzero(kept.mask)


@settings(max_examples=30)
@given(logs(), st.integers(2, 3), st.integers(2, 4), st.sampled_from(("best", "paper")), st.integers(0, 3))
def test_pieces_are_anonymous_and_keep_all_that_k_people_hold(
    profiles: Profiles, k: int, m: int, algorithm: str, seed: int
) -> None:
    if profiles.n_people < k:
        return
    name = f"km(k={k}, m={m}, algorithm={algorithm}"
    whole = run_method(profiles, f"{name})", seed=seed)
    layers, everything = (run_method(profiles, f"{name}, split={split})", seed=seed) for split in ("layers", "all"))
    for kept in (layers, everything):
        check(profiles, kept, k, m)
        assert (kept.piece[whole.mask] == 0).all()  # the first piece is at least what is kept without splitting
    assert np.array_equal(layers.piece[layers.mask], everything.piece[layers.mask])
    ceiling = profiles.holder_counts()[profiles.ids] >= k
    assert np.array_equal(everything.mask, ceiling)
    assert not (layers.mask & ~ceiling).any()


@settings(max_examples=30)
@given(logs(), st.integers(2, 3), st.sampled_from(("all", "pairs")))
def test_filling_where_pairs_are_new_is_filling_everywhere(profiles: Profiles, k: int, split: str) -> None:
    def count_everything(assignment: _Assignment, task: MethodTask, n_frequent: int) -> tuple[Tree, BoolArray]:
        pieces = cut_into_pieces(assignment.profiles, assignment.piece).profiles
        return count_combinations(pieces, n_frequent, k, 2, silent), assignment.n_pieces >= 0

    assume(profiles.n_people >= k)
    method = f"km(k={k}, m=2, split={split})"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Assignment, "_count_frequent", count_everything)
        expected = run_method(profiles, method)
    assert np.array_equal(run_method(profiles, method).piece, expected.piece)


@settings(max_examples=30)
@given(logs(), st.integers(2, 3), st.integers(2, 3))
def test_anonymous_logs_of_a_log_and_of_its_remainder_are_anonymous_together(
    profiles: Profiles, k: int, m: int
) -> None:
    if profiles.n_people < k:
        return
    piece = np.full(len(profiles.ids), -1, np.int32)
    for number in range(3):
        left = KeptPairs(piece < 0)
        kept = run_method(profiles, f"km(k={k}, m={m})", *([left] if number else []))
        piece[kept.mask] = number
    pieces = cut_into_pieces(profiles, piece).profiles
    assert is_anonymous(pieces_in(pieces), k, m)
    per_person = Counter((owner, term) for owner, terms in pieces_in(pieces) for term in terms)
    if len(set(profiles.owner.tolist())) == profiles.n_histories:
        assert max(per_person.values(), default=1) == 1  # no combination is in two pieces of a person


@settings(max_examples=50)
@given(logs(), st.integers(2, 3), st.integers(2, 4), st.data())
def test_filling_pieces_is_its_twin(profiles: Profiles, k: int, m: int, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.integers(-1, 2), min_size=len(profiles.ids), max_size=len(profiles.ids)))
    support = profiles.holder_counts()
    n_frequent = int(np.count_nonzero(support >= k))
    piece = np.array(drawn, np.int32)
    piece[profiles.ids >= n_frequent] = -1
    may_join = np.array(data.draw(st.lists(st.booleans(), min_size=len(piece), max_size=len(piece))))
    bounds = list(zip(profiles.indptr[:-1].tolist(), profiles.indptr[1:].tolist(), strict=True))
    for a, b in bounds:  # no piece is empty
        numbers = {number: i for i, number in enumerate(sorted({*piece[a:b].tolist()} - {-1}))}
        piece[a:b] = [numbers.get(number, -1) for number in piece[a:b].tolist()]
    n_pieces = np.array([piece[a:b].max() + 1 for a, b in bounds], np.int32)
    old = [
        [set(profiles.ids[a:b][piece[a:b] == number].tolist()) for number in range(n)]
        for (a, b), n in zip(bounds, n_pieces.tolist(), strict=True)
    ]
    pieces = cut_into_pieces(profiles, piece).profiles
    frequent = frequent_combinations(pieces_in(pieces), k, m)
    free = [
        {
            t
            for t, is_in, may in zip(*(x[a:b].tolist() for x in (profiles.ids, piece, may_join)), strict=True)
            if is_in < 0 and may and t < n_frequent
        }
        for a, b in bounds
    ]
    tree = count_combinations(pieces, n_frequent, k, m, silent)
    scratch = make_piece_scratch(int(np.diff(profiles.indptr).max()), n_frequent)
    history = 0
    while history < profiles.n_histories:
        history = fill_pieces(profiles.indptr, profiles.ids, piece, n_pieces, may_join, tree, m, history, 20, scratch)
    for h, (a, b) in enumerate(bounds):
        found = [set(profiles.ids[a:b][piece[a:b] == number].tolist()) for number in range(n_pieces[h])]
        assert found == fill(old[h], free[h], frequent, m)


@pytest.mark.parametrize("m", [2, 3])
def test_a_log_of_long_histories_is_split(m: int) -> None:
    profiles = natural_log(200, 150, 90, seed=4)
    assert np.diff(profiles.indptr).max() > 64  # more than a word of bits
    whole = run_method(profiles, f"km(k=5, m={m})")
    kept = run_method(profiles, f"km(k=5, m={m}, split=all)")
    check(profiles, kept, 5, m)
    assert np.array_equal(kept.mask, profiles.holder_counts()[profiles.ids] >= 5)
    assert np.count_nonzero(kept.mask) > np.count_nonzero(whole.mask)
    assert kept.summary["histories"] == len(pieces_in(released(profiles, kept)))


@pytest.mark.parametrize("target", sorted(declarations("target")))
@pytest.mark.parametrize("split", ["layers", "all", "pairs"])
def test_every_target_is_split(target: str, split: str) -> None:
    profiles = natural_log(60, 12, 4, seed=2)
    profiles = replace(profiles, vocabulary=tuple(TERMS[: len(profiles.vocabulary)]))
    method = f"km(k=4, m=2, target={target}"
    whole, kept = (run_method(profiles, f"{method}{more})", TERM_VALUES) for more in ("", f", split={split}"))
    check(profiles, kept, 4, 2)
    assert not (whole.mask & ~kept.mask).any()
    if split != "layers":
        assert np.array_equal(kept.mask, profiles.holder_counts()[profiles.ids] >= 4)


@settings(max_examples=25)
@given(logs(6, 10, 4), st.integers(2, 3), st.sampled_from(("layers", "all", "pairs")))
def test_every_change_of_one_cell_is_judged_as_by_brute_force(profiles: Profiles, k: int, split: str) -> None:
    assume(profiles.n_people >= k)
    pieces = released(profiles, run_method(profiles, f"km(k={k}, m=2, split={split})"))
    for position in range(len(pieces.ids)):
        for term in range(len(pieces.vocabulary)):
            ids = pieces.ids.copy()
            ids[position] = term
            changed = profiles_of(
                [[str(each) for each in ids[a:b]] or ["x"] for a, b in pairwise(pieces.indptr)], pieces.owner.tolist()
            )
            changed = changed.select(np.array([changed.vocabulary[each] != "x" for each in changed.ids]))
            verdict = verify_histories(f"km(k={k}, m=2)", histories_in(changed), changed.owner)
            assert verdict.holds == is_anonymous(pieces_in(changed), k, 2)


@pytest.mark.parametrize("has_parts", [False, True])
def test_rows_and_ids_tell_nothing_of_the_order_of_pieces(has_parts: bool) -> None:
    profiles = natural_log(60, 12, 4, seed=2)
    if has_parts:
        part = np.arange(60, dtype=np.int32) % 2
        profiles = replace(profiles, partition=part, partition_values=("x", "y"))
    kept = run_method(profiles, "km(k=4, m=2, split=all)")
    n_pieces = 1 + int(kept.piece.max())
    other = np.where(kept.mask, n_pieces - 1 - kept.piece, np.int32(-1)).astype(np.int32)  # the last layer is the first
    ours, theirs = (HISTORIES.encode(replace(kept, piece=piece), profiles) for piece in (kept.piece, other))
    assert ours.rows.equals(theirs.rows)
    pair = np.arange(len(profiles.ids))
    history = row_numbers(profiles.indptr).astype(np.int32)  # a query of all terms each, and one of the first term
    first = profiles.indptr[:-1][np.diff(profiles.indptr) > 0]
    query = np.concatenate((history, profiles.n_histories + np.arange(len(first)))).astype(np.int32)
    of = np.concatenate((np.arange(profiles.n_histories), history[first])).astype(np.int64)
    queries = Occurrences(of, query, np.concatenate((pair, first)), {})
    logs_of = []
    for piece in (kept.piece, other):
        pieces = cut_into_pieces(profiles, piece)
        is_kept = np.ones(len(pieces.profiles.ids), np.bool_)
        logs_of.append(encode_log(pieces.profiles, is_kept, cut_queries(queries, pieces)).rows)
    assert logs_of[0].equals(logs_of[1])


def test_splitting_where_one_term_is_known_is_said_to_be_pointless() -> None:
    profiles = profiles_of([["a", "b"], ["a", "b"], ["a", "c"]])
    whole, kept = (run_method(profiles, f"km(k=2, m=1{split})") for split in ("", ", split=all"))
    assert kept.piece is None
    assert np.array_equal(kept.mask, whole.mask)
    assert "of no use" in kept.summary["split"]


def test_the_second_layer_starts_from_what_an_earlier_release_kept() -> None:
    profiles = profiles_of([["a", "b", "c"]] * 2 + [["a", "d"]] * 2 + [["b", "d"]])
    start = KeptPairs(profiles.ids != profiles.vocabulary.index("c"))
    kept = run_method(profiles, "km(k=2, m=2, split=all)", start)
    check(profiles, kept, 2, 2)
    assert np.array_equal(kept.mask, start.mask)
