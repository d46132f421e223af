"""Groups over time: newcomers make groups of their own, and nobody is moved unless a group would break its promise.

When one person joins a group of n, (n + 1) times the new centroid less n times the old one is that person's profile. So
what is published of a group stays frozen until at least ⌈1/p⌉ of its members have changed since it was published; it
must hold for today's members nevertheless. The most similar newcomers join groups that lost members and would break
their promise; where that does not help, the group is dissolved. People without a group are then grouped with each
other. Who fits into none of these groups joins the closest one, or is suppressed if that would break its promise.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import (
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    gather_rows,
    indptr_of_sorted,
    row_numbers,
    row_sums,
)
from queryveil.histories.outcomes import Grouping, PreviousGroups
from queryveil.histories.profiles import Profiles
from queryveil.kernels.grouping.greedy import ROUNDING
from queryveil.methods.linkability import principles
from queryveil.methods.linkability.blocks import EXACT_UP_TO, group_all
from queryveil.methods.linkability.greedy import take_out_dissimilar, task_of
from queryveil.semantics.augmentation import FeatureMatrix

_NO_GROUP = np.int32(-1)
_AT_ONCE = 2_000_000  # products of newcomers' and groups' entries, and cosines, that are held in memory

Groups = Int32Array  # (histories,): the group of each, −1 for none


def extend_groups(
    profiles: Profiles,
    features: FeatureMatrix,
    before: PreviousGroups,
    method: ResolvedName,
    *,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Grouping:
    """Return today's groups: the previous ones as far as they keep the promise, and new ones of everybody else."""
    common = principles.without_rare(profiles, method)
    usable = np.diff(common.indptr) > 0
    stayed = np.where(usable, before.group, _NO_GROUP)
    keeps_promise = partial(_keeps_promise, common, before=before, method=method)
    group = _repair(stayed, ~keeps_promise(stayed), usable, features, principles.smallest_group(method.real("p")))
    is_dissolved = ~keeps_promise(group)
    group = np.where(_is_in(is_dissolved, group), _NO_GROUP, group)
    alone = np.flatnonzero((group < 0) & usable)
    exact_up_to = len(alone) if method.word("blocks") == "none" else EXACT_UP_TO
    task = task_of(common, features, method)
    new, _ = group_all(task, alone, rng, exact_up_to, progress)
    group = np.where(new >= 0, before.n_groups + new, group)
    group = np.where((group >= before.n_groups) & _is_in(~keeps_promise(group), group), _NO_GROUP, group)
    closest, _ = _closest_groups(group, usable, features)
    joined = np.where(closest >= 0, closest, group)
    group = np.where((group < 0) & _is_in(~keeps_promise(joined), joined), _NO_GROUP, joined).astype(np.int32)
    group = take_out_dissimilar(task, group).clip(_NO_GROUP)
    is_frozen = _is_frozen(group, before, method)
    is_frozen[: len(is_dissolved)] &= ~is_dissolved
    made = _publish_groups(common, group, before, is_frozen, method)
    group = np.where(_is_in(~_is_legal(common, group, made, method), group), _NO_GROUP, group)
    contributors = np.where(_is_in(is_frozen, group), _NO_GROUP, group)
    still = _is_in(is_frozen, before.contributors)
    contributors[still] = before.contributors[still]
    made = replace(made, group=group, summary=_summary(stayed, group, is_frozen, usable, before.n_groups))
    made, number = principles.without_groups(made, np.bincount(group[group >= 0], minlength=made.n_groups) == 0)
    inherited = np.where(is_frozen, number[:-1], _NO_GROUP)[: before.n_groups]
    return replace(made, contributors=number[contributors], inherited=inherited)


