"""The profiles that a release publishes of groups, for any groups of its people, and their vectors in an index.

This computes the same as `methods/linkability/representatives.py`, reimplemented from its description for two reasons:
code that evaluates a release must not be the code that makes it, and here the groups also include ones that were not
published: random groups, one group of everybody, and every group as it would be published if one of its members were
not in the log.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import GroupMembers
from queryveil.core.names import ResolvedName
from queryveil.core.rows import FloatArray, IntArray, gather_rows, indptr_of, per_entry, row_numbers, select_entries
from queryveil.search.index import Index
from queryveil.search.ranking import ProfileVector

TOLERANCE = 1e-9  # relative: numbers that are equal in decimals may differ in binary


@dataclass(frozen=True)
class PublicationRule:
    """The parameters of a linkability method that determine what is published of a given group."""

    p: float
    principle: str = "mean"
    representative: str = "centroid"
    shrink: float = 0.0
    floor: int = 1

    @classmethod
    def of(cls, method: ResolvedName) -> "PublicationRule":
        """Return the rule of a method."""
        values = method.values
        p = float(values["p"])
        return cls(
            p,
            str(values.get("principle", cls.principle)),
            str(values.get("representative", cls.representative)),
            float(values.get("shrink", cls.shrink)),
            int(values.get("floor", _smallest_group(p))),
        )


def _smallest_group(p: float) -> int:
    """Return the smallest group size at which one member is a share of at most p."""
    return math.ceil(1 / p * (1 - TOLERANCE))


class WeightedRows(NamedTuple):
    """Profiles as rows of weighted terms (CSR)."""

    indptr: IntArray  # (rows + 1,)
    ids: NDArray[np.int32]  # (entries,)
    weights: FloatArray  # (entries,)

    def take(self, rows: IntArray) -> "WeightedRows":
        """Return some of the rows, in the given order."""
        indptr, entries = gather_rows(self.indptr, rows)
        return WeightedRows(indptr, self.ids[entries], self.weights[entries])


class GroupSums(NamedTuple):
    """The terms of every group, summed over its members (CSR, terms ascending)."""

    indptr: IntArray  # (groups + 1,)
    ids: NDArray[np.int32]  # (entries,)
    holders: IntArray  # (entries,): members who hold the term
    total: FloatArray  # (entries,): the sum of their weights
    sizes: IntArray  # (groups,): members


class LogTotals(NamedTuple):
    """What all people of the log hold of the terms of some entries."""

    n_people: int
    holders: IntArray  # (entries,)
    total: FloatArray  # (entries,)


def sum_members(members: GroupMembers, group: IntArray) -> GroupSums:
    """Sum the members' profiles in each group; people with group −1 are in none."""
    from scipy.sparse import csr_array

    n_people, n_groups, n_terms = len(members.group), int(group.max(initial=-1)) + 1, len(members.terms)
    grouped = np.flatnonzero(group >= 0)
    membership = csr_array((np.ones(len(grouped)), (group[grouped], grouped)), shape=(n_groups, n_people))
    rows = (members.ids, members.indptr)
    holders = (membership @ csr_array((np.ones(len(members.ids)), *rows), shape=(n_people, n_terms))).sorted_indices()
    total = (membership @ csr_array((members.weights, *rows), shape=(n_people, n_terms))).sorted_indices()
    sizes = np.bincount(group[grouped], minlength=n_groups)
    indptr, ids = holders.indptr.astype(np.int64), holders.indices.astype(np.int32)
    return GroupSums(indptr, ids, holders.data.astype(np.int64), total.data, sizes)


def publish(sums: GroupSums, members: GroupMembers, rule: PublicationRule) -> WeightedRows:
    """Return the profile that is published of every group."""
    return _apply_rule(sums, _log_totals(members, sums.ids), rule)


