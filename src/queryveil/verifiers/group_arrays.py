"""Find what breaks linkability in arrays, on one machine: all pairs of a group's members are sorted and counted."""

# ruff: noqa: D102 (the methods are documented in SqlGroupFinder)

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from queryveil.core.errors import InternalError, ReleaseError
from queryveil.core.evidence import GroupMembers, ReleasedGroups
from queryveil.core.progress import Progress
from queryveil.core.rows import BoolArray, FloatArray, Int32Array, IntArray
from queryveil.verifiers.group_tables import WEIGHT_TOLERANCE, Fault, Finding, fault_of

PAIRS_AT_ONCE = 1_000_000  # sorted together: what they need is little memory, and near the processor


class GroupCounts(NamedTuple):
    """Counts of a release and of everybody's profiles."""

    held: IntArray  # (rows,): members of the group who hold the term
    weight: FloatArray  # (rows,): the sum of its weights in their profiles
    held_in_group: IntArray  # (groups,): their sum over the terms
    members: IntArray  # (groups,)
    held_in_log: IntArray  # (released terms,): people of the whole log who hold the term
    people: int
    people_with_terms: int  # people who hold a publishable term
    pairs: int  # of these people and such terms


class ArrayGroupFinder:
    """Released groups and their members as arrays."""

    def __init__(self, released: ReleasedGroups, members: GroupMembers, floor: int, progress: Progress) -> None:
        """Store the arrays, after checking that they are those of one release and of its private side."""
        _refuse_wrong_arrays(released, members)
        self._released, self._members, self._floor, self._progress = released, members, floor, progress
        self._group = _row_numbers(released.indptr)
        self._terms = np.diff(released.indptr)
        self.n_rows = len(released.ids)

    def impossible_groups(self) -> Iterator[Fault]:
        """Yield members of groups that are not released, and groups without rows."""
        group, n_groups = self._members.group, len(self._released.groups)
        unknown = int(np.count_nonzero((group < -1) | (group >= n_groups)))
        if unknown:
            yield Fault(unknown, f"{unknown:,} people are in groups that are not released")
        empty = self._worst_group(self._terms == 0)
        yield from fault_of(empty, f"group {empty.group} has no rows")

    def repeated_terms(self) -> Finding:
        ids = self._released.ids
        return self._worst_row(self._is_same_group & (ids[1:] == ids[:-1]))

    def unordered_terms(self) -> Finding:
        ids = self._released.ids
        return self._worst_row(self._is_same_group & (ids[1:] < ids[:-1]))

    def wrong_weights(self) -> Finding:
        weights = self._released.weights
        worst = self._worst_row(is_wrong := ~(np.isfinite(weights) & (weights > 0)))
        return worst._replace(value=float(weights[is_wrong.argmax()])) if worst.violations else worst

    def small_groups(self, least: int) -> Finding:
        members = self._counts.members
        return self._worst_group(members < least, -members)

    def rare_terms(self) -> Finding:
        published = np.flatnonzero(np.bincount(self._released.ids))
        held_in_log = self._counts.held_in_log[published]
        n_rare, rarest = int(np.count_nonzero(held_in_log < self._floor)), int(held_in_log.argmin())
        return Finding(n_rare, term=self._released.terms[published[rarest]], held=int(held_in_log[rarest]))

    def invented_terms(self) -> Finding:
        return self._worst_row(self._counts.held == 0)

    def other_weights(self, pull: float, *, is_union: bool) -> Finding:
        counts, released, members = self._counts, self._released, self._members
        crowd = counts.members[self._group]
        value = counts.weight / (counts.held if is_union else crowd)
        if pull:
            in_log = np.bincount(members.ids, members.weights, len(members.terms))[released.ids]
            mean = in_log / (counts.held_in_log[released.ids] if is_union else counts.people)
            value += pull / crowd * (mean - value)
        is_other = np.zeros(len(value), np.bool_)
        for begin in range(0, len(value), PAIRS_AT_ONCE):
            some = slice(begin, begin + PAIRS_AT_ONCE)
            is_other[some] = np.abs(released.weights[some] - value[some]) > WEIGHT_TOLERANCE * (1 + value[some])
        return self._worst_row(is_other & ~np.isin(released.groups[self._group], members.frozen))

    def mean_profile_size(self) -> Fraction:
        return Fraction(self._counts.pairs, self._counts.people_with_terms)

    def groups_with_few_terms(self, least: int) -> Finding:
        return self._worst_group(self._terms < least, -self._terms)

    def groups_above_mean(self, p: Fraction) -> Finding:
        counts, possible = self._counts, self._counts.members * self._terms
        is_above = counts.held_in_group > _limits(p, possible.tolist())
        return self._worst_group(is_above, np.where(is_above, counts.held_in_group / np.maximum(possible, 1), 0))

    def terms_above_share(self, p: Fraction, *, has_prior: bool) -> Finding:
        counts, group = self._counts, self._group
        if has_prior:  # held / members - held_in_log / people <= p, times members · people
            scaled = _limits(p, [size * counts.people for size in counts.members.tolist()])
            prior = counts.held_in_log[self._released.ids] * counts.members[group]
            most = (scaled[group] + prior) // counts.people
        else:
            most = _limits(p, counts.members.tolist())[group]
        excess = counts.held - most
        worst = self._worst_row(excess > 0, excess)
        return worst._replace(most=int(most[excess.argmax()]))

    def worst_share(self) -> float:
        shares = self._counts.held / self._counts.members[self._group]
        return float(np.maximum.reduceat(shares, self._released.indptr[:-1]).mean())

    def groups_below_entropy(self, least: float) -> Finding:
        counts, group = self._counts, self._group
        share = counts.held / counts.held_in_group[group]
        entropy = -np.bincount(group, share * np.log(share), minlength=len(self._terms))
        return self._worst_group(entropy < least, -entropy)._replace(value=float(entropy.min()))

    def groups_above_distance(self, most: Fraction) -> Finding:
        # total variation is the sum of what the group has too much of, so terms that it does not publish add 0
        counts, group = self._counts, self._group
        excess = counts.held * counts.pairs - counts.held_in_log[self._released.ids] * counts.held_in_group[group]
        apart = self._sum_by_group(excess.clip(0))
        possible = counts.held_in_group * counts.pairs
        is_above = apart > _limits(most, [size * counts.pairs for size in counts.held_in_group.tolist()])
        distance = apart / possible
        return self._worst_group(is_above, distance)._replace(value=float(distance.max()))

    @cached_property
    def _is_same_group(self) -> BoolArray:
        """Return, for every row but the last, whether the next one is of the same group."""
        is_same: BoolArray = self._group[1:] == self._group[:-1]
        return is_same

    def _worst_row(self, is_wrong: BoolArray, badness: IntArray | None = None) -> Finding:
        """Return how many rows are wrong, and the worst of them, or the first."""
        n_wrong = int(np.count_nonzero(is_wrong))
        if not n_wrong:
            return Finding()
        row = int((is_wrong if badness is None else badness).argmax())
        term = self._released.terms[self._released.ids[row]]
        worst = Finding(n_wrong, int(self._released.groups[self._group[row]]), term)
        if badness is None:
            return worst
        members = int(self._counts.members[self._group[row]])
        return worst._replace(members=members, held=int(self._counts.held[row]))

    def _worst_group(self, is_wrong: BoolArray, badness: FloatArray | IntArray | None = None) -> Finding:
        """Return how many groups are wrong, and the worst of them, or the first."""
        n_wrong = int(np.count_nonzero(is_wrong))
        if not n_wrong:
            return Finding()
        position = int((is_wrong if badness is None else badness).argmax())
        worst = Finding(n_wrong, int(self._released.groups[position]), terms=int(self._terms[position]))
        if badness is None:
            return worst
        counts = self._counts
        return worst._replace(members=int(counts.members[position]), held=int(counts.held_in_group[position]))

    @cached_property
    def _counts(self) -> GroupCounts:
        """Count everything that the claim is about."""
        members, released = self._members, self._released
        held_in_log = np.bincount(members.ids, minlength=len(members.terms))
        before = np.zeros(len(members.ids) + 1, np.int64)
        np.cumsum((held_in_log >= self._floor)[members.ids], out=before[1:])
        has_terms, n_pairs = before[members.indptr[1:]] > before[members.indptr[:-1]], int(before[-1])
        del before  # counting needs memory
        held, weight = self._count_holders()
        return GroupCounts(
            held=held,
            weight=weight,
            held_in_group=self._sum_by_group(held),
            members=np.bincount(members.group[has_terms & (members.group >= 0)], minlength=len(released.groups)),
            held_in_log=held_in_log[: len(released.terms)],
            people=len(members.group),
            people_with_terms=int(np.count_nonzero(has_terms)),
            pairs=n_pairs,
        )

    def _sum_by_group(self, values: IntArray) -> IntArray:
        """Return the sum over the rows of each group; every group has rows."""
        sums: IntArray = np.add.reduceat(values, self._released.indptr[:-1])
        return sums

    def _count_holders(self) -> tuple[IntArray, FloatArray]:
        """Return how many members hold the term of each row, and its weights, by search in their sorted pairs.

        Time grows with pairs · log pairs, memory with the pairs of the groups that are processed together.
        """
        members, released, n_groups = self._members, self._released, len(self._terms)
        width = len(members.terms)
        people = np.flatnonzero(members.group >= 0)
        people = people[np.argsort(members.group[people], kind="stable")]  # group by group
        first = np.searchsorted(members.group[people], np.arange(n_groups + 1))
        sizes = np.diff(members.indptr)[people]
        pairs_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))[first]  # (groups + 1,)
        cuts = np.searchsorted(pairs_before, np.arange(0, pairs_before[-1], PAIRS_AT_ONCE))
        chunks = np.unique(np.concatenate(([0], cuts, [n_groups]))).tolist()
        cells = self._group * width + released.ids  # group and term as one number
        held, weight = np.empty(len(cells), np.int64), np.zeros(len(cells))
        for begin, end in pairwise(chunks):
            some = slice(first[begin], first[end])
            keys = np.repeat(members.group[people[some]].astype(np.int64) * width, sizes[some])
            pairs = _positions(members.indptr[people[some]], sizes[some])
            keys += members.ids[pairs]
            order = np.argsort(keys, kind="stable")
            keys, rows = keys[order], slice(released.indptr[begin], released.indptr[end])
            left, right = (np.searchsorted(keys, cells[rows], side) for side in ("left", "right"))
            held[rows] = right - left
            sums = np.add.reduceat(np.append(members.weights[pairs[order]], 0), np.stack((left, right), 1).ravel())
            weight[rows] = np.where(right > left, sums[::2], 0)
            self._progress("verifying", end, n_groups)
        return held, weight