def _summary(stayed: Groups, group: Groups, is_frozen: BoolArray, usable: BoolArray, n_old: int) -> dict[str, int]:
    """Return counts that describe the run."""
    is_old = (group >= 0) & (group < n_old)
    are = np.bincount(group[group >= 0], minlength=len(is_frozen)) > 0
    flags = {
        "groups": are,
        "newcomers in groups there were": (stayed < 0) & is_old,
        "new groups": are[n_old:],
        "groups dissolved": ~are[:n_old],  # also where all members left the log
        "people moved": (stayed >= 0) & (group != stayed),
        "groups published as before": is_frozen & are,
        "people who fit nowhere": (group < 0) & usable,
        "people without a usable term": ~usable,
    }
    return {name: int(np.count_nonzero(each)) for name, each in flags.items()}


def _is_in(chosen: BoolArray, group: Groups) -> BoolArray:
    """Return which histories are in one of the chosen groups."""
    return np.append(chosen, False)[np.minimum(group, len(chosen))] & (group >= 0)


def _repair(group: Groups, is_broken: BoolArray, usable: BoolArray, features: FeatureMatrix, n_most: int) -> Groups:
    """Add to each broken group those without a group that are the most similar to it, at most so many."""
    closest, similarity = _closest_groups(group, usable, features)
    wanted = np.flatnonzero(_is_in(is_broken, closest))
    wanted = wanted[np.lexsort((-similarity[wanted], closest[wanted]))]
    rank = np.arange(len(wanted)) - np.searchsorted(closest[wanted], closest[wanted])  # within the group
    repaired = group.copy()
    repaired[wanted[rank < n_most]] = closest[wanted[rank < n_most]]
    return repaired


def _closest_groups(group: Groups, usable: BoolArray, features: FeatureMatrix) -> tuple[Groups, FloatArray]:
    """Return for everybody without a group the one with the most similar centroid (−1 for others), and the cosine.

    Ties go to the first group; groups without members are not considered.
    """
    row, used = row_numbers(features.indptr), np.unique(group[group >= 0])
    unit = features.values / np.sqrt(np.bincount(row, features.values**2, minlength=len(group)))[row]
    cells = principles.cells_of(features.indptr, features.ids, unit, group, features.n_dimensions)
    number = np.searchsorted(used, row_numbers(cells.indptr))
    length = np.sqrt(np.bincount(number, cells.total**2, minlength=len(used)))
    order = np.argsort(cells.entry, kind="stable")  # cells by dimension, then by group
    of_group, centroid = number[order], (cells.total / length[number])[order]
    by_dimension = indptr_of_sorted(cells.entry, features.n_dimensions)
    closest, similarity = np.full(len(group), _NO_GROUP), np.zeros(len(group))
    alone = np.flatnonzero((group < 0) & usable & (len(used) > 0))
    n_products = row_sums(np.diff(by_dimension)[features.ids], features.indptr)[alone]
    portion = np.cumsum(n_products + len(used)) // _AT_ONCE
    for part in np.split(alone, np.flatnonzero(np.diff(portion)) + 1) if len(alone) else ():
        indptr, entries = gather_rows(features.indptr, part)
        spread, cell = gather_rows(by_dimension, features.ids[entries])
        products = np.repeat(unit[entries], np.diff(spread)) * centroid[cell]
        place = np.repeat(row_numbers(indptr) * len(used), np.diff(spread)) + of_group[cell]
        cosine = np.bincount(place, products, len(part) * len(used)).reshape(len(part), len(used))
        similarity[part] = cosine.max(axis=1, initial=0)
        closest[part] = used[np.argmax(cosine >= (1 - ROUNDING) * similarity[part, np.newaxis], axis=1)]
    return closest, similarity


def _is_frozen(group: Groups, before: PreviousGroups, method: ResolvedName) -> BoolArray:
    """Return which groups have too few changes since their terms were published (joined or left); new ones do not."""
    n = before.n_groups
    joined = (group >= 0) & (group < n) & (group != before.contributors)
    gone = (before.contributors >= 0) & (group != before.contributors)
    n_joined, n_gone = np.bincount(group[joined], minlength=n), np.bincount(before.contributors[gone], minlength=n)
    is_frozen = n_joined + n_gone + before.left < principles.smallest_group(method.real("p"))
    return np.pad(is_frozen, (0, max(0, int(group.max(initial=-1)) + 1 - n)))


