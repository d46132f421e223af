"""The (k, m) verifier on examples whose answer is known by hand."""

from collections.abc import Sequence
from typing import Literal, overload

import numpy as np
import pytest
from numpy.typing import NDArray

import queryveil.verifiers.km as km
from queryveil.core.errors import InternalError
from queryveil.core.names import resolve
from queryveil.core.results import Verdict, Violation
from queryveil.guarantees import KM

Rows = Sequence[Sequence[int]]


def verify(
    claim: str,
    rows: Rows,
    terms: Sequence[str],
    owner: Sequence[int] | None = None,
    partition: Sequence[int] | None = None,
) -> Verdict:
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    ids = np.array([term for row in rows for term in sorted(row)], dtype=np.int32)
    owners = np.array(range(len(rows)) if owner is None else owner, dtype=np.int32)
    parts = None if partition is None else np.array(partition, dtype=np.int32)
    counted: Literal["people", "histories"] = "histories" if owner is None else "people"
    return km.check_combinations(
        resolve("guarantee", claim), indptr, ids, owners, terms, counted=counted, partition=parts
    )


def aol_rows() -> list[list[int]]:
    """Histories with exactly the frequencies of table 1: georgia 0, arnold 1, lilburn 2."""
    rows = [[0, 1, 2]] + [[0, 1]] * 14 + [[0, 2]] * 4 + [[2]]
    return rows + [[1]] * (167 - 15) + [[0]] * (1380 - 15 - 4)


def test_aol_disclosure_holds_for_single_terms() -> None:
    verdict = verify("km(k=6, m=1)", aol_rows(), ["georgia", "arnold", "lilburn"])
    assert verdict == Verdict("km(k=6, m=1)", "holds", "histories", checked=3)


def test_aol_disclosure_is_broken_by_arnold_and_lilburn() -> None:
    verdict = verify("km(k=6, m=2)", aol_rows(), ["georgia", "arnold", "lilburn"])
    assert verdict.state == "violated"
    assert verdict.counterexample == Violation(("arnold", "lilburn"), support=1, required=6)
    assert verdict.violations == 2  # lilburn & georgia has 5
    assert verdict.checked == 3 + 3


def test_the_declared_function_is_this_verifier() -> None:
    assert KM.load() is km.verify


def test_one_person_with_many_histories_is_one_owner() -> None:
    rows = [[0, 1]] * 4
    assert verify("km(k=3, m=2)", rows, ["a", "b"]).holds
    verdict = verify("km(k=3, m=2)", rows, ["a", "b"], owner=[7, -1, 7, -1])
    assert verdict.counterexample == Violation(("a",), support=2, required=3)
    assert verdict.counted == "people"


def test_terms_of_two_histories_of_one_person_do_not_combine() -> None:
    rows = [[0], [1], [0], [1]]
    assert verify("km(k=2, m=2)", rows, ["a", "b"], owner=[0, 0, 1, 1]).checked == 2


def test_each_partition_must_hold_by_itself() -> None:
    rows = [[0], [0], [0], [0, 1], [0, 1]]
    assert verify("km(k=2, m=2)", rows, ["a", "b"]).holds
    verdict = verify("km(k=2, m=2)", rows, ["a", "b"], partition=[5, 2, 5, 2, 5])
    assert verdict.counterexample == Violation(("b",), support=1, required=2)
    assert verdict.violations == 2
    assert verify("km(k=2, m=2)", rows, ["a", "b"], partition=[5, 5, 5, 2, 2]).checked == 1 + 3


def test_the_first_text_wins_among_equally_rare_combinations() -> None:
    terms = ["z", "é", "b", "a"]
    verdict = verify("km(k=2, m=2)", [[0, 1, 2, 3], [0], [1], [2], [3]], terms)
    assert verdict.counterexample == Violation(("a", "b"), support=1, required=2)
    assert verdict.violations == 6


def test_a_lower_support_wins_over_the_text() -> None:
    rows = [[0], [0], [1]]
    assert verify("km(k=3, m=1)", rows, ["a", "b"]).counterexample == Violation(("b",), 1, 3)


def test_a_release_without_pairs_is_not_checked() -> None:
    empty: list[Rows] = [[], [[], []]]
    for rows in empty:
        verdict = verify("km(k=2, m=2)", rows, ["a"])
        assert (verdict.state, verdict.reason) == ("unchecked", "the release has no rows")
        assert not verdict.holds


