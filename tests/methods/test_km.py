"""The kernels give exactly what Algorithm 1 in plain Python gives, and every result verifies."""

from itertools import chain
from itertools import combinations as subsets
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.names import declarations
from queryveil.histories.profiles import Profiles
from queryveil.kernels import uncompiled
from queryveil.kernels.km import triples
from queryveil.kernels.km.pairs import PAIRS
from queryveil.kernels.km.supports import LISTED, MARKED
from queryveil.methods import deletion
from queryveil.methods.targets import TermValues
from tests.builders import profiles_of, rows, run_method
from tests.twins.km import algorithm_1

TARGETS = ("random", "fis", "logsize", "users", "distinct", "file")


def run_kernels(
    profiles: Profiles, k: int, m: int, target: str, values: dict[str, float], ties: str = "last"
) -> tuple[list[set[int]], int]:
    """Return what Algorithm 1 keeps of each history, and the number of passes."""
    name = f"km(k={k}, m={m}, target={target}, algorithm=paper, ties={ties})"
    kept = run_method(profiles, name, TermValues(values), seed=7)
    bounds = zip(profiles.indptr, profiles.indptr[1:], strict=False)
    return [set(profiles.ids[a:b][kept.mask[a:b]].tolist()) for a, b in bounds], kept.summary["passes"]


def run_twin(
    profiles: Profiles, k: int, m: int, target: str, values: dict[str, float], ties: str = "last"
) -> tuple[list[set[int]], int]:
    utility: list[float] = []
    if target not in ("random", "fis"):
        utility = declarations("target")[target].load()(profiles, TermValues(values)).tolist()
    seed = int(np.random.default_rng(7).integers(0, 2**64, size=1, dtype=np.uint64)[0])
    return algorithm_1(rows(profiles), profiles.owner.tolist(), k, m, target, utility, seed, ties)


@st.composite
def small_logs(draw: st.DrawFn) -> Profiles:
    n_terms = draw(st.integers(2, 9))
    terms = st.lists(st.sampled_from([f"t{i}" for i in range(n_terms)]), min_size=1, max_size=9)
    histories = draw(st.lists(terms, min_size=2, max_size=14))
    owners = draw(st.lists(st.integers(0, 9), min_size=len(histories), max_size=len(histories)))
    several = draw(st.booleans())
    return profiles_of(histories, owners if several else None)


@settings(max_examples=200)
@given(
    small_logs(),
    st.integers(2, 3),
    st.integers(1, 4),
    st.sampled_from(TARGETS),
    st.sampled_from(("last", "random")),
    st.sampled_from((3, 100)),
    st.sampled_from(
        (0, 20, PAIRS)
    ),  # so that the pairs of no history, of the first ones or of all are found beforehand
)
def test_kernels_match_reference_implementation(
    profiles: Profiles, k: int, m: int, target: str, ties: str, range_postings: int, max_pairs: int
) -> None:
    if k > profiles.n_people:
        return
    values = {"t0": 3.0, "t1": 1.0, "t3": 0.5}
    with patch.object(deletion, "RANGE_POSTINGS", range_postings), patch.object(deletion, "PAIRS", max_pairs):
        assert run_kernels(profiles, k, m, target, values, ties) == run_twin(profiles, k, m, target, values, ties)


def long_log(lengths: list[int], n_terms: int, seed: int) -> Profiles:
    """Make a log of long histories that share many of their terms."""
    rng = np.random.default_rng(seed)
    return profiles_of([[f"t{i:04}" for i in rng.choice(n_terms, n, replace=False)] for n in lengths])


@pytest.mark.parametrize(
    ("lengths", "n_terms", "k", "m", "target"),
    [
        ([*range(65, 200, 5)], 260, 3, 2, "logsize"),
        ([*range(129, 200, 6)], 220, 5, 2, "distinct"),
        ([*range(66, 90)], 120, 5, 2, "fis"),
        ([*range(65, 77)], 80, 4, 3, "logsize"),
        ([*range(65, 72)], 74, 3, 3, "random"),
    ],
)
def test_kernels_match_reference_implementation_where_bits_fill_several_words(
    lengths: list[int], n_terms: int, k: int, m: int, target: str
) -> None:
    profiles = long_log(lengths, n_terms, seed=k)
    kept, passes = run_kernels(profiles, k, m, target, {})
    assert (kept, passes) == run_twin(profiles, k, m, target, {})
    assert any(kept) and sum(map(len, kept)) < len(profiles.ids)


def test_kernels_match_reference_implementation_where_pairs_are_not_listed() -> None:
    profiles = long_log([*[LISTED + 70] * 3, *[200] * 5], LISTED + 270, seed=1)
    assert run_kernels(profiles, 3, 2, "logsize", {}) == run_twin(profiles, 3, 2, "logsize", {})


def test_kernels_match_reference_implementation_where_triples_are_not_marked() -> None:
    """One history has all terms, others two fifths each: all pairs are frequent, triples of three fifths are not."""
    fifths = [[f"t{i:04}" for i in range(first, first + MARKED // 5 + 1)] for first in range(0, 500, 100)]
    profiles = profiles_of([[*chain.from_iterable(fifths)], *(a + b for a, b in subsets(fifths, 2))])
    assert np.diff(profiles.indptr).max() > MARKED
    assert run_kernels(profiles, 2, 3, "logsize", {}) == run_twin(profiles, 2, 3, "logsize", {})


@pytest.mark.parametrize("n_owners", [30, 12])
def test_kernels_match_reference_implementation_where_pairs_have_no_room(n_owners: int) -> None:
    rng = np.random.default_rng(4)
    owners = sorted(i % n_owners for i in range(30))
    profiles = profiles_of(
        [[f"t{i}" for i in rng.choice(9, rng.integers(1, 9), replace=False)] for _ in owners], owners
    )
    with uncompiled(), patch.object(triples, "LISTED", 3):
        assert run_kernels(profiles, 3, 3, "logsize", {}) == run_twin(profiles, 3, 3, "logsize", {})
