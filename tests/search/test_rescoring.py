"""Requests for other engines: the same order as ours in real Lucene, bulk files, mappings, and bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import queryveil
from queryveil.cli import run
from queryveil.core.errors import InputError
from queryveil.search.index import Index, open_index
from queryveil.search.ranking import ProfileVector, RankedDocuments, RankingProfile, cosines, rerank, standardized
from queryveil.search.ranking_settings import PAPER, RANKINGS, RankingSettings
from queryveil.search.rescoring import DIALECTS, OpenVocabulary, bulk_lines, heaviest_terms, rescore_part
from tests.measures.searched import Place, make
from tests.search.lucene import run_java
from tests.search.small_index import index_of

WORDS = tuple(f"{first}{last}" for first in "bdfgklmnprtv" for last in ("ava", "olo", "uri", "ete"))
QUERIES = (WORDS[0], f"{WORDS[1]} {WORDS[5]}", WORDS[2])  # of common words
DEPTH = 60
# FeatureField keeps 9 significant bits (1/512 of each weight), and similarities of 60 documents are at most 1
ROUNDING = 1 / 256
LUCENE_BM25 = 2.2  # since version 8 Lucene leaves out the factor k1 + 1, which tantivy has


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    rng = np.random.default_rng(4)
    common = 1 / np.arange(2, len(WORDS) + 2)
    common /= common.sum()
    texts = [
        (" ".join(rng.choice(WORDS, 2, p=common)), " ".join(rng.choice(WORDS, rng.integers(4, 30), p=common)))
        for _ in range(300)
    ]
    return index_of(texts, tmp_path_factory.mktemp("lucene"))


def profile_of(index: Index, seed: int) -> RankingProfile:
    rng = np.random.default_rng(seed)
    own, everybody = (rng.choice(WORDS, size, replace=False) for size in (8, 30))
    return RankingProfile(index.vector(own, rng.random(8) + 0.1), index.vector(everybody, rng.random(30) + 0.1))


def document_lines(index: Index) -> list[str]:
    """Return documents for the Java program, from the lines of the bulk file."""
    lines = []
    for document in map(json.loads, list(bulk_lines(index, DIALECTS["opensearch"]))[1::2]):
        weights = [f"{term}={weight}" for term, weight in document["profile_terms"].items()]
        lines.append("\t".join(("doc", document["id"], document["title"], document["text"], *weights)))
    return lines


def query_line(query: str, part: dict[str, Any]) -> str:
    """Return a query for the Java program, from the rescore part of a body."""
    inner = part["query"]
    clauses = []
    for clause in inner["rescore_query"]["bool"]["should"]:
        if "rank_feature" in clause:
            feature = clause["rank_feature"]
            assert feature["linear"] == {}
            clauses.append(f"feature:{feature['field'].removeprefix('profile_terms.')}={feature['boost']}")
        else:
            ((field, value),) = clause["term"].items()
            clauses.append(f"{field}:{value['value']}={value['boost']}")
    weights = (inner["query_weight"], inner["rescore_query_weight"], part["window_size"])
    return "\t".join(("query", query, *map(str, weights), *clauses))


def spread_of(index: Index, ranked: RankedDocuments, profile: RankingProfile, query: ProfileVector) -> float:
    """Return how many times wider the engine's scores spread than similarities, for one query."""
    settings = RANKINGS["blended"]
    weighted = [*profile.weighted(settings), (query, settings.query_weight)]
    found = cosines(index, ranked.documents, [vector for vector, _ in weighted])
    similarity = np.array([weight for _, weight in weighted]) @ found
    return float(np.std(ranked.scores.astype(float)) / LUCENE_BM25 / np.std(similarity))