class Numbered(Sequence[str]):
    """Many terms that take no memory."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [f"{place:08}" for place in range(*index.indices(self.length))]
        return f"{index:08}"


def test_ids_beyond_21_bits_do_not_run_into_each_other() -> None:
    top = (1 << 21) + 5
    apart = [[0, 5, 7, top], [1, 5, 7, top], [0, 1, 6, top], [0, 1, 6, 7]]
    rows = [*apart, *apart, [top - (1 << 20), top - 1, top]]
    verdict = verify("km(k=2, m=4)", [*rows, rows[-1][:1], rows[-1][1:2]], Numbered(top + 1))
    assert verdict.counterexample is not None
    assert verdict.counterexample.entries == (f"{top - (1 << 20):08}", f"{top - 1:08}")
    assert verify("km(k=2, m=4)", rows[:-1], Numbered(top + 1)).holds


def test_long_histories_and_a_missing_triple() -> None:
    rng = np.random.default_rng(4)
    long = sorted(rng.choice(1000, size=300, replace=False).tolist())
    terms = [f"t{place:04}" for place in range(1000)]
    verdict = verify("km(k=3, m=3)", [long] * 3, terms)
    assert verdict.holds
    assert verdict.checked == 300 + 300 * 299 // 2 + 300 * 299 * 298 // 6
    first, middle, last = long[3], long[150], long[280]
    without = [[t for t in long if t != gone] for gone in (first, middle, last)]
    verdict = verify("km(k=3, m=3)", [long, long, *without], terms)
    expected = tuple(terms[t] for t in (first, middle, last))
    assert verdict.counterexample == Violation(expected, support=2, required=3)
    assert verdict.violations == 1


def test_progress_rises_to_its_total_in_small_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(km, "STEPS_PER_CALL", 1)
    seen: list[tuple[str, int, int]] = []
    indptr = np.array([0, 3, 6], dtype=np.int64)
    ids = np.array([0, 1, 2, 0, 1, 2], dtype=np.int32)
    verdict = km.check_combinations(
        resolve("guarantee", "km(k=2, m=3)"),
        indptr,
        ids,
        np.array([4, 9], dtype=np.int32),
        ["a", "b", "c"],
        counted="people",
        progress=lambda stage, done, total: seen.append((stage, done, total)),
    )
    assert verdict == Verdict("km(k=2, m=3)", "holds", "people", checked=7)
    assert len(seen) > 3
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1] == ("verifying", 14, 14)


def test_read_only_and_strided_arrays_are_taken() -> None:
    ids = np.array([0, 9, 1, 9, 0, 9, 1, 9], dtype=np.int32)[::2]
    ids.flags.writeable = False
    indptr = np.array([0, 2, 4], dtype=np.int64)
    owner = np.array([0, 1], dtype=np.int32)
    claim = resolve("guarantee", "km(k=2, m=2)")
    assert km.check_combinations(claim, indptr, ids, owner, ["a", "b"], counted="people").checked == 3


def int32(*values: int) -> NDArray[np.int32]:
    return np.array(values, dtype=np.int32)


@pytest.mark.parametrize(
    ("indptr", "ids", "says"),
    [
        ([0, 2], int32(0, 3), "outside 0 to 2"),
        ([0, 2], int32(-1, 1), "outside 0 to 2"),
        ([0, 2], int32(1, 0), "ascending and unique"),
        ([0, 2], int32(1, 1), "ascending and unique"),
        ([0, 1], int32(0, 1), "do not cover"),
        ([1, 2], int32(0, 1), "do not cover"),
        ([0, 1, 2], int32(0, 1), "indptr must be 2 values"),
        ([0, 2], np.array([0, 1], dtype=np.int64), "ids must be 2 values of int32"),
    ],
)
def test_arrays_that_are_no_histories_are_our_own_fault(indptr: list[int], ids: NDArray[np.int32], says: str) -> None:
    claim = resolve("guarantee", "km(k=2, m=2)")
    with pytest.raises(InternalError, match=says):
        km.check_combinations(claim, np.array(indptr, dtype=np.int64), ids, int32(0), ["a", "b", "c"], counted="people")


def test_rows_that_go_back_are_refused() -> None:
    claim = resolve("guarantee", "km(k=2, m=2)")
    indptr = np.array([0, 2, 1, 2], dtype=np.int64)
    with pytest.raises(InternalError, match="do not cover"):
        km.check_combinations(claim, indptr, int32(0, 1), int32(0, 1, 2), ["a", "b"], counted="people")


def test_incomplete_enumeration_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(km, "visit_combinations", lambda *_: True)
    with pytest.raises(InternalError, match="0 of 2 combinations of 1 terms"):
        verify("km(k=2, m=1)", [[0], [0]], ["a"])
