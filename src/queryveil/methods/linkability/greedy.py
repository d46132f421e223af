"""Grouping one set of rows: the paper's greedy, or groups chosen for what may be published of them.

By `posterior` and `belief` an entry that too many members hold is not published, so alike people lose most of what they
share. Groups are therefore grown by the members' mean cosine to what is published (`kernels.grouping.published`), from
the shortest profiles on, which fit in fewest places. See docs/decisions/0014.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels.grouping.greedy import LEFT_OVER, SLACK, Tally, grow_groups, make_course, make_tally
from queryveil.kernels.grouping.leftovers import gather, merge_left, place_rows
from queryveil.kernels.grouping.published import Weighed, find_candidates, grow_published, published_likeness
from queryveil.methods.linkability.task import Task

_BUDGET = 200_000_000  # steps of kernel work between two reports: well under a second

Report = Callable[[int], None]  # rows done


def group_rows(task: Task, seed: int, report: Report) -> NDArray[np.int32]:
    """Return the group of every row, −1 where it fits nowhere; all groups are legal.

    `seed` is the row that the paper's greedy starts from; `report` is told how far it is at least about every second.
    """
    weighed = task.weighed
    if weighed is None:
        return _placed(task, _greedy(task, seed, report), report)
    found = [_placed(task, _for_published(task, weighed, crowd, report), report) for crowd in task.crowds]
    return max(found, key=lambda group: published_likeness(task.rows, weighed, group, np.argsort(group, kind="stable")))


def _greedy(task: Task, seed: int, report: Report) -> NDArray[np.int32]:
    """Grow groups by likeness of features alone."""
    course, tally = make_course(task.rows, seed), make_tally(task.n_entries)
    while course.whole[3] >= 0:
        grow_groups(task.rows, task.rule, tally, course, task.by_seed, task.least, _BUDGET)
        report(task.n_rows - int(course.whole[1]))
    return course.group


def _for_published(task: Task, weighed: Weighed, crowd: int, report: Report) -> NDArray[np.int32]:
    """Grow groups just large enough that so many members may share an entry, by what may be published of them."""
    size = math.ceil(crowd / task.rule.p * (1 - SLACK))
    course, found = make_course(task.rows, 0), find_candidates(task.rows, weighed, size)
    order = np.argsort(np.diff(task.rows.indptr), kind="stable")
    while course.whole[3] >= 0:
        grow_published(task.rows, weighed, course, found, order, size, task.by_seed, task.least, _BUDGET)
        report(task.n_rows - int(course.whole[1]))
    return course.group


def _placed(task: Task, group: NDArray[np.int32], report: Report) -> NDArray[np.int32]:
    """Put the rows that are left over into groups, where they fit."""
    if (group == LEFT_OVER).any():
        place_left(task, group, make_tally(task.n_entries), report)
    return numbered(group)


def place_left(task: Task, group: NDArray[np.int32], tally: Tally, report: Report) -> None:
    """Put rows that are left over into the closest groups, or together with the nearest ones, in place."""
    left = np.flatnonzero(group == LEFT_OVER)
    groups = gather(task.rows, group, int(group.max(initial=-1)) + 1)
    turn = 0
    while turn < len(left):
        turn = place_rows(task.rows, task.rule, tally, groups, left, turn, task.least, _BUDGET)
        report(task.n_rows)
    if task.is_open and (group == LEFT_OVER).any():
        merge_left(task.rows, task.rule, tally, gather(task.rows, group, len(groups.first)))


def numbered(group: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return groups numbered from 0 without gaps, −1 for none."""
    number = np.full(int(group.max(initial=-1)) + 2, -1, np.int32)
    used = np.unique(group[group >= 0])
    number[used] = np.arange(len(used), dtype=np.int32)
    renumbered: NDArray[np.int32] = number[group.clip(-1)]
    return renumbered
