"""What a release publishes of any groups of its people, by the rule that its method followed.

This is what `methods/linkability/representatives.py` does, written again from its description for two reasons: what
judges a release shares nothing with what makes it, and here the groups are also those that were not published: random
ones, everybody, and each group as it would be published if one of its members were not in the log at all.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import GroupMembers
from queryveil.core.names import ResolvedName
from queryveil.core.rows import IntArray, gather_rows, indptr_of, per_entry, row_numbers

SLACK = 1e-9  # relative: what is equal in decimals may differ in binary

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Rule:
    """By what rule groups are published."""

    p: float
    principle: str = "mean"
    representative: str = "centroid"
    shrink: float = 0.0
    floor: int = 1

    @classmethod
    def of(cls, method: ResolvedName) -> "Rule":
        """Return the rule that a run of a method followed."""
        values = method.values
        p = float(values["p"])
        return cls(
            p,
            str(values.get("principle", cls.principle)),
            str(values.get("representative", cls.representative)),
            float(values.get("shrink", cls.shrink)),
            int(values.get("floor", _smallest(p))),
        )


def _smallest(p: float) -> int:
    """Return how many members a group must have so that one of them is a share of at most p."""
    return math.ceil(1 / p * (1 - SLACK))


class Rows(NamedTuple):
    """Weighted terms in compressed sparse rows."""

    indptr: IntArray  # (rows + 1,)
    ids: NDArray[np.int32]
    weights: Reals

    def take(self, rows: IntArray) -> "Rows":
        """Return some of the rows, in the order asked for."""
        indptr, place = gather_rows(self.indptr, rows)
        return Rows(indptr, self.ids[place], self.weights[place])


class Sums(NamedTuple):
    """What the members of groups hold, by group and ascending term."""

    indptr: IntArray  # (groups + 1,)
    ids: NDArray[np.int32]
    holders: IntArray
    total: Reals  # of their weights
    sizes: IntArray  # (groups,): members


def sum_up(members: GroupMembers, group: IntArray) -> Sums:
    """Return what each group's members hold; who has group −1 is in none."""
    from scipy.sparse import csr_array

    n_people, n_groups, width = len(members.group), int(group.max(initial=-1)) + 1, len(members.terms)
    inside = np.flatnonzero(group >= 0)
    belongs = csr_array((np.ones(len(inside)), (group[inside], inside)), shape=(n_groups, n_people))
    rows = (members.ids, members.indptr)
    held = (belongs @ csr_array((np.ones(len(members.ids)), *rows), shape=(n_people, width))).sorted_indices()
    total = (belongs @ csr_array((members.weights, *rows), shape=(n_people, width))).sorted_indices()
    sizes = np.bincount(group[inside], minlength=n_groups)
    indptr, ids = held.indptr.astype(np.int64), held.indices.astype(np.int32)
    return Sums(indptr, ids, held.data.astype(np.int64), total.data, sizes)


def publish(sums: Sums, members: GroupMembers, rule: Rule) -> Rows:
    """Return what is published of groups."""
    return _published(sums, _log_of(members, sums.ids), rule)


def publish_without(sums: Sums, group: IntArray, people: IntArray, members: GroupMembers, rule: Rule) -> Rows:
    """Return, for each of some people, what would be published of their group if they were not in the log.

    The group stays as it is but for them. People without a group, or alone in theirs, get nothing.
    """
    of = np.where(group[people] >= 0, group[people], len(sums.sizes))
    padded = Sums(np.append(sums.indptr, sums.indptr[-1]), *sums[1:4], np.append(sums.sizes, 0))
    indptr, place = gather_rows(padded.indptr, of)
    ids = sums.ids[place]
    own_indptr, own = gather_rows(members.indptr, people)
    is_member = per_entry(group[people] >= 0, own_indptr)
    # keys: (place among the people, term) as one number; a member's terms are all among those of the group
    width = len(members.terms)
    keys = row_numbers(indptr) * width + ids
    own_keys = row_numbers(own_indptr) * width + members.ids[own]
    cell = np.searchsorted(keys, own_keys[is_member])
    holders, total = sums.holders[place], sums.total[place]
    self_holds, self_weight = np.zeros(len(ids), np.int64), np.zeros(len(ids))
    self_holds[cell], self_weight[cell] = 1, members.weights[own][is_member]
    left = Sums(indptr, ids, holders - self_holds, total - self_weight, np.maximum(0, padded.sizes[of] - 1))
    log = _log_of(members, ids)
    return _published(left, Log(log.people - 1, log.holders - self_holds, log.total - self_weight), rule)


class Log(NamedTuple):
    """What all people hold of the terms of some cells."""

    people: int
    holders: IntArray  # (cells,)
    total: Reals  # (cells,)


def _log_of(members: GroupMembers, ids: NDArray[np.int32]) -> Log:
    width = len(members.terms)
    holders = np.bincount(members.ids, minlength=width)
    total = np.bincount(members.ids, members.weights, minlength=width).astype(np.float64)
    return Log(len(members.group), holders[ids], total[ids])


def _published(sums: Sums, log: Log, rule: Rule) -> Rows:
    """Weigh the terms of groups and leave out those that may not be shown."""
    row = row_numbers(sums.indptr)
    n_members = np.maximum(1, sums.sizes)[row]
    held, known = np.maximum(1, sums.holders), np.maximum(1, log.holders)
    is_union = rule.representative == "union"
    weights = sums.total / (held if is_union else n_members)
    everybody = log.total / (known if is_union else max(1, log.people))
    pull = np.minimum(1.0, rule.shrink * _smallest(rule.p) / n_members)
    weights = (1 - pull) * weights + pull * everybody
    shown = (sums.holders > 0) & (log.holders >= rule.floor)
    if rule.principle in ("posterior", "belief"):
        highest = rule.p + (log.holders / max(1, log.people) if rule.principle == "belief" else 0.0)
        shown &= sums.holders <= n_members * highest * (1 + SLACK)
    before = indptr_of(shown)
    return Rows(before[sums.indptr], sums.ids[shown], weights[shown])
