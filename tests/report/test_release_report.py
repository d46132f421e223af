"""The report of a release is complete, self-contained, escaped and deterministic."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from queryveil.core.results import Score, Verdict, Violation
from queryveil.measures import BLM, LINKABILITY, PATTERNS
from queryveil.measures import RETENTION as RETENTION_MEASURE
from queryveil.measures import UNIQUE as UNIQUE_MEASURE
from queryveil.report import render_release_report
from tests.releases import unchecked_manifest
from tests.report.pages import ACTIVE, HOSTILE, cells, chart_labels, headings, parse, text

ROOT = Path(__file__).parents[2]
HISTORIES, GROUPS, VOCABULARIES = (f"kinds/{kind}.html.j2" for kind in ("histories", "groups", "vocabularies"))
DIGEST = "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b"
HOLDS = Verdict("km(k=10, m=2)", "holds", "people", checked=1_833_421)
SECTIONS = [
    "The guarantee holds",
    "What is promised",
    "What was kept, and what was removed",
    "Who is singled out by a few known terms",
    "How the log was cleaned",
    "The files",
    "Check it yourself",
]


def manifest(**changes: Any) -> dict[str, Any]:
    return {
        "queryveil": "0.1.0",
        "kind": "histories",
        "method": "km(k=10, m=2)",
        "guarantee": "km(k=10, m=2)",
        "promise": "Whoever knows up to 2 terms finds at least 10 people who share them.",
        "limits": ["It holds for this release alone.", "It covers the columns it names."],
        "floor": 10,
        "cleaning": {
            "options": {"charset": "letters", "stop_words": None, "lower_case": True, "columns": ["user", "query"]},
            "steps": [
                {"name": "repeated queries", "count": 98_765, "unit": "rows", "note": "same person and time"},
                {"name": "bots", "count": 2, "unit": "users", "note": "", "rows": -1234, "people": -2},
            ],
        },
        "counts": {
            "before": {"people": 5000, "histories": 5000, "terms": 30_123, "pairs": 233_864, "occurrences": 345_678},
            "after": {"people": 4871, "histories": 4871, "terms": 2345, "pairs": 123_456, "occurrences": 210_987},
        },
        "files": [{"path": "data/part-0000.parquet", "sha256": DIGEST, "rows": 123_456}],
        "content_sha256": DIGEST[::-1],
        "partition": None,
        "columns": ["user", "term"],
        "uncovered_columns": [],
        **changes,
    }


def kept(label: str, released: int | None, original: int, note: str = "") -> Score:
    value = None if released is None else 100 * released / original
    return Score("retention", label, value, 100.0, units_counted=original, note=note)


def unique(m: int, before: float | None, after: float | None, note: str = "") -> Score:
    intervals = [None if m == 1 or share is None else (max(0.0, share - 0.3), share + 0.4) for share in (after, before)]
    return Score(f"unique(m={m})", f"m is {m}", after, before, "%", 4871, intervals[0], "lower", note, "", intervals[1])


RETENTION = [
    kept("distinct terms", 2345, 30_123),
    kept("log size", 210_987, 345_678),
    kept("users", 4871, 5000),
    kept("pairs", 123_456, 233_864),
]
UNIQUE = [unique(3, 63.28, 12.41), unique(1, 2.64, 0.0), unique(2, 34.26, 0.01)]
SCORES = [*RETENTION, *UNIQUE]


def render(
    manifest: dict[str, Any], verdict: Verdict, scores: list[Score], section: str = HISTORIES, **context: Any
) -> str:
    decoded = unchecked_manifest(manifest)
    return render_release_report(decoded, verdict, scores, section=section, context=context)


def test_report_has_every_section_in_order() -> None:
    page = render(manifest(), HOLDS, SCORES)
    assert headings(page) == SECTIONS
    assert len(list(parse(page).iter("h1"))) == 1


@pytest.mark.parametrize(
    ("before", "after", "is_in_pieces"),
    [(5000, 4871, False), (5000, 9000, True), (12_000, 11_000, False), (12_000, 13_000, True)],
)
def test_histories_in_pieces_are_said_to_be_unlinked(before: int, after: int, is_in_pieces: bool) -> None:
    counts = manifest()["counts"]
    counts["before"]["histories"], counts["after"]["histories"] = before, after
    page = render(manifest(counts=counts), HOLDS, SCORES)
    assert ("in several histories that nothing links" in page) is is_in_pieces
    assert (f"{after / 4871:.1f} per person on average" in page) is is_in_pieces


def test_market_value_is_shown_with_its_coverage() -> None:
    note = "55.0 % of the log's terms have clicks in the market table"
    market = [
        Score("market", "bid", 41.25, 100.0, units_counted=20_123),
        Score("market", "clicks", None, 100.0, units_counted=16_568, note=note),
    ]
    page = render(manifest(), HOLDS, [*SCORES, *market])
    assert headings(page) == [*SECTIONS[:3], "What was kept of the market value", *SECTIONS[3:]]
    assert cells(page, "Market value") == [
        ["", "Terms with a value", "Kept"],
        ["bid", "20,123", "41.2%"],
        ["clicks", "16,568", "unknown"],
    ]
    assert f"clicks : {note}." in text(parse(page))


def test_document_loads_and_runs_nothing() -> None:
    page = render(manifest(), HOLDS, SCORES)
    assert not re.search(ACTIVE, page, re.IGNORECASE)
    (policy,) = (m for m in parse(page).iter("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert policy.get("content") == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_document_is_accessible_and_fits_a_phone() -> None:
    root = parse(render(manifest(), HOLDS, SCORES))
    assert root.get("lang") == "en"
    assert any(meta.get("name") == "viewport" for meta in root.iter("meta"))
    assert [(svg.get("role"), bool(svg.get("aria-label"))) for svg in root.iter("svg")] == [("img", True)] * 2
    assert all(figure.find("figcaption") is not None for figure in root.iter("figure"))
    assert all(table.find("caption") is not None for table in root.iter("table"))
    assert {th.get("scope") for th in root.iter("th")} == {"row", "col"}


def test_charts_take_their_colours_from_the_page() -> None:
    svgs = "".join(ElementTree.tostring(svg, "unicode") for svg in parse(render(manifest(), HOLDS, SCORES)).iter("svg"))
    colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', svgs))
    assert colours == {"currentColor", "var(--before)", "var(--after)", "var(--track)"}


def test_figures_are_shown_in_tables() -> None:
    page = render(manifest(), HOLDS, SCORES)
    assert cells(page, "The release in numbers")[1:] == [
        ["distinct terms", "30,123", "2,345", "7.8%"],
        ["log size", "345,678", "210,987", "61.0%"],
        ["users", "5,000", "4,871", "97.4%"],
        ["pairs", "233,864", "123,456", "52.8%"],
    ]
    assert cells(page, "Share of people singled out, and its 95% interval")[1:] == [
        ["1", "2.6% exact", "0.0% exact"],
        ["2", "34.3% 34.0% to 34.7%", "<0.1% 0.0% to 0.4%"],
        ["3", "63.3% 63.0% to 63.7%", "12.4% 12.1% to 12.8%"],
    ]
    assert cells(page, "Steps of the cleaning")[1:] == [
        ["repeated queries", "98,765 rows", "", "", "same person and time"],
        ["bots", "2 users", "-1,234", "-2", ""],
    ]
    assert cells(page, "Files of the release")[1:] == [["data/part-0000.parquet", "123,456", DIGEST]]
    words = text(parse(page))
    for expected in (
        "1,833,421",
        DIGEST[::-1],
        "queryveil 0.1.0",
        "queryveil verify RELEASE",
        "Of 5,000 people, 4,871",
    ):
        assert expected in words
    assert "singles out 63.3% of the people in the original log, and 12.4% of those in the release." in words


def test_promise_limits_and_options_are_in_plain_words() -> None:
    words = text(parse(render(manifest(), HOLDS, SCORES)))
    assert "finds at least 10 people who share them" in words
    assert "It holds for this release alone." in words
    assert "held by at least 10 people in the whole log" in words
    assert "stop words none lower case yes columns user, query" in words
    assert "does not cover" not in words


def test_uncovered_columns_and_partition_are_stated() -> None:
    changes = {
        "uncovered_columns": ["time", "url"],
        "kept": {"columns": ["time:day", "url"], "floor": 4},
        "partition": {"column": "country", "values": 7, "left_out": 0},
        "floor": 1,
    }
    words = text(parse(render(manifest(**changes), HOLDS, SCORES)))
    assert (
        "does not cover the columns time:day , url . A value there that fewer than 4 people have is left out" in words
    )
    assert "cut into 7 parts by its column country" in words
    assert "whole log" not in words


def test_warnings_of_the_verdict_are_listed_in_its_box() -> None:
    verdict = replace(HOLDS, warnings=("Times are not covered.", HOSTILE))
    page = parse(render(manifest(), verdict, SCORES))
    (listed,) = (each for each in page.iter("ul") if each.get("class") == "warning")
    assert [text(item) for item in listed] == ["Times are not covered.", HOSTILE]
    (box,) = (each for each in page.iter("section") if each.get("class") == "verdict holds")
    assert listed in list(box)


def test_hostile_text_is_escaped() -> None:
    verdict = Verdict(HOSTILE, "violated", "people", 5, 1, Violation((HOSTILE,), 1, 2))
    step = {"name": HOSTILE, "count": 1, "unit": HOSTILE, "note": HOSTILE}
    texts = ("queryveil", "method", "guarantee", "promise", "content_sha256")
    changes: dict[str, Any] = {
        **dict.fromkeys(texts, HOSTILE),
        "limits": [HOSTILE],
        "columns": [HOSTILE],
        "partition": {"column": HOSTILE, "values": 2, "left_out": 0},
        "cleaning": {"options": {HOSTILE: [HOSTILE, {HOSTILE: HOSTILE}]}, "steps": [step]},
        "files": [{"path": HOSTILE, "sha256": HOSTILE, "rows": 1}],
    }
    scores = [kept(HOSTILE, 1, 2, HOSTILE), unique(2, 1.0, 1.0, HOSTILE), Score(HOSTILE, HOSTILE, 1.0, unit=HOSTILE)]
    page = render(manifest(**changes), verdict, scores)
    assert "<script" not in page
    assert list(parse(page).iter("script")) == []
    assert text(parse(page)).count(HOSTILE) >= 20


def test_output_is_deterministic_across_processes() -> None:
    script = "from tests.report.test_release_report import *; print(render(manifest(), HOLDS, SCORES), end='')"
    other = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert other.stdout == render(manifest(), HOLDS, SCORES) == render(manifest(), HOLDS, SCORES)


def test_violation_is_shown_with_its_counterexample() -> None:
    verdict = Verdict("km(k=6, m=2)", "violated", "people", 900, 2, Violation(("arnold", "lilburn"), 1, 6))
    words = text(parse(render(manifest(), verdict, SCORES)))
    assert "The guarantee is violated" in words
    assert "2 combinations break it. The worst: {arnold, lilburn}: 1 holder has it, at least 6 must." in words
    assert "The manifest claims km(k=10, m=2)" in words


def test_unchecked_claim_gives_the_reason() -> None:
    verdict = Verdict("km(k=6, m=2)", "unchecked", "people", reason="the release has no rows")
    words = text(parse(render(manifest(), verdict, SCORES)))
    assert "The guarantee was not checked The reason: the release has no rows." in words


def test_histories_are_not_called_people_if_people_have_several() -> None:
    counts = manifest()["counts"]
    counts["before"]["histories"], counts["after"]["histories"] = 9000, 8000
    verdict = Verdict("km(k=10, m=2)", "holds", "histories", checked=7)
    words = text(parse(render(manifest(counts=counts), verdict, SCORES)))
    assert "that they belong to different people was not checked" in words
    assert "Of 9,000 histories of 5,000 people, 8,000 histories of 4,871 are in the release." in words
    assert "Share of histories singled out" in words


@pytest.mark.parametrize(
    ("scores", "n_charts"), [([], 0), (RETENTION, 1), (UNIQUE, 1), ([unique(1, None, None), kept("users", None, 3)], 0)]
)
def test_charts_without_figures_are_left_out(scores: list[Score], n_charts: int) -> None:
    page = render(manifest(), HOLDS, scores)
    assert headings(page) == SECTIONS
    assert len(chart_labels(page)) == n_charts


def test_unknown_figures_are_called_unknown_and_notes_are_given() -> None:
    scores = [kept("log size", None, 345_678, "needs --private"), kept("users", 4871, 5000), unique(2, 34.26, None)]
    page = render(manifest(), HOLDS, scores)
    assert ["log size", "345,678", "unknown", "unknown"] in cells(page, "The release in numbers")
    assert ["2", "34.3% 34.0% to 34.7%", "unknown"] in cells(page, "Share of people singled out, and its 95% interval")
    assert "log size : needs --private." in text(parse(page))
    assert "Someone who knows" not in page


def test_other_measures_have_their_own_table() -> None:
    other = Score("entropy(base=2)", "bits of a history", 3.25, 7.5, unit="bits", note="an estimate")
    page = render(manifest(), HOLDS, [*SCORES, other])
    assert cells(page, "Other measures")[1:] == [
        ["entropy(base=2): bits of a history", "7.5 bits", "3.25 bits", "", "higher"]
    ]
    assert "An estimate." in text(parse(page))


def test_section_of_groups() -> None:
    counts = manifest()["counts"]
    counts["after"]["groups"] = 31
    score = Score(
        "linkability", "linking probability", 0.125, None, "", 31, None, "lower", "of the worst group", "groups"
    )
    neither = Score("linkability", "size", 157.0, None, "people", better="", note="of the worst group")
    page = render(
        manifest(kind="groups", counts=counts),
        HOLDS,
        [score, neither],
        GROUPS,
        checked="Terms of groups checked",
        needs_private=True,
    )
    words = text(parse(page))
    assert headings(page) == [*SECTIONS[:2], "The groups", *SECTIONS[4:]]
    assert "4,871 people are in 31 groups of 2,345 different terms; 129 of the log's people are in none." in words
    assert cells(page, "What the groups give away, and what they are worth")[1:] == [
        ["linking probability", "0.125", "31 groups", "lower"],
        ["size", "157 people", "", "neither"],
    ]
    assert "Of the worst group." in words
    assert "Terms of groups checked 1,833,421" in words
    assert "queryveil verify RELEASE --private DIR" in words


def test_section_of_vocabularies() -> None:
    verdict = Verdict("vocabulary_k(k=3)", "holds", "people", checked=1)
    page = render(manifest(), verdict, [], VOCABULARIES, checked="Different vocabularies checked")
    words = text(parse(page))
    assert headings(page) == [*SECTIONS[:2], "The vocabularies", *SECTIONS[3:]]
    assert "4,871 histories are published with 1 vocabulary; of 129 of the log nothing is published." in words
    assert ["Occurrences", "345,678", "210,987"] in cells(page, "The release in numbers")
    assert "What it cost" not in words
    scores = [Score("blm", "bLM", 0.25, unit=""), Score("patterns(n=10)", "recall of patterns", 40.0), *SCORES]
    with_scores = render(manifest(), verdict, scores, VOCABULARIES)
    assert cells(with_scores, "What it cost") == [
        ["", "Release", "Of", "Better is"],
        ["bLM", "0.25", "", "higher"],
        ["recall of patterns", "40.0%", "", "higher"],
    ]
    assert f"bLM : {BLM.purpose}." in text(parse(with_scores))
    assert f"recall of patterns : {PATTERNS.purpose}." in text(parse(with_scores))
    assert "Someone who knows 3 random terms of a history singles out" in text(parse(with_scores))


def test_every_measure_is_explained_where_it_stands() -> None:
    words = text(parse(render(manifest(), HOLDS, SCORES)))
    assert f"H{RETENTION_MEASURE.purpose[1:]}." in words and f"T{UNIQUE_MEASURE.purpose[1:]}." in words
    scores = [Score("linkability(p=0.4)", "cosine to the published profile", 0.9, unit="")]
    groups = manifest(counts={"before": {"people": 9, "histories": 9}, "after": {"people": 9, "groups": 3, "terms": 4}})
    assert LINKABILITY.purpose[1:] in text(parse(render(groups, HOLDS, scores, GROUPS)))


def test_unit_of_queries_is_named() -> None:
    page = parse(render(manifest(), HOLDS, SCORES, unit="query"))
    words = text(page)
    assert "Every published query was issued by at least 10 people in the whole log." in words
    assert "Who is singled out by a few known queries" in words
    assert "Someone who knows 3 random queries of a history singles out" in words
    labels = [text(svg) for svg in page.iter("svg")]
    assert all(word in labels[-1] for word in ("1 query", "2 queries", "3 queries"))
    assert "term" not in labels[-1]


def test_a_guarantee_that_is_no_anonymity_is_headed_so_and_not_as_one_that_holds() -> None:
    page = render(manifest(), replace(HOLDS, caution="content filter, no anonymity"), SCORES)
    assert headings(page)[0] == "Content filter, no anonymity"
    (box,) = (each for each in parse(page).iter("section") if "verdict" in each.get("class", ""))
    assert box.get("class") == "verdict cautioned"
    assert "People are not hidden among others" in text(box)
    assert "The guarantee holds" not in page
