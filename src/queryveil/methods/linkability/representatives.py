"""What is published of a group: its terms with weights, from the original profiles of its members.

The centroid weighs a term by its mean weight over all members, the union by that over the members who hold it. Terms
stand by id, and each once, so nothing tells whose they are.

`shrink` pulls the weights w of a group of n members to those of all people: (1 − s)·w + s·(weight over all people),
with s = shrink·⌈1/p⌉ / n, which is `shrink` for the smallest group there can be. It adds no term: if the terms of all
people were added, one that is missing would be known to be suppressed, and so be held by many.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from queryveil.core.names import ResolvedName
from queryveil.core.rows import indptr_of, per_entry, row_numbers
from queryveil.histories.outcomes import Grouping
from queryveil.histories.profiles import Profiles
from queryveil.kernels.grouping.greedy import SLACK
from queryveil.kernels.grouping.published import sum_groups
from queryveil.methods.linkability.principles import Population, highest_shares, population_of, smallest_group


def representatives(
    profiles: Profiles, group: NDArray[np.int32], method: ResolvedName, *, people: Population | None = None
) -> Grouping:
    """Return the groups with what is published of each; `people` are all, where the profiles are of some only."""
    everybody = people or population_of(profiles)
    n_groups, n_entries = int(group.max(initial=-1)) + 1, len(profiles.vocabulary)
    weights = np.ones(len(profiles.ids)) if profiles.weights is None else profiles.weights
    sizes = np.bincount(group[group >= 0], minlength=n_groups)
    by_group = np.argsort(group, kind="stable")[np.count_nonzero(group < 0) :]
    # cells: (group, entry) pairs, by group and entry
    start, entry, holders, total = sum_groups(
        profiles.indptr, profiles.ids, weights, group, by_group, n_groups, n_entries
    )
    of_group = row_numbers(start)
    members = sizes[of_group]
    is_union = method.word("representative") == "union"
    value = total / (holders if is_union else members)
    if "shrink" in method.values:
        value = _pulled(everybody, value, entry, members, is_union, method)
    highest = highest_shares(everybody, method)
    shown = np.ones(len(entry), np.bool_)
    if highest is not None:
        shown = holders <= members * highest[entry] * (1 + SLACK)
    indptr = np.searchsorted(of_group[shown], np.arange(n_groups + 1)).astype(np.int64)
    summary = {"terms of groups suppressed": int(np.count_nonzero(~shown))}
    return Grouping(group, indptr, entry[shown], value[shown], summary=summary)


def without(made: Grouping, dropped: NDArray[np.bool_]) -> tuple[Grouping, NDArray[np.int32]]:
    """Return the groups without some, and the new number of every old one; who was in a dropped one is in none."""
    number = np.append(np.where(dropped, -1, np.cumsum(~dropped) - 1), -1).astype(np.int32)
    shown = per_entry(~dropped, made.indptr)
    indptr = indptr_of(np.diff(made.indptr)[~dropped])
    kept = replace(made, group=number[made.group], indptr=indptr, ids=made.ids[shown], weights=made.weights[shown])
    return kept, number


def _pulled(
    people: Population,
    value: NDArray[np.float64],
    entry: NDArray[np.int32],
    members: NDArray[np.int64],
    is_union: bool,
    method: ResolvedName,
) -> NDArray[np.float64]:
    """Return the values of groups pulled towards those of all people."""
    everybody = people.totals / np.maximum(1, people.holders if is_union else people.n_people)
    pull = method.real("shrink") * smallest_group(method.real("p")) / members
    pulled: NDArray[np.float64] = (1 - pull) * value + pull * everybody[entry]
    return pulled