def publish_without_self(
    sums: GroupSums, group: IntArray, people: IntArray, members: GroupMembers, rule: PublicationRule
) -> WeightedRows:
    """Return, for each of some people, what would be published of their group if they were not in the log.

    The other members stay in the group. People who are in no group, or alone in theirs, get an empty profile.
    """
    is_grouped = group[people] >= 0
    padded = GroupSums(np.append(sums.indptr, sums.indptr[-1]), *sums[1:4], np.append(sums.sizes, 0))
    group_row = np.where(is_grouped, group[people], len(sums.sizes))  # without a group: the empty row at the end
    indptr, entries = gather_rows(padded.indptr, group_row)
    ids = sums.ids[entries]
    own_indptr, own_entries = gather_rows(members.indptr, people)
    # keys: (person, term) as one number; the terms of a member are a subset of the group's terms
    n_terms = len(members.terms)
    keys = row_numbers(indptr) * n_terms + ids
    own_keys = row_numbers(own_indptr) * n_terms + members.ids[own_entries]
    has_group = per_entry(is_grouped, own_indptr)
    position = np.searchsorted(keys, own_keys[has_group])
    own_holds, own_weight = np.zeros(len(ids), np.int64), np.zeros(len(ids))
    own_holds[position], own_weight[position] = 1, members.weights[own_entries][has_group]
    rest = GroupSums(
        indptr,
        ids,
        sums.holders[entries] - own_holds,
        sums.total[entries] - own_weight,
        np.maximum(0, padded.sizes[group_row] - 1),
    )
    log = _log_totals(members, ids)
    return _apply_rule(rest, LogTotals(log.n_people - 1, log.holders - own_holds, log.total - own_weight), rule)


def _log_totals(members: GroupMembers, ids: NDArray[np.int32]) -> LogTotals:
    n_terms = len(members.terms)
    holders = np.bincount(members.ids, minlength=n_terms)
    total = np.bincount(members.ids, members.weights, minlength=n_terms).astype(np.float64)
    return LogTotals(len(members.group), holders[ids], total[ids])


def _apply_rule(sums: GroupSums, log: LogTotals, rule: PublicationRule) -> WeightedRows:
    """Weight the terms of groups and drop those that the rule does not allow to publish."""
    n_members = np.maximum(1, sums.sizes)[row_numbers(sums.indptr)]
    is_union = rule.representative == "union"
    weights = sums.total / (np.maximum(1, sums.holders) if is_union else n_members)
    log_weights = log.total / (np.maximum(1, log.holders) if is_union else max(1, log.n_people))
    shrinkage = np.minimum(1.0, rule.shrink * _smallest_group(rule.p) / n_members)
    weights = (1 - shrinkage) * weights + shrinkage * log_weights
    is_published = (sums.holders > 0) & (log.holders >= rule.floor)
    if rule.principle in ("posterior", "belief"):
        highest = rule.p + (log.holders / max(1, log.n_people) if rule.principle == "belief" else 0.0)
        is_published &= sums.holders <= n_members * highest * (1 + TOLERANCE)
    return WeightedRows(select_entries(sums.indptr, is_published), sums.ids[is_published], weights[is_published])


@dataclass(frozen=True, eq=False)
class TermMapping:
    """Maps every term of a release to index terms, to none if the index does not know it (CSR)."""

    indptr: IntArray  # (terms of the release + 1,)
    ids: NDArray[np.int32]  # (entries,): terms of the index
    factors: FloatArray  # (entries,): how often the release term contains the word
    n_index_terms: int

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Return, for every term, whether the index knows it."""
        return np.diff(self.indptr) > 0

    def vectors(self, rows: WeightedRows) -> list[ProfileVector]:
        """Return the vector of every row, equal to what `Index.vector` returns for it."""
        indptr, entries = gather_rows(self.indptr, rows.ids.astype(np.int64))
        row = per_entry(row_numbers(rows.indptr), indptr)
        cells, cell = np.unique(row * self.n_index_terms + self.ids[entries], return_inverse=True)
        total = np.bincount(cell, per_entry(rows.weights, indptr) * self.factors[entries]).astype(np.float64)
        ends = np.searchsorted(cells // self.n_index_terms, np.arange(len(rows.indptr)))
        n_known = np.diff(select_entries(rows.indptr, np.diff(indptr) > 0)).tolist()
        n_terms = np.diff(rows.indptr).tolist()
        return [
            ProfileVector.normalized((cells[a:b] % self.n_index_terms).astype(np.int32), total[a:b], known, terms)
            for (a, b), known, terms in zip(pairwise(ends), n_known, n_terms, strict=True)
        ]


def map_terms(index: Index, terms: tuple[str, ...]) -> TermMapping:
    """Look up every term of a release in an index."""
    vectors = [index.vector((term,), (1.0,)) for term in terms]
    # a vector has unit length; its smallest weight belongs to a word that the term contains once
    factors = [vector.weights / vector.weights.min() for vector in vectors if len(vector)]
    return TermMapping(
        indptr_of(np.array([len(vector) for vector in vectors], np.int64)),
        np.concatenate([np.empty(0, np.int32), *(vector.ids for vector in vectors)]),
        np.concatenate([np.empty(0), *factors]).round(),
        len(index.terms),
    )
