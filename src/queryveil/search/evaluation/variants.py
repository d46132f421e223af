"""Variants of personalisation: the profiles that rank in place of a person's own, how well each does, and TREC files.

An anonymised profile contains the person's own terms: in a group of three, each member contributes a third of the
centroid. To separate what the group contributes from what is left of the person in it, every kind of group is also
evaluated with the person's own profile left out, as if the person were not in the log.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from queryveil.core.evidence import GroupMembers, ReleasedGroups
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import IntArray
from queryveil.search.evaluation.group_profiles import (
    EverybodyVectors,
    PublicationRule,
    TermMapping,
    WeightedRows,
    publish,
    publish_without_self,
    sum_members,
)
from queryveil.search.evaluation.metrics import BootstrapResamples, MetricValues, draw_resamples
from queryveil.search.evaluation.topics import Topics, rank_by_profiles
from queryveil.search.index import Index
from queryveil.search.ranking import ProfileVector, RankingProfile, blend_scores
from queryveil.search.ranking_settings import RankingSettings

UNPERSONALISED, QUERY_ALONE = "no personalisation", "the query's own terms, no profile"
EVERYBODY, EVERYBODY_WITHOUT_SELF = "one group of everybody", "one group of everybody, own profile left out"
GROUPS, RANDOM_GROUPS = "the groups", "random groups of the same sizes"
GROUPS_WITHOUT_SELF = "the groups, own profile left out"
RANDOM_WITHOUT_SELF = "random groups, own profile left out"
VARIANTS = (
    *(GROUPS_WITHOUT_SELF, RANDOM_WITHOUT_SELF, EVERYBODY_WITHOUT_SELF, QUERY_ALONE, UNPERSONALISED),
    *(GROUPS, RANDOM_GROUPS, EVERYBODY),
)
QRELS_FILE = "qrels.txt"
_ENTRIES_PER_BATCH = 2_000_000  # of the groups without one person each that are in memory at once


@dataclass(frozen=True, eq=False)
class SearchEvaluation:
    """The ranking of every query by every variant, and its metrics."""

    topics: Topics
    orders: Mapping[str, IntArray]  # variant → (queries, depth): positions in the engine's results, best first
    figures: Mapping[str, MetricValues]  # by variant
    resamples: BootstrapResamples


@dataclass(frozen=True, eq=False)
class SearchSetup:
    """What is the same for all variants: the index, the people and their queries. Rankings are (queries, depth)."""

    index: Index
    mapping: TermMapping
    members: GroupMembers  # with the groups of one release; some methods take other groups
    topics: Topics
    settings: RankingSettings  # the same for every variant

    def evaluate(
        self, released: ReleasedGroups, rule: PublicationRule, *, rng: np.random.Generator, progress: Progress = silent
    ) -> SearchEvaluation:
        """Rank the queries by every variant, and compute the metrics."""
        orders = self.rank(released, rule, rng=rng, progress=progress)
        figures = {variant: self.topics.metrics(orders[variant]) for variant in VARIANTS}
        return SearchEvaluation(self.topics, orders, figures, draw_resamples(self.topics.person, rng))

    def rank(
        self, released: ReleasedGroups, rule: PublicationRule, *, rng: np.random.Generator, progress: Progress = silent
    ) -> dict[str, IntArray]:
        """Rank the queries by the released groups and by everything they are compared to."""
        orders = self.rank_by_groups(released, rule, rng, progress)
        progress(f"ranking for {EVERYBODY}", len(orders), len(VARIANTS))
        orders |= self.rank_by_everybody(rule)
        orders[EVERYBODY_WITHOUT_SELF] = self._rank_without_self(np.zeros(len(self.members.group), np.int64), rule)
        orders[QUERY_ALONE] = self._rank_by_query()
        return orders

    def rank_by_everybody(self, rule: PublicationRule) -> dict[str, IntArray]:
        """Rank the queries by one group of everybody and without personalisation."""
        everybody = self._rank_by_published(np.zeros(len(self.members.group), np.int64), rule)
        n_queries, depth = self.topics.documents.shape
        return {EVERYBODY: everybody, UNPERSONALISED: np.tile(np.arange(depth), (n_queries, 1))}

    def rank_by_groups(
        self, released: ReleasedGroups, rule: PublicationRule, rng: np.random.Generator, progress: Progress = silent
    ) -> dict[str, IntArray]:
        """Rank the queries by the released groups and by random ones, each with and without the own profile."""
        group = self.members.group.astype(np.int64)
        shuffled, grouped = group.copy(), np.flatnonzero(group >= 0)  # people in no group stay in none
        shuffled[grouped] = group[rng.permutation(grouped)]
        profiles = WeightedRows(released.indptr, released.ids, released.weights)
        steps: dict[str, Callable[[], IntArray]] = {
            GROUPS: lambda: self._rank_by_group(profiles, group),
            GROUPS_WITHOUT_SELF: lambda: self._rank_without_self(group, rule),
            RANDOM_GROUPS: lambda: self._rank_by_published(shuffled, rule),
            RANDOM_WITHOUT_SELF: lambda: self._rank_without_self(shuffled, rule),
        }
        orders: dict[str, IntArray] = {}
        for number, (variant, step) in enumerate(steps.items()):
            progress(f"ranking for {variant}", number, len(VARIANTS))
            orders[variant] = step()
        return orders

    def _rank_by_query(self) -> IntArray:
        """Rank every query by its own terms, blended with the engine's score as all variants are."""
        order = np.tile(np.arange(self.topics.documents.shape[1]), (len(self.topics.queries), 1))
        for row, documents in enumerate(self.topics.documents):
            n = int((documents >= 0).sum())
            similarity = self.settings.query_weight * self.topics.query_cosines[row, :n]
            scores = blend_scores(self.topics.engine_scores[row, :n], similarity, self.settings.blend)
            order[row, :n] = np.argsort(-scores, kind="stable")
        return order

    def _rank_by_group(self, profiles: WeightedRows, group: IntArray) -> IntArray:
        """Rank each person's queries by the profile of the person's group; without a group, by that of everybody."""
        everybody = EverybodyVectors(self.mapping, profiles).vector()
        of_person = group[self.topics.people]
        used, position = np.unique(of_person[of_person >= 0], return_inverse=True)
        vectors = self.mapping.vectors(profiles.take(used))
        person_vectors = [ProfileVector.empty()] * len(of_person)
        for person, vector in zip(np.flatnonzero(of_person >= 0).tolist(), position.tolist(), strict=True):
            person_vectors[person] = vectors[vector]
        ranked_by = (RankingProfile(vector, everybody) for vector in person_vectors)
        return rank_by_profiles(self.index, self.topics, ranked_by, self.settings)

    def _rank_by_published(self, group: IntArray, rule: PublicationRule) -> IntArray:
        """Rank the queries by groups as the rule would publish them."""
        return self._rank_by_group(publish(sum_members(self.members, group), self.members, rule), group)

    def _rank_without_self(self, group: IntArray, rule: PublicationRule) -> IntArray:
        """Rank the queries by groups as the rule would publish them if the searching person were not in the log."""
        profiles = self._profiles_without_self(group, rule)
        return rank_by_profiles(self.index, self.topics, profiles, self.settings)

    def _profiles_without_self(self, group: IntArray, rule: PublicationRule) -> Iterator[RankingProfile]:
        """Yield for each person the profiles of the group and of everybody without the person."""
        people, sums = self.topics.people, sum_members(self.members, group)
        everybody = EverybodyVectors(self.mapping, publish(sums, self.members, rule))
        longest = int(np.diff(sums.indptr).max(initial=1))
        step = max(1, _ENTRIES_PER_BATCH // max(1, longest))
        for start in range(0, len(people), step):
            batch = people[start : start + step]
            left = publish_without_self(sums, group, batch, self.members, rule)
            mapped = self.mapping.map(left)
            for row, (person, vector) in enumerate(zip(batch.tolist(), self.mapping.vectors(left), strict=True)):
                entries = slice(mapped.indptr[row], mapped.indptr[row + 1])
                own_group, rest = int(group[person]), (mapped.ids[entries], mapped.weights[entries])
                yield RankingProfile(
                    vector, everybody.vector() if own_group < 0 else everybody.replacing(own_group, *rest)
                )


def trec_files(evaluation: SearchEvaluation, ids: Sequence[str], rng: np.random.Generator) -> Mapping[str, bytes]:
    """Return TREC files by name: the relevance judgments (qrels), and one run per variant; `ids` names the documents.

    Topics are numbered in random order, so that the files tell neither who issued a query nor which queries one person
    issued. Scores are descending ranks, because the tools sort by score and break ties in their own way. Whitespace in
    a document's id is percent-encoded, because it separates columns.
    """
    topics = evaluation.topics
    rows = np.argsort(rng.permutation(len(topics.queries)))  # of topic 1, 2, …
    used = np.unique(topics.documents[topics.documents >= 0]).tolist()
    names = {document: re.sub(r"[\s%]", lambda m: f"%{ord(m[0]):02X}", ids[document]) for document in used}
    judged = zip(topics.documents[rows].tolist(), topics.is_relevant[rows].astype(np.int64).tolist(), strict=True)
    pairs = [(topic, *pair) for topic, row in enumerate(judged, 1) for pair in zip(*row, strict=True)]
    lines = {QRELS_FILE: [f"{topic} 0 {names[doc]} {judgment}\n" for topic, doc, judgment in pairs if doc >= 0]}
    for variant, order in evaluation.orders.items():
        documents, tag = np.take_along_axis(topics.documents, order, axis=1)[rows].tolist(), run_name(variant)
        lines[f"{tag}.run"] = [_run(topic, row, tag, names) for topic, row in enumerate(documents, 1)]
    return {name: "".join(texts).encode() for name, texts in lines.items()}


def run_name(variant: str) -> str:
    """Return the name of a variant's TREC run."""
    return variant.replace(",", "").replace(" ", "-")


def _run(topic: int, documents: Sequence[int], tag: str, names: Mapping[int, str]) -> str:
    found = [names[document] for document in documents if document >= 0]
    return "".join(f"{topic} Q0 {name} {rank} {len(found) - rank + 1} {tag}\n" for rank, name in enumerate(found, 1))
