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

from queryveil.core.evidence import GroupMembers
from queryveil.core.names import ResolvedName
from queryveil.core.rows import (
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    gather_rows,
    indptr_of,
    indptr_of_sorted,
    row_numbers,
    select_entries,
)
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
    ids: Int32Array  # (entries,)
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
    ids: Int32Array  # (entries,)
    members: TermSums


def sum_members(members: GroupMembers, group: IntArray) -> GroupSums:
    """Sum the members' profiles in each group; people with group −1 are in none."""
    n_groups, of_entry = int(group.max(initial=-1)) + 1, group[row_numbers(members.indptr)]
    is_grouped = of_entry >= 0
    indptr, ids, position = _cells(of_entry[is_grouped], members.ids[is_grouped], n_groups, len(members.terms))
    holders, total = np.bincount(position), np.bincount(position, members.weights[is_grouped]).astype(float)
    sizes = np.repeat(np.bincount(group[group >= 0], minlength=n_groups), np.diff(indptr))
    return GroupSums(indptr, ids, TermSums(holders, total, sizes))


def _cells(rows: IntArray, ids: NDArray[Any], n_rows: int, n_ids: int) -> tuple[IntArray, Int32Array, IntArray]:
    """Return the distinct pairs of row and id as CSR, ids ascending, and at which of them each given pair stands."""
    cells, position = np.unique(rows * n_ids + ids, return_inverse=True)
    return indptr_of_sorted(cells // max(1, n_ids), n_rows), (cells % max(1, n_ids)).astype(np.int32), position


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


def _sums_of_log(members: GroupMembers, ids: Int32Array) -> TermSums:
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

    indptr: IntArray  # (terms of the release + 1,)
    ids: Int32Array  # (entries,): terms of the index
    counts: FloatArray  # (entries,): how often the release term contains the word
    n_index_terms: int

    @property
    def is_known(self) -> BoolArray:
        """Return, for every term, whether the index knows it."""
        return np.asarray(np.diff(self.indptr) > 0)

    def map(self, rows: WeightedRows) -> WeightedRows:
        """Return the rows over the terms of the index."""
        spread, entries = gather_rows(self.indptr, rows.ids)
        of_entry = np.repeat(row_numbers(rows.indptr), np.diff(spread))
        indptr, ids, position = _cells(of_entry, self.ids[entries], len(rows.indptr) - 1, self.n_index_terms)
        products = np.repeat(rows.weights, np.diff(spread)) * self.counts[entries]
        return WeightedRows(indptr, ids, np.bincount(position, products).astype(float))

    def vectors(self, rows: WeightedRows) -> list[ProfileVector]:
        """Return the vector of every row, equal to what `Index.vector` returns for it."""
        indptr, ids, weights = self.map(rows)
        n_known = np.diff(select_entries(rows.indptr, self.is_known[rows.ids])).tolist()
        n_terms = np.diff(rows.indptr).tolist()
        return [
            ProfileVector.normalized(ids[a:b], weights[a:b], known, terms)
            for (a, b), known, terms in zip(pairwise(indptr.tolist()), n_known, n_terms, strict=True)
        ]


class EverybodyVectors:
    """The sum of all groups' profiles over the terms of an index, with the groups of some people replaced.

    Whoever serves searches shrinks groups to this sum. For a person who is left out, the person's group enters as it
    would have been published without the person.
    """

    def __init__(self, mapping: TermMapping, published: WeightedRows) -> None:
        self._published = mapping.map(published)
        n_terms = mapping.n_index_terms
        self._totals = np.bincount(self._published.ids, self._published.weights, minlength=n_terms).astype(float)

    def vector(self) -> ProfileVector:
        """Return the vector of everybody."""
        return self._normalized(self._totals)

    def replacing(self, group: int, ids: Int32Array, weights: FloatArray) -> ProfileVector:
        """Return the vector of everybody with another profile, over index terms, in place of a group's."""
        row = slice(self._published.indptr[group], self._published.indptr[group + 1])
        totals = self._totals.copy()
        totals[self._published.ids[row]] -= self._published.weights[row]
        totals[ids] += weights
        return self._normalized(totals)

    def _normalized(self, totals: FloatArray) -> ProfileVector:
        ids = np.flatnonzero(totals > ROUNDING * totals.max(initial=0.0))
        return ProfileVector.normalized(ids.astype(np.int32), totals[ids], len(ids), len(ids))


def map_terms(index: Index, terms: tuple[str, ...]) -> TermMapping:
    """Look up every term of a release in an index."""
    vectors = [index.vector((term,), (1.0,)) for term in terms]
    # a vector has unit length; its smallest weight belongs to a word that the term contains once
    factors = [vector.weights / vector.weights.min() for vector in vectors if len(vector)]
    counts = np.concatenate([np.empty(0), *factors]).round()
    ids = np.concatenate([np.empty(0, np.int32), *(vector.ids for vector in vectors)])
    indptr = indptr_of([len(vector) for vector in vectors])
    return TermMapping(indptr, ids, counts, len(index.terms))
