"""The verifier of vocabularies: what it counts, which counterexample it shows, and what it says of rare terms."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from queryveil.core.evidence import ReleasedVocabularies
from queryveil.core.names import resolve
from queryveil.verifiers.vocabulary import check_vocabularies as verify

CLAIM = resolve("guarantee", "vocabulary_k(k=2)")
TERMS = ("ale", "beer", "cider")
Row = tuple[int, int, int]  # term, level, count


def released(histories: list[list[Row]]) -> ReleasedVocabularies:
    cells = np.array([row for rows in histories for row in sorted(rows)], np.int32).reshape(-1, 3)
    indptr = np.concatenate(([0], np.cumsum([len(rows) for rows in histories]))).astype(np.int64)
    return ReleasedVocabularies(np.arange(len(histories)), indptr, cells[:, 0], cells[:, 2], cells[:, 1], TERMS)


def test_counts_and_levels_make_vocabularies_different() -> None:
    alike = [[(0, 0, 1)], [(0, 0, 1)]]
    owner = np.arange(4, dtype=np.int32)
    assert verify(CLAIM, released(alike), owner, counted="people").holds
    for other in ((0, 0, 2), (0, 1, 1), (1, 0, 1)):
        verdict = verify(CLAIM, released([*alike, [other]]), owner, counted="people")
        assert (verdict.state, verdict.violations, verdict.checked) == ("violated", 1, 2)
    assert verdict.counterexample is not None and verdict.counterexample.entries == ("beer",)


def test_one_person_counts_once() -> None:
    owner = np.zeros(2, np.int32)
    verdict = verify(CLAIM, released([[(0, 0, 1)]] * 2), owner, counted="people")
    assert verdict.counterexample is not None and verdict.counterexample.support == 1


def test_the_smallest_counterexample_is_shown() -> None:
    histories = [[(0, 0, 1), (1, 0, 1)], [(2, 0, 3)], [(0, 0, 1)]]
    verdict = verify(CLAIM, released(histories), np.arange(3, dtype=np.int32), counted="histories")
    assert verdict.counterexample is not None and verdict.counterexample.entries == ("ale",)


def test_rare_terms_are_found_where_it_is_known_who_holds_them() -> None:
    shared = released([[(0, 0, 1), (1, 2, 1)]] * 2)
    owner = np.arange(2, dtype=np.int32)
    assert verify(CLAIM, shared, owner, counted="people", floor=3, holders={"ale": 3}).holds
    verdict = verify(CLAIM, shared, owner, counted="people", floor=4, holders={"ale": 3})
    assert verdict.state == "violated" and "fewer than 4 people" in verdict.reason


def test_nothing_to_check() -> None:
    assert verify(CLAIM, released([]), np.empty(0, np.int32), counted="histories").state == "unchecked"


rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(1, 2)), min_size=1, max_size=2)


@given(st.lists(st.tuples(rows, st.integers(0, 3)), min_size=1, max_size=8))
def test_it_finds_what_counting_finds(histories: list[tuple[list[Row], int]]) -> None:
    histories = [(sorted({(t, level): (t, level, n) for t, level, n in rows}.values()), who) for rows, who in histories]
    people: dict[tuple[Row, ...], set[int]] = {}
    for rows, who in histories:
        people.setdefault(tuple(rows), set()).add(who)
    owner = np.array([who for _, who in histories], np.int32)
    verdict = verify(CLAIM, released([rows for rows, _ in histories]), owner, counted="people")
    assert verdict.holds == all(len(crowd) >= 2 for crowd in people.values())
    assert verdict.checked == len(people)
    assert verdict.violations == sum(len(crowd) < 2 for crowd in people.values())