@pytest.mark.parametrize("name", ["blended", PAPER])
def test_lucene_gives_the_same_order(index: Index, name: str) -> None:
    settings, lines, expected = RANKINGS[name], document_lines(index), []
    for seed, query in enumerate(QUERIES):
        profile, vector = profile_of(index, seed), index.vector([query], [1.0])
        ranked = index.search(query, DEPTH)
        assert len(ranked) == DEPTH
        terms = [(index.terms[term], w) for term, w in heaviest_terms(profile, vector, settings, 1_000)]
        spread = spread_of(index, ranked, profile, vector)
        part = rescore_part(terms, settings, DIALECTS["opensearch"], depth=DEPTH, spread=spread)
        lines.append(query_line(query, part))
        expected.append(rerank(index, ranked, profile, vector, settings))
    for found, ours in zip(run_java("Rescore.java", lines), expected, strict=True):
        theirs = [pair.split("=") for pair in found.split("\t")]
        names = [index.documents.ids[number] for number in ours.documents]
        assert sorted(name for name, _ in theirs) == sorted(names)
        unlike = [name for name, score in zip(names, ours.scores.tolist(), strict=True) if score == 0]
        assert [name for name, _ in theirs if name in unlike] == unlike  # what ties keeps the engine's order
        score_of = dict(zip(names, ours.scores.tolist(), strict=True))
        order = np.array([score_of[name] for name, _ in theirs])
        scale = np.std([float(score) for _, score in theirs]) / (np.std(order) or 1.0)
        deviation = standardized(np.array([float(score) for _, score in theirs])) - standardized(order)
        allowed = ROUNDING / min(1.0, float(np.std(order)))
        assert np.abs(deviation).max() < 3 * allowed
        assert np.diff(order).max() < 3 * allowed * float(np.std(order)), (
            scale
        )  # only what nearly ties may change places


def test_boosted_terms_run_in_lucene(index: Index) -> None:
    profile, query, settings = profile_of(index, 1), index.vector([QUERIES[0]], [1.0]), RANKINGS["blended"]
    dialect = DIALECTS["terms"]
    terms = [(index.terms[term], w) for term, w in heaviest_terms(profile, query, settings, 2)]
    part = rescore_part(terms, settings, dialect, depth=DEPTH, spread=1.0)
    plain = rescore_part([], RankingSettings(1, 0, 0), dialect, depth=DEPTH, spread=1.0)
    lines = [*document_lines(index), query_line(QUERIES[0], part), query_line(QUERIES[0], plain)]
    boosted, unchanged = ([pair.split("=")[0] for pair in line.split("\t")] for line in run_java("Rescore.java", lines))
    assert sorted(boosted) == sorted(unchanged)
    assert boosted != unchanged
    ours = [index.documents.ids[number] for number in index.search(QUERIES[0], DEPTH).documents]
    assert unchanged[:20] == ours[:20]


def test_the_heaviest_terms_come_first_and_few_are_enough() -> None:
    vocabulary = OpenVocabulary()
    profile = RankingProfile(vocabulary.vector(["tea", "coffee"], [3, 4]), vocabulary.vector(["cup"], [1]))
    query = vocabulary.vector(["Tea cups"], [1])
    found = heaviest_terms(profile, query, RankingSettings(0.5, 0.25, 0.5), 10)
    weights = {vocabulary.terms[term]: weight for term, weight in found}
    half = 0.5 * np.sqrt(0.5)
    assert weights == pytest.approx({"tea": 0.75 * 0.6 + half, "cup": 0.25 + half, "coffee": 0.75 * 0.8})
    assert [weight for _, weight in found] == sorted(weights.values(), reverse=True)
    assert heaviest_terms(profile, query, RankingSettings(0.5, 0.25, 0.5), 1) == found[:1]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return make(tmp_path_factory.mktemp("searched"))


