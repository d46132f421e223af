"""The kernels give exactly what Algorithm 1 in plain Python gives, and every result verifies."""

from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.methods import combinations
from queryveil.methods.km import run
from queryveil.methods.utilities import Worth
from queryveil.spec import declarations, resolve
from queryveil.types import Profiles
from tests.builders import profiles_of, rows
from tests.twins.km import algorithm_1

TARGETS = ("random", "fis", "logsize", "users", "distinct", "file")


def kept_rows(profiles: Profiles, k: int, m: int, target: str, values: dict[str, float]) -> list[set[int]]:
    kept = run(
        profiles,
        resolve("method", f"km(k={k}, m={m}, target={target}, algorithm=paper)"),
        rng=np.random.default_rng(7),
        worth=Worth(values),
    )
    bounds = zip(profiles.indptr, profiles.indptr[1:], strict=False)
    return [set(profiles.ids[a:b][kept.mask[a:b]].tolist()) for a, b in bounds]


def twin_rows(profiles: Profiles, k: int, m: int, target: str, values: dict[str, float]) -> list[set[int]]:
    utility: list[float] = []
    if target not in ("random", "fis"):
        utility = declarations("target")[target].load()(profiles, Worth(values)).tolist()
    seed = int(np.random.default_rng(7).integers(0, 2**64, size=1, dtype=np.uint64)[0])
    return algorithm_1(rows(profiles), profiles.owner.tolist(), k, m, target, utility, seed)


@st.composite
def small_logs(draw: st.DrawFn) -> Profiles:
    n_terms = draw(st.integers(2, 9))
    terms = st.lists(st.sampled_from([f"t{i}" for i in range(n_terms)]), min_size=1, max_size=9)
    histories = draw(st.lists(terms, min_size=2, max_size=14))
    owners = draw(st.lists(st.integers(0, 9), min_size=len(histories), max_size=len(histories)))
    several = draw(st.booleans())
    return profiles_of(histories, owners if several else None)


@settings(max_examples=400, deadline=None)
@given(small_logs(), st.integers(2, 3), st.integers(1, 4), st.sampled_from(TARGETS), st.sampled_from((3, 100)))
def test_kernels_equal_twin(profiles: Profiles, k: int, m: int, target: str, range_postings: int) -> None:
    if k > profiles.n_people:
        return
    values = {"t0": 3.0, "t1": 1.0, "t3": 0.5}
    with patch.object(combinations, "RANGE_POSTINGS", range_postings):
        assert kept_rows(profiles, k, m, target, values) == twin_rows(profiles, k, m, target, values)
