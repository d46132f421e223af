"""What groups add to search when the searching person is left out, with the default ranking, and what each part adds.

`python -m benchmarks.left_out [EXCITE_LOG] [REUTERS_FOLDER]`: people of the demo log, and of the Excite log those with
ten terms or more, on the bundled corpus and on Reuters. At p = 0.1 all people of the Excite log are grouped, because
those with ten terms alone make no legal group. The weights were chosen on other people (docs/decisions/0053).
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import SEED, Figures, make_log
from queryveil import index as make_index
from queryveil.api import profiles as read_profiles
from queryveil.core.evidence import GroupMembers, ReleasedGroups
from queryveil.core.names import resolve
from queryveil.histories.profiles import Profiles
from queryveil.methods.linkability import group_profiles
from queryveil.methods.linkability.principles import without_rare
from queryveil.search.evaluation.group_profiles import PublicationRule, map_terms
from queryveil.search.evaluation.metrics import AP_ALL, Estimate
from queryveil.search.evaluation.topics import TopicPlan, Topics, choose_topics
from queryveil.search.evaluation.variants import (
    EVERYBODY_WITHOUT_SELF,
    GROUPS_WITHOUT_SELF,
    QUERY_ALONE,
    RANDOM_WITHOUT_SELF,
    UNPERSONALISED,
    SearchEvaluation,
    SearchSetup,
)
from queryveil.search.index import Index, open_index
from queryveil.search.ranking_settings import BLENDED, PAPER, RANKINGS
from queryveil.semantics.augmentation import augment
from queryveil.semantics.network import wordnet

USERS, FEWEST_TERMS = 5_000, 10
PLAN = TopicPlan(people=600, queries=3)
OTHERS = {
    UNPERSONALISED: "(bar: ≥ 3, ★ 5)",
    EVERYBODY_WITHOUT_SELF: "(bar: above 0, ★ 2)",
    QUERY_ALONE: "",
    RANDOM_WITHOUT_SELF: "",
}


def measure(excite: Path | None, reuters: Path | None) -> Figures:
    """Measure every log that there is on every corpus that there is."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs = {"demo": read_profiles(make_log(folder, USERS, "demo"))}
        if excite is not None:
            logs["Excite"] = read_profiles(excite)
        for corpus, source in (("bundled", "wordnet"), ("Reuters", reuters)):
            if source is not None:
                make_index(source, folder / corpus)
                for log, people in logs.items():
                    figures |= _on_corpus(f"{log}, {corpus}", people, open_index(folder / corpus), log == "Excite")
    return figures


def _on_corpus(what: str, people: Profiles, index: Index, is_excite: bool) -> Figures:
    figures: Figures = {}
    for p in (0.4, 0.1):
        judged = people if not is_excite or p < 0.2 else _with_terms(people)
        sampled = np.flatnonzero(np.diff(judged.indptr) >= (FEWEST_TERMS if is_excite else 1))
        setup = _setup(judged, index, sampled)
        found = _evaluate(judged, setup, f"linkability(p={p})")
        figures |= _compare(f"{what}, p={p}", found)
        paper = _evaluate(judged, replace(setup, settings=RANKINGS[PAPER]), f"linkability(p={p})")
        figures |= _compare(f"{what}, p={p}, ranking=paper", paper)
        plain = _evaluate(judged, setup, f"linkability(p={p}, a=0, weighting=paper)").figures[GROUPS_WITHOUT_SELF]
        difference = found.resamples.mean(plain[AP_ALL] - found.figures[GROUPS_WITHOUT_SELF][AP_ALL])
        figures[f"{what}, p={p}: grouped by plain terms (a=0, weighting=paper), points above"] = _shown(difference)
        if p == 0.4:
            strict = _evaluate(judged, setup, f"linkability(p={p}, principle=belief)")
            ratio = _precision(strict) / _precision(found)
            figures[f"{what}, p={p}: belief by mean, left out, % (bar: ≥ 95)"] = round(100 * ratio, 1)
    return figures


def _with_terms(people: Profiles) -> Profiles:
    """Return the people with enough terms."""
    rows = np.flatnonzero(np.diff(people.indptr) >= FEWEST_TERMS)
    is_kept = np.isin(np.repeat(np.arange(people.n_histories), np.diff(people.indptr)), rows)
    lengths = np.diff(people.indptr)[rows]
    owner = np.arange(len(rows), dtype=np.int32)
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    persons = tuple(map(str, range(len(rows))))
    return Profiles(people.vocabulary, indptr, people.ids[is_kept], people.counts[is_kept], owner, persons)


def _setup(people: Profiles, index: Index, sampled: NDArray[np.int64]) -> SearchSetup:
    members = _members(people, np.full(people.n_histories, -1, np.int32))
    mapping = map_terms(index, members.terms)
    topics: Topics = choose_topics(index, mapping, members, PLAN, among=sampled, rng=np.random.default_rng(SEED))
    return SearchSetup(index, mapping, members, topics, RANKINGS[BLENDED])


def _evaluate(people: Profiles, setup: SearchSetup, name: str) -> SearchEvaluation:
    method = resolve("method", name)
    features = augment(without_rare(people, method), wordnet(), a=method.integer("a"))
    made = group_profiles(people, features, method, rng=np.random.default_rng(SEED))
    members = _members(people, made.group)
    released = ReleasedGroups(np.arange(made.n_groups), made.indptr, made.ids, made.weights, members.terms)
    rule = PublicationRule.of(method)
    evaluation = replace(setup, members=members).evaluate(released, rule, rng=np.random.default_rng(SEED))
    is_grouped = members.group[evaluation.topics.people] >= 0
    print(f"{name}: {made.n_groups} groups, {is_grouped.mean():.0%} of the judged people in one", file=sys.stderr)
    return evaluation


def _members(people: Profiles, group: NDArray[np.int32]) -> GroupMembers:
    return GroupMembers(group, people.indptr, people.ids, np.ones(len(people.ids)), people.vocabulary)


def _compare(what: str, found: SearchEvaluation) -> Figures:
    ours = found.figures[GROUPS_WITHOUT_SELF][AP_ALL]
    figures: Figures = {f"{what}: people": len(found.topics.people)}
    figures[f"{what}: left-out AP, %"] = _shown(found.resamples.mean(ours))
    for other, bar in OTHERS.items():
        difference = found.resamples.mean(ours - found.figures[other][AP_ALL])
        figures[f"{what}: above {other}, points {bar}".rstrip()] = _shown(difference)
    return figures


def _precision(found: SearchEvaluation) -> float:
    return float(found.figures[GROUPS_WITHOUT_SELF][AP_ALL].mean())


def _shown(found: Estimate) -> str:
    value, low, high = (f"{100 * figure:+.1f}" for figure in found)
    return f"{value} ({low} to {high})"


if __name__ == "__main__":
    given = [Path(text) for text in sys.argv[1:]]
    excite, reuters = ([*given, None, None])[:2]
    for line, value in measure(excite, reuters).items():
        print(f"{line}: {value}", flush=True)