def body_of(place: Place, words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(["search-body", "python cups", "--as-group", "0", "--groups", str(place.release), *words.split()]) == 0
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_a_search_body(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    body = body_of(place, "--for opensearch -n 5 --depth 50 --spread 2 --blend 0.25", capsys)
    assert body["size"] == 5
    assert body["query"]["multi_match"]["query"] == "python cups"
    assert body["rescore"]["window_size"] == 50
    inner = body["rescore"]["query"]
    assert (inner["query_weight"], inner["rescore_query_weight"], inner["score_mode"]) == (0.25, 1.5, "total")
    fields = [clause["rank_feature"]["field"] for clause in inner["rescore_query"]["bool"]["should"]]
    assert {"profile_terms.python", "profile_terms.cup"} <= set(fields)
    assert body["ext"]["ubi"] == {"user_query": "python cups", "client_id": "group-0", "object_id_field": "id"}
    assert "ext" not in body_of(place, "--for elasticsearch", capsys)
    terms = body_of(place, "--for terms --ranking paper", capsys)["rescore"]["query"]
    assert (terms["query_weight"], terms["rescore_query_weight"]) == (1e-6, 1)
    assert len(terms["rescore_query"]["bool"]["should"]) <= 50
    assert queryveil.search_body("python cups", 0, place.release, "elasticsearch") == body_of(
        place, "--for elasticsearch", capsys
    )


def test_the_service_and_the_command_agree(place: Place) -> None:
    searcher = queryveil.Searcher(place.index, groups=place.release)
    part = searcher.rescore(1, "opensearch", RANKINGS["blended"], query="python", depth=100, spread=5.0)
    body = queryveil.search_body("python", 1, place.release, "opensearch", spread=5.0)
    ours, theirs = (each["query"]["rescore_query"]["bool"]["should"] for each in (part, body["rescore"]))
    weight_of = {clause["rank_feature"]["field"]: clause["rank_feature"]["boost"] for clause in theirs}
    assert len(ours) > 5
    for clause in ours:
        feature = clause["rank_feature"]
        assert weight_of[feature["field"]] == pytest.approx(feature["boost"], rel=0.05)


def test_searching_as_everybody(place: Place) -> None:
    searcher = queryveil.Searcher(place.index, groups=place.release)
    found = searcher.search("python", everybody=True, blend=0, query_weight=0, n=40)
    everybody = searcher.search("python", searcher.groups[0], blend=0, query_weight=0, shrink=1, n=40)
    assert [hit.id for hit in found.hits] == [hit.id for hit in everybody.hits]
    paper = searcher.search("python", everybody=True, ranking="paper", n=40)
    assert [hit.id for hit in paper.hits] == [hit.id for hit in everybody.hits]
    request = {"groups": place.release, "everybody": True, "blend": 0, "query_weight": 0, "n": 40}
    assert queryveil.search_index(place.index, "python", **request).hits == found.hits
    with pytest.raises(InputError, match="a search is as a group or as everybody"):
        searcher.search("python", 0, everybody=True)


def test_documents_for_an_engine(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = place.log.parent / "corpus.jsonl"
    assert run(["index", str(corpus), "--out", str(tmp_path / "out"), "--for", "opensearch"]) == 0
    assert "400 documents for opensearch: mapping.json, bulk.ndjson" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["bulk.ndjson", "mapping.json", "out"]
    mapping = json.loads((tmp_path / "out" / "mapping.json").read_bytes())
    assert mapping["mappings"]["properties"]["profile_terms"] == {"type": "rank_features"}
    lines = [json.loads(line) for line in (tmp_path / "out" / "bulk.ndjson").read_bytes().splitlines()]
    assert len(lines) == 800
    assert lines[0] == {"index": {"_id": "d 0"}}
    index = open_index(place.index)
    row = slice(index.indptr[7], index.indptr[8])
    expected = dict(zip([index.terms[i] for i in index.ids[row]], index.weights[row].tolist(), strict=True))
    assert lines[15]["profile_terms"] == pytest.approx(expected, rel=1e-5)
    assert run(["index", str(corpus), "--out", str(tmp_path / "out"), "--for", "terms"]) == 2
    assert run(["index", str(corpus), "--out", str(tmp_path / "out"), "--for", "terms", "--force"]) == 0
    assert "profile_terms" not in (tmp_path / "out" / "bulk.ndjson").read_text()


BAD = {
    "group": ("--as-group 99 --groups RELEASE --for terms", "has no group 99; the nearest are"),
    "engine": (
        "--as-group 0 --groups RELEASE --for solr",
        "--for must be one of opensearch, elasticsearch, terms, not",
    ),
    "engine, before what is missing": ("--for solr", "--for must be one of opensearch, elasticsearch, terms, not"),
    "blend": ("--as-group 0 --groups RELEASE --for terms --blend 2", "--blend must be a number from 0 to 1, not 2"),
    "spread": ("--as-group 0 --groups RELEASE --for terms --spread 0", "--spread must be a number above 0, not 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_requests_are_refused(place: Place, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, sentence = BAD[case]
    assert run(["search-body", "java", *words.replace("RELEASE", str(place.release)).split()]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and sentence in printed.err and printed.err.count("\n") == 1


def test_add_does_not_go_with_another_engine(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = str(place.log.parent / "corpus.jsonl")
    assert run(["index", corpus, "--out", str(place.index), "--add", "--for", "terms"]) == 2
    assert "--add is for an index of our own" in capsys.readouterr().err
