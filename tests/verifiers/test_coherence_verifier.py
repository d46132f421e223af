"""The verifier of inference: examples by hand, a slow, obvious twin, and releases with a single cell changed."""

from collections.abc import Iterator, Sequence, Set
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil.verifiers.km as km
from queryveil.core.errors import InternalError
from queryveil.core.evidence import ReleasedHistories
from queryveil.core.results import Verdict
from queryveil.lexicons.sensitive_terms import SensitiveTerms
from queryveil.verifiers import coherence
from queryveil.verifiers.coherence import InferenceViolation
from tests.builders import verify_histories
from tests.twins.inference import followed, supports

TERMS = ("pear", "Zebra", "apple", "fig", "ape", "b c")


@pytest.fixture(scope="module", autouse=True, params=[0, km.FEW_COMBINATIONS], ids=["compiled", "plain"])
def how_kernels_run(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run every test with the compiled kernels and, small as the data is, with the same functions as plain Python."""
    with patch.object(km, "FEW_COMBINATIONS", request.param):
        yield


def verify(
    claim: str,
    histories: Sequence[Set[str]],
    sensitive: Set[str],
    owners: Sequence[int] | None = None,
    partition: Sequence[int] | None = None,
) -> Verdict:
    """Return the verdict on histories; terms are numbered against the order of their texts."""
    texts = tuple(sorted(set().union(*histories), reverse=True))
    number = {text: i for i, text in enumerate(texts)}
    released = ReleasedHistories(
        np.arange(len(histories)),
        np.cumsum([0, *map(len, histories)], dtype=np.int64),
        np.array([i for history in histories for i in sorted(number[text] for text in history)], np.int32),
        np.ones(sum(map(len, histories)), np.int32),
        texts,
        None if partition is None else np.array(partition, np.int32),
    )
    terms = SensitiveTerms(lambda asked: np.array([text in sensitive for text in asked], np.bool_), "digest")
    people = None if owners is None else np.array(owners, np.int32)
    return verify_histories(claim, released, people, terms)


def test_whoever_searched_for_both_searched_for_the_sensitive_term() -> None:
    """km(k=3, m=2) holds, and yet knowing boston and clinic is knowing hiv: homogeneity."""
    rows = [{"boston", "clinic", "hiv"}] * 3 + [{"boston"}] * 3 + [{"clinic"}] * 3 + [{"hiv"}] * 3
    assert verify("coherence(k=3, m=2, h=1)", rows, {"hiv"}).holds
    verdict = verify("coherence(k=3, m=2, h=0.8)", rows, {"hiv"})
    assert verdict.state == "violated"
    assert verdict.counterexample == InferenceViolation(("boston", "clinic", "hiv"), 3, 2, holders=3)
    assert "{boston, clinic}: 3 of the 3 holders have hiv too, at most 2 may" in verdict.sentence()
    assert verify("coherence(k=3, m=1, h=0.5)", rows, {"hiv"}).holds


def test_a_combination_that_too_few_share_is_found_first() -> None:
    rows = [{"a", "s"}] * 2 + [{"a"}]
    verdict = verify("coherence(k=3, m=2, h=0.1)", rows, {"s"})
    assert verdict.counterexample is not None
    assert verdict.counterexample.entries == ("s",)
    assert verdict.counterexample.support == 2


def test_sensitive_terms_follow_from_one_another() -> None:
    rows = [{"s", "t"}] * 4 + [{"t"}] * 4
    verdict = verify("coherence(k=2, m=1, h=0.9)", rows, {"s", "t"})
    assert verdict.counterexample == InferenceViolation(("s", "t"), 4, 3, holders=4)
    assert verdict.violations == 1


def test_shares_are_compared_in_whole_numbers() -> None:
    """29 of 100 is exactly the share 0.29, although 0.29 · 100 is less than 29 in floating point."""
    rows = [{"a", "s"}] * 29 + [{"a"}] * 71 + [{"s"}] * 71
    assert verify("coherence(k=5, m=1, h=0.29)", rows, {"s"}).holds
    assert not verify("coherence(k=5, m=1, h=0.28)", rows, {"s"}).holds


def test_people_and_histories_are_both_counted() -> None:
    """One person's many histories hide no share of people, and no share of histories."""
    by_people = [{"a", "s"}, {"a", "s"}, {"a"}, {"a"}, {"a"}, {"s"}, {"s"}]
    owners = [0, 1, 2, 2, 2, 3, 4]
    assert verify("coherence(k=2, m=1, h=0.5)", by_people, {"s"}).holds  # 2 of 5 histories
    verdict = verify("coherence(k=2, m=1, h=0.5)", by_people, {"s"}, owners)  # 2 of 3 people
    assert (verdict.counted, verdict.counterexample) == ("people", InferenceViolation(("a", "s"), 2, 1, holders=3))
    by_histories = [{"a", "s"}] * 4 + [{"a"}] * 2 + [{"s"}] * 4
    owners = [0, 0, 0, 1, 2, 3, 4, 5, 6, 7]
    verdict = verify("coherence(k=2, m=1, h=0.5)", by_histories, {"s"}, owners)  # 2 of 4 people, 4 of 6 histories
    assert (verdict.counted, verdict.counterexample) == ("histories", InferenceViolation(("a", "s"), 4, 3, holders=6))


def test_each_partition_must_hold_by_itself() -> None:
    rows = [{"a", "s"}] * 2 + [{"a"}] * 2 + [{"s"}] * 2
    assert verify("coherence(k=2, m=1, h=0.5)", rows, {"s"}).holds
    assert not verify("coherence(k=2, m=1, h=0.5)", rows, {"s"}, partition=[0, 0, 1, 1, 1, 1]).holds


def test_an_incomplete_enumeration_certifies_nothing() -> None:
    with (
        patch.object(coherence, "visit_crowds", lambda *_: True),
        pytest.raises(InternalError, match="looked at 0 of"),
    ):
        verify("coherence(k=2, m=1, h=0.5)", [{"a"}] * 2, {"a"})


logs = st.lists(
    st.tuples(st.integers(0, 5), st.frozensets(st.sampled_from(TERMS), min_size=1, max_size=5)), min_size=2, max_size=12
)
sensitive_terms = st.frozensets(st.sampled_from(TERMS), min_size=1, max_size=4)
shares = st.sampled_from(("0.2", "0.5", "0.67", "0.8", "1"))


@settings(max_examples=200)
@given(logs, sensitive_terms, st.integers(2, 3), st.integers(1, 4), shares, st.booleans())
def test_the_verifier_is_the_twin(
    log: list[tuple[int, frozenset[str]]], sensitive: frozenset[str], k: int, m: int, h: str, is_linked: bool
) -> None:
    owners, histories = [owner for owner, _ in log], [terms for _, terms in log]
    everybody = list(range(len(log)))
    verdict = verify(f"coherence(k={k}, m={m}, h={h})", histories, sensitive, owners if is_linked else None)
    counted = owners if is_linked else everybody
    if min(supports(histories, counted, m)) < k:
        assert verdict.state == "violated"
        assert not isinstance(verdict.counterexample, InferenceViolation)
        return
    for owner in [owners, everybody] if is_linked else [everybody]:
        broken = [each for each in followed(histories, owner, sensitive, m) if each.share > Fraction(h)]
        if broken:
            size = min(len(each.known) for each in broken)
            broken = [each for each in broken if len(each.known) == size]
            worst = min(broken, key=lambda each: (-each.share, each.known, each.term))
            entries, allowed = (*worst.known, worst.term), int(Fraction(h) * worst.holders)
            assert verdict.violations == len(broken)
            assert verdict.counterexample is not None
            same = InferenceViolation(entries, worst.having, allowed, holders=worst.holders)
            assert (verdict.counterexample.entries, str(verdict.counterexample)) == (entries, str(same))
            return
    assert verdict.holds
