"""The measure clicks: reciprocal ranks against a slow twin and ir-measures, AOL and UBI logs, and bad input."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
from ir_measures import RR

import queryveil
from queryveil.cli import run
from queryveil.core.results import Score, Scores
from queryveil.measures.utility.clicks import COMPARED, SHOWN
from queryveil.search.evaluation.clicks import PERSON
from queryveil.search.evaluation.variants import (
    EVERYBODY_WITHOUT_SELF,
    GROUPS_WITHOUT_SELF,
    QUERY_ALONE,
    UNPERSONALISED,
    run_name,
)
from tests.measures.searched import COMMON, TOPICS

DEPTH, QUERIES = 60, 3
MEASURE = f"clicks(people=50, queries={QUERIES}, depth={DEPTH})"


@dataclass(frozen=True)
class ClickPlace:
    """Where everything lies, and what was clicked."""

    folder: Path
    clicks: list[tuple[str, str, str, int]]  # person, query, url, rank


def rows_of(documents: list[dict[str, str]]) -> Iterator[tuple[str, str, str, int]]:
    """Yield queries of people with a topic each; words that all topics share are clicked in documents of the topic."""
    rng = np.random.default_rng(5)
    for person in range(48):
        name, topic = f"secret-{person}", person % 4
        for term in rng.choice(TOPICS[topic], 5, replace=False):
            yield name, str(term), "", 0
        for word in rng.choice(COMMON, 4, replace=False):
            shown = [each for each in documents if word in each["text"].split()]
            (clicked,) = rng.choice([i for i, each in enumerate(shown) if each["topic"] == str(topic)], 1).tolist()
            yield name, str(word), shown[clicked]["id"], clicked + 1
    yield "secret-0", COMMON[0], "http://elsewhere.example/", 1  # a document that the index lacks


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> ClickPlace:
    folder = tmp_path_factory.mktemp("clicks")
    rng = np.random.default_rng(8)
    documents = []
    for number in range(400):
        text = " ".join((*rng.choice(TOPICS[number % 4], 3), *rng.choice(COMMON, 4)))
        documents.append({"id": f"http://site.example/{number}", "text": text, "topic": str(number % 4)})
    (folder / "corpus.jsonl").write_text("".join(json.dumps(each) + "\n" for each in documents))
    rows = list(rows_of(documents))
    lines = ["AnonID\tQuery\tQueryTime\tItemRank\tClickURL"]
    lines += [
        f"{name}\t{query}\t2006-03-01 10:{i // 60 % 60:02}:{i % 60:02}\t{rank or ''}\t{url}"
        for i, (name, query, url, rank) in enumerate(rows)
    ]
    (folder / "log.tsv").write_text("\n".join(lines) + "\n")
    events = [
        {"client_id": name, "user_query": query, "timestamp": f"2006-03-01T10:{i // 60 % 60:02}:{i % 60:02}"}
        | ({"url": url, "rank": rank} if url else {})
        for i, (name, query, url, rank) in enumerate(rows)
    ]
    (folder / "ubi.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    queryveil.index(folder / "corpus.jsonl", folder / "index")
    method = "linkability(p=0.4)"
    queryveil.anonymize(folder / "log.tsv", method, folder / "groups", private=folder / "private", seed=1)
    return ClickPlace(folder, [row for row in rows if row[2]])


def measure(place: ClickPlace, text: str = MEASURE, log: str = "log.tsv", **options: Any) -> Scores:
    folder = place.folder
    return queryveil.measure(
        folder / "groups",
        folder / log,
        private=folder / "private",
        measures=(text,),
        index=folder / "index",
        **options,
    )


@pytest.fixture(scope="module")
def scores(place: ClickPlace) -> Scores:
    return measure(place, trec=place.folder / "trec")


def by_label(scores: Scores) -> dict[str, Score]:
    return {score.label: score for score in scores}


def value(scores: Scores, label: str) -> float:
    found = by_label(scores)[label].value
    assert found is not None
    return found


def test_as_ir_measures_on_the_written_files(place: ClickPlace, scores: Scores) -> None:
    folder = place.folder / "trec"
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.txt")))  # type: ignore[no-untyped-call]
    assert len(list(folder.iterdir())) == 1 + len(SHOWN)
    for variant in SHOWN:
        rows = list(ir_measures.read_trec_run(str(folder / f"{run_name(variant)}.run")))  # type: ignore[no-untyped-call]
        theirs = ir_measures.calc_aggregate([RR], qrels, rows)[RR]
        assert value(scores, f"MRR: {variant}") == pytest.approx(100 * theirs, rel=1e-6)


def test_before_re_ranking_it_is_the_rank_that_the_engine_gives(place: ClickPlace) -> None:
    found = measure(place, f"clicks(people=1000, queries=100, depth={DEPTH})")
    searcher, ranks, missed = queryveil.Searcher(place.folder / "index"), [], 0
    indexed = [row for row in place.clicks if "site.example" in row[2]]
    for _, query, url, _ in indexed:
        ids = [hit.id for hit in searcher.search(query, n=DEPTH).hits]
        missed += url not in ids
        ranks += [1 / (ids.index(url) + 1)] if url in ids else []
    assert value(found, f"MRR: {UNPERSONALISED}") == pytest.approx(100 * np.mean(ranks))
    assert value(found, "clicks") == len(place.clicks) == len(indexed) + 1
    assert value(found, "clicks on documents of the index") == len(indexed)
    assert (value(found, "queries looked at"), value(found, "queries without their clicked document")) == (
        len(ranks),
        missed,
    )
    assert 0 < missed < len(ranks)


def test_profiles_raise_what_their_people_clicked(scores: Scores) -> None:
    of = {variant: value(scores, f"MRR: {variant}") for variant in SHOWN}
    assert of[PERSON] > of[UNPERSONALISED] + 10
    assert of[GROUPS_WITHOUT_SELF] > of[UNPERSONALISED] + 10
    assert of[GROUPS_WITHOUT_SELF] > of[EVERYBODY_WITHOUT_SELF]
    for ours, theirs in COMPARED:
        score = by_label(scores)[f"MRR: {ours} against {theirs}"]
        assert score.value is not None and score.interval is not None
        assert score.value == pytest.approx(of[ours] - of[theirs])
        assert score.interval[0] <= score.value <= score.interval[1]


def test_the_first_score_says_it_in_a_sentence(scores: Scores) -> None:
    first = scores[0]
    assert first.value == pytest.approx(
        value(scores, f"MRR: {GROUPS_WITHOUT_SELF}") - value(scores, f"MRR: {UNPERSONALISED}")
    )
    before, group = (f"{value(scores, f'MRR: {each}'):.1f} %" for each in (UNPERSONALISED, GROUPS_WITHOUT_SELF))
    assert first.note.startswith(f"the mean reciprocal rank of the clicked result is {before} in the engine's order, ")
    assert f"{group} for the group" in first.note


def test_the_logged_rank_is_reported(place: ClickPlace) -> None:
    found = measure(place, "clicks(people=1000, queries=100, depth=400)")
    logged = [1 / rank for _, _, url, rank in place.clicks if "site.example" in url]
    assert value(found, "MRR: as logged") == pytest.approx(100 * np.mean(logged))


def test_the_query_does_not_rank_through_the_persons_own_profile(place: ClickPlace) -> None:
    words = "clicks(people=1000, queries=100, depth=60, blend=0, query_weight={})"
    assert value(measure(place, words.format(0)), f"MRR: {PERSON}") != value(
        measure(place, words.format(1)), f"MRR: {PERSON}"
    )
    alone = measure(place, "clicks(people=50, depth=60, blend=1)")
    assert len({value(alone, f"MRR: {variant}") for variant in SHOWN}) == 1  # nothing but the engine's score


def test_ubi_and_aol_logs_of_the_same_clicks_agree(place: ClickPlace, tmp_path: Path) -> None:
    queryveil.anonymize(
        place.folder / "ubi.jsonl", "linkability(p=0.4)", tmp_path / "groups", private=tmp_path / "private", seed=1
    )
    of_ubi = queryveil.measure(
        tmp_path / "groups",
        place.folder / "ubi.jsonl",
        private=tmp_path / "private",
        measures=(MEASURE,),
        index=place.folder / "index",
    )
    assert list(of_ubi) == list(measure(place))


def test_a_log_without_ranks_and_the_query_alone(place: ClickPlace, tmp_path: Path) -> None:
    lines = [line.split("\t") for line in (place.folder / "log.tsv").read_text().splitlines()[1:]]
    table = tmp_path / "table.csv"
    table.write_text(
        "user,query,time,url\n" + "".join(f"{user},{query},{time},{url}\n" for user, query, time, _, url in lines)
    )
    queryveil.anonymize(table, "linkability(p=0.4)", tmp_path / "groups", private=tmp_path / "private", seed=1)
    found = queryveil.measure(
        tmp_path / "groups", table, private=tmp_path / "private", measures=(MEASURE,), index=place.folder / "index"
    )
    assert "MRR: as logged" not in by_label(found)
    assert value(found, f"MRR: {QUERY_ALONE}") == value(measure(place), f"MRR: {QUERY_ALONE}")


def refused(place: ClickPlace, log: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    folder = place.folder
    command = ["measure", str(folder / "groups"), "--against", str(log), "--private", str(folder / "private")]
    assert run([*command, *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    return shown.err


def test_bad_input_is_refused(place: ClickPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, index = place.folder / "log.tsv", ["--index", str(place.folder / "index")]
    assert "the measure clicks needs an index of documents" in refused(place, log, ["--measure", "clicks"], capsys)
    found = refused(place, log, [*index, "--measure", "clicks(depth=1)"], capsys)
    assert "depth must be a whole number of at least 2, not 1" in found
    queryveil.index(_renamed(place.folder / "corpus.jsonl", tmp_path / "other.jsonl"), tmp_path / "other")
    found = refused(place, log, ["--index", str(tmp_path / "other"), "--measure", "clicks"], capsys)
    n_clicks = len(place.clicks)
    assert f"clicks: of {n_clicks} clicks 0 are on documents of" in found
    assert "index what was shown, with the url of the log as the documents' ids." in found
    bare = tmp_path / "bare.tsv"
    rows = [line.split("\t")[:3] for line in log.read_text().splitlines()]
    bare.write_text("".join("\t".join((*row[:3], "", "")) + "\n" for row in rows[1:]))
    bare.write_text("AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" + bare.read_text())
    found = refused(place, bare, [*index, "--measure", "clicks"], capsys)
    assert "clicks: the log has no address of a clicked result; name its column by --columns url=COLUMN" in found


def _renamed(corpus: Path, out: Path) -> Path:
    out.write_text(corpus.read_text().replace("site.example", "other.example"))
    return out
