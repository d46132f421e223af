"""Groups over time: newcomers join the groups there are, and nobody is moved unless a group would break its promise.

When one person joins a group of n, (n + 1) times the new centroid less n times the old one is that person's profile. So
what is published of a group stays frozen until at least ⌈1/p⌉ of its members have changed since it was published; it
must hold for the members of today all the same. A group that cannot keep its promise is dissolved. Whoever has no group
by then is grouped anew with the others who have none, and suppressed where that makes no legal group.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from queryveil.core.errors import GuaranteeError
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import IntArray, indptr_of, per_entry, row_numbers
from queryveil.histories.outcomes import Grouping, PreviousGroups
from queryveil.histories.profiles import FeatureMatrix, Profiles
from queryveil.kernels.grouping.greedy import SLACK
from queryveil.methods.linkability import group_profiles
from queryveil.methods.linkability.principles import (
    highest_shares,
    population_of,
    rule_for,
    smallest_group,
    without_rare,
)
from queryveil.methods.linkability.representatives import representatives, without

_NOBODY = -1
_AT_ONCE = 500  # newcomers who are compared with all groups


def extend_groups(
    profiles: Profiles,
    features: FeatureMatrix,
    before: PreviousGroups,
    method: ResolvedName,
    *,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Grouping:
    """Return the groups of today: those of before as far as they keep the promise, and new ones of the others."""
    common = without_rare(profiles, method)
    usable = np.diff(common.indptr) > 0
    stayed = np.where(usable, before.group, _NOBODY).astype(np.int32)
    joined = _with_newcomers(stayed, usable, features, before.n_groups)
    is_broken = ~_keeps_promise(common, joined, before, method)
    joined = np.where((stayed < 0) & _of(is_broken, joined), _NOBODY, joined).astype(np.int32)
    is_dissolved = ~_keeps_promise(common, joined, before, method)
    group = np.where(_of(is_dissolved, joined), _NOBODY, joined).astype(np.int32)
    group = _with_new_groups(profiles, features, group, usable, before.n_groups, method, rng, progress)
    is_frozen = np.zeros(int(group.max(initial=before.n_groups - 1)) + 1, np.bool_)
    is_frozen[: before.n_groups] = _is_frozen(group, before, method) & ~is_dissolved
    made = _published(common, group, before, is_frozen, method)
    group = np.where(_of(~_is_legal(common, group, made, method), group), _NOBODY, group).astype(np.int32)
    counted = np.where(_of(is_frozen, group), _NOBODY, group).astype(np.int32)
    still = _of(is_frozen, before.contributors)
    counted[still] = before.contributors[still]
    made = _summed_up(made, stayed, group, is_frozen, usable, before)
    made, number = without(made, np.bincount(group[group >= 0], minlength=made.n_groups) == 0)
    as_before = np.where(is_frozen, number[:-1], _NOBODY)[: before.n_groups].astype(np.int32)
    return replace(made, contributors=number[counted], inherited=as_before)


def _summed_up(
    made: Grouping,
    stayed: NDArray[np.int32],
    group: NDArray[np.int32],
    is_frozen: NDArray[np.bool_],
    usable: NDArray[np.bool_],
    before: PreviousGroups,
) -> Grouping:
    """Return the groups with what was done, in counts."""
    n_old, is_old = before.n_groups, (group >= 0) & (group < before.n_groups)
    were, are = (np.bincount(numbers[numbers >= 0], minlength=n_old) > 0 for numbers in (stayed, group))
    summary = {
        "groups": int(np.count_nonzero(are)),
        "newcomers in groups there were": int(np.count_nonzero((stayed < 0) & is_old)),
        "new groups": int(np.count_nonzero(are[n_old:])),
        "groups dissolved": int(np.count_nonzero(were & ~are[:n_old])),
        "people moved": int(np.count_nonzero((stayed >= 0) & (group != stayed))),
        "groups published as before": int(np.count_nonzero(is_frozen & are)),
        "people who fit nowhere": int(np.count_nonzero((group < 0) & usable)),
        "people without a usable term": int(np.count_nonzero(~usable)),
    }
    return replace(made, group=group, summary=summary)


def _of(groups: NDArray[np.bool_], group: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Say of every history whether its group is one of some."""
    return np.append(groups, False)[np.minimum(group, len(groups))] & (group >= 0)


