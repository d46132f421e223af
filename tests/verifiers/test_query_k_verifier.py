"""The verifier of query k-anonymity: owners of every query, counted by SQL in every part."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.evidence import Evidence, Owners, ReleasedHistories
from queryveil.core.names import resolve
from queryveil.core.results import Verdict, Violation
from queryveil.engines.sql import HistoryTables, SqlSession, open_sql_session
from queryveil.guarantees import QUERY_K
from queryveil.verifiers import query_k

CLAIM = "query_k(k=2)"
History = tuple[int, int, set[str]]  # owner, part, queries


def released(histories: list[History], *, has_parts: bool = True) -> ReleasedHistories:
    """Return histories over queries that are numbered in the reverse order of their texts."""
    terms = tuple(sorted({query for _, _, queries in histories for query in queries}, reverse=True))
    rows = [sorted(terms.index(query) for query in queries) for _, _, queries in histories]
    ids = np.array([i for row in rows for i in row], np.int32)
    partition = np.array([part for _, part, _ in histories], np.int32) if has_parts else None
    indptr = np.cumsum([0, *map(len, rows)])
    return ReleasedHistories(np.arange(len(rows)), indptr, ids, np.ones_like(ids), terms, partition, "query")


def judge(histories: list[History], *, k: int = 2, has_parts: bool = True, is_linked: bool = True) -> Verdict:
    evidence = Evidence(released(histories, has_parts=has_parts))
    if is_linked:
        person = np.array([owner for owner, _, _ in histories], np.int32)
        evidence.add(Owners, lambda: Owners(person, np.arange(len(histories)), dict))
    return query_k.verify(resolve("guarantee", f"query_k(k={k})"), evidence)


def test_both_engines_declare_this_verifier() -> None:
    assert QUERY_K.load() is QUERY_K.load("spark") is query_k.verify


def test_a_person_with_two_histories_is_one_owner() -> None:
    histories: list[History] = [(0, 0, {"red"}), (0, 0, {"red"})]
    worst = Violation(("red",), 1, 2)
    assert judge(histories) == Verdict(CLAIM, "violated", "people", 1, 1, worst, unit="queries")
    assert judge(histories, is_linked=False) == Verdict(CLAIM, "holds", "histories", 1, unit="queries")


def test_every_part_is_counted_separately() -> None:
    histories: list[History] = [(0, 0, {"red"}), (1, 1, {"red"})]
    verdict = judge(histories)
    assert (verdict.state, verdict.checked, verdict.violations) == ("violated", 2, 2)
    assert judge(histories, has_parts=False).holds


def test_the_counterexample_has_the_fewest_owners_then_the_first_code_points() -> None:
    histories: list[History] = [(0, 0, {"é", "z", "😀", "～", "a"}), (1, 0, {"a"})]
    assert judge(histories, k=3).counterexample == Violation(("z",), 1, 3)
    assert judge([(0, 0, {"😀", "～"})]).counterexample == Violation(("～",), 1, 2)


def test_a_release_without_rows_is_not_checked() -> None:
    assert judge([]) == Verdict(CLAIM, "unchecked", "people", reason="the release has no rows")


def slow_verdict(histories: list[History], k: int) -> Verdict:
    owners: dict[tuple[int, str], set[int]] = {}
    for owner, part, queries in histories:
        for query in queries:
            owners.setdefault((part, query), set()).add(owner)
    short = [(len(people), query) for (_, query), people in owners.items() if len(people) < k]
    if not short:
        return Verdict(f"query_k(k={k})", "holds", "people", len(owners), unit="queries")
    support, query = min(short)
    worst = Violation((query,), support, k)
    return Verdict(f"query_k(k={k})", "violated", "people", len(owners), len(short), worst, unit="queries")


queries = st.sets(st.sampled_from(["a", "b", "é", "～", "😀"]), min_size=1)
history = st.tuples(st.integers(0, 4), st.integers(0, 1), queries)


@settings(max_examples=50)
@given(st.lists(history, min_size=1, max_size=12), st.integers(2, 4))
def test_the_verdict_is_that_of_a_slow_count(histories: list[History], k: int) -> None:
    assert judge(histories, k=k) == slow_verdict(histories, k)


def open_texts(histories: list[History]) -> SqlSession:
    rows = [(owner, query, str(part)) for owner, part, queries in histories for query in queries]
    session = open_sql_session()
    session.register("items", pa.table(dict(zip(("owner", "item", "part"), zip(*rows, strict=True), strict=True))))
    return session


@pytest.mark.parametrize("k", [2, 3])
def test_tables_may_hold_the_texts_themselves(k: int) -> None:
    histories: list[History] = [(0, 0, {"～", "😀", "b"}), (1, 0, {"b", "😀"}), (0, 0, {"😀"})]
    tables = HistoryTables(lambda: open_texts(histories), is_linked=True)
    claim = resolve("guarantee", f"query_k(k={k})")
    assert query_k.verify(claim, Evidence(tables)) == slow_verdict(histories, k)
