"""The measure search: figures against ir-measures on the written files, what they mean, and bad input."""

import json
import stat
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from ir_measures import AP, P, nDCG

import queryveil
from queryveil.cli import run
from queryveil.core.results import Score, Scores
from queryveil.measures import SEARCH
from queryveil.search.evaluation.metrics import AP_ALL, AP_TOP, METRICS, NDCG, PRECISION
from queryveil.search.evaluation.variants import (
    EVERYBODY,
    EVERYBODY_WITHOUT_SELF,
    GROUPS,
    GROUPS_WITHOUT_SELF,
    QUERY_ALONE,
    RANDOM_GROUPS,
    RANDOM_WITHOUT_SELF,
    UNPERSONALISED,
    VARIANTS,
    run_name,
)
from tests.measures.searched import MEASURE, Place, make


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return make(tmp_path_factory.mktemp("searched"))


@pytest.fixture(scope="module")
def trec(place: Place) -> Path:
    return place.log.parent / "trec"


@pytest.fixture(scope="module")
def scores(place: Place, trec: Path) -> Scores:
    return measure(place, trec=trec)


def measure(place: Place, *measures: str, trec: Path | None = None, seed: int = 0) -> Scores:
    return queryveil.measure(
        place.release,
        place.log,
        private=place.private,
        measures=measures or (MEASURE,),
        index=place.index,
        trec=trec,
        seed=seed,
    )


def qrels_of(folder: Path) -> list[Any]:
    return list(ir_measures.read_trec_qrels(str(folder / "qrels.txt")))  # type: ignore[no-untyped-call]


def run_of(path: Path) -> list[Any]:
    return list(ir_measures.read_trec_run(str(path)))  # type: ignore[no-untyped-call]


def by_label(scores: Scores) -> dict[str, Score]:
    return {score.label: score for score in scores if score.unit != "points"}


def value(scores: Scores, metric: str, variant: str) -> float:
    found = by_label(scores)[f"{metric}: {variant}"].value
    assert found is not None
    return found


def test_as_ir_measures_on_the_written_files(scores: Scores, trec: Path) -> None:
    assert sorted(path.name for path in trec.iterdir()) == sorted(
        ["qrels.txt", *(f"{run_name(variant)}.run" for variant in VARIANTS)]
    )
    qrels = qrels_of(trec)
    for variant in VARIANTS:
        rows = run_of(trec / f"{run_name(variant)}.run")
        theirs = ir_measures.calc_aggregate([AP, AP @ 10, P @ 10, nDCG @ 10], qrels, rows)
        assert value(scores, AP_ALL, variant) == pytest.approx(100 * theirs[AP], rel=1e-6)
        assert value(scores, AP_TOP, variant) == pytest.approx(100 * theirs[AP @ 10], rel=1e-6)  # 10 of 10 relevant
        assert value(scores, PRECISION, variant) == pytest.approx(100 * theirs[P @ 10], rel=1e-6)
        assert value(scores, NDCG, variant) == pytest.approx(100 * theirs[nDCG @ 10], rel=1e-6)


def test_ap_at_10_of_more_relevant_documents_is_that_of_trec_eval_times_a_factor(place: Place, tmp_path: Path) -> None:
    found = measure(place, "search(people=20, queries=2, depth=80, relevant=30)", trec=tmp_path / "trec")
    qrels = qrels_of(tmp_path / "trec")
    rows = run_of(tmp_path / "trec" / f"{run_name(GROUPS)}.run")
    theirs = ir_measures.calc_aggregate([AP @ 10], qrels, rows)[AP @ 10]
    assert value(found, AP_TOP, GROUPS) == pytest.approx(100 * theirs * 30 / 10, rel=1e-6)


def test_nobody_can_be_told_from_the_written_files(scores: Scores, trec: Path) -> None:
    texts = [path.read_text() for path in trec.iterdir()]
    assert not any("secret" in text or "coffee" in text for text in texts)
    assert "d%20" in texts[0]  # a document's id with white space is one word
    topics = {line.split()[0] for line in (trec / "qrels.txt").read_text().splitlines()}
    assert topics == {str(number) for number in range(1, len(topics) + 1)}
    assert stat.S_IMODE(trec.stat().st_mode) == 0o700


