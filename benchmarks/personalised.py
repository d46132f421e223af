"""Personalised search: how useful groups are compared to random ones, everybody and nobody, on two corpora.

`python -m benchmarks.personalised` (720 people of 150 terms, the bundled corpus; with the path of a folder of Reuters
SGML files also these). Left-out figures are those of groups without the person who searches.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import SEED, SMALL, Figures, make_log
from benchmarks.groups import PEOPLE, TERMS, of_equal_length
from queryveil import index as make_index
from queryveil.api import profiles as read_profiles
from queryveil.core.evidence import GroupMembers, ReleasedGroups
from queryveil.core.names import resolve
from queryveil.histories.profiles import Profiles
from queryveil.methods.linkability import group_profiles as run
from queryveil.methods.linkability.principles import without_rare
from queryveil.search.evaluation.group_profiles import PublicationRule, TermMapping, map_terms
from queryveil.search.evaluation.metrics import AP_ALL, Estimate
from queryveil.search.evaluation.topics import TopicPlan, Topics, choose_topics
from queryveil.search.evaluation.variants import (
    EVERYBODY,
    GROUPS,
    GROUPS_WITHOUT_SELF,
    RANDOM_GROUPS,
    RANDOM_WITHOUT_SELF,
    UNPERSONALISED,
    SearchEvaluation,
    SearchSetup,
)
from queryveil.search.index import Index, open_index
from queryveil.search.ranking_settings import BLENDED, RANKINGS
from queryveil.semantics.augmentation import Weighting, augment
from queryveil.semantics.network import wordnet

SHARES = (0.4, 0.1)
TRIED = ("a=0", "a=1", "a=3", "a=0, weighting=paper", "a=1, weighting=paper", "a=1, shrink=0.5")
DEFAULT, ABOVE = "a=1", ("a=0", "a=0, weighting=paper")
VARIANTS = (GROUPS, RANDOM_GROUPS, EVERYBODY, UNPERSONALISED, GROUPS_WITHOUT_SELF, RANDOM_WITHOUT_SELF)


def measure(reuters: Path | None = None) -> Figures:
    """Measure on the bundled corpus, and on Reuters where there is one."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        people = of_equal_length(read_profiles(make_log(Path(folder), 3 * SMALL, "aol")))
        for name, corpus in (("bundled", "wordnet"), ("Reuters", reuters)):
            if corpus is not None:
                make_index(corpus, Path(folder) / name)
                figures |= _on_corpus(name, people, open_index(Path(folder) / name))
    return figures


def _on_corpus(name: str, people: Profiles, index: Index) -> Figures:
    members = _members(people, np.full(people.n_histories, -1))
    mapping = map_terms(index, members.terms)
    topics = choose_topics(index, mapping, members, TopicPlan(people=PEOPLE), rng=np.random.default_rng(SEED))
    figures: Figures = {}
    for p in SHARES:
        found = {settings: _evaluated(people, index, mapping, topics, p, settings) for settings in TRIED}
        what = f"{name}, {PEOPLE} × {TERMS}, p={p}"
        for variant in VARIANTS:
            figures[f"{what}, {DEFAULT}: {AP_ALL}, {variant}, %"] = _shown(_mean(found[DEFAULT], variant))
        figures |= _bars(what, found)
    return figures


def _bars(what: str, found: dict[str, SearchEvaluation]) -> Figures:
    """Compare the default settings by their left-out precision."""
    usual = found[DEFAULT]
    ours, random, everybody = (
        _mean(usual, variant) for variant in (GROUPS_WITHOUT_SELF, RANDOM_WITHOUT_SELF, EVERYBODY)
    )
    ratio = usual.resamples.ratio(
        usual.figures[GROUPS_WITHOUT_SELF][AP_ALL], usual.figures[RANDOM_WITHOUT_SELF][AP_ALL]
    )
    figures: Figures = {
        f"{what}: left out above random groups, intervals apart (bar: yes)": ours.low > random.high,
        f"{what}: left out by that of random groups": "–" if ratio is None else _shown(ratio, 1.0, 3),
        f"{what}: left out above everybody, intervals apart (bar: ★ yes)": ours.low > everybody.high,
    }
    for settings in TRIED:
        other = found[settings].figures[GROUPS_WITHOUT_SELF][AP_ALL]
        figures[f"{what}: left out, {settings}, %"] = _shown(_mean(found[settings], GROUPS_WITHOUT_SELF))
        if settings in ABOVE:
            apart = ours.low > _mean(found[settings], GROUPS_WITHOUT_SELF).high
            figures[f"{what}: left out above {settings}, intervals apart (bar: ★ yes)"] = apart
            difference = usual.resamples.mean(usual.figures[GROUPS_WITHOUT_SELF][AP_ALL] - other)
            figures[f"{what}: left out above {settings}, points"] = _shown(difference, decimals=2)
    return figures


def _evaluated(
    people: Profiles, index: Index, mapping: TermMapping, topics: Topics, p: float, settings: str
) -> SearchEvaluation:
    method = resolve("method", f"linkability(p={p}, {settings})")
    weighting: Weighting = "paper" if method.word("weighting") == "paper" else "content"
    features = augment(without_rare(people, method), wordnet(), a=method.integer("a"), weighting=weighting)
    made = run(people, features, method, rng=np.random.default_rng(SEED))
    members = _members(people, made.group)
    released = ReleasedGroups(np.arange(made.n_groups), made.indptr, made.ids, made.weights, members.terms)
    setup = SearchSetup(index, mapping, members, topics, RANKINGS[BLENDED])
    return setup.evaluate(released, PublicationRule.of(method), rng=np.random.default_rng(SEED))


def _members(people: Profiles, group: np.ndarray[tuple[int], np.dtype[np.int32]]) -> GroupMembers:
    weights = np.ones(len(people.ids))
    return GroupMembers(group.astype(np.int32), people.indptr, people.ids, weights, people.vocabulary)


def _mean(found: SearchEvaluation, variant: str) -> Estimate:
    return found.resamples.mean(found.figures[variant][AP_ALL])


def _shown(found: Estimate, scale: float = 100.0, decimals: int = 1) -> str:
    value, low, high = (f"{scale * figure:.{decimals}f}" for figure in found)
    return f"{value} ({low}–{high})"


if __name__ == "__main__":
    for line, value in measure(Path(sys.argv[1]) if sys.argv[1:] else None).items():
        print(f"{line}: {value}")
