"""The runs behind figures 2 to 6: every p and a, by the paper's settings and by ours; each is verified.

The queries, what is relevant, and the resamples of people are the same for all runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence, Floor, GroupMembers, ReleasedGroups
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import row_numbers
from queryveil.experiments.runs import confirm
from queryveil.experiments.zhu import printed
from queryveil.histories.outcomes import Grouping
from queryveil.histories.profiles import FeatureMatrix, Profiles
from queryveil.measures.privacy.linkability import compute as link
from queryveil.methods.linkability import group_profiles
from queryveil.methods.linkability.principles import floor_of, without_rare
from queryveil.search.evaluation.group_profiles import PublicationRule, map_terms
from queryveil.search.evaluation.metrics import BootstrapResamples, draw_resamples
from queryveil.search.evaluation.topics import TopicPlan, choose_topics
from queryveil.search.evaluation.variants import (
    EVERYBODY,
    UNPERSONALISED,
    MetricValues,
    SearchSetup,
    engine_order,
    metrics_of,
    rank_by_group_variants,
    rank_by_published_groups,
)
from queryveil.search.index import Index
from queryveil.semantics.augmentation import augment
from queryveil.semantics.expansion import Weighting
from queryveil.semantics.network import wordnet

PAPERS, OURS_SET = "the paper's settings", "our defaults"
SETTINGS = {
    PAPERS: "linkability(p={p}, a={a}, closest=seed, average=global, weighting=paper, floor=1)",
    OURS_SET: "linkability(p={p}, a={a})",
}
GROUP_SIZE, LINKING, WORST = "group size", "linking probability", "linking probability of the worst term"

Cell = tuple[str, float, int]  # settings, p, a


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one run is worth, verified."""

    method: str
    groups: int
    privacy: Mapping[str, float]  # GROUP_SIZE, LINKING, WORST
    figures: Mapping[str, MetricValues]  # variant → metric → (queries,)


@dataclass(frozen=True, eq=False)
class Grid:
    """All runs, and what does not depend on them."""

    runs: Mapping[Cell, Outcome]
    common: Mapping[str, MetricValues]  # EVERYBODY, UNPERSONALISED
    resamples: BootstrapResamples
    people: int
    queries: int


def run_grid(profiles: Profiles, index: Index, rng: np.random.Generator, progress: Progress = silent) -> Grid:
    """Make all runs; the people are those of the profiles, 5 queries each."""
    nobody = GroupMembers(np.full(profiles.n_histories, -1, np.int32), *_by_text(profiles))
    mapping = map_terms(index, nobody.terms)
    topics = choose_topics(index, mapping, nobody, TopicPlan(people=profiles.n_histories), rng=rng, progress=progress)
    if not topics.queries:
        raise InputError(f"no query finds enough documents in {index.path}; index more documents.")
    setup = SearchSetup(index, mapping, nobody, topics)
    everybody = rank_by_published_groups(
        setup, np.zeros(profiles.n_histories, np.int64), PublicationRule(printed.USUAL_P)
    )
    common = {EVERYBODY: metrics_of(topics, everybody), UNPERSONALISED: metrics_of(topics, engine_order(topics))}
    runs = {}
    cells = list(product(SETTINGS, printed.PS, printed.LEVELS))
    for number, cell in enumerate(cells):
        progress(f"run {number + 1} of {len(cells)}", number, len(cells))
        runs[cell] = _run(profiles, setup, cell, rng)
    return Grid(runs, common, draw_resamples(topics.person, rng), len(topics.people), len(topics.queries))


def _run(profiles: Profiles, setup: SearchSetup, cell: Cell, rng: np.random.Generator) -> Outcome:
    settings, p, a = cell
    bound = resolve("method", SETTINGS[settings].format(p=p, a=a))
    grouped: Grouping = group_profiles(profiles, _features(profiles, bound), bound, rng=rng)
    released, members = _sides(profiles, grouped)
    evidence = Evidence.of(released, members, Floor(floor_of(bound)))
    confirm(bound, evidence)
    scores = {score.label: score.value for score in link(evidence, resolve("measure", f"linkability(p={p})"), rng=rng)}
    privacy = {label: float(scores[label] or 0.0) for label in (GROUP_SIZE, LINKING, WORST)}
    within = SearchSetup(setup.index, setup.mapping, members, setup.topics)
    orders = rank_by_group_variants(within, released, PublicationRule.of(bound), rng)
    figures = {variant: metrics_of(setup.topics, order) for variant, order in orders.items()}
    return Outcome(str(bound), grouped.n_groups, privacy, figures)


def _features(profiles: Profiles, bound: ResolvedName) -> FeatureMatrix:
    weighting: Weighting = "paper" if bound.word("weighting") == "paper" else "content"
    return augment(without_rare(profiles, bound), wordnet(), a=bound.integer("a"), weighting=weighting)


def _by_text(profiles: Profiles) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], tuple[str, ...]]:
    """Return the rows of profiles over terms numbered by their texts, as they are in a release."""
    place, terms = _places(profiles)
    rows = profiles.row_numbers()
    order = np.lexsort((place[profiles.ids], rows))
    return profiles.indptr, place[profiles.ids][order], np.ones(len(order)), terms


def _places(profiles: Profiles) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Return the rank of every entry by its text, and the texts in order."""
    order = sorted(range(len(profiles.vocabulary)), key=profiles.vocabulary.entries.__getitem__)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place, tuple(profiles.vocabulary[entry] for entry in order)


def _sides(profiles: Profiles, grouped: Grouping) -> tuple[ReleasedGroups, GroupMembers]:
    """Return what would be released of groups, and its private side."""
    place, terms = _places(profiles)
    rows = row_numbers(grouped.indptr)
    order = np.lexsort((place[grouped.ids], rows))
    ids, weights = place[grouped.ids][order], grouped.weights[order]
    released = ReleasedGroups(np.arange(grouped.n_groups), grouped.indptr, ids, weights, terms)
    return released, GroupMembers(grouped.group, *_by_text(profiles))