def test_scores_of_every_metric_and_variant(scores: Scores) -> None:
    for metric in METRICS:
        assert value(scores, metric, GROUPS) > value(scores, metric, GROUPS_WITHOUT_SELF)  # oneself is in one's group
        assert value(scores, metric, RANDOM_GROUPS) > value(scores, metric, RANDOM_WITHOUT_SELF)
        assert value(scores, metric, GROUPS) > value(scores, metric, UNPERSONALISED)
    assert value(scores, AP_ALL, GROUPS_WITHOUT_SELF) > value(
        scores, AP_ALL, RANDOM_WITHOUT_SELF
    )  # groups are of a topic each
    assert value(scores, AP_ALL, GROUPS_WITHOUT_SELF) > value(scores, AP_ALL, EVERYBODY)
    assert value(scores, AP_ALL, EVERYBODY) > value(scores, AP_ALL, EVERYBODY_WITHOUT_SELF)


def test_the_first_score_says_what_groups_add(scores: Scores) -> None:
    first = scores[0]
    ours = value(scores, AP_ALL, GROUPS_WITHOUT_SELF)
    others = (EVERYBODY_WITHOUT_SELF, UNPERSONALISED, QUERY_ALONE, RANDOM_WITHOUT_SELF)
    added = [ours - value(scores, AP_ALL, other) for other in others]
    assert (first.label, first.unit) == ("what groups add", "points")
    assert first.value == pytest.approx(added[0])
    assert first.note.startswith(f"groups add {added[0]:+.1f} (")
    assert f"over everybody, {added[1]:+.1f} (" in first.note
    assert f"over no personalisation, {added[2]:+.1f} (" in first.note
    assert f"over the query's own terms and {added[3]:+.1f} (" in first.note


def test_the_papers_ranking_is_one_word(place: Place, scores: Scores) -> None:
    paper = measure(place, MEASURE.replace(")", ", ranking=paper)"))
    weights = MEASURE.replace(")", ", blend=0, shrink=0, query_weight=0)")
    assert [score.value for score in paper] == [score.value for score in measure(place, weights)]
    assert value(paper, AP_ALL, QUERY_ALONE) == value(paper, AP_ALL, UNPERSONALISED)
    assert value(paper, AP_ALL, GROUPS) != value(scores, AP_ALL, GROUPS)
    assert value(paper, AP_ALL, UNPERSONALISED) == value(scores, AP_ALL, UNPERSONALISED)


def test_intervals_and_comparisons(scores: Scores) -> None:
    for score in scores:
        if score.interval is not None:
            assert score.value is not None
            assert score.interval[0] <= score.value <= score.interval[1]
    ours, theirs = value(scores, AP_ALL, GROUPS_WITHOUT_SELF), value(scores, AP_ALL, RANDOM_WITHOUT_SELF)
    label = f"{AP_ALL}: {GROUPS_WITHOUT_SELF} against {RANDOM_WITHOUT_SELF}"
    points, share = (score for score in scores if score.label == label)
    assert (points.unit, share.unit) == ("points", "%")
    assert points.value == pytest.approx(ours - theirs)
    assert share.value == pytest.approx(100 * ours / theirs)


def test_counts_of_evaluated_people(scores: Scores) -> None:
    counted = by_label(scores)
    assert counted["people searched for"].value == 50
    assert counted["people searched for"].note.startswith("150 queries")
    assert counted["people without a term in the index"].value == 3
    assert counted["people without a query"].value == 0


def test_the_same_seed_gives_the_same_scores(place: Place, scores: Scores, trec: Path, tmp_path: Path) -> None:
    again = measure(place, trec=tmp_path / "trec")
    assert again == scores
    for path in trec.iterdir():
        assert (tmp_path / "trec" / path.name).read_bytes() == path.read_bytes()
    assert measure(place, seed=1) != scores


