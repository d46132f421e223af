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
_FAR = 1 << 62
_STEPS = (4, 4, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1)  # by which prices change, round after round


class Sides(NamedTuple):
    """Two sides to match, and what is matched so far."""

    edges: NDArray[np.int64]  # (rows + 1,): where the pairs of each row stand
    column: NDArray[np.int32]  # (pairs,)
    cost: NDArray[np.int64]  # (pairs,): below 0
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
    in_tree: NDArray[np.bool_]  # (rows,): all False between two searches
    tree: NDArray[np.int32]  # (rows,): those reached, in order
    nearest: NDArray[np.int64]  # (columns,): far between two searches
    from_row: NDArray[np.int32]  # (columns,)
    seen: NDArray[np.int32]  # (columns,): those with a way to them, in no order


@jit
def make_sides(
    edges: NDArray[np.int64],
    column: NDArray[np.int32],
    cost: NDArray[np.int64],
    supply: NDArray[np.int64],
    room: NDArray[np.int64],
) -> Sides:
    """Return two sides of which nothing is matched yet."""
    n_columns = len(room)
    place = np.zeros(n_columns + 1, np.int64)
    place[1:] = np.cumsum(room)
    taken = np.full(place[n_columns], NONE, np.int32)
    used, v = np.zeros(n_columns, np.int64), np.zeros(n_columns, np.int64)
    return Sides(edges, column, cost, supply.copy(), room, used, place, taken, np.zeros(len(supply), np.int64), v)


@jit
def assign(sides: Sides, least: int, most: int) -> tuple[int, bool]:
    """Match at the lowest cost; return it, and whether the work was done to its end.

    It is given up once the cost is seen to be below `least` or above `most`; what is returned then lies there too.
    """
    n_rows, n_columns = len(sides.left), len(sides.room)
    total = _begin(sides)
    search = Search(
        np.empty(n_rows, np.int64),
        np.empty(n_rows, np.int32),
        np.zeros(n_rows, np.bool_),
        np.empty(n_rows, np.int32),
        np.full(n_columns, _FAR, np.int64),
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
            total += _augment(sides, search, row) * sides.u[row]
    return total, True


@jit
def ascend(sides: Sides, prices: NDArray[np.int64], most: int) -> int:
    """Return a cost that the lowest is not below, from prices of the rows, which are made better as long as it helps.

    A row that more columns want than it has occurrences gets dearer, one that fewer want cheaper. It ends once the cost
    is seen to be above `most`.
    """
    n_columns = len(sides.room)
    lowest, wanted = np.zeros(n_columns, np.int64), np.full(n_columns, NONE, np.int32)
    demand = np.zeros(len(prices), np.int64)
    best = -_FAR
    for step in _STEPS:
        lowest[:], wanted[:], demand[:] = 0, NONE, 0
        total = 0
        for row in range(len(prices)):
            total += prices[row] * sides.left[row]
            for e in range(sides.edges[row], sides.edges[row + 1]):
                column = sides.column[e]
                if sides.cost[e] - prices[row] < lowest[column]:
                    lowest[column], wanted[column] = sides.cost[e] - prices[row], row
        for column in range(n_columns):
            total += lowest[column] * sides.room[column]
            if wanted[column] != NONE:
                demand[wanted[column]] += sides.room[column]
        best = max(best, total)
        if best > most:
            break
        for row in range(len(prices)):
            if demand[row] > sides.left[row]:
                prices[row] -= step
            elif demand[row] < sides.left[row]:
                prices[row] = min(0, prices[row] + step)
    return best


@jit
def _begin(sides: Sides) -> int:
    """Give every row its cheapest columns as far as they have room; return what that costs."""
    left, room, used = sides.left, sides.room, sides.used
    total = 0
    for row in range(len(left)):
        begin, end = sides.edges[row], sides.edges[row + 1]
        lowest = 0
        for e in range(begin, end):
            lowest = min(lowest, sides.cost[e])
        sides.u[row] = lowest
        for e in range(begin, end):
            column = sides.column[e]
            if sides.cost[e] == lowest and used[column] < room[column]:
                amount = min(left[row], room[column] - used[column])
                first = sides.place[column] + used[column]
                sides.taken[first : first + amount] = row
                used[column] += amount
                left[row] -= amount
                total += amount * lowest
                if left[row] == 0:
                    break
    return total


@jit
def _augment(sides: Sides, search: Search, source: int) -> int:
    """Put as many occurrences of a row in as the cheapest way takes, and return their number.

    At its end a column has room, or some row's occurrences are alone, those of the row itself perhaps.
    """
    u, v, nearest, seen = sides.u, sides.v, search.nearest, search.seen
    n_tree, n_seen, n_reached, n_scanned = 1, 0, 0, 0  # of the columns seen, those reached stand first
    search.tree[0], search.distance[source], search.in_tree[source] = source, 0, True
    alone, lonely, end = _FAR, NONE, NONE
    while True:
        while n_scanned < n_tree:
            row = search.tree[n_scanned]
            n_scanned += 1
            base = search.distance[row] - u[row]
            if base < alone:
                alone, lonely = base, row
            for e in range(sides.edges[row], sides.edges[row + 1]):
                column = sides.column[e]
                way = base + sides.cost[e] - v[column]
                if way < nearest[column] and way < alone:
                    if nearest[column] == _FAR:
                        seen[n_seen] = column
                        n_seen += 1
                    nearest[column], search.from_row[column] = way, row
        found, shortest = NONE, alone
        for i in range(n_reached, n_seen):
            if nearest[seen[i]] < shortest:
                found, shortest = i, nearest[seen[i]]
        if found == NONE:
            end = NONE
            break
        end = seen[found]
        if sides.used[end] < sides.room[end]:
            break
        seen[found], seen[n_reached] = seen[n_reached], end
        n_reached += 1
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
    for i in range(n_seen):
        if i < n_reached:
            v[seen[i]] -= shortest - nearest[seen[i]]
        nearest[seen[i]] = _FAR
    last = lonely if end == NONE else search.from_row[end]
    amount = _width(sides, search, last, source)
    if end != NONE:
        amount = min(amount, sides.room[end] - sides.used[end])
        begin = sides.place[end] + sides.used[end]
        sides.taken[begin : begin + amount] = last
        sides.used[end] += amount
    _shift(sides, search, last, source, amount)
    sides.left[source] -= amount
    return amount


@jit
def _width(sides: Sides, search: Search, row: int, source: int) -> int:
    """Return how many occurrences a way takes, from its end back to its source."""
    amount = sides.left[source]
    while row != source:
        column, held = search.from_column[row], 0
        for t in range(sides.place[column], sides.place[column + 1]):
            held += sides.taken[t] == row
        amount = min(amount, held)
        row = search.from_row[column]
    return amount


@jit
def _shift(sides: Sides, search: Search, row: int, source: int, amount: int) -> None:
    """Free, from the end of a way back to its source, so many places of every row on it for the row before."""
    while row != source:
        column, moved = search.from_column[row], 0
        t = sides.place[column]
        while moved < amount:
            if sides.taken[t] == row:
                sides.taken[t] = search.from_row[column]
                moved += 1
            t += 1
        row = search.from_row[column]