def _keeps_promise(common: Profiles, group: Groups, before: PreviousGroups, method: ResolvedName) -> BoolArray:
    """Return which groups would publish what keeps the promise for these members."""
    is_frozen = _is_frozen(group, before, method)
    return _is_legal(common, group, _publish_groups(common, group, before, is_frozen, method), method)


def _publish_groups(
    common: Profiles, group: Groups, before: PreviousGroups, is_frozen: BoolArray, method: ResolvedName
) -> Grouping:
    """Return what is published of every group: as before if that is frozen, else from today's members."""
    n_groups, made = len(is_frozen), principles.representatives(common, group, method)
    # rows: today's representatives, padded to all groups, then the previous ones
    padded = np.pad(made.indptr, (0, n_groups + 1 - len(made.indptr)), mode="edge")
    both = np.concatenate((padded, before.indptr[1:] + made.indptr[-1]))
    indptr, taken = gather_rows(both, np.arange(n_groups) + np.where(is_frozen, n_groups, 0))
    ids, weights = np.concatenate((made.ids, before.ids)), np.concatenate((made.weights, before.weights))
    return Grouping(group, indptr, ids[taken], weights[taken])


def _is_legal(common: Profiles, group: Groups, published: Grouping, method: ResolvedName) -> BoolArray:
    """Return which groups' published entries keep the promise for their members; those of an empty group do."""
    n_groups, n_entries = published.n_groups, len(common.vocabulary)
    members = np.bincount(group[group >= 0], minlength=n_groups)
    cells = principles.cells_of(common.indptr, common.ids, principles.weights_of(common), group, n_entries)
    keys = row_numbers(cells.indptr) * n_entries + cells.entry
    of_group: IntArray = row_numbers(published.indptr)
    wanted = of_group * n_entries + published.ids
    position = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
    holders = 0 * wanted
    if len(keys):
        holders = np.where((published.ids >= 0) & (keys[position] == wanted), cells.holders[position], 0)
    legal = (members >= principles.smallest_group(method.real("p"))) & (np.diff(published.indptr) > 0)
    legal &= np.bincount(of_group, holders == 0, minlength=n_groups) == 0
    legal &= _satisfies_principle(common, published, of_group, holders, members, method)
    return np.asarray(legal | (members == 0))


def _satisfies_principle(
    common: Profiles,
    published: Grouping,
    of_group: IntArray,
    holders: IntArray,
    members: IntArray,
    method: ResolvedName,
) -> BoolArray:
    """Return for which groups the principle holds over their published entries."""
    n_groups, n_terms, everybody = published.n_groups, np.diff(published.indptr), principles.population_of(common)
    p, principle, rule = method.real("p"), method.word("principle"), principles.rule_for(everybody, method)
    held = np.bincount(of_group, holders, minlength=n_groups)
    highest = principles.highest_shares(everybody, method)
    if highest is not None:
        over = holders > members[of_group] * highest[published.ids] * (1 + ROUNDING)
        return np.asarray(np.bincount(of_group, over, minlength=n_groups) == 0)
    if principle == "mean":
        most = p * n_terms * members if method.word("average") == "group" else np.where(n_terms >= rule.bound, held, -1)
        return np.asarray(held <= most * (1 + ROUNDING))
    share = holders / np.maximum(held, 1)[of_group]
    if principle == "diversity":
        logs = np.log(share, out=np.zeros(len(share)), where=share > 0)
        return np.asarray(-np.bincount(of_group, share * logs, minlength=n_groups) >= rule.bound * (1 - ROUNDING))
    everywhere = rule.share[published.ids]
    apart = np.bincount(of_group, np.abs(share - everywhere) - everywhere, minlength=n_groups)
    return np.asarray((apart + 1) / 2 <= rule.bound * (1 + ROUNDING))
