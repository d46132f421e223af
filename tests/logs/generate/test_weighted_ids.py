import numpy as np
import pytest

from queryveil.logs.generate.weighted_ids import Zipf, weighted_ids

DRAWS = 200_000


@pytest.mark.parametrize("law", [Zipf(0.7, 8.0), Zipf(0.95, 300.0), Zipf(1.3, 2.0), Zipf(0.0, 0.0)])
def test_ids_are_drawn_by_the_law(law: Zipf) -> None:
    sampler = weighted_ids([np.arange(50, dtype=np.int32)], law)
    drawn = sampler.draw(np.zeros(DRAWS, np.int64), np.random.default_rng(5))
    expected = (np.arange(1, 51) + law.shift) ** -law.exponent
    np.testing.assert_allclose(np.bincount(drawn, minlength=50) / DRAWS, expected / expected.sum(), atol=0.01)


def test_every_group_draws_its_own_ids() -> None:
    sampler = weighted_ids([np.array([3, 4], np.int32), np.array([7], np.int32)], Zipf(0.9, 1.0))
    groups = np.array([0, 1] * 100)
    drawn = sampler.draw(groups, np.random.default_rng(1))
    assert set(drawn[groups == 0].tolist()) == {3, 4}
    assert set(drawn[groups == 1].tolist()) == {7}


def test_the_ends_of_the_interval_map_to_the_first_and_last_id() -> None:
    sampler = weighted_ids([np.arange(9, dtype=np.int32)], Zipf(0.95, 300.0))
    uniform = np.array([0.0, np.nextafter(1.0, 0.0)])
    assert sampler.pick(np.zeros(2, np.int64), uniform).tolist() == [0, 8]
