"""Minimum-weight bipartite matching of bags with terms, by shortest augmenting paths (docs/decisions/0018).

Rows are distinct bags, columns distinct terms, each with a number of occurrences. The cost of a pair is the sum of its
distances less the cost of both unmatched, so only pairs below 0 are matched at all. The dual prices of rows and columns
never exceed 0, and give a lower bound of the final cost at any time.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit

NONE = -1
_FAR = 1 << 62


class Sides(NamedTuple):
    """The two sides of a matching problem, and the matching so far."""

    cost: NDArray[np.int64]  # (rows, columns): pairs of 0 or more are never matched
    left: NDArray[np.int64]  # (rows,): occurrences not matched yet
    room: NDArray[np.int64]  # (columns,): occurrences
    used: NDArray[np.int64]  # (columns,): how many of these are matched
    position: NDArray[np.int64]  # (columns + 1,): where the occurrences of a column begin in `taken`
    taken: NDArray[np.int32]  # (column occurrences,): the matched row, used ones of a column first
    u: NDArray[np.int64]  # (rows,): dual prices
    v: NDArray[np.int64]  # (columns,)


class Search(NamedTuple):
    """Scratch space of a search for shortest augmenting paths."""

    distance: NDArray[np.int64]  # (rows,)
    from_column: NDArray[np.int64]  # (rows,)
    in_tree: NDArray[np.bool_]  # (rows,): all False between two searches
    tree: NDArray[np.int64]  # (rows,): rows reached, in order
    nearest: NDArray[np.int64]  # (columns,)
    from_row: NDArray[np.int64]  # (columns,)
    closed: NDArray[np.int64]  # (columns,): _FAR if reached, otherwise 0
    reached: NDArray[np.int64]  # (columns,): columns reached, in order


@jit
def make_sides(cost: NDArray[np.int64], supply: NDArray[np.int64], room: NDArray[np.int64]) -> Sides:
    """Return a matching problem of which nothing is matched yet."""
    n_rows, n_columns = cost.shape
    position = np.zeros(n_columns + 1, np.int64)
    for c in range(n_columns):
        position[c + 1] = position[c] + room[c]
    taken, left = np.empty(position[n_columns], np.int32), np.empty(n_rows, np.int64)
    for t in range(len(taken)):  # assigning a number to a whole array takes long to compile
        taken[t] = NONE
    for row in range(n_rows):
        left[row] = supply[row]
    used, v = np.zeros(n_columns, np.int64), np.zeros(n_columns, np.int64)
    return Sides(cost, left, room, used, position, taken, np.zeros(n_rows, np.int64), v)


@jit
def assign(sides: Sides, least: int, most: int) -> tuple[int, bool]:
    """Match at the lowest cost; return the cost, and whether the matching was finished.

    It stops once the cost is known to be below `least` or above `most`; the returned bound is so too.
    """
    n_rows, n_columns = sides.cost.shape
    total = _match_greedily(sides)
    by_row, by_column = np.empty((3, n_rows), np.int64), np.empty((4, n_columns), np.int64)
    in_tree = np.zeros(n_rows, np.bool_)
    search = Search(by_row[0], by_row[1], in_tree, by_row[2], by_column[0], by_column[1], by_column[2], by_column[3])
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
def finish(sides: Sides) -> int:
    """Match at the lowest cost, and return it; costs that do not fit are an error, not a poor matching."""
    n_left, n_room, lowest = 0, 0, 0
    for row in range(len(sides.left)):
        n_left += sides.left[row]
        for cost in sides.cost[row]:
            lowest = min(lowest, cost)
    for room in sides.room:
        n_room += room
    if float(min(n_left, n_room)) * float(lowest) <= -float(_FAR):
        raise OverflowError("the costs of a matching do not fit 62 bits; use fewer or shorter vocabularies")
    total, is_done = assign(sides, -_FAR, _FAR)
    assert is_done
    return total


@jit
def _match_greedily(sides: Sides) -> int:
    """Match every row with its cheapest columns as far as they have room; return the cost."""
    cost, left, room, used, u = sides.cost, sides.left, sides.room, sides.used, sides.u
    position, taken = sides.position, sides.taken
    total = 0
    for row in range(len(left)):
        lowest = 0
        for column in range(len(room)):
            lowest = min(lowest, cost[row, column])
        u[row] = lowest
        for column in range(len(room)):
            if lowest == 0 or left[row] == 0:
                break
            if cost[row, column] == lowest and used[column] < room[column]:
                amount = min(left[row], room[column] - used[column])
                first = position[column] + used[column]
                for t in range(first, first + amount):
                    taken[t] = row
                used[column] += amount
                left[row] -= amount
                total += amount * lowest
    return total


@jit
def _augment(sides: Sides, search: Search, source: int) -> int:
    """Match as many occurrences of a row as the cheapest augmenting path allows, and return their number.

    The path ends at a column with room, or at a row (possibly the source) whose occurrences become unmatched.
    """
    u, v = sides.u, sides.v
    end, last, shortest, n_tree, n_reached = _shortest_path(sides, search, source)
    for i in range(n_tree):
        row = search.tree[i]
        u[row] += shortest - search.distance[row]
        search.in_tree[row] = False
    for i in range(n_reached):
        column = search.reached[i]
        v[column] -= shortest - search.nearest[column]
    amount = _width(sides, search, last, source)
    if end != NONE:
        amount = min(amount, sides.room[end] - sides.used[end])
        begin = sides.position[end] + sides.used[end]
        for t in range(begin, begin + amount):
            sides.taken[t] = last
        sides.used[end] += amount
    _shift(sides, search, last, source, amount)
    sides.left[source] -= amount
    return amount


@jit
def _shortest_path(sides: Sides, search: Search, source: int) -> tuple[int, int, int, int, int]:
    """Return the last column (or NONE), last row and length of the shortest path, and how many nodes it reached."""
    nearest, closed = search.nearest, search.closed
    for column in range(len(nearest)):
        nearest[column], closed[column] = _FAR, 0
    n_tree, n_scanned, n_reached = 1, 0, 0
    search.tree[0], search.distance[source], search.in_tree[source] = source, 0, True
    alone, lonely = _FAR, NONE
    while True:
        while n_scanned < n_tree:
            row = search.tree[n_scanned]
            n_scanned += 1
            base = search.distance[row] - sides.u[row]
            if base < alone:
                alone, lonely = base, row
            _scan(base, row, sides, search)
        shortest = _lowest(nearest, closed)
        if shortest >= alone:
            return NONE, lonely, alone, n_tree, n_reached
        end = 0
        while nearest[end] | closed[end] != shortest:
            end += 1
        if sides.used[end] < sides.room[end]:
            return end, search.from_row[end], shortest, n_tree, n_reached
        closed[end], search.reached[n_reached] = _FAR, end
        n_reached += 1
        for t in range(sides.position[end], sides.position[end + 1]):
            row = np.int64(sides.taken[t])
            if not search.in_tree[row]:
                search.in_tree[row], search.distance[row], search.from_column[row] = True, shortest, end
                search.tree[n_tree] = row
                n_tree += 1


@jit
def _scan(base: int, row: int, sides: Sides, search: Search) -> None:
    """Relax the paths to all columns through a row; without a branch, so that the loop is vectorised."""
    costs, v, nearest, from_row = sides.cost[row], sides.v, search.nearest, search.from_row
    for c in range(len(v)):
        length = base + costs[c] - v[c]
        is_shorter = length < nearest[c]
        nearest[c] = length if is_shorter else nearest[c]
        from_row[c] = row if is_shorter else from_row[c]


@jit
def _lowest(nearest: NDArray[np.int64], closed: NDArray[np.int64]) -> int:
    """Return the length of the shortest path to a column that is not closed."""
    lowest = _FAR
    for c in range(len(nearest)):
        lowest = min(lowest, nearest[c] | closed[c])
    return lowest


@jit
def _width(sides: Sides, search: Search, row: int, source: int) -> int:
    """Return how many occurrences can be moved along a path, from its end back to its source."""
    amount = sides.left[source]
    while row != source:
        column, held = search.from_column[row], 0
        for t in range(sides.position[column], sides.position[column + 1]):
            held += sides.taken[t] == row
        amount = min(amount, held)
        row = search.from_row[column]
    return amount


@jit
def _shift(sides: Sides, search: Search, row: int, source: int, amount: int) -> None:
    """Move `amount` occurrences along a path: each row on it gives up occurrences to the row before it."""
    while row != source:
        column, moved = search.from_column[row], 0
        t = sides.position[column]
        while moved < amount:
            if sides.taken[t] == row:
                sides.taken[t] = search.from_row[column]
                moved += 1
            t += 1
        row = search.from_row[column]
