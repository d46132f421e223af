"""Search: how much of the benefit of personalised results is left when a group's profile replaces the person's own.

Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010, section 4. The paper compares groups only with
no personalisation. Random groups of the same sizes do nearly as well, since in a group of three a third of the profile
is the person's own; so we also evaluate these, one group of everybody, and all groups without the person's own profile.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence, GroupMembers, ReleasedGroups
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.search.evaluation import variants
from queryveil.search.evaluation.group_profiles import PublicationRule, map_terms
from queryveil.search.evaluation.metrics import AP_ALL, METRICS, Estimate
from queryveil.search.evaluation.topics import TopicPlan, Topics, choose_topics
from queryveil.search.index import Index
from queryveil.search.ranking_settings import RankingSettings, ranking_settings

NOTES = {
    variants.GROUPS: "the profile of the person's group, as published; who is in no group is ranked by everybody",
    variants.GROUPS_WITHOUT_SELF: "the same as if the person were not in the log: what the other members contribute",
    variants.QUERY_ALONE: "the same ranking without any profile",
}
COMPARED = (
    (variants.GROUPS_WITHOUT_SELF, variants.EVERYBODY_WITHOUT_SELF),
    (variants.GROUPS_WITHOUT_SELF, variants.UNPERSONALISED),
    (variants.GROUPS_WITHOUT_SELF, variants.QUERY_ALONE),
    (variants.GROUPS_WITHOUT_SELF, variants.RANDOM_WITHOUT_SELF),
    (variants.GROUPS, variants.UNPERSONALISED),
)


@dataclass(frozen=True, eq=False)
class SearchInputs:
    """The index to search, the rule by which the groups were published, and a callback for the rankings."""

    index: Index
    rule: PublicationRule
    keep: Callable[[variants.SearchEvaluation], None] = lambda evaluation: None


def measure_search(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return every metric for every kind of profile, comparisons of the groups, and how many people were evaluated."""
    released, members, inputs = evidence.get(ReleasedGroups), evidence.get(GroupMembers), evidence.get(SearchInputs)
    plan = TopicPlan(*(measure.integer(name) for name in ("people", "queries", "depth", "relevant")))
    settings = settings_of(measure)
    if 2 * plan.relevant > plan.depth:
        raise InputError(
            f"{measure}: relevant must be at most half of depth; where most results are relevant, every order is good."
        )
    mapping = map_terms(inputs.index, members.terms)
    topics = choose_topics(inputs.index, mapping, members, plan, rng=rng, progress=progress)
    if not topics.queries:
        raise InputError(
            f"{measure}: no query of anybody finds {2 * plan.relevant} documents in {inputs.index.path}; "
            "index more documents, or ask for fewer relevant ones."
        )
    setup = variants.SearchSetup(inputs.index, mapping, members, topics, settings)
    evaluation = setup.evaluate(released, inputs.rule, rng=rng, progress=progress)
    inputs.keep(evaluation)
    n_people = len(evaluation.topics.people)
    figures = [
        (metric, variant, evaluation.figures[variant][metric]) for metric in METRICS for variant in variants.VARIANTS
    ]
    mean, name = evaluation.resamples.mean, str(measure)
    return [
        _lead(name, evaluation),
        *(estimate_score(name, f"{m}: {v}", mean(found), n_people, note=NOTES.get(v, "")) for m, v, found in figures),
        *_comparisons(name, evaluation),
        *_people(name, topics, plan),
    ]


def settings_of(measure: ResolvedName) -> RankingSettings:
    """Return the weights of the ranking: those given, else those of the named ranking."""
    given = {each.name: measure.values.get(each.name) for each in fields(RankingSettings)}
    weights = {name: None if value is None else float(value) for name, value in given.items()}
    return ranking_settings(measure.word("ranking"), **weights)


def _lead(measure: str, found: variants.SearchEvaluation) -> Score:
    """Return what the groups add to everybody, with a sentence that says it of the other comparisons as well."""
    ours = found.figures[variants.GROUPS_WITHOUT_SELF][AP_ALL]
    others = (
        *(variants.EVERYBODY_WITHOUT_SELF, variants.UNPERSONALISED),
        *(variants.QUERY_ALONE, variants.RANDOM_WITHOUT_SELF),
    )
    over = [found.resamples.mean(ours - found.figures[variant][AP_ALL]) for variant in others]
    everybody, nobody, query, random = (
        f"{100 * value:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})" for value, low, high in over
    )
    sentence = (
        f"groups add {everybody} points of average precision over everybody, {nobody} over no personalisation, "
        f"{query} over the query's own terms and {random} over random groups, with the searching person left out"
    )
    return estimate_score(measure, "what groups add", over[0], len(found.topics.people), unit="points", note=sentence)


def estimate_score(
    measure: str, label: str, estimate: Estimate, n_people: int, *, unit: str = "%", note: str = ""
) -> Score:
    """Return the score of an estimate, in percent or points, with its interval."""
    value, low, high = (100.0 * figure for figure in estimate)
    return Score(measure, label, value, None, unit, n_people, (low, high), note=note, base="people")


def _comparisons(measure: str, found: variants.SearchEvaluation) -> Iterator[Score]:
    """Yield differences and ratios of the average precision."""
    n_people = len(found.topics.people)
    for ours, theirs in COMPARED:
        one, other = found.figures[ours][AP_ALL], found.figures[theirs][AP_ALL]
        difference, ratio = found.resamples.mean(one - other), found.resamples.ratio(one, other)
        label = f"{AP_ALL}: {ours} against {theirs}"
        yield estimate_score(
            measure, label, difference, n_people, unit="points", note="the difference; above 0 is better"
        )
        if ratio is not None:
            yield estimate_score(measure, label, ratio, n_people, note="as a share; above 100 % is better")


def _people(measure: str, topics: Topics, plan: TopicPlan) -> Iterator[Score]:
    """Yield how many people were evaluated and how many could not be."""
    drawn = f"{len(topics.queries):,} queries; at most {plan.people:,} are drawn"
    too_few = f"of those drawn; no query of theirs finds {2 * plan.relevant} documents"
    counts = {
        "people searched for": (len(topics.people), drawn),
        "people without a term in the index": (topics.without_term, "of all people; no query of theirs can be made"),
        "people without a query": (topics.without_query, too_few),
    }
    for label, (count, note) in counts.items():
        yield Score(measure, label, float(count), unit="people", units_counted=count, better="", note=note)
