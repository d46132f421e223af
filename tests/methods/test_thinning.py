"""km with thin: (k,m)-anonymous, within the share, and terms that could have stayed are among what is missing."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.errors import UnknownNameError
from queryveil.histories.profiles import Profiles
from tests.builders import profiles_of, run_method
from tests.twins.inference import supports

HISTORIES = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5), min_size=6, max_size=24)


def kept_terms(profiles: Profiles, mask: np.ndarray) -> list[set[str]]:
    bounds = zip(profiles.indptr, profiles.indptr[1:], strict=False)
    return [{profiles.vocabulary[i] for i in profiles.ids[a:b][mask[a:b]]} for a, b in bounds]


@settings(max_examples=60)
@given(HISTORIES, st.booleans(), st.integers(2, 3), st.integers(1, 3), st.sampled_from((0.1, 0.5)))
def test_a_thinned_log_is_anonymous_and_keeps_all_but_the_share(
    histories: Sequence[Sequence[str]], several: bool, k: int, m: int, share: float
) -> None:
    owners = [i // 2 for i in range(len(histories))] if several else list(range(len(histories)))
    profiles = profiles_of(histories, owners)
    plain = run_method(profiles, f"km(k={k}, m={m})", seed=1).mask
    outcome = run_method(profiles, f"km(k={k}, m={m}, thin={share})", seed=1)
    kept, before = kept_terms(profiles, outcome.mask), kept_terms(profiles, plain)
    assert min(supports(kept, profiles.owner.tolist(), m), default=k) >= k
    assert not (outcome.mask & ~plain).any()
    lost = [len(more) - len(less) for more, less in zip(before, kept, strict=True)]
    assert sum(lost) == outcome.summary["pairs deleted without need"] <= share * plain.sum()
    assert max(lost) <= 1
    assert all(bool(less) == bool(more) for more, less in zip(before, kept, strict=True))


def test_what_could_have_stayed_is_missing_and_by_the_seed() -> None:
    profiles = profiles_of([["a", "b"]] * 30)
    one, same, other = (run_method(profiles, "km(k=5, m=2, thin=0.1)", seed=seed).mask for seed in (1, 1, 2))
    assert len(one) - int(one.sum()) == 6
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_nothing_goes_that_others_need() -> None:
    """Five people share a and b at k = 5: nothing can be spared."""
    profiles = profiles_of([["a", "b"]] * 5)
    assert run_method(profiles, "km(k=5, m=2, thin=0.5)").mask.all()


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"thin must be a number above 0 and at most 0\.5"):
        run_method(profiles_of([["a"]] * 5), "km(k=5, m=2, thin=0)")
