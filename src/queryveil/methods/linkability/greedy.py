"""Grouping one set of rows: the paper's greedy, or groups chosen for what may be published of them.

By `posterior` and `belief` an entry that too many members hold is not published, so alike people lose most of what they
share. Groups are therefore grown by the members' mean cosine to what is published (`kernels.grouping.published`), from
the shortest profiles on, which fit in fewest places. See docs/decisions/0014.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from queryveil.core.names import ResolvedName
from queryveil.core.rows import gather_rows
from queryveil.histories.profiles import FeatureMatrix, Profiles
from queryveil.kernels.grouping.blocks import localize
from queryveil.kernels.grouping.greedy import (
    CLOSENESS,
    LEFT_OVER,
    SLACK,
    Rows,
    Rule,
    Tally,
    grow_groups,
    make_course,
    make_tally,
)
from queryveil.kernels.grouping.leftovers import gather, merge_left, place_rows
from queryveil.kernels.grouping.published import (
    Weighed,
    at_unit_length,
    find_candidates,
    grow_published,
    published_likeness,
)
from queryveil.methods.linkability.principles import Population, highest_shares, population_of, rule_for

ANYBODY = -1.0  # a cosine that everybody has
_BUDGET = 200_000_000  # steps of kernel work between two reports: well under a second

Report = Callable[[int], None]  # rows done


@dataclass(frozen=True, eq=False)
class GroupingTask:
    """The rows to be grouped, when a group is legal, and who may be in one group."""

    rows: Rows
    rule: Rule
    n_entries: int
    by_seed: bool = False  # the next member is the closest to the seed, else to the centroid
    least: float = ANYBODY  # cosine with that
    weighed: Weighed | None = None  # where every published entry has a highest share
    crowds: tuple[int, ...] = ()  # then: how many may share an entry in the groups to be tried

    @property
    def n_rows(self) -> int:
        """Count the rows."""
        return len(self.rows.indptr) - 1

    @property
    def is_open(self) -> bool:
        """Say whether anybody may be put with anybody."""
        return self.least == ANYBODY


def task_of(
    profiles: Profiles, features: FeatureMatrix, method: ResolvedName, *, people: Population | None = None
) -> GroupingTask:
    """Return the task of grouping all histories; features come to unit length.

    `people` are all, where the profiles are of some only.
    """
    everybody = people or population_of(profiles)
    values = at_unit_length(features.indptr, features.values)
    highest = highest_shares(everybody, method)
    return GroupingTask(
        Rows(profiles.indptr, profiles.ids, features.indptr, features.ids, values, features.n_dimensions),
        rule_for(everybody, method),
        len(profiles.vocabulary),
        method.word("closest") == "seed",
        float(method.values.get("min_similarity", ANYBODY)),
        None if highest is None else _weighed(profiles, highest),
        (1, 3) if method.word("principle") == "belief" else (1,),
    )


def _weighed(profiles: Profiles, highest: NDArray[np.float64]) -> Weighed:
    weights = np.ones(len(profiles.ids)) if profiles.weights is None else profiles.weights
    return Weighed(weights, at_unit_length(profiles.indptr, weights), highest)


def part_of(task: GroupingTask, which: NDArray[np.int64]) -> GroupingTask:
    """Return the task of grouping some of the rows, entries and dimensions numbered anew."""
    rows = task.rows
    indptr, place = gather_rows(rows.indptr, which)
    feature_indptr, feature_place = gather_rows(rows.feature_indptr, which)
    ids, feature_ids = rows.ids[place], rows.feature_ids[feature_place]
    entries = localize(ids, np.full(task.n_entries, -1, np.int32))
    n_dimensions = len(localize(feature_ids, np.full(rows.n_dimensions, -1, np.int32)))
    weighed, rule = task.weighed, task.rule
    if weighed is not None:
        weighed = Weighed(weighed.weight[place], weighed.unit[place], weighed.highest[entries])
    if rule.kind == CLOSENESS:
        rule = rule._replace(share=rule.share[entries])
    part = Rows(indptr, ids, feature_indptr, feature_ids, rows.feature_values[feature_place], n_dimensions)
    return replace(task, rows=part, rule=rule, n_entries=len(entries), weighed=weighed)


def group_rows(task: GroupingTask, seed: int, report: Report) -> NDArray[np.int32]:
    """Return the group of every row, −1 where it fits nowhere; all groups are legal.

    `seed` is the row that the paper's greedy starts from; `report` is told how far it is at least about every second.
    """
    weighed = task.weighed
    if weighed is None:
        return _placed(task, _greedy(task, seed, report), report)
    found = [_placed(task, _for_published(task, weighed, crowd, report), report) for crowd in task.crowds]
    return max(found, key=lambda group: published_likeness(task.rows, weighed, group, np.argsort(group, kind="stable")))


def _greedy(task: GroupingTask, seed: int, report: Report) -> NDArray[np.int32]:
    """Grow groups by likeness of features alone."""
    course, tally = make_course(task.rows, seed), make_tally(task.n_entries)
    while course.whole[3] >= 0:
        grow_groups(task.rows, task.rule, tally, course, task.by_seed, task.least, _BUDGET)
        report(task.n_rows - int(course.whole[1]))
    return course.group


def _for_published(task: GroupingTask, weighed: Weighed, crowd: int, report: Report) -> NDArray[np.int32]:
    """Grow groups just large enough that so many members may share an entry, by what may be published of them."""
    size = math.ceil(crowd / task.rule.p * (1 - SLACK))
    course, found = make_course(task.rows, 0), find_candidates(task.rows, weighed, size)
    order = np.argsort(np.diff(task.rows.indptr), kind="stable")
    while course.whole[3] >= 0:
        grow_published(task.rows, weighed, course, found, order, size, task.by_seed, task.least, _BUDGET)
        report(task.n_rows - int(course.whole[1]))
    return course.group


def _placed(task: GroupingTask, group: NDArray[np.int32], report: Report) -> NDArray[np.int32]:
    """Put the rows that are left over into groups, where they fit."""
    if (group == LEFT_OVER).any():
        place_left(task, group, make_tally(task.n_entries), report)
    return numbered(group)


def place_left(task: GroupingTask, group: NDArray[np.int32], tally: Tally, report: Report) -> None:
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
