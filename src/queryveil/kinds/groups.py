"""Kind `groups`: what a group of people has in common, as terms with weights; who is in it is private."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from queryveil.core.arrow import as_array, break_ties, encode_texts, take_texts
from queryveil.core.errors import GuaranteeError, ReleaseError
from queryveil.core.evidence import Evidence, Floor, GroupMembers, ReleasedGroups
from queryveil.core.rows import FloatArray, Int32Array, IntArray, gather_rows, order_within_rows, row_numbers
from queryveil.engines import QueryLog
from queryveil.engines.kept_columns import NOTHING_KEPT, KeptColumns
from queryveil.histories.profiles import Profiles
from queryveil.kinds import base
from queryveil.kinds.canonical_order import ids_of_order, order_rows, rank_texts
from queryveil.kinds.private_folder import PrivateFolder

UNRELEASED_GROUPS = "the private folder has members of groups that are not released"
WEIGHT_DECIMALS = 9  # of a published weight: rounds off what sums in another order differ by


@dataclass(frozen=True)
class GroupsKind(base.Kind):
    """Representatives of groups."""

    def encode(
        self, outcome: Any, profiles: Profiles, log: QueryLog | None = None, kept: KeptColumns = NOTHING_KEPT
    ) -> base.ReleaseContent:
        """Return the rows `group, term, weight` of the groups, terms in the order of their texts."""
        rank, texts = rank_texts(profiles.vocabulary, outcome.ids)
        ranks = rank[outcome.ids]
        order = order_within_rows(outcome.indptr, ranks)
        ranks, weights = ranks[order], outcome.weights[order]
        del order  # here and below memory is needed
        np.round(weights, WEIGHT_DECIMALS, out=weights)
        np.maximum(weights, 10.0**-WEIGHT_DECIMALS, out=weights)
        in_order = _order_groups(outcome.indptr, ranks, weights)
        release_ids = np.append(ids_of_order(in_order, outcome.n_groups), -1)  # the last is that of the suppressed
        released, positions = gather_rows(outcome.indptr, in_order)
        terms = take_texts(texts, ranks[positions])
        rows = pa.table({"group": row_numbers(released), "term": terms, "weight": weights[positions]})
        frozen = () if outcome.inherited is None else release_ids[outcome.inherited[outcome.inherited >= 0]].tolist()
        return base.ReleaseContent(rows, release_ids[outcome.group], frozen=tuple(frozen))

    def counts(self, outcome: Any, profiles: Profiles, content: base.ReleaseContent) -> base.Counts:
        """Count the people in groups, and what is published of these."""
        n_people = int(np.count_nonzero(outcome.group >= 0))
        if n_people == 0:
            raise GuaranteeError("nobody is left to publish; take a larger p or give a larger log.")
        n_terms, n_rows = int(np.count_nonzero(np.bincount(outcome.ids))), len(outcome.ids)
        return base.Counts(n_people, n_people, n_terms, n_rows, n_rows, {"groups": outcome.n_groups})

    def decode(self, rows: pa.Table) -> ReleasedGroups:
        """Return the groups of released rows; rows keep their order within a group."""
        if any(rows[name].null_count for name in rows.column_names):
            raise ReleaseError("the release has rows in which something is missing; it is damaged.")
        group, (ids, terms), weights = as_array(rows["group"]), encode_texts(rows["term"]), as_array(rows["weight"])
        if (group[1:] < group[:-1]).any():  # not as rows are written
            order = np.argsort(group, kind="stable")
            group, ids, weights = group[order], ids[order], weights[order]
        first = np.flatnonzero(np.append(True, group[1:] > group[:-1])[: len(group)])  # of each group
        return ReleasedGroups(group[first], np.append(first, len(group)), ids, weights, terms)

    def evidence_of_profiles(
        self, rows: pa.Table, profiles: Profiles, content: base.ReleaseContent, floor: int
    ) -> Evidence:
        """Return the decoded rows, and the members as the profiles have them."""
        evidence = Evidence(released := self.decode(rows), Floor(floor), profiles)
        release_ids, frozen = content.release_ids, content.frozen
        # once the rows, whose memory is needed, are freed
        evidence.add(GroupMembers, lambda: replace(members_of(profiles, release_ids, released), frozen=frozen))
        return evidence

    def read_evidence(self, rows: pa.Table, private: PrivateFolder | None, floor: int) -> Evidence:
        """Return the decoded rows, and the members as the private folder has them."""
        evidence = Evidence(released := self.decode(rows), Floor(floor))
        if private is not None:
            evidence.add(GroupMembers, lambda: load_members(private, released))
        return evidence

    def count_rows(self, evidence: Evidence) -> Mapping[str, int]:
        """Count groups, terms and rows."""
        released = evidence.get(ReleasedGroups)
        n_rows = len(released.ids)
        return {"terms": len(released.terms), "pairs": n_rows, "occurrences": n_rows, "groups": len(released.groups)}

    def private_faults(
        self, evidence: Evidence, private: PrivateFolder, counts: Mapping[str, int], *, is_intact: bool
    ) -> list[str]:
        """Return whether there are members of groups that are not released, or other numbers of people."""
        group = private.membership()["release_id"].drop_null()
        if not is_intact:
            return []
        unreleased = np.setdiff1d(as_array(group), evidence.get(ReleasedGroups).groups).size
        found = dict.fromkeys(("people", "histories"), len(group))
        return [UNRELEASED_GROUPS] * bool(unreleased) + base.wrong_counts(found, counts, "private folder")

    def crowd_members(self, evidence: Evidence, units: IntArray, persons: IntArray) -> tuple[IntArray, IntArray]:
        """Return every person with the group: all members have its release id."""
        return units, persons


def _order_groups(indptr: IntArray, ranks: Int32Array, weights: FloatArray) -> IntArray:
    """Return the groups, all with terms, sorted by the ranks of their terms, those of equal terms by their weights."""
    order = order_rows(indptr, ranks, None)
    released, positions = gather_rows(indptr, order)
    length, sorted_ranks = np.diff(released), ranks[positions]
    # of an entry of a row, the position of the same entry in the next row
    below = np.repeat(length, length)
    below += np.arange(len(positions))
    np.minimum(below, len(positions) - 1, out=below)
    equals_below = np.logical_and.reduceat(sorted_ranks == sorted_ranks[below], released[:-1])

    def bytes_of(groups: IntArray) -> pa.Array:
        """Return the weights, which are positive, as bytes that sort as they do."""
        bounds, entries = gather_rows(indptr, groups)
        data = pa.py_buffer(weights[entries].astype(">f8"))
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(groups), [None, pa.py_buffer(8 * bounds), data])

    break_ties(order, equals_below[:-1] & (length[1:] == length[:-1]), bytes_of)
    return order


def members_of(profiles: Profiles, release_ids: IntArray, released: ReleasedGroups) -> GroupMembers:
    """Return who is in which group, over the terms of the release followed by those that were not released."""
    terms = tuple(dict.fromkeys((*released.terms, *profiles.vocabulary)))
    number = {term: i for i, term in enumerate(terms)}
    ids = np.array([number[entry] for entry in profiles.vocabulary], np.int32)[profiles.ids]
    order = order_within_rows(profiles.indptr, ids)
    weights = np.ones(len(ids)) if profiles.weights is None else profiles.weights
    group = np.searchsorted(released.groups, release_ids).astype(np.int32)
    group[~np.isin(release_ids, released.groups)] = -1
    return GroupMembers(group, profiles.indptr, ids[order], weights[order], terms)


def load_members(private: PrivateFolder, released: ReleasedGroups) -> GroupMembers:
    """Return who is in which group from the private folder."""
    release_ids = [-1 if group is None else group for group in private.membership()["release_id"].to_pylist()]
    if private.log_profiles.weights is None:
        raise ReleaseError(f"{private.path} is missing the weights of profiles or damaged; check --private.")
    members = members_of(private.log_profiles, np.array(release_ids, np.int64), released)
    return replace(members, frozen=private.frozen_groups())


GROUPS = GroupsKind(
    name="groups",
    needs_profiles_only=True,
    purpose="groups of people, each with terms and weights in place of the members' profiles",
    columns={"group": "int64", "term": "string", "weight": "float64"},
    sorted_by=("group", "term"),
    content="groups",
    example_claim="linkability(p=…)",
    crowd="group",
    needs_private=True,
    answers_searches=True,
    reads_profile_files=True,
    needs_whole_people=True,
    fates=("published of the group", "not published of the group"),
    after_heading="After: the group that stands for this person",
    comparison="queryveil.kinds.comparison_views:GROUPS",
    figure=("weight", ".2f"),
    checked="Terms of groups checked",
    default_measure_specs=(
        base.DefaultMeasure("linkability(p={p})"),
        base.DefaultMeasure("search", frozenset({"index"})),
    ),
    report_section="kinds/groups.html.j2",
    frame="queryveil.kinds.frames:GROUPS",
)
