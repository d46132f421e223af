from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.errors import GuaranteeError, UnknownNameError
from queryveil.core.names import resolve
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.profiles import Profiles
from queryveil.kinds.histories import decode_histories
from queryveil.kinds.queries import QUERIES as QUERIES_KIND
from queryveil.lexicons.word_lists import PersonalWordLists
from queryveil.methods.base import method_of
from queryveil.methods.query_k import smallest_k
from queryveil.workflows.anonymize import plan_release
from queryveil.workflows.requests import ReleaseRequest
from tests.builders import histories_in, profiles_of, run_method, verify_histories
from tests.twins.queries import private, released, shared

LISTS = PersonalWordLists(
    names=frozenset({"kowalski"}),
    first_names=frozenset({"john", "may"}),
    last_names=frozenset({"park", "kowalski"}),
    places=frozenset({"paris", "new york"}),
    words=frozenset({"plaintiff", "writ of error"}),
)
WORDS = ["john", "may", "park", "kowalski", "paris", "new", "york", "plaintiff", "writ", "of", "error", "soup"]
QUERIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
LOGS = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), min_size=1, max_size=6)


def rows(profiles: Profiles, kept: KeptPairs) -> list[tuple[int, str]]:
    table = QUERIES_KIND.encode(kept, profiles).rows
    return list(zip(table["user"].to_pylist(), table["query"].to_pylist(), strict=True))


@settings(max_examples=80)
@given(LOGS, st.integers(1, 4))
def test_query_k_keeps_what_the_twin_keeps(histories: list[list[str]], k: int) -> None:
    log = [(f"p{person}", query) for person, history in enumerate(histories) for query in history]
    profiles = profiles_of(histories)
    expected = shared(log, k)
    if not expected:
        with pytest.raises(GuaranteeError):
            run_method(profiles, f"query_k(k={k})")
        return
    kept = run_method(profiles, f"query_k(k={k})")
    assert rows(profiles, kept) == released(expected)
    assert kept.found == {"k": k}
    found = decode_histories(QUERIES_KIND.encode(kept, profiles).rows, "query")
    assert verify_histories(f"query_k(k={k})", found, np.arange(len(found.users), dtype=np.int32)).holds


@settings(max_examples=60)
@given(LOGS, st.integers(1, 4))
def test_the_verifier_of_query_k_finds_the_rarest(histories: list[list[str]], k: int) -> None:
    profiles = profiles_of(histories)
    people = {q: sum(q in history for history in histories) for history in histories for q in history}
    verdict = verify_histories(f"query_k(k={k})", histories_in(profiles, "query"), profiles.owner)
    short = sorted((number, query) for query, number in people.items() if number < k)
    assert verdict.holds == (not short)
    assert verdict.violations == len(short)
    assert verdict.checked == len(people)
    if short:
        assert verdict.counterexample is not None
        assert (verdict.counterexample.support, *verdict.counterexample.entries) == short[0]


def test_one_person_with_several_histories_counts_once() -> None:
    profiles = profiles_of([["a", "b"], ["a"], ["b"]], owners=[0, 0, 1])
    kept = run_method(profiles, "query_k(k=2)")
    assert rows(profiles, kept) == [(0, "b"), (1, "b")]
    assert not verify_histories("query_k(k=2)", histories_in(profiles, "query"), profiles.owner).holds


@pytest.mark.parametrize(("share", "k"), [(1.0, 1), (0.99, 2), (0.6, 2), (0.59, 3), (0.3, 3)])
def test_a_share_takes_the_smallest_k_that_releases_no_more(share: float, k: int) -> None:
    people = np.array([1, 2, 2, 3, 3, 3])  # of the query of every pair
    counts = np.array([4, 2, 1, 1, 1, 1])
    assert smallest_k(people, counts, share) == k


def test_share_is_claimed_as_query_k() -> None:
    profiles = profiles_of([["a", "x"], ["a", "y"], ["a", "z"]])
    method = resolve("method", "query_k(share=0.5)")
    kept = run_method(profiles, str(method))
    assert str(method_of(method).claim(method, kept.found)) == "query_k(k=2)"
    with pytest.raises(GuaranteeError, match="its commonest queries alone are a larger share"):
        run_method(profiles, "query_k(share=0.4)")


@pytest.mark.parametrize("name", ["query_k", "query_k(k=2, share=0.5)"])
def test_k_or_share_but_not_both(name: str) -> None:
    with pytest.raises(UnknownNameError, match="takes k or share"):
        plan_release(ReleaseRequest(log=(), method=name, out=Path()))


def test_k_above_the_number_of_people() -> None:
    with pytest.raises(GuaranteeError, match="k = 9 is larger than the number of people in the log"):
        run_method(profiles_of([["a"], ["a"]]), "query_k(k=9)")


@settings(max_examples=150)
@given(st.lists(QUERIES, min_size=1, max_size=8), st.sampled_from(["none", "only"]))
def test_ppp_and_its_verifier_agree_with_the_twin(queries: list[str], release: str) -> None:
    profiles = profiles_of([[query] for query in queries])
    expected = [(q, q) for q in queries if private(q, LISTS) == (release == "only")]
    everything = verify_histories(f"ppp(release={release})", histories_in(profiles, "query"), None, LISTS)
    assert everything.holds == (len(expected) == len(queries))
    assert everything.violations == len(set(queries)) - len(set(expected))
    method = f"ppp(release={release})"
    if not expected:
        with pytest.raises(GuaranteeError, match="nothing would be left"):
            run_method(profiles, method, LISTS)
        return
    kept = run_method(profiles, method, LISTS)
    assert sorted(query for _, query in rows(profiles, kept)) == sorted(query for _, query in expected)
