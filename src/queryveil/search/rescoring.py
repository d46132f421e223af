"""Requests for search engines that people run: a group's profile as the `rescore` part of a search body.

OpenSearch and Elasticsearch keep each document's tf-idf weights in a `rank_features` field; a linear `rank_feature`
query for every term of a profile then adds up to the cosine (Lucene's `FeatureField`, which keeps 9 significant bits).
Where there is no such field, plain `term` queries are boosted by the profile's heaviest terms. A rescore body cannot
standardize scores over its results as our ranking does, so the similarity is multiplied by a constant, `spread`: how
many times wider the engine's scores spread than the similarities.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from queryveil.search.analyzer import Analyzer
from queryveil.search.index import Index
from queryveil.search.ranking import ProfileVector, RankingProfile, profile_vector
from queryveil.search.ranking_settings import ENGINES, RankingSettings

FEATURES_FIELD, ID_FIELD = "profile_terms", "id"
_TITLE, _TEXT = "title^2", "text"  # a match in the title weighs twice, as in our own index
_TIE_BREAK = 1e-6  # of the engine's score: engines order what ties by document number, ours by that score
_MOST_FEATURES = 1_000  # clauses; Lucene allows 1,024 of a boolean query by default


@dataclass(frozen=True)
class EngineDialect:
    """What a kind of search engine understands."""

    most_terms: int  # of a profile, the heaviest
    has_features: bool  # documents have the field of weights
    has_ubi: bool  # requests may carry the fields of User Behavior Insights

    def clause(self, term: str, weight: float) -> dict[str, Any]:
        """Return the query that adds a term's weight."""
        if self.has_features:
            return {"rank_feature": {"field": f"{FEATURES_FIELD}.{term}", "linear": {}, "boost": weight}}
        return {"term": {_TEXT: {"value": term, "boost": weight}}}

    def mapping(self) -> dict[str, Any]:
        """Return the mapping of an index of documents."""
        fields = {ID_FIELD: {"type": "keyword"}, "title": {"type": "text"}, _TEXT: {"type": "text"}}
        features = {FEATURES_FIELD: {"type": "rank_features"}} if self.has_features else {}
        return {"mappings": {"properties": {**fields, **features}}}


_DIALECTS = (
    EngineDialect(most_terms=_MOST_FEATURES, has_features=True, has_ubi=True),
    EngineDialect(most_terms=_MOST_FEATURES, has_features=True, has_ubi=False),
    EngineDialect(most_terms=50, has_features=False, has_ubi=False),
)
DIALECTS: Mapping[str, EngineDialect] = MappingProxyType(dict(zip(ENGINES, _DIALECTS, strict=True)))


class OpenVocabulary:
    """Maps profiles onto terms where no index says which terms there are: every term is known."""

    def __init__(self) -> None:
        self.terms: list[str] = []
        self._analyzer = Analyzer()
        self._number_of: dict[str, int] = {}

    def vector(self, terms: Iterable[str], weights: Iterable[float]) -> ProfileVector:
        """Return the vector of a profile; new terms are numbered."""
        return profile_vector(self._analyzer, self._number, terms, weights)

    def _number(self, term: str) -> int:
        number = self._number_of.setdefault(term, len(self.terms))
        if number == len(self.terms):
            self.terms.append(term)
        return number


def heaviest_terms(
    profile: RankingProfile, query: ProfileVector, settings: RankingSettings, most: int
) -> list[tuple[int, float]]:
    """Return the terms of a profile and a query with the weights that ranking gives them, heaviest first."""
    totals: dict[int, float] = {}
    for vector, share in (*profile.weighted(settings), (query, settings.query_weight)):
        for term, weight in zip(vector.ids.tolist(), vector.weights.tolist(), strict=True):
            totals[term] = totals.get(term, 0.0) + share * weight
    positive = [(term, weight) for term, weight in totals.items() if weight > 0]
    return sorted(positive, key=lambda pair: (-pair[1], pair[0]))[:most]


def rescore_part(
    terms: Iterable[tuple[str, float]], settings: RankingSettings, dialect: EngineDialect, *, depth: int, spread: float
) -> dict[str, Any]:
    """Return the value of `rescore` in a search body."""
    is_alone = settings.blend == 0  # then the profile decides and no spread is needed
    return {
        "window_size": depth,
        "query": {
            "rescore_query": {"bool": {"should": [dialect.clause(t, float(f"{w:.6g}")) for t, w in terms]}},
            "query_weight": settings.blend or _TIE_BREAK,
            "rescore_query_weight": 1.0 if is_alone else float(f"{(1 - settings.blend) * spread:.6g}"),
            "score_mode": "total",
        },
    }


def search_body(
    query: str, group: int, rescore: Mapping[str, Any], dialect: EngineDialect, *, n: int
) -> dict[str, Any]:
    """Return the body of a search; where a person's id would go, it has the group."""
    matching = {"query": query, "fields": [_TITLE, _TEXT], "type": "most_fields"}
    body: dict[str, Any] = {"size": n, "query": {"multi_match": matching}, "rescore": rescore}
    if dialect.has_ubi:
        body["ext"] = {"ubi": {"user_query": query, "client_id": f"group-{group}", "object_id_field": ID_FIELD}}
    return body


def bulk_lines(index: Index, dialect: EngineDialect) -> Iterator[bytes]:
    """Yield the documents of an index as lines for the `_bulk` API: an action and a document in turn."""
    for number in range(len(index.documents)):
        name, title, text = index.documents.get(number)
        document: dict[str, Any] = {ID_FIELD: name, "title": title, _TEXT: text}
        if dialect.has_features:
            row = slice(index.indptr[number], index.indptr[number + 1])
            weights = zip(index.ids[row].tolist(), index.weights[row].tolist(), strict=True)
            document[FEATURES_FIELD] = {index.terms[term]: float(f"{weight:.6g}") for term, weight in weights}
        for line in ({"index": {"_id": name}}, document):
            yield json.dumps(line, ensure_ascii=False).encode() + b"\n"