def _row_numbers(indptr: IntArray) -> IntArray:
    """Return the row of every entry."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def _positions(starts: IntArray, sizes: IntArray) -> IntArray:
    """Return the positions of all entries of rows that start somewhere and have a size."""
    before = np.cumsum(sizes) - sizes
    positions: IntArray = np.arange(int(sizes.sum())) + np.repeat(starts - before, sizes)
    return positions


def _limits(share: Fraction, totals: list[int]) -> IntArray:
    """Return the largest integers that are at most a share of each total."""
    return np.array([share.numerator * total // share.denominator for total in totals], np.int64)


def _refuse_wrong_arrays(released: ReleasedGroups, members: GroupMembers) -> None:
    """Raise unless the arrays are those of one release and of its private side."""
    _refuse_wrong_rows("release", released.indptr, released.ids, released.weights, len(released.terms))
    _refuse_wrong_rows("private side", members.indptr, members.ids, members.weights, len(members.terms))
    _refuse(len(released.indptr) != len(released.groups) + 1, "the groups of the release are not those of its rows")
    _refuse(bool((released.groups[1:] <= released.groups[:-1]).any()), "the groups of the release are not in order")
    _refuse(len(members.indptr) != len(members.group) + 1, "the people of the private side are not those of its rows")
    terms = released.terms
    is_ordered = all(one < other for one, other in pairwise(terms))
    _refuse(not is_ordered, "the terms of the release are not in the order of their texts")
    _refuse(members.terms[: len(terms)] != terms, "the terms of the private side do not begin with the released ones")
    _refuse(len(set(members.terms)) != len(members.terms), "a term of the private side has two numbers")
    is_same_person = np.diff(_row_numbers(members.indptr)) == 0
    if (is_same_person & (members.ids[1:] <= members.ids[:-1])).any():
        raise ReleaseError("the private folder has a term of a person twice; it is damaged, check --private.")


def _refuse_wrong_rows(name: str, indptr: IntArray, ids: Int32Array, weights: FloatArray, n_terms: int) -> None:
    is_covered = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(ids) == len(weights)
    _refuse(not is_covered or bool((indptr[1:] < indptr[:-1]).any()), f"the rows of the {name} are not covered")
    _refuse(len(ids) > 0 and (ids.min() < 0 or ids.max() >= n_terms), f"a term of the {name} has no text")


def _refuse(is_wrong: bool, what: str) -> None:
    if is_wrong:
        raise InternalError(f"{what}; please report this.")
