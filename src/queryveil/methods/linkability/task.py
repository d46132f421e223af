"""What is to be grouped: rows, when a group is legal, and who may be put together."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from queryveil.core.names import ResolvedName
from queryveil.core.rows import gather_rows
from queryveil.histories.profiles import FeatureMatrix, Profiles
from queryveil.kernels.grouping.blocks import localize
from queryveil.kernels.grouping.greedy import CLOSENESS, Rows, Rule
from queryveil.kernels.grouping.published import Weighed, at_unit_length
from queryveil.methods.linkability.population import Population, population_of
from queryveil.methods.linkability.principles import highest_shares, rule_for

ANYBODY = -1.0  # a cosine that everybody has


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to be grouped."""

    rows: Rows
    rule: Rule
    n_entries: int
    by_seed: bool = False  # the next member is the closest to the seed, else to the centroid
    least: float = ANYBODY  # cosine with that
    weighed: Weighed | None = None  # where every published entry has a highest share
    crowds: tuple[int, ...] = ()  # then: how many may share an entry in the groups to be tried

    @property
    def n_rows(self) -> int:
        """Count the rows."""
        return len(self.rows.indptr) - 1

    @property
    def is_open(self) -> bool:
        """Say whether anybody may be put with anybody."""
        return self.least == ANYBODY


def task_of(
    profiles: Profiles, features: FeatureMatrix, method: ResolvedName, *, people: Population | None = None
) -> Task:
    """Return the task of grouping all histories; features come to unit length.

    `people` are all, where the profiles are of some only.
    """
    everybody = people or population_of(profiles)
    values = at_unit_length(features.indptr, features.values)
    highest = highest_shares(everybody, method)
    return Task(
        Rows(profiles.indptr, profiles.ids, features.indptr, features.ids, values, features.n_dimensions),
        rule_for(everybody, method),
        len(profiles.vocabulary),
        method.word("closest") == "seed",
        float(method.values.get("min_similarity", ANYBODY)),
        None if highest is None else _weighed(profiles, highest),
        (1, 3) if method.word("principle") == "belief" else (1,),
    )


def _weighed(profiles: Profiles, highest: NDArray[np.float64]) -> Weighed:
    weights = np.ones(len(profiles.ids)) if profiles.weights is None else profiles.weights
    return Weighed(weights, at_unit_length(profiles.indptr, weights), highest)


def part_of(task: Task, which: NDArray[np.int64]) -> Task:
    """Return the task of grouping some of the rows, entries and dimensions numbered anew."""
    rows = task.rows
    indptr, place = gather_rows(rows.indptr, which)
    feature_indptr, feature_place = gather_rows(rows.feature_indptr, which)
    ids, feature_ids = rows.ids[place], rows.feature_ids[feature_place]
    entries = localize(ids, np.full(task.n_entries, -1, np.int32))
    n_dimensions = len(localize(feature_ids, np.full(rows.n_dimensions, -1, np.int32)))
    weighed, rule = task.weighed, task.rule
    if weighed is not None:
        weighed = Weighed(weighed.weight[place], weighed.unit[place], weighed.highest[entries])
    if rule.kind == CLOSENESS:
        rule = rule._replace(share=rule.share[entries])
    part = Rows(indptr, ids, feature_indptr, feature_ids, rows.feature_values[feature_place], n_dimensions)
    return replace(task, rows=part, rule=rule, n_entries=len(entries), weighed=weighed)
