from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from queryveil.kernels.order import at_most, lowest, sort_by, sort_range

KEYS = st.lists(st.integers(-3, 5), max_size=30)


@given(KEYS, st.randoms(use_true_random=False), st.integers(0, 30))
def test_positions_are_selected_and_sorted_by_their_keys(keys: list[int], random: Random, n: int) -> None:
    """Equal keys keep their order."""
    numbers = np.array(keys, np.int64)
    some = [place for place in range(len(keys)) if random.random() < 0.7]
    positions = np.array(some, np.int64)
    ordered = sorted(some, key=keys.__getitem__)
    assert sort_by(positions, numbers).tolist() == ordered
    assert lowest(positions, numbers, n).tolist() == ordered[:n]
    assert at_most(positions, numbers, 2).tolist() == [place for place in some if keys[place] <= 2]


@given(KEYS, st.integers(0, 30), st.integers(0, 30))
def test_a_range_is_sorted_in_place(keys: list[int], one: int, other: int) -> None:
    begin, end = sorted((min(one, len(keys)), min(other, len(keys))))
    for values in (np.array(keys, np.int32), np.array(keys, np.int64)):
        sort_range(values, begin, end)
        assert values.tolist() == keys[:begin] + sorted(keys[begin:end]) + keys[end:]
