"""Grouping one set of rows: the paper's greedy, or groups chosen for what may be published of them.

By `posterior` and `belief` an entry that too many members hold is not published, so similar people lose most of what
they share. Groups are therefore grown by the members' mean cosine to the published entries
(`kernels.grouping.published`), beginning with the shortest profiles, which fit in fewest places (docs/decisions/0014).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from queryveil.core.names import ResolvedName
from queryveil.core.rows import Int32Array, IntArray, gather_rows, row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.kernels.grouping import greedy
from queryveil.kernels.grouping.kmeans import at_unit_length, renumber
from queryveil.kernels.grouping.published import EntryWeights, find_candidates, grow_published, published_similarity
from queryveil.methods.linkability.principles import (
    Population,
    highest_shares,
    population_of,
    prefers_similar,
    rule_for,
    weights_of,
)
from queryveil.semantics.augmentation import FeatureMatrix

NO_MINIMUM = -1.0  # a cosine that everybody reaches
_BUDGET = 200_000_000  # steps of kernel work between two progress reports: well under a second

ReportRows = Callable[[int], None]  # takes the number of rows done


@dataclass(frozen=True, eq=False)
class GroupingTask:
    """The rows to be grouped, when a group is legal, and who may be in one group."""

    rows: greedy.FeatureRows
    rule: greedy.GroupRule
    n_entries: int
    by_seed: bool = False  # the next member is the closest to the seed, else to the centroid
    least: float = NO_MINIMUM  # cosine with that
    weights: EntryWeights | None = None  # if every published entry has a highest share
    crowds: tuple[int, ...] = ()  # then: how many may share an entry in the groups to be tried
    prefers_similar: bool = True  # blocks of similar rows are better than random ones

    @property
    def n_rows(self) -> int:
        """Count the rows."""
        return len(self.rows.indptr) - 1

    @property
    def is_open(self) -> bool:
        """Return whether anybody may be in a group with anybody."""
        return self.least == NO_MINIMUM


def task_of(
    profiles: Profiles, features: FeatureMatrix, method: ResolvedName, *, people: Population | None = None
) -> GroupingTask:
    """Return the task of grouping all histories; `people` are needed if the profiles are of some only."""
    everybody = people or population_of(profiles)
    values = at_unit_length(features.indptr, features.values)
    highest, weights = highest_shares(everybody, method), weights_of(profiles)
    return GroupingTask(
        greedy.FeatureRows(profiles.indptr, profiles.ids, features.indptr, features.ids, values, features.n_dimensions),
        rule_for(everybody, method),
        len(profiles.vocabulary),
        method.word("closest") == "seed",
        float(method.values.get("min_similarity", NO_MINIMUM)),
        None if highest is None else EntryWeights(weights, at_unit_length(profiles.indptr, weights), highest),
        (1, 3) if method.word("principle") == "belief" else (1,),
        prefers_similar(method),
    )


def part_of(task: GroupingTask, which: IntArray) -> GroupingTask:
    """Return the task of grouping some of the rows, with entries and dimensions renumbered."""
    rows, weights, rule = task.rows, task.weights, task.rule
    indptr, position = gather_rows(rows.indptr, which)
    feature_indptr, feature_position = gather_rows(rows.feature_indptr, which)
    ids, feature_ids = rows.ids[position], rows.feature_ids[feature_position]
    entries = renumber(ids, np.full(task.n_entries, -1, np.int32))
    n_dimensions = len(renumber(feature_ids, np.full(rows.n_dimensions, -1, np.int32)))
    if weights is not None:
        weights = EntryWeights(weights.weight[position], weights.unit[position], weights.highest[entries])
    if rule.kind == greedy.CLOSENESS:
        rule = rule._replace(share=rule.share[entries])
    part = greedy.FeatureRows(
        indptr, ids, feature_indptr, feature_ids, rows.feature_values[feature_position], n_dimensions
    )
    return replace(task, rows=part, rule=rule, n_entries=len(entries), weights=weights)


def group_rows(task: GroupingTask, seed: int, report: ReportRows) -> Int32Array:
    """Return the group of every row, −1 if it fits nowhere; all groups are legal.

    `seed` is the row that the paper's greedy starts from; `report` is called at least about every second.
    """
    weights = task.weights
    if weights is None:
        found = [_grow(task, seed, report)]
    else:
        found = [_grow_published(task, weights, crowd, report) for crowd in task.crowds]
    for group in found:
        if (group == greedy.LEFT_OVER).any():
            place_leftovers(task, group, report)
    if weights is None or len(found) == 1:
        return without_gaps(found[0])
    sums = [published_similarity(task.rows, weights, group, np.argsort(group, kind="stable")) for group in found]
    return without_gaps(found[int(np.argmax(sums))])


def _grow(task: GroupingTask, seed: int, report: ReportRows) -> Int32Array:
    """Grow groups by similarity of features alone."""
    state, tally = greedy.start_greedy(task.rows, seed), greedy.empty_tally(task.n_entries)
    while state.counters[greedy.NEXT_SEED] >= 0:
        greedy.grow_groups(task.rows, task.rule, tally, state, task.by_seed, task.least, _BUDGET)
        report(task.n_rows - int(state.counters[greedy.N_FREE]))
    return state.group


def _grow_published(task: GroupingTask, weights: EntryWeights, crowd: int, report: ReportRows) -> Int32Array:
    """Grow groups just large enough that `crowd` members may share an entry, by what may be published of them."""
    size = math.ceil(crowd / task.rule.p * (1 - greedy.ROUNDING))
    state, candidates = greedy.start_greedy(task.rows, 0), find_candidates(task.rows, weights, size)
    order = np.argsort(np.diff(task.rows.indptr), kind="stable")
    while state.counters[greedy.NEXT_SEED] >= 0:
        grow_published(task.rows, weights, state, candidates, order, size, task.by_seed, task.least, _BUDGET)
        report(task.n_rows - int(state.counters[greedy.N_FREE]))
    return state.group


def place_leftovers(task: GroupingTask, group: Int32Array, report: ReportRows) -> None:
    """Put leftover rows into the closest groups, or merge them with the nearest ones, in place."""
    left, tally = np.flatnonzero(group == greedy.LEFT_OVER), greedy.empty_tally(task.n_entries)
    groups = greedy.collect_members(task.rows, group, int(group.max(initial=-1)) + 1)
    turn = 0
    while turn < len(left):
        turn = greedy.place_rows(task.rows, task.rule, tally, groups, left, turn, task.least, _BUDGET)
        report(task.n_rows)
    if task.is_open and (group == greedy.LEFT_OVER).any():
        greedy.merge_leftovers(task.rows, task.rule, tally, greedy.collect_members(task.rows, group, len(groups.first)))


def take_out_dissimilar(task: GroupingTask, group: Int32Array) -> Int32Array:
    """Return the groups without members less similar than `least` to the centroid, numbered as before.

    Each round takes out the least similar member of every group that has such members, since the centroid of the others
    is nearer to them; groups may become illegal.
    """
    rows, group = task.rows, group.copy()
    if task.is_open or not (group >= 0).any():
        return group
    members = np.flatnonzero(group >= 0)
    while len(members):
        numbers, index = np.unique(group[members], return_inverse=True)
        indptr, position = gather_rows(rows.feature_indptr, members)
        member, values = row_numbers(indptr), rows.feature_values[position]
        # cells: (group, dimension) as one number; cell: that of every entry
        cells, cell = np.unique(index[member] * rows.n_dimensions + rows.feature_ids[position], return_inverse=True)
        sums = np.bincount(cell, values)
        lengths = np.sqrt(np.bincount(cells // rows.n_dimensions, sums**2, minlength=len(numbers)))
        product = np.bincount(member, values * sums[cell], minlength=len(members))
        cosine = product / np.maximum(lengths[index], np.finfo(float).tiny)
        lowest = np.full(len(numbers), np.inf)
        np.minimum.at(lowest, index, cosine)
        is_loose = lowest < task.least
        is_out = is_loose[index] & (cosine == lowest[index])
        group[members[is_out]] = greedy.LEFT_OVER
        members = members[is_loose[index] & ~is_out]
    return group


def without_illegal(task: GroupingTask, group: Int32Array) -> Int32Array:
    """Return the groups that are legal, numbered without gaps; members of others are in none."""
    tally, group = greedy.empty_tally(task.n_entries), group.copy()
    order = np.argsort(group, kind="stable")
    cuts = np.flatnonzero(np.diff(group[order])) + 1
    for members in np.split(order, cuts):
        for row in members.tolist():
            greedy.count_row(tally, task.rows, row)
        if not greedy.is_legal(tally, task.rule):
            group[members] = greedy.LEFT_OVER
        greedy.clear_tally(tally)
    return without_gaps(group)


def without_gaps(group: Int32Array) -> Int32Array:
    """Return groups numbered from 0 without gaps, −1 for none."""
    number = np.full(int(group.max(initial=-1)) + 2, -1, np.int32)
    used = np.unique(group[group >= 0])
    number[used] = np.arange(len(used), dtype=np.int32)
    return np.asarray(number[group.clip(-1)])
