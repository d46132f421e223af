"""Exchange members between groups of rows, one for one, so that the groups become more similar and stay legal.

The similarity of a group is the length of the sum of its rows, which is the sum of the cosines of its members with it.
A member looks for the group whose length it would raise most, through an inverted index of the sums at the beginning
of a pass, and changes places with the member of that group for which both lengths together grow most.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.grouping.greedy import (
    FeatureRows,
    GroupRule,
    GroupTally,
    clear_tally,
    count_row,
    invert_rows,
    is_legal,
    just_above,
    square_of,
)

_SPARSE = 8  # a dimension that one group in so many has, or more, gets a row of all groups
_OWN, _GUEST = 0, 1  # columns of `ExchangeState.dense`: the sum of a group, and one row


class ExchangeState(NamedTuple):
    """Groups of rows, the similarity of members to their group, and an index of the groups' sums."""

    members: NDArray[np.int64]  # (rows,): group by group
    start: NDArray[np.int64]  # (groups + 1,)
    length: NDArray[np.float64]  # (groups,): of the sum of the members
    to_own: NDArray[np.float64]  # (rows,): dot product with the sum of the own group
    post_start: NDArray[np.int64]  # (dimensions + 1,)
    post_group: NDArray[np.int32]
    post_value: NDArray[np.float64]  # of the sum in the dimension
    common_of: NDArray[np.int32]  # (dimensions,): the row in `_common_sums` of each that many groups have, else -1
    score: NDArray[np.float64]  # (groups,): dot product of a row with the sum
    dense: NDArray[np.float64]  # (dimensions, 2): zero between two calls


@jit
def _add(rows: FeatureRows, row: int, dense: NDArray[np.float64], column: int) -> None:
    for j in range(rows.feature_indptr[row], rows.feature_indptr[row + 1]):
        dense[rows.feature_ids[j], column] += rows.feature_values[j]


@jit
def _clear(rows: FeatureRows, row: int, dense: NDArray[np.float64], column: int) -> None:
    for j in range(rows.feature_indptr[row], rows.feature_indptr[row + 1]):
        dense[rows.feature_ids[j], column] = 0.0


@jit
def _dots(rows: FeatureRows, row: int, dense: NDArray[np.float64]) -> tuple[float, float]:
    """Return the dot products of a row with both columns."""
    own = guest = 0.0
    for j in range(rows.feature_indptr[row], rows.feature_indptr[row + 1]):
        own += dense[rows.feature_ids[j], _OWN] * rows.feature_values[j]
        guest += dense[rows.feature_ids[j], _GUEST] * rows.feature_values[j]
    return own, guest


@jit
def _load_group(rows: FeatureRows, state: ExchangeState, g: int) -> None:
    """Set the dense sum of a group, its length and the similarity of its members to it."""
    members, square = state.members[state.start[g] : state.start[g + 1]], 0.0
    for row in members:
        _add(rows, row, state.dense, _OWN)
    for row in members:
        state.to_own[row], _ = _dots(rows, row, state.dense)
        square += state.to_own[row]
    state.length[g] = np.sqrt(square)


@jit
def _unload_group(rows: FeatureRows, state: ExchangeState, g: int) -> None:
    for row in state.members[state.start[g] : state.start[g + 1]]:
        _clear(rows, row, state.dense, _OWN)


@jit
def _start(rows: FeatureRows, group: NDArray[np.int32], n_groups: int) -> ExchangeState:
    """Return the state before a pass; rows with a negative group take no part."""
    members = np.argsort(group, kind="mergesort")[np.count_nonzero(group < 0) :]
    ids, values = np.empty(len(rows.feature_ids), np.int32), np.empty(len(rows.feature_ids))
    post_start, post_group = np.empty(rows.n_dimensions + 1, np.int64), np.empty(len(ids), np.int32)
    state = ExchangeState(
        members,
        np.searchsorted(group[members], np.arange(n_groups + 1)),
        np.zeros(n_groups),
        np.zeros(len(group)),
        post_start,
        post_group,
        np.empty(len(ids)),
        np.full(rows.n_dimensions, -1, np.int32),
        np.zeros(n_groups),
        np.zeros((rows.n_dimensions, 2)),
    )
    indptr, n = np.zeros(n_groups + 1, np.int64), 0
    for g in range(n_groups):
        _load_group(rows, state, g)
        for row in members[state.start[g] : state.start[g + 1]]:
            for dimension in rows.feature_ids[rows.feature_indptr[row] : rows.feature_indptr[row + 1]]:
                if state.dense[dimension, _OWN] != 0.0:
                    ids[n], values[n] = dimension, state.dense[dimension, _OWN]
                    state.dense[dimension, _OWN] = 0.0
                    n += 1
        indptr[g + 1] = n
    position = np.empty(len(ids), np.int64)
    invert_rows(indptr, ids, np.arange(n_groups).astype(np.int32), post_start, post_group, position)
    state.post_value[:n] = values[position[:n]]
    return state


