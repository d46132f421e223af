"""Clicks: how high the documents that people clicked are ranked, before and after re-ranking by a profile.

The mean reciprocal rank of a query's first clicked document, in an index whose documents have the log's addresses as
ids. Every query is ranked by the profile of the person's group, of the person and of everybody, all with the same
weights. None of these knows the query: the group and everybody are computed without the person, and the person's own
profile is without the query's terms.
"""

from collections.abc import Iterator

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence, GroupMembers, ReleasedGroups
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.core.rows import FloatArray
from queryveil.measures.utility.search import SearchInputs, estimate_score, settings_of
from queryveil.search.evaluation.clicks import (
    PERSON,
    ClickedTopics,
    ClickLog,
    ClickPlan,
    choose_clicked,
    rank_by_person,
)
from queryveil.search.evaluation.group_profiles import map_terms
from queryveil.search.evaluation.metrics import RECIPROCAL, draw_resamples, reciprocal_ranks
from queryveil.search.evaluation.variants import (
    EVERYBODY_WITHOUT_SELF,
    GROUPS_WITHOUT_SELF,
    QUERY_ALONE,
    RANDOM_WITHOUT_SELF,
    UNPERSONALISED,
    SearchEvaluation,
    SearchSetup,
)

SHOWN = (UNPERSONALISED, PERSON, GROUPS_WITHOUT_SELF, EVERYBODY_WITHOUT_SELF, QUERY_ALONE, RANDOM_WITHOUT_SELF)
COMPARED = (
    (PERSON, UNPERSONALISED),
    (GROUPS_WITHOUT_SELF, UNPERSONALISED),
    (EVERYBODY_WITHOUT_SELF, UNPERSONALISED),
    (GROUPS_WITHOUT_SELF, EVERYBODY_WITHOUT_SELF),
    (GROUPS_WITHOUT_SELF, QUERY_ALONE),
    (GROUPS_WITHOUT_SELF, RANDOM_WITHOUT_SELF),
)
NOTES = {
    UNPERSONALISED: "before: the engine's own order",
    PERSON: "after: a person without any other term keeps the engine's order",
    GROUPS_WITHOUT_SELF: "after: as if the person were not in the log",
    QUERY_ALONE: "the same ranking without any profile",
}


def measure_clicks(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the mean reciprocal rank for every kind of profile, comparisons, and how many clicks were looked at."""
    clicks, released, members = evidence.get(ClickLog), evidence.get(ReleasedGroups), evidence.get(GroupMembers)
    inputs = evidence.get(SearchInputs)
    plan = ClickPlan(*(measure.integer(name) for name in ("people", "queries", "depth")))
    clicked = choose_clicked(inputs.index, clicks, plan, rng=rng, progress=progress)
    if not clicked.topics.queries:
        raise InputError(
            f"{measure}: of {clicked.n_clicks:,} clicks {clicked.n_indexed:,} are on documents of {inputs.index.path}, "
            "and no query finds its own; index what was shown, with the url of the log as the documents' ids."
        )
    mapping = map_terms(inputs.index, members.terms)
    setup = SearchSetup(inputs.index, mapping, members, clicked.topics, settings_of(measure))
    ranked = setup.rank(released, inputs.rule, rng=rng, progress=progress)
    orders = {variant: ranked[variant] for variant in SHOWN if variant in ranked} | {PERSON: rank_by_person(setup)}
    is_relevant = clicked.topics.is_relevant
    figures = {
        variant: {RECIPROCAL: reciprocal_ranks(np.take_along_axis(is_relevant, order, axis=1))}
        for variant, order in orders.items()
    }
    evaluation = SearchEvaluation(clicked.topics, orders, figures, draw_resamples(clicked.topics.person, rng))
    inputs.keep(evaluation)
    return list(_scores(str(measure), evaluation, clicked))


def _scores(measure: str, found: SearchEvaluation, clicked: ClickedTopics) -> Iterator[Score]:
    """Yield the lead, the figure of every variant, the differences, and the counts."""
    mean, n_people = found.resamples.mean, len(clicked.topics.people)
    of = {variant: found.figures[variant][RECIPROCAL] for variant in SHOWN}
    added = mean(of[GROUPS_WITHOUT_SELF] - of[UNPERSONALISED])
    yield estimate_score(measure, "what groups add", added, n_people, unit="points", note=_sentence(of))
    for variant in SHOWN:
        label, note = f"{RECIPROCAL}: {variant}", NOTES.get(variant, "")
        yield estimate_score(measure, label, mean(of[variant]), n_people, note=note)
    for ours, theirs in COMPARED:
        label, difference = f"{RECIPROCAL}: {ours} against {theirs}", mean(of[ours] - of[theirs])
        yield estimate_score(measure, label, difference, n_people, unit="points", note="above 0 is better")
    yield from _counts(measure, clicked)


def _sentence(of: dict[str, FloatArray]) -> str:
    """Return the comparison in a sentence."""
    before, person, group, everybody = (
        f"{100 * of[variant].mean():.1f} %"
        for variant in (UNPERSONALISED, PERSON, GROUPS_WITHOUT_SELF, EVERYBODY_WITHOUT_SELF)
    )
    return (
        f"the mean reciprocal rank of the clicked result is {before} in the engine's order, {person} ranked for the "
        f"person, {group} for the group and {everybody} for everybody, by profiles that do not know of the query"
    )


def _counts(measure: str, clicked: ClickedTopics) -> Iterator[Score]:
    """Yield the counts of clicks and queries, and the reciprocal rank that the log itself states."""
    n_queries, logged = len(clicked.topics.queries), clicked.logged_ranks[~np.isnan(clicked.logged_ranks)]
    if len(logged):
        note = f"the rank column of {len(logged):,} of these queries: where the engine that was used had the result"
        yield Score(measure, f"{RECIPROCAL}: as logged", 100 * float((1 / logged).mean()), better="", note=note)
    counts = {
        "clicks": (clicked.n_clicks, "in the cleaned log, one for each query unless --duplicates keep"),
        "clicks on documents of the index": (clicked.n_indexed, "whose id is the url of the log"),
        "queries looked at": (n_queries, f"of {len(clicked.topics.people):,} people"),
        "queries without their clicked document": (clicked.n_missed, "among the engine's results that are ranked"),
    }
    for label, (count, note) in counts.items():
        unit = "queries" if label.startswith("queries") else "clicks"
        yield Score(measure, label, float(count), unit=unit, units_counted=count, better="", note=note)
