"""The paper's greedy grouping, from features to the group of every row."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels.grouping import LEFT_OVER, Rows, Rule, Tally, grow_groups, make_course
from queryveil.kernels.grouping_leftovers import gather, merge_left, place_rows
from queryveil.types import Features, Profiles

_BUDGET = 200_000_000  # steps of kernel work between two progress reports: well under a second
ANYBODY = -1.0  # a cosine that everybody has


@dataclass(frozen=True)
class Likeness:
    """Whom the greedy takes next, and whom it never takes."""

    by_seed: bool = False  # the closest to the seed, else to the centroid
    least: float = ANYBODY  # cosine

    @property
    def is_open(self) -> bool:
        """Say whether anybody may be put with anybody."""
        return self.least == ANYBODY


def rows_of(profiles: Profiles, features: Features) -> Rows:
    """Return the rows of all histories, their features at unit length."""
    row = np.repeat(np.arange(profiles.n_histories), np.diff(features.indptr))
    length = np.sqrt(np.bincount(row, features.values**2, minlength=profiles.n_histories))
    values = features.values / length[row]
    return Rows(profiles.indptr, profiles.ids, features.indptr, features.ids, values, features.n_dimensions)


def take(rows: Rows, which: NDArray[np.int64]) -> Rows:
    """Return some of the rows."""
    indptr, place = _places(rows.indptr, which)
    feature_indptr, feature_place = _places(rows.feature_indptr, which)
    ids, values = rows.feature_ids[feature_place], rows.feature_values[feature_place]
    return Rows(indptr, rows.ids[place], feature_indptr, ids, values, rows.n_dimensions)


def _places(indptr: NDArray[np.int64], which: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the row pointers of some rows, and where their pairs stand."""
    sizes = indptr[which + 1] - indptr[which]
    taken = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    return taken, np.arange(taken[-1]) + np.repeat(indptr[which] - taken[:-1], sizes)


def greedy(
    rows: Rows, rule: Rule, likeness: Likeness, tally: Tally, seed: int, report: Callable[[int], None]
) -> NDArray[np.int32]:
    """Return the group of every row, −1 where it fits nowhere; all groups are legal.

    `report` is told how many rows are done, at least about every second.
    """
    course = make_course(rows, seed)
    n_rows = len(course.group)
    while course.whole[3] >= 0:
        grow_groups(rows, rule, tally, course, likeness.by_seed, likeness.least, _BUDGET)
        report(n_rows - int(course.whole[1]))
    group = course.group
    left = np.flatnonzero(group == LEFT_OVER)
    if len(left):
        _place(rows, rule, likeness, tally, group, left, lambda: report(n_rows))
    return _numbered(group)


def _place(
    rows: Rows,
    rule: Rule,
    likeness: Likeness,
    tally: Tally,
    group: NDArray[np.int32],
    left: NDArray[np.int64],
    report: Callable[[], None],
) -> None:
    """Put the rows that are left over into groups, where they fit."""
    groups = gather(rows, group, int(group.max(initial=-1)) + 1)
    turn = 0
    while turn < len(left):
        turn = place_rows(rows, rule, tally, groups, left, turn, likeness.least, _BUDGET)
        report()
    if likeness.is_open and (group == LEFT_OVER).any():
        merge_left(rows, rule, tally, gather(rows, group, len(groups.first)))


def _numbered(group: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return groups numbered from 0 without gaps, −1 for none."""
    number = np.full(len(group) + 1, -1, np.int32)
    used = np.unique(group[group >= 0])
    number[used] = np.arange(len(used), dtype=np.int32)
    numbered: NDArray[np.int32] = number[group.clip(-1)]
    return numbered
