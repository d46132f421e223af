"""The profiles that a release publishes of groups, for any groups of its people, and their vectors in an index.

This computes the same as `methods/linkability/principles.py`, reimplemented from its description for two reasons:
code that evaluates a release must not be the code that makes it, and here the groups also include ones that were not
published: random groups, one group of everybody, and every group as it would be published if one of its members were
not in the log.
"""

import math
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from queryveil.core.group_evidence import GroupMembers
from queryveil.core.names import ResolvedName
from queryveil.core.rows import FloatArray, IntArray, gather_rows, indptr_of, row_numbers, select_entries
from queryveil.search.index import Index
from queryveil.search.ranking import ProfileVector

ROUNDING = 1e-9  # relative: numbers that are equal in decimals may differ in binary


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
        known: dict[str, Any] = {
            each.name: method.values[each.name] for each in fields(cls) if each.name in method.values
        }
        return cls(**{"floor": _smallest_group(known["p"]), **known})


def _smallest_group(p: float) -> int:
    """Return the smallest group size at which one member is a share of at most p."""
    return math.ceil(1 / p * (1 - ROUNDING))


class WeightedRows(NamedTuple):
    """Profiles as rows of weighted terms (CSR)."""

    indptr: IntArray  # (rows + 1,)
    ids: NDArray[np.int32]  # (entries,)
    weights: FloatArray  # (entries,)

    def take(self, rows: IntArray) -> "WeightedRows":
        """Return some of the rows, in the given order."""
        indptr, entries = gather_rows(self.indptr, rows)
        return WeightedRows(indptr, self.ids[entries], self.weights[entries])


class TermSums(NamedTuple):
    """Sums over some people for the terms of some entries."""

    holders: IntArray  # (entries,): people who hold the term
    total: FloatArray  # (entries,): the sum of their weights
    n_people: IntArray | int  # (entries,), or one number: all of the people

    def mean_weights(self, rule: PublicationRule) -> FloatArray:
        """Return the mean weight of each term, over its holders for the representative `union`, else over everybody."""
        is_union = rule.representative == "union"
        means: FloatArray = self.total / np.maximum(1, self.holders if is_union else self.n_people)
        return means

    def minus(self, holders: IntArray, total: FloatArray) -> "TermSums":
        """Return the sums without one person, who holds the given part."""
        return TermSums(self.holders - holders, self.total - total, np.maximum(0, self.n_people - 1))


class GroupSums(NamedTuple):
    """The terms of every group, summed over its members (CSR, terms ascending)."""

    indptr: IntArray  # (groups + 1,)
    ids: NDArray[np.int32]  # (entries,)
    members: TermSums


def sum_members(members: GroupMembers, group: IntArray) -> GroupSums:
    """Sum the members' profiles in each group; people with group −1 are in none."""
    n_people, n_groups, n_terms = len(members.group), int(group.max(initial=-1)) + 1, len(members.terms)
    grouped = np.flatnonzero(group >= 0)
    membership = csr_array((np.ones(len(grouped)), (group[grouped], grouped)), shape=(n_groups, n_people))
    held = csr_array((np.ones(len(members.ids)), members.ids, members.indptr), shape=(n_people, n_terms))
    weighted = csr_array((members.weights, members.ids, members.indptr), shape=(n_people, n_terms))
    holders, total = ((membership @ profiles).sorted_indices() for profiles in (held, weighted))
    sizes = np.repeat(np.bincount(group[grouped], minlength=n_groups), np.diff(holders.indptr))
    sums = TermSums(holders.data.astype(np.int64), total.data, sizes)
    return GroupSums(holders.indptr.astype(np.int64), holders.indices.astype(np.int32), sums)


def publish(sums: GroupSums, members: GroupMembers, rule: PublicationRule) -> WeightedRows:
    """Return the profile that is published of every group."""
    return _apply_rule(sums, _sums_of_log(members, sums.ids), rule)


