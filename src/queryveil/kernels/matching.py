"""The minimum-weight matching of bags with terms: one solver for every distance and every canonical matching.

Rows are different bags, columns different terms, each with a number of occurrences. A pair costs what it saves: the sum
of its distances less what both cost if they stay alone, so that only pairs below 0 are matched at all. Occurrences are
put in one after the other by shortest augmenting paths; prices of rows and columns never exceed 0, and say at any time
how low the cost may still get. See docs/decisions/0018.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit

NONE = -1


class Sides(NamedTuple):
    """Two sides to match, and what is matched so far."""

    cost: NDArray[np.int64]  # (rows, columns): below 0 where a pair may be matched
    left: NDArray[np.int64]  # (rows,): occurrences that are not yet put in
    room: NDArray[np.int64]  # (columns,): occurrences
    used: NDArray[np.int64]  # (columns,): of these, how many are matched
    place: NDArray[np.int64]  # (columns + 1,): where the occurrences of a column stand in `taken`
    taken: NDArray[np.int32]  # (column occurrences,): the row each is matched with, the used ones of a column first
    u: NDArray[np.int64]  # (rows,): prices
    v: NDArray[np.int64]  # (columns,)


class Search(NamedTuple):
    """Room for a search of shortest ways."""

    distance: NDArray[np.int64]  # (rows,)
    from_column: NDArray[np.int32]  # (rows,)
    in_tree: NDArray[np.bool_]  # (rows,)
    tree: NDArray[np.int32]  # (rows,): those reached, in order
    nearest: NDArray[np.int64]  # (columns,): below 0 once reached
    from_row: NDArray[np.int32]  # (columns,)
    reached: NDArray[np.int32]  # (columns,): in order


@jit
def make_sides(cost: NDArray[np.int64], supply: NDArray[np.int64], room: NDArray[np.int64]) -> Sides:
    """Return two sides of which nothing is matched yet."""
    n_rows, n_columns = cost.shape
    place = np.zeros(n_columns + 1, np.int64)
    place[1:] = np.cumsum(room)
    taken = np.full(place[n_columns], NONE, np.int32)
    used = np.zeros(n_columns, np.int64)
    u, v = np.zeros(n_rows, np.int64), np.zeros(n_columns, np.int64)
    return Sides(cost, supply.copy(), room, used, place, taken, u, v)


@jit
def assign(sides: Sides, least: int, most: int) -> tuple[int, bool]:
    """Match at the lowest cost; return it, and whether the work was done to its end.

    It is given up once the cost is seen to be below `least` or above `most`; what is returned then lies there too.
    """
    n_rows, n_columns = sides.cost.shape
    total = _begin(sides)
    search = Search(
        np.empty(n_rows, np.int64),
        np.empty(n_rows, np.int32),
        np.zeros(n_rows, np.bool_),
        np.empty(n_rows, np.int32),
        np.empty(n_columns, np.int64),
        np.empty(n_columns, np.int32),
        np.empty(n_columns, np.int32),
    )
    for row in range(n_rows):
        while sides.left[row] > 0 and sides.u[row] < 0:
            if total < least:
                return total, False
            bound = total
            for other in range(row, n_rows):
                bound += sides.left[other] * sides.u[other]
            if bound > most:
                return bound, False
            sides.left[row] -= 1
            _augment(sides, search, row)
            total += sides.u[row]
    return total, True


@jit
def _begin(sides: Sides) -> int:
    """Give every row its cheapest columns as far as they have room; return what that costs."""
    cost, left, room, used = sides.cost, sides.left, sides.room, sides.used
    n_columns = len(room)
    total = 0
    for row in range(len(left)):
        lowest = 0
        for column in range(n_columns):
            lowest = min(lowest, cost[row, column])
        sides.u[row] = lowest
        if lowest == 0:
            continue
        for column in range(n_columns):
            if cost[row, column] == lowest and used[column] < room[column]:
                amount = min(left[row], room[column] - used[column])
                begin = sides.place[column] + used[column]
                sides.taken[begin : begin + amount] = row
                used[column] += amount
                left[row] -= amount
                total += amount * lowest
                if left[row] == 0:
                    break
    return total


@jit
def _augment(sides: Sides, search: Search, source: int) -> None:
    """Put one occurrence of a row in by the cheapest way, at whose end a column has room or some row's one is alone."""
    cost, u, v, nearest = sides.cost, sides.u, sides.v, search.nearest
    n_columns = len(v)
    far = np.int64(1) << 61
    nearest[:] = far
    n_tree, n_reached, n_scanned = 1, 0, 0
    search.tree[0], search.distance[source], search.in_tree[source] = source, 0, True
    search.from_column[source] = NONE
    alone, lonely, end, shortest = far, NONE, NONE, far
    while True:
        while n_scanned < n_tree:
            row = search.tree[n_scanned]
            n_scanned += 1
            base = search.distance[row] - u[row]
            if base < alone:
                alone, lonely = base, row
            for column in range(n_columns):
                way = base + cost[row, column] - v[column]
                if way < nearest[column] and cost[row, column] < 0:
                    nearest[column], search.from_row[column] = way, row
        end, shortest = NONE, alone
        for column in range(n_columns):
            if 0 <= nearest[column] < shortest:
                end, shortest = column, nearest[column]
        if end == NONE or sides.used[end] < sides.room[end]:
            break
        search.reached[n_reached] = end
        n_reached += 1
        nearest[end] = -1 - shortest  # no way is shorter than that, so it is not reached again
        for t in range(sides.place[end], sides.place[end + 1]):
            row = sides.taken[t]
            if not search.in_tree[row]:
                search.in_tree[row], search.distance[row], search.from_column[row] = True, shortest, end
                search.tree[n_tree] = row
                n_tree += 1
    for i in range(n_tree):
        row = search.tree[i]
        u[row] += shortest - search.distance[row]
        search.in_tree[row] = False
    for i in range(n_reached):
        column = search.reached[i]
        v[column] -= shortest + 1 + nearest[column]
    row = lonely
    if end != NONE:
        row = search.from_row[end]
        sides.taken[sides.place[end] + sides.used[end]] = row
        sides.used[end] += 1
    _shift(sides, search, row, source)


@jit
def _shift(sides: Sides, search: Search, row: int, source: int) -> None:
    """Free, from the end of a way back to its source, one place of every row on it for the row before."""
    while row != source:
        column = search.from_column[row]
        before = search.from_row[column]
        t = sides.place[column]
        while sides.taken[t] != row:
            t += 1
        sides.taken[t] = before
        row = before