def _with_newcomers(
    group: NDArray[np.int32], usable: NDArray[np.bool_], features: FeatureMatrix, n_groups: int
) -> NDArray[np.int32]:
    """Put everybody without a group into the one whose centroid is the most alike; ties to the first."""
    row = row_numbers(features.indptr)
    unit = features.values / np.sqrt(np.bincount(row, features.values**2, minlength=len(group)))[row]
    shape = (len(group), features.n_dimensions)
    rows = csr_array((unit, features.ids, features.indptr), shape=shape)
    held = np.flatnonzero(group >= 0)
    sums = csr_array((np.ones(len(held)), (group[held], held)), shape=(n_groups, len(group))) @ rows
    length = np.sqrt(sums.multiply(sums).sum(axis=1))
    sums = diags_array(1 / np.maximum(length, np.finfo(float).tiny)) @ sums
    joined = group.copy()
    newcomers = np.flatnonzero((group < 0) & usable)
    for part in np.array_split(newcomers, len(newcomers) // _AT_ONCE + 1):
        if len(part) and n_groups:
            joined[part] = np.argmax((rows[part] @ sums.T).toarray(), axis=1)
    return joined


def _n_changed(group: NDArray[np.int32], before: PreviousGroups) -> NDArray[np.int64]:
    """Count, for every old group, who joined or left since its terms were published."""
    n = before.n_groups
    joined = (group >= 0) & (group < n) & (group != before.contributors)
    gone = (before.contributors >= 0) & (group != before.contributors)
    changed: NDArray[np.int64] = (
        np.bincount(group[joined], minlength=n) + np.bincount(before.contributors[gone], minlength=n) + before.left
    )
    return changed


def _is_frozen(group: NDArray[np.int32], before: PreviousGroups, method: ResolvedName) -> NDArray[np.bool_]:
    frozen: NDArray[np.bool_] = _n_changed(group, before) < smallest_group(method.real("p"))
    return frozen


def _keeps_promise(
    common: Profiles, group: NDArray[np.int32], before: PreviousGroups, method: ResolvedName
) -> NDArray[np.bool_]:
    """Say of every old group whether what would be published of it keeps the promise for these members."""
    old = np.where(group < before.n_groups, group, _NOBODY).astype(np.int32)
    return _is_legal(common, old, _published(common, old, before, _is_frozen(old, before, method), method), method)


def _published(
    common: Profiles,
    group: NDArray[np.int32],
    before: PreviousGroups,
    is_frozen: NDArray[np.bool_],
    method: ResolvedName,
) -> Grouping:
    """Return what is published of every group: as before where that is frozen, else of the members of today."""
    n_groups = len(is_frozen)
    made = representatives(common, group, method)
    indptr = np.concatenate((made.indptr, np.full(n_groups + 1 - len(made.indptr), made.indptr[-1])))
    rows: list[tuple[NDArray[np.int32], NDArray[np.float64]]] = []
    for g in range(n_groups):
        source, bounds = (before, before.indptr) if is_frozen[g] else (made, indptr)
        part = slice(bounds[g], bounds[g + 1])
        rows.append((source.ids[part], source.weights[part]))
    lengths = [len(ids) for ids, _ in rows]
    return Grouping(
        group,
        indptr_of(lengths),
        np.concatenate([ids for ids, _ in rows]) if rows else np.empty(0, np.int32),
        np.concatenate([weights for _, weights in rows]) if rows else np.empty(0),
    )


def _is_legal(
    common: Profiles, group: NDArray[np.int32], published: Grouping, method: ResolvedName
) -> NDArray[np.bool_]:
    """Say of every group whether its published entries keep the promise for its members; an empty group does."""
    n_groups, n_entries = published.n_groups, len(common.vocabulary)
    members = np.bincount(group[group >= 0], minlength=n_groups)
    row_group = per_entry(group, common.indptr)
    keys, counts = np.unique(
        row_group[row_group >= 0].astype(np.int64) * n_entries + common.ids[row_group >= 0], return_counts=True
    )
    of_group: IntArray = row_numbers(published.indptr)
    wanted = of_group * n_entries + published.ids
    place = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
    holders = np.where((published.ids >= 0) & (keys[place] == wanted), counts[place], 0) if len(keys) else 0 * wanted
    n_terms = np.diff(published.indptr)
    legal = (members >= smallest_group(method.real("p"))) & (n_terms > 0)
    legal &= np.bincount(of_group, holders == 0, minlength=n_groups) == 0
    legal &= _is_within(common, published, of_group, holders, members, method)
    return _as_flags(legal | (members == 0))


def _is_within(
    common: Profiles,
    published: Grouping,
    of_group: NDArray[np.int64],
    holders: NDArray[np.int64],
    members: NDArray[np.int64],
    method: ResolvedName,
) -> NDArray[np.bool_]:
    """Say of every group whether the principle holds for what is published of it."""
    n_groups, n_terms = published.n_groups, np.diff(published.indptr)
    p, principle, rule = method.real("p"), method.word("principle"), rule_for(population_of(common), method)
    held = np.bincount(of_group, holders, minlength=n_groups)
    highest = highest_shares(population_of(common), method)
    if highest is not None:
        over = holders > members[of_group] * highest[published.ids] * (1 + SLACK)
        return _as_flags(np.bincount(of_group, over, minlength=n_groups) == 0)
    if principle == "mean":
        most = p * n_terms * members if method.word("average") == "group" else np.where(n_terms >= rule.bound, held, -1)
        return _as_flags(held <= most * (1 + SLACK))
    share = holders / np.maximum(held, 1)[of_group]
    if principle == "diversity":
        logs = np.log(share, out=np.zeros(len(share)), where=share > 0)
        return _as_flags(-np.bincount(of_group, share * logs, minlength=n_groups) >= rule.bound * (1 - SLACK))
    everywhere = rule.share[published.ids]
    apart = np.bincount(of_group, np.abs(share - everywhere) - everywhere, minlength=n_groups)
    return _as_flags((apart + 1) / 2 <= rule.bound * (1 + SLACK))


def _as_flags(values: NDArray[Any]) -> NDArray[np.bool_]:
    return values.astype(np.bool_)


def _with_new_groups(
    profiles: Profiles,
    features: FeatureMatrix,
    group: NDArray[np.int32],
    usable: NDArray[np.bool_],
    n_old: int,
    method: ResolvedName,
    rng: np.random.Generator,
    progress: Progress,
) -> NDArray[np.int32]:
    """Group those who have no group among themselves, as far as that makes legal groups."""
    alone = (group < 0) & usable
    if np.count_nonzero(alone) < smallest_group(method.real("p")):
        return group
    in_question = per_entry(alone, profiles.indptr)
    try:
        made = group_profiles(profiles.select(in_question), features, method, rng=rng, progress=progress)
    except GuaranteeError:
        return group
    return np.where(made.group >= 0, n_old + made.group, group).astype(np.int32)
