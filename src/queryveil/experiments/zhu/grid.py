"""The runs behind figures 2 to 6: every p and a, with the paper's settings and with our defaults.

The people have equally many terms, as in the paper. Queries, relevance judgments and bootstrap resamples are the same
for all runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from queryveil.core.errors import GuaranteeError, InputError
from queryveil.core.evidence import Evidence, Floor, GroupMembers, ReleasedGroups
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import FloatArray, Int32Array, IntArray, row_numbers
from queryveil.experiments.paper import RunTally, confirm
from queryveil.histories.outcomes import Grouping
from queryveil.histories.profiles import Profiles
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.measures.privacy.linkability import measure_linkability
from queryveil.methods.linkability import group_profiles
from queryveil.methods.linkability.principles import floor_of, without_rare
from queryveil.search.evaluation.group_profiles import PublicationRule, map_terms
from queryveil.search.evaluation.metrics import BootstrapResamples, MetricValues, draw_resamples
from queryveil.search.evaluation.topics import TopicPlan, choose_topics
from queryveil.search.evaluation.variants import SearchSetup
from queryveil.search.index import Index
from queryveil.search.ranking_settings import PAPER, RANKINGS
from queryveil.semantics.augmentation import Weighting, augment
from queryveil.semantics.network import wordnet

TERMS = 150  # of every person
FEWEST = 100  # people; of fewer there are hardly any groups at p = 0.1, where one needs ten
PS = (0.1, 0.2, 0.3, 0.4)
LEVELS = (0, 1, 2, 3)  # a
USUAL_P, USUAL_A = 0.4, 1  # while the other one varies; the paper does not say which p figure 3 has
PAPERS, DEFAULTS = "the paper's settings", "our defaults"
SETTINGS = {
    PAPERS: "linkability(p={p}, a={a}, closest=seed, average=global, weighting=paper, floor=1)",
    DEFAULTS: "linkability(p={p}, a={a})",
}
GROUP_SIZE, LINKING, WORST = "group size", "linking probability", "linking probability of the worst term"

Cell = tuple[str, float, int]  # settings, p, a


@dataclass(frozen=True, eq=False)
class GroupRun:
    """The figures of one verified run; without a legal group there are none."""

    method: str
    groups: int
    privacy: Mapping[str, float]  # GROUP_SIZE, LINKING, WORST
    figures: Mapping[str, MetricValues]  # by variant


@dataclass(frozen=True, eq=False)
class GroupGrid:
    """All runs, and what they share."""

    runs: Mapping[Cell, GroupRun]
    common: Mapping[str, MetricValues]  # of the variants EVERYBODY and UNPERSONALISED
    resamples: BootstrapResamples
    people: int
    queries: int
    tally: RunTally = field(default_factory=RunTally)


def equal_profiles(profiles: Profiles, most: int, rng: np.random.Generator) -> Profiles:
    """Return the first people with enough terms in WordNet, each with TERMS of them, drawn at random, of weight 1."""
    entries = profiles.vocabulary
    known = (wordnet().find_all(entries) >= 0) & np.array([entry not in STOP_WORDS for entry in entries])
    usable = profiles.select(known[profiles.ids])
    people = np.flatnonzero(np.diff(usable.indptr) >= TERMS)[:most]
    if len(people) < FEWEST:
        raise InputError(
            f"{len(people):,} people of the log have {TERMS} terms that WordNet knows, and the paper's "
            f"evaluation takes {FEWEST} at least; give a larger log."
        )
    rows = [rng.permutation(usable.ids[usable.indptr[h] : usable.indptr[h + 1]])[:TERMS] for h in people]
    found, ids = np.unique(np.concatenate(rows), return_inverse=True)
    ids = np.sort(ids.reshape(len(people), TERMS), axis=1).ravel()
    return Profiles(
        tuple(entries[entry] for entry in found.tolist()),
        np.arange(len(people) + 1) * TERMS,
        ids.astype(np.int32),
        np.ones(len(ids), np.int32),
        np.arange(len(people), dtype=np.int32),
        ("",) * len(people),
    )


def run_grid(profiles: Profiles, index: Index, rng: np.random.Generator, progress: Progress = silent) -> GroupGrid:
    """Make all runs for the people of the profiles, with 5 queries each."""
    n_people = profiles.n_histories
    members = ungrouped(profiles)
    mapping = map_terms(index, members.terms)
    topics = choose_topics(index, mapping, members, TopicPlan(people=n_people), rng=rng, progress=progress)
    if not topics.queries:
        raise InputError(f"no query finds enough documents in {index.path}; index more documents.")
    setup = SearchSetup(index, mapping, members, topics, RANKINGS[PAPER])
    orders = setup.rank_by_everybody(PublicationRule(USUAL_P))
    common = {variant: topics.metrics(order) for variant, order in orders.items()}
    runs, tally = {}, RunTally()
    cells = list(product(SETTINGS, PS, LEVELS))
    for number, cell in enumerate(cells):
        progress(f"run {number + 1} of {len(cells)}", number, len(cells))
        runs[cell] = run_once(profiles, setup, cell, rng, tally)
    return GroupGrid(runs, common, draw_resamples(topics.person, rng), len(topics.people), len(topics.queries), tally)


def run_once(profiles: Profiles, setup: SearchSetup, cell: Cell, rng: np.random.Generator, tally: RunTally) -> GroupRun:
    """Group the people, verify the groups, and measure them."""
    settings, p, a = cell
    method = resolve("method", SETTINGS[settings].format(p=p, a=a))
    made = group_people(profiles, method, rng, tally)
    if made is None:
        return GroupRun(str(method), 0, {}, {})
    grouped, evidence = made
    measure = resolve("measure", f"linkability(p={p})")
    scores = {score.label: score.value for score in measure_linkability(evidence, measure, rng=rng)}
    privacy = {label: float(scores[label] or 0.0) for label in (GROUP_SIZE, LINKING, WORST)}
    searching = replace(setup, members=evidence.get(GroupMembers))
    orders = searching.rank_by_groups(evidence.get(ReleasedGroups), PublicationRule.of(method), rng)
    figures = {variant: setup.topics.metrics(order) for variant, order in orders.items()}
    return GroupRun(str(method), grouped.n_groups, privacy, figures)


def group_people(
    profiles: Profiles, method: ResolvedName, rng: np.random.Generator, tally: RunTally
) -> tuple[Grouping, Evidence] | None:
    """Return verified groups of people and the evidence about them; None if no legal group exists."""
    weighting: Weighting = "paper" if method.word("weighting") == "paper" else "content"
    features = augment(without_rare(profiles, method), wordnet(), a=method.integer("a"), weighting=weighting)
    try:
        grouped = group_profiles(profiles, features, method, rng=rng)
    except GuaranteeError:
        tally.empty += 1
        return None
    rows = _as_released(profiles.vocabulary, grouped.indptr, grouped.ids, grouped.weights)
    members = replace(ungrouped(profiles), group=grouped.group)
    evidence = Evidence(ReleasedGroups(np.arange(grouped.n_groups), *rows), members, Floor(floor_of(method)))
    confirm(method, evidence, tally)
    return grouped, evidence


def ungrouped(profiles: Profiles) -> GroupMembers:
    """Return the people of profiles with terms of weight 1, nobody in a group yet."""
    rows = _as_released(profiles.vocabulary, profiles.indptr, profiles.ids, np.ones(len(profiles.ids)))
    return GroupMembers(np.full(profiles.n_histories, -1, np.int32), *rows)


def _as_released(
    entries: tuple[str, ...], indptr: IntArray, ids: Int32Array, weights: FloatArray
) -> tuple[IntArray, Int32Array, FloatArray, tuple[str, ...]]:
    """Return rows of weighted terms (indptr, ids, weights, terms) with terms in alphabetical order, as in a release."""
    by_text = sorted(range(len(entries)), key=entries.__getitem__)
    ranks = np.argsort(by_text).astype(np.int32)[ids]
    order = np.lexsort((ranks, row_numbers(indptr)))
    return indptr, ranks[order], weights[order], tuple(entries[entry] for entry in by_text)