def test_the_engines_score_can_be_blended_in(place: Place, scores: Scores) -> None:
    blended = measure(place, MEASURE.replace(")", ", blend=1)"))
    assert (
        value(blended, AP_ALL, GROUPS)
        == value(blended, AP_ALL, UNPERSONALISED)
        == value(scores, AP_ALL, UNPERSONALISED)
    )


def test_frozen_and_strict_groups_can_be_measured(tmp_path: Path) -> None:
    strict = make(tmp_path, method="linkability(p=0.5, principle=posterior, representative=union, shrink=0.3)")
    assert 0 < value(measure(strict), AP_ALL, GROUPS_WITHOUT_SELF) < 100


def test_an_index_is_enough_to_search(place: Place) -> None:
    assert {score.measure for score in queryveil.measure(place.release, place.log, private=place.private)} == {
        "linkability(p=0.4)"
    }
    command = ["measure", str(place.release), "--against", str(place.log), "--private", str(place.private)]
    assert run([*command, "--index", str(place.index), "--measure", MEASURE]) == 0


def test_as_json(place: Place, scores: Scores, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["measure", str(place.release), "--against", str(place.log), "--private", str(place.private), "--json"]
    assert run([*command, "--index", str(place.index), "--measure", MEASURE]) == 0
    assert [each["value"] for each in json.loads(capsys.readouterr().out)] == [score.value for score in scores]


BAD = {
    "no index": (["--measure", "search"], "the measure search needs an index of documents to search; make one with"),
    "index unused": (
        ["--index", "INDEX", "--measure", "linkability(p=0.4)"],
        "--index is for the measures search and clicks",
    ),
    "no such index": (["--index", "none", "--measure", "search"], "none"),
    "trec alone": (["--trec", "out"], "--trec writes the rankings of one measure, search or clicks; name it once"),
    "trec twice": (
        ["--index", "INDEX", "--trec", "out", "--measure", "search", "--measure", "search(queries=2)"],
        "--trec writes the rankings of one measure, search or clicks; name it once",
    ),
    "trec taken": (["--index", "INDEX", "--trec", ".", "--measure", "search"], "exists already"),
    "too few": (
        ["--index", "INDEX", "--trec", "out", "--measure", "search(depth=1000, relevant=400)"],
        "no query of anybody finds 800 documents in",
    ),
    "too many relevant": (
        ["--index", "INDEX", "--measure", "search(depth=30)"],
        "search(depth=30): relevant must be at most half of depth",
    ),
    "blend": (["--index", "INDEX", "--measure", "search(blend=2)"], "blend must be a number from 0 to 1, not 2"),
}


@pytest.mark.parametrize("case", BAD)
def test_search_measure_refuses_bad_input(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, expected = BAD[case]
    words = [str(place.index) if word == "INDEX" else word for word in arguments]
    command = ["measure", str(place.release), "--against", str(place.log), "--private", str(place.private)]
    assert run([*command, *words]) == 2
    shown = capsys.readouterr()
    assert expected in shown.err
    assert shown.err.count("\n") == 1 and shown.out == ""
    assert list(tmp_path.iterdir()) == []


def test_no_private_folder(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["measure", str(place.release), "--against", str(place.log), "--index", str(place.index)]
    assert run([*command, "--measure", "search"]) == 2
    assert "holds groups, and who is in them stands in the private folder; give --private." in capsys.readouterr().err


def test_a_release_of_another_kind(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queryveil.generate(tmp_path / "log.tsv", users=60, seed=3)
    queryveil.anonymize(tmp_path / "log.tsv", "km(k=2, m=1)", tmp_path / "release", seed=1)
    command = ["measure", str(tmp_path / "release"), "--against", str(tmp_path / "log.tsv")]
    assert run([*command, "--index", str(place.index), "--measure", "search"]) == 2
    assert "the measure search applies to releases of kind groups, not histories" in capsys.readouterr().err
    assert run([*command, "--index", str(place.index)]) == 2
    assert "--index is for the measures search and clicks, of releases of groups" in capsys.readouterr().err


def test_declared() -> None:
    assert SEARCH.needs_index and SEARCH.kinds == ("groups",)
