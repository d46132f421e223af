"""km with h: inference is bounded everywhere, nothing is deleted in vain, and tampering is found."""

from collections.abc import Sequence, Set
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.histories.profiles import Profiles
from queryveil.lexicons.sensitive_terms import SensitiveTerms
from tests.builders import histories_in, profiles_of, run_method, verify_histories
from tests.twins.inference import followed, largest_share, supports


def listed(terms: Set[str]) -> SensitiveTerms:
    return SensitiveTerms(lambda asked: np.array([text in terms for text in asked], np.bool_), "digest")


def kept_terms(profiles: Profiles, mask: np.ndarray) -> list[set[str]]:
    bounds = zip(profiles.indptr, profiles.indptr[1:], strict=False)
    return [{profiles.vocabulary[i] for i in profiles.ids[a:b][mask[a:b]]} for a, b in bounds]


def is_allowed(histories: Sequence[Set[str]], owners: Sequence[int], terms: Set[str], k: int, m: int, h: str) -> bool:
    """Return whether histories keep km(k, m), and h of people and of histories, by brute force."""
    everybody = range(len(histories))
    bounded = all(largest_share(histories, who, terms, m) <= Fraction(h) for who in (owners, everybody))
    return bounded and min(supports(histories, owners, m), default=k) >= k


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[list[str]], list[int]]:
    n_terms = draw(st.integers(2, 6))
    terms = st.lists(st.sampled_from([f"t{i}" for i in range(n_terms)]), min_size=1, max_size=6)
    histories = draw(st.lists(terms, min_size=4, max_size=16))
    owners = st.lists(st.integers(0, 7), min_size=len(histories), max_size=len(histories)).map(sorted)
    return histories, draw(owners) if draw(st.booleans()) else list(range(len(histories)))


@settings(max_examples=150)
@given(
    logs(),
    st.frozensets(st.sampled_from([f"t{i}" for i in range(6)]), min_size=1, max_size=3),
    st.integers(2, 3),
    st.integers(1, 3),
    st.sampled_from(("0.3", "0.5", "0.8", "1")),
    st.sampled_from(("algorithm=best", "algorithm=paper", "algorithm=paper, target=fis", "target=random")),
)
def test_inference_is_bounded_everywhere_and_every_tampering_is_found(
    log: tuple[list[list[str]], list[int]], terms: frozenset[str], k: int, m: int, h: str, how: str
) -> None:
    profiles = profiles_of(*log)
    owners = profiles.owner.tolist()
    if k > profiles.n_people:
        return
    mask = run_method(profiles, f"km(k={k}, m={m}, h={h}, {how})", listed(terms)).mask
    kept = kept_terms(profiles, mask)
    assert is_allowed(kept, owners, terms, k, m, h)
    if not mask.any():
        return
    rows = np.flatnonzero([bool(row) for row in kept])
    claim = f"coherence(k={k}, m={m}, h={h})"

    def verdict_on(changed: list[set[str]]) -> bool:
        left = [changed[row] for row in rows.tolist()]
        if not all(left):
            return True  # the count of histories is another
        released = histories_in(profiles_of([sorted(row) for row in left], list(range(len(left)))))
        people = np.array([owners[row] for row in rows.tolist()], np.int32)
        holds = verify_histories(claim, released, people, listed(terms)).holds
        assert holds == is_allowed(left, people.tolist(), terms, k, m, h)
        return holds

    assert verdict_on(kept)
    words = sorted(set().union(*kept))
    for row in rows.tolist()[:4]:
        for word in words:
            changed = [set(terms) for terms in kept]
            changed[row] ^= {word}
            verdict_on(changed)


def test_without_a_bound_that_matters_nothing_is_lost() -> None:
    rng = np.random.default_rng(5)
    profiles = profiles_of([[f"t{i}" for i in rng.choice(12, 4, replace=False)] for _ in range(60)])
    plain, bounded = (run_method(profiles, f"km(k=3, m=2{more})", listed({"t0"})) for more in ("", ", h=1"))
    assert np.array_equal(plain.mask, bounded.mask)


def test_as_few_sensitive_terms_go_as_must() -> None:
    """Nine of ten holders of a have s; for at most eight, one loses s and nothing else goes."""
    profiles = profiles_of([["a", "s"]] * 9 + [["a"]] + [["s"]] * 20)
    outcome = run_method(profiles, "km(k=5, m=1, h=0.8)", listed({"s"}))
    assert len(outcome.mask) - int(outcome.mask.sum()) == 1
    lost = ~outcome.mask
    assert profiles.vocabulary[profiles.ids[lost][0]] == "s"
    assert outcome.summary["sensitive terms deleted from histories for that"] == 1


def test_a_sensitive_term_that_too_few_would_share_goes_from_all() -> None:
    """Everybody who has a has s; with four of five left, km(5, 2) would not hold, so all five lose s at once."""
    profiles = profiles_of([["a", "s"]] * 5 + [["s"]] * 20)
    outcome = run_method(profiles, "km(k=5, m=2, h=0.8)", listed({"s"}))
    assert kept_terms(profiles, outcome.mask)[:5] == [{"a"}] * 5
    assert outcome.summary["terms deleted since too few people shared them then"] == 0


@pytest.mark.parametrize("h", ["0.5", "0.8"])
def test_common_sensitive_terms_are_bounded_at_little_cost(h: str) -> None:
    """The hard case: a third of all occurrences are of sensitive terms, some of which follow from each other."""
    rng = np.random.default_rng(7)
    weight = 1 / np.arange(1, 41)
    rows = [[f"t{i:02}" for i in rng.choice(40, 6, replace=False, p=weight / weight.sum())] for _ in range(400)]
    profiles, terms = profiles_of(rows), {"t01", "t02", "t05"}
    plain = run_method(profiles, "km(k=5, m=2)").mask
    bounded = run_method(profiles, f"km(k=5, m=2, h={h})", listed(terms)).mask
    assert any(each.share > Fraction(h) for each in followed(kept_terms(profiles, plain), range(400), terms, 2))
    assert is_allowed(kept_terms(profiles, bounded), range(400), terms, 5, 2, h)
    assert bounded.sum() >= (0.75 if h == "0.5" else 0.9) * plain.sum()
    assert not (bounded & ~plain).any()
