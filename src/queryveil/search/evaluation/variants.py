"""The profiles that search in a person's place, and how well each does.

An anonymised profile holds the person's own terms: of three members each is a third of the centroid. So that what a
group is worth is not mistaken for what is left of oneself in it, every kind of group is also looked at with the
person's own profile left out, as if they were not in the log.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import GroupMembers, ReleasedGroups
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import IntArray
from queryveil.search.evaluation.bootstrap import Resamples, resample
from queryveil.search.evaluation.lexicon import Lexicon
from queryveil.search.evaluation.metrics import judge
from queryveil.search.evaluation.publication import Rows, Rule, publish, publish_without, sum_up
from queryveil.search.evaluation.topics import Topics, order_by
from queryveil.search.index import Index
from queryveil.search.vectors import ProfileVector

PLAIN, EVERYBODY = "no personalisation", "one group of everybody"
OURS, RANDOM = "the groups", "random groups of the same sizes"
OURS_LEFT, RANDOM_LEFT = "the groups, own profile left out", "random groups, own profile left out"
VARIANTS = (OURS, RANDOM, EVERYBODY, PLAIN, OURS_LEFT, RANDOM_LEFT)
_PEOPLE_AT_ONCE = 100  # whose left-out groups are in memory

Figures = Mapping[str, NDArray[np.float64]]  # metric → (queries,)


@dataclass(frozen=True, eq=False)
class Searching:
    """Everything that is the same for all groups that are looked at: index, people, queries."""

    index: Index
    lexicon: Lexicon
    members: GroupMembers  # their groups are those of one release; others may be given
    topics: Topics
    blend: float = 0.0  # of the engine's own score with that of a profile


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How every variant orders the documents of every query, and what that is worth."""

    topics: Topics
    orders: Mapping[str, IntArray]  # variant → (queries, depth): places in the engine's list
    figures: Mapping[str, Figures]  # variant → metric → (queries,)
    resamples: Resamples


def evaluate(
    searching: Searching,
    released: ReleasedGroups,
    rule: Rule,
    *,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Evaluation:
    """Search with what is published of groups, and with everything it must be compared to."""
    topics, n_people = searching.topics, len(searching.members.group)
    orders = evaluate_groups(searching, released, rule, rng, progress)
    progress(f"ranking for {EVERYBODY}", len(orders), len(VARIANTS))
    orders[EVERYBODY] = published(searching, np.zeros(n_people, np.int64), rule)
    orders[PLAIN] = plain(topics)
    figures = {variant: figures_of(topics, orders[variant]) for variant in VARIANTS}
    return Evaluation(topics, orders, figures, resample(topics.person, rng))


def evaluate_groups(
    searching: Searching,
    released: ReleasedGroups,
    rule: Rule,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> dict[str, IntArray]:
    """Return the orders of what is published of groups and of random ones, each with and without oneself."""
    group = searching.members.group.astype(np.int64)
    shuffled = shuffle(group, rng)
    steps: dict[str, Callable[[], IntArray]] = {
        OURS: lambda: by_group(searching, Rows(released.indptr, released.ids, released.weights), group),
        OURS_LEFT: lambda: left_out(searching, group, rule),
        RANDOM: lambda: published(searching, shuffled, rule),
        RANDOM_LEFT: lambda: left_out(searching, shuffled, rule),
    }
    orders: dict[str, IntArray] = {}
    for number, (variant, step) in enumerate(steps.items()):
        progress(f"ranking for {variant}", number, len(VARIANTS))
        orders[variant] = step()
    return orders


def shuffle(group: IntArray, rng: np.random.Generator) -> IntArray:
    """Return random groups of the same sizes; who is in none stays so."""
    shuffled = group.copy()
    inside = np.flatnonzero(group >= 0)
    shuffled[inside] = group[rng.permutation(inside)]
    return shuffled


def plain(topics: Topics) -> IntArray:
    """Return the engine's order."""
    return np.tile(np.arange(topics.documents.shape[1]), (len(topics.queries), 1))


def by_group(searching: Searching, rows: Rows, group: IntArray) -> IntArray:
    """Return the order that the profile of each person's group gives; without a group, the engine's."""
    group = group[searching.topics.people]
    used, place = np.unique(group[group >= 0], return_inverse=True)
    vectors = searching.lexicon.vectors(rows.take(used))
    nobody = searching.lexicon.vectors(Rows(np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0)))[0]
    profiles: list[ProfileVector] = [nobody] * len(group)
    for person, vector in zip(np.flatnonzero(group >= 0).tolist(), place.tolist(), strict=True):
        profiles[person] = vectors[vector]
    return order_by(searching.index, searching.topics, profiles, searching.blend)


def published(searching: Searching, group: IntArray, rule: Rule) -> IntArray:
    """Return the order of groups as they would be published by the rule."""
    return by_group(searching, publish(sum_up(searching.members, group), searching.members, rule), group)


def left_out(searching: Searching, group: IntArray, rule: Rule) -> IntArray:
    """Return the order of groups as they would be published if the person who searches were not in the log."""
    people, sums = searching.topics.people, sum_up(searching.members, group)
    profiles: list[ProfileVector] = []
    for start in range(0, len(people), _PEOPLE_AT_ONCE):
        some = people[start : start + _PEOPLE_AT_ONCE]
        profiles += searching.lexicon.vectors(publish_without(sums, group, some, searching.members, rule))
    return order_by(searching.index, searching.topics, profiles, searching.blend)


def figures_of(topics: Topics, order: IntArray) -> Figures:
    """Return every metric of every query."""
    return judge(np.take_along_axis(topics.is_relevant, order, axis=1), topics.n_relevant)
