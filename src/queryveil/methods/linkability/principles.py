"""The principles that make a group legal, and the representative that is published of it.

The centroid weighs a term by its mean weight over all members, the union by that over the members who hold it. Terms
are sorted by id, and each is there once, so nothing tells whose they are.

`shrink` pulls the weights w of a group of n members to those of all people: (1 − s)·w + s·(weight over all people),
with s = shrink·⌈1/p⌉ / n, which is `shrink` for the smallest group there can be. It adds no term: if the terms of all
people were added, one that is missing would be known to be suppressed, and so be held by many.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from queryveil.core.names import ResolvedName
from queryveil.core.rows import BoolArray, FloatArray, Int32Array, IntArray, indptr_of, select_entries
from queryveil.histories.outcomes import Grouping
from queryveil.histories.profiles import Profiles
from queryveil.kernels.grouping.greedy import CLOSENESS, DIVERSITY, GLOBAL, MEAN, MEMBERS, ROUNDING, GroupRule
from queryveil.kernels.grouping.kmeans import sum_groups


@dataclass(frozen=True, eq=False)
class Population:
    """Counts over the profiles of all people, without the terms below the floor.

    On a cluster a block holds only some of the people, so these counts cannot be taken from its profiles.
    """

    n_people: int  # with and without terms
    n_holders: int  # those with terms
    n_pairs: int
    holders: IntArray  # (entries,): people who hold the entry
    totals: FloatArray  # (entries,): the sum of its weights


def population_of(profiles: Profiles) -> Population:
    """Return the counts of profiles that contain all people."""
    n_entries = len(profiles.vocabulary)
    return Population(
        profiles.n_histories,
        int(np.count_nonzero(np.diff(profiles.indptr))),
        len(profiles.ids),
        np.bincount(profiles.ids, minlength=n_entries),
        np.bincount(profiles.ids, profiles.weights, minlength=n_entries).astype(np.float64),
    )


def smallest_group(p: float) -> int:
    """Return how many members a group needs so that one of them is a share of at most p."""
    return math.ceil(1 / p * (1 - ROUNDING))


def without_rare(profiles: Profiles, method: ResolvedName) -> Profiles:
    """Return the profiles without the entries below the floor, which are never published."""
    return profiles.select(profiles.holder_counts()[profiles.ids] >= floor_of(method))


def floor_of(method: ResolvedName) -> int:
    """Return how many people must hold a published entry: by default as many as the smallest group has members."""
    return int(method.values.get("floor", smallest_group(method.real("p"))))


def weights_of(profiles: Profiles) -> FloatArray:
    """Return the weight of every pair, 1 for profiles without weights."""
    return np.ones(len(profiles.ids)) if profiles.weights is None else profiles.weights


def rule_for(people: Population, method: ResolvedName) -> GroupRule:
    """Return when a group of these people may be published."""
    p, principle = method.real("p"), method.word("principle")
    kind, limit, share = MEMBERS, 0.0, np.empty(0)
    if principle == "mean" and method.word("average") == "group":
        kind = MEAN
    elif principle == "mean":
        kind, limit = GLOBAL, people.n_pairs / max(1, people.n_holders) / p
    elif principle == "diversity":
        kind, limit = DIVERSITY, math.log(method.real("l"))
    elif principle == "closeness":
        kind, limit = CLOSENESS, method.real("t")
        share = people.holders / max(1, people.n_pairs)
    return GroupRule(kind, p, smallest_group(p), limit, share)


def prefers_similar(method: ResolvedName) -> bool:
    """Return whether blocks of similar people are better than random ones.

    By closeness groups must be like all people; by posterior and belief similar people share too many entries.
    """
    return method.word("principle") in ("mean", "diversity")


def highest_shares(people: Population, method: ResolvedName) -> FloatArray | None:
    """Return, for every entry, the share of a group's members that may hold it if it is published; None: any."""
    principle = method.word("principle")
    if principle not in ("posterior", "belief"):
        return None
    highest = np.full(len(people.holders), method.real("p"))
    if principle == "belief":
        highest += people.holders / people.n_people
    return highest


@dataclass(frozen=True, eq=False)
class GroupCells:
    """The (group, entry) pairs of groups, by group and entry: a cell for each entry that some member holds."""

    indptr: IntArray  # (groups + 1,)
    entry: Int32Array  # (cells,)
    holders: IntArray  # (cells,): members who hold the entry
    total: FloatArray  # (cells,): the sum of its weights
    members: IntArray  # (cells,): members of the group

    def is_shown(self, highest: FloatArray) -> BoolArray:
        """Return which cells may be published, by the share of members that may hold each entry."""
        return np.asarray(self.holders <= self.members * highest[self.entry] * (1 + ROUNDING))


def cells_of(indptr: IntArray, ids: Int32Array, weights: FloatArray, group: Int32Array, n_entries: int) -> GroupCells:
    """Return the cells of groups, from the rows of all people; −1 is no group."""
    n_groups = int(group.max(initial=-1)) + 1
    by_group = np.argsort(group, kind="stable")[np.count_nonzero(group < 0) :]
    start, entry, holders, total = sum_groups(indptr, ids, weights, group, by_group, n_groups, n_entries)
    sizes = np.bincount(group[group >= 0], minlength=n_groups)
    return GroupCells(start, entry, holders, total, np.repeat(sizes, np.diff(start)))


def representatives(
    profiles: Profiles, group: Int32Array, method: ResolvedName, *, people: Population | None = None
) -> Grouping:
    """Return the groups with what is published of each; `people` are needed if the profiles are of some only."""
    everybody = people or population_of(profiles)
    cells = cells_of(profiles.indptr, profiles.ids, weights_of(profiles), group, len(profiles.vocabulary))
    is_union = method.word("representative") == "union"
    value = np.divide(cells.total, cells.holders if is_union else cells.members, out=cells.total)
    if "shrink" in method.values:
        mean = everybody.totals / np.maximum(1, everybody.holders if is_union else everybody.n_people)
        pull = method.real("shrink") * smallest_group(method.real("p")) / cells.members
        value *= 1 - pull
        value += pull * mean[cells.entry]
    indptr, entry, highest = cells.indptr, cells.entry, highest_shares(everybody, method)
    if highest is not None:
        shown = cells.is_shown(highest)
        indptr, entry, value = select_entries(indptr, shown), entry[shown], value[shown]
    summary = {"terms of groups suppressed": len(cells.entry) - len(entry)}
    return Grouping(group, indptr, entry, value, summary=summary)


def without_groups(made: Grouping, dropped: BoolArray) -> tuple[Grouping, Int32Array]:
    """Return the groups without the dropped ones, whose members are in none, and the new number of every old one."""
    number = np.append(np.where(dropped, -1, np.cumsum(~dropped) - 1), -1).astype(np.int32)
    shown = np.repeat(~dropped, np.diff(made.indptr))
    indptr = indptr_of(np.diff(made.indptr)[~dropped])
    kept = replace(made, group=number[made.group], indptr=indptr, ids=made.ids[shown], weights=made.weights[shown])
    return kept, number