@jit
def _common_sums(state: ExchangeState) -> NDArray[np.float64]:
    """Return the groups' sums in the dimensions that many groups have, and set where each of these is."""
    n_groups, n_common = len(state.length), 0
    for dimension in range(len(state.common_of)):
        if _SPARSE * (state.post_start[dimension + 1] - state.post_start[dimension]) >= max(1, n_groups):
            state.common_of[dimension] = n_common
            n_common += 1
    common = np.zeros((n_common, n_groups))
    for dimension in range(len(state.common_of)):
        if state.common_of[dimension] >= 0:
            for i in range(state.post_start[dimension], state.post_start[dimension + 1]):
                common[state.common_of[dimension], state.post_group[i]] = state.post_value[i]
    return common


@jit
def _closest_other(rows: FeatureRows, state: ExchangeState, common: NDArray[np.float64], row: int, g: int) -> int:
    """Return the group other than its own whose length a row would raise by most, and by more than its own, or -1."""
    score, length = state.score, state.length
    score[:] = 0.0
    for j in range(rows.feature_indptr[row], rows.feature_indptr[row + 1]):
        value, dimension = rows.feature_values[j], rows.feature_ids[j]
        if state.common_of[dimension] >= 0:
            sums = common[state.common_of[dimension]]
            for other in range(len(score)):
                score[other] += value * sums[other]
        else:
            for i in range(state.post_start[dimension], state.post_start[dimension + 1]):
                score[state.post_group[i]] += value * state.post_value[i]
    square = square_of(rows, row)
    without = length[g] ** 2 - 2 * state.to_own[row] + square
    best, gain = -1, just_above(length[g] - np.sqrt(max(0.0, without)))
    for other in range(len(score)):
        # length' > length + gain, without a root: length'² = length² + 2 · score + square
        if 2 * score[other] + square > gain * (gain + 2 * length[other]) and other != g:
            raised = np.sqrt(length[other] ** 2 + 2 * score[other] + square) - length[other]
            best, gain = other, just_above(raised)
    return best


@jit
def _is_legal_with(
    rows: FeatureRows, rule: GroupRule, tally: GroupTally, state: ExchangeState, g: int, out: int, into: int
) -> bool:
    """Return whether a group is legal with one row instead of another."""
    for row in state.members[state.start[g] : state.start[g + 1]]:
        count_row(tally, rows, into if row == out else row)
    answer = is_legal(tally, rule)
    clear_tally(tally)
    return answer


@jit
def _lengths_after(rows: FeatureRows, state: ExchangeState, row: int, g: int, other: int) -> NDArray[np.float64]:
    """Return the sum of both groups' lengths after a row has changed places with each member of another group."""
    members, length = state.members[state.start[other] : state.start[other + 1]], state.length
    to_loaded, to_row = np.empty(len(members)), np.empty(len(members))
    _add(rows, row, state.dense, _GUEST)
    for i in range(len(members)):
        to_loaded[i], to_row[i] = _dots(rows, members[i], state.dense)
    _clear(rows, row, state.dense, _GUEST)
    total, to_other = np.empty(len(members)), to_row.sum()
    for i in range(len(members)):
        both = square_of(rows, row) + square_of(rows, members[i]) - 2 * to_row[i]
        square = length[g] ** 2 + both + 2 * (to_loaded[i] - state.to_own[row])
        other_square = length[other] ** 2 + both + 2 * (to_other - state.to_own[members[i]])
        total[i] = np.sqrt(max(0.0, square)) + np.sqrt(max(0.0, other_square))
    return total


@jit
def _best_partner(
    rows: FeatureRows, rule: GroupRule, tally: GroupTally, state: ExchangeState, position: int, g: int, other: int
) -> int:
    """Return the position of the member of another group with which a member should change places, or -1."""
    row, least = state.members[position], just_above(state.length[g] + state.length[other])
    total = _lengths_after(rows, state, row, g, other)
    while True:
        i = np.argmax(total)
        if total[i] <= least:
            return -1
        partner = state.members[state.start[other] + i]
        if _is_legal_with(rows, rule, tally, state, g, row, partner) and _is_legal_with(
            rows, rule, tally, state, other, partner, row
        ):
            return state.start[other] + i
        total[i] = 0.0


@jit
def _swap(rows: FeatureRows, state: ExchangeState, group: NDArray[np.int32], position: int, place: int) -> None:
    """Let a member of the loaded group change places with a member of another one."""
    members = state.members
    own, other = group[members[position]], group[members[place]]
    _unload_group(rows, state, own)
    members[position], members[place] = members[place], members[position]
    group[members[position]], group[members[place]] = own, other
    _load_group(rows, state, other)
    _unload_group(rows, state, other)
    _load_group(rows, state, own)


@jit
def exchange_members(
    rows: FeatureRows, rule: GroupRule, tally: GroupTally, group: NDArray[np.int32], n_groups: int
) -> int:
    """Make one pass over the members of all groups, in place; return the number of exchanges."""
    state = _start(rows, group, n_groups)
    common, n_exchanged = _common_sums(state), 0
    for g in range(n_groups):
        _load_group(rows, state, g)
        for position in range(state.start[g], state.start[g + 1]):
            other = _closest_other(rows, state, common, state.members[position], g)
            place = _best_partner(rows, rule, tally, state, position, g, other) if other >= 0 else -1
            if place >= 0:
                _swap(rows, state, group, position, place)
                n_exchanged += 1
        _unload_group(rows, state, g)
    return n_exchanged
