"""Two sides to match from a table of what every pair costs."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.matching import Sides, make_sides


@jit
def sides_of(table: NDArray[np.int64], supply: NDArray[np.int64], room: NDArray[np.int64]) -> Sides:
    """Return the sides of which nothing is matched yet; pairs that cost 0 or more are never matched."""
    n_rows, n_columns = table.shape
    edges = np.zeros(n_rows + 1, np.int64)
    column, cost = np.empty(n_rows * n_columns, np.int32), np.empty(n_rows * n_columns, np.int64)
    n_pairs = 0
    for i in range(n_rows):
        for j in range(n_columns):
            if table[i, j] < 0:
                column[n_pairs], cost[n_pairs] = j, table[i, j]
                n_pairs += 1
        edges[i + 1] = n_pairs
    return make_sides(edges, column[:n_pairs], cost[:n_pairs], supply, room)