def publish_without_self(
    sums: GroupSums, group: IntArray, people: IntArray, members: GroupMembers, rule: PublicationRule
) -> WeightedRows:
    """Return, for each of some people, what would be published of their group if they were not in the log.

    The other members stay in the group. People who are in no group, or alone in theirs, get an empty profile.
    """
    is_grouped = group[people] >= 0
    group_row = np.where(is_grouped, group[people], len(sums.indptr) - 1)  # without a group: an empty row at the end
    indptr, entries = gather_rows(np.append(sums.indptr, sums.indptr[-1]), group_row)
    ids = sums.ids[entries]
    own_indptr, own_entries = gather_rows(members.indptr, people)
    # keys: (person, term) as one number; the terms of a member are a subset of the group's terms
    n_terms = len(members.terms)
    keys = row_numbers(indptr) * n_terms + ids
    own_keys = row_numbers(own_indptr) * n_terms + members.ids[own_entries]
    has_group = np.repeat(is_grouped, np.diff(own_indptr))
    position = np.searchsorted(keys, own_keys[has_group])
    own_holds, own_weight = np.zeros(len(ids), np.int64), np.zeros(len(ids))
    own_holds[position], own_weight[position] = 1, members.weights[own_entries][has_group]
    holders, total, n_members = sums.members
    group_sums = TermSums(holders[entries], total[entries], np.asarray(n_members)[entries])
    rest = group_sums.minus(own_holds, own_weight)
    return _apply_rule(GroupSums(indptr, ids, rest), _sums_of_log(members, ids).minus(own_holds, own_weight), rule)


def _sums_of_log(members: GroupMembers, ids: NDArray[np.int32]) -> TermSums:
    """Return the sums over all people of the log."""
    n_terms = len(members.terms)
    holders = np.bincount(members.ids, minlength=n_terms)
    total = np.bincount(members.ids, members.weights, minlength=n_terms).astype(np.float64)
    return TermSums(holders[ids], total[ids], len(members.group))


def _apply_rule(sums: GroupSums, log: TermSums, rule: PublicationRule) -> WeightedRows:
    """Weight the terms of groups and drop those that the rule does not allow to publish."""
    group, n_members = sums.members, np.maximum(1, sums.members.n_people)
    shrinkage = np.minimum(1.0, rule.shrink * _smallest_group(rule.p) / n_members)
    weights = (1 - shrinkage) * group.mean_weights(rule) + shrinkage * log.mean_weights(rule)
    is_published = (group.holders > 0) & (log.holders >= rule.floor)
    if rule.principle in ("posterior", "belief"):
        highest = rule.p + (log.holders / np.maximum(1, log.n_people) if rule.principle == "belief" else 0.0)
        is_published &= group.holders <= n_members * highest * (1 + ROUNDING)
    return WeightedRows(select_entries(sums.indptr, is_published), sums.ids[is_published], weights[is_published])


@dataclass(frozen=True, eq=False)
class TermMapping:
    """Maps every term of a release to index terms, to none if the index does not know it."""

    matrix: csr_array  # (terms of the release, terms of the index): how often the release term contains the word

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Return, for every term, whether the index knows it."""
        return np.asarray(np.diff(self.matrix.indptr) > 0)

    def vectors(self, rows: WeightedRows) -> list[ProfileVector]:
        """Return the vector of every row, equal to what `Index.vector` returns for it."""
        shape = (len(rows.indptr) - 1, self.matrix.shape[0])
        profiles = csr_array((rows.weights, rows.ids, rows.indptr), shape=shape)
        mapped = (profiles @ self.matrix).sorted_indices()
        n_known = np.diff(select_entries(rows.indptr, self.is_known[rows.ids])).tolist()
        n_terms = np.diff(rows.indptr).tolist()
        return [
            ProfileVector.normalized(mapped.indices[a:b].astype(np.int32), mapped.data[a:b], known, terms)
            for (a, b), known, terms in zip(pairwise(mapped.indptr), n_known, n_terms, strict=True)
        ]


def map_terms(index: Index, terms: tuple[str, ...]) -> TermMapping:
    """Look up every term of a release in an index."""
    vectors = [index.vector((term,), (1.0,)) for term in terms]
    # a vector has unit length; its smallest weight belongs to a word that the term contains once
    factors = [vector.weights / vector.weights.min() for vector in vectors if len(vector)]
    counts = np.concatenate([np.empty(0), *factors]).round()
    ids = np.concatenate([np.empty(0, np.int32), *(vector.ids for vector in vectors)])
    indptr = indptr_of([len(vector) for vector in vectors])
    return TermMapping(csr_array((counts, ids, indptr), shape=(len(terms), len(index.terms))))
