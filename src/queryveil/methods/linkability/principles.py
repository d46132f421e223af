"""The principles that make a group legal, and the figures of all people that they depend on."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.names import ResolvedName
from queryveil.histories.profiles import Profiles
from queryveil.kernels.grouping.greedy import CLOSENESS, DIVERSITY, GLOBAL, MEAN, MEMBERS, SLACK, Rule


@dataclass(frozen=True, eq=False)
class Population:
    """Counts over the profiles of all people, without the terms below the floor.

    On a cluster a block holds only some of the people, so these counts cannot be taken from its profiles.
    """

    n_people: int  # with and without terms
    n_holders: int  # those with terms
    n_pairs: int
    holders: NDArray[np.int64]  # (entries,): people who hold the entry
    totals: NDArray[np.float64]  # (entries,): the sum of its weights


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
    """Return how many members a group must have so that one of them is a share of at most p."""
    return math.ceil(1 / p * (1 - SLACK))


def without_rare(profiles: Profiles, method: ResolvedName) -> Profiles:
    """Return the profiles without the entries that fewer people hold than the floor: they are never published."""
    people = profiles.holders()
    return profiles.select(people[profiles.ids] >= floor_of(method))


def floor_of(method: ResolvedName) -> int:
    """Return how many people must hold an entry that is published: as many as a group has at least, if not given."""
    return int(method.values.get("floor", smallest_group(method.real("p"))))


def rule_for(people: Population, method: ResolvedName) -> Rule:
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
    return Rule(kind, p, smallest_group(p), limit, share)


def highest_shares(people: Population, method: ResolvedName) -> NDArray[np.float64] | None:
    """Return, for every entry, the share of a group's members that may hold it if it is published; None: any."""
    principle = method.word("principle")
    if principle not in ("posterior", "belief"):
        return None
    highest = np.full(len(people.holders), method.real("p"))
    if principle == "belief":
        highest += people.holders / people.n_people
    return highest
