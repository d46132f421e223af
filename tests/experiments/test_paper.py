"""Papers: which options each refuses, lines over a parameter, and runs that are verified before they are reported."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from queryveil.core.errors import InputError, InternalError
from queryveil.core.names import resolve
from queryveil.experiments import burghardt, carpineto, liu, zhu
from queryveil.experiments.paper import (
    BY_CONSTRUCTION,
    Found,
    JudgedStatement,
    Lines,
    Paper,
    PaperOptions,
    RunTally,
    confirm_kept,
    example_log,
    judge,
    mean_figures,
    required,
)

GIVEN, GENERATED = PaperOptions(has_log=True), PaperOptions(has_log=False)
FILE = Path("file")
LOG = example_log([("a", "b"), ("a", "b", "b"), ("c",)], ["x", "y", "z"])
QUERY_K = resolve("method", "query_k(k=2)")


@pytest.mark.parametrize(
    ("paper", "options"),
    [
        (burghardt.PAPER, GENERATED),
        (burghardt.PAPER, replace(GENERATED, users=200, like="demo", algorithm="best")),
        (burghardt.PAPER, replace(GIVEN, market=FILE)),
        (zhu.PAPER, replace(GIVEN, users=200)),
        (zhu.PAPER, replace(GENERATED, users=200, like="demo")),
        (liu.PAPER, replace(GENERATED, history="day", users=30)),
        (carpineto.PAPER, GIVEN),
    ],
)
def test_accepted_options(paper: Paper, options: PaperOptions) -> None:
    paper.check(options)


@pytest.mark.parametrize(
    ("paper", "options", "message"),
    [
        (burghardt.PAPER, replace(GENERATED, index=FILE), "--index is for zhu"),
        (burghardt.PAPER, replace(GIVEN, market=FILE, like="demo"), "--like and --users are about a generated log"),
        (burghardt.PAPER, GIVEN, "--log needs the market table of its terms"),
        (burghardt.PAPER, replace(GENERATED, market=FILE), "--market goes with the log that it is about"),
        (burghardt.PAPER, replace(GENERATED, algorithm="worst"), "algorithm must be one of"),
        (zhu.PAPER, replace(GIVEN, market=FILE), "--market and --algorithm are for burghardt"),
        (zhu.PAPER, replace(GIVEN, like="aol"), "--like is about a generated log"),
        (zhu.PAPER, replace(GIVEN, history="day"), "a profile is of a person, so it goes with --history user"),
        (zhu.PAPER, replace(GENERATED, users=99), "--users must be a whole number of at least 100 for zhu, not 99"),
        (liu.PAPER, replace(GENERATED, algorithm="best"), "--market and --algorithm are for burghardt"),
        (liu.PAPER, replace(GIVEN, users=30), "--like and --users are about a generated log"),
        (carpineto.PAPER, replace(GIVEN, history="session"), "the paper compares all queries of a person"),
    ],
)
def test_refused_options(paper: Paper, options: PaperOptions, message: str) -> None:
    with pytest.raises(InputError, match=message):
        paper.check(options)


def test_only_some_searchers_of_a_generated_log_take_part_in_zhu() -> None:
    assert zhu.PAPER.generated_users(GENERATED) == 110 * 720
    assert zhu.PAPER.generated_users(replace(GENERATED, users=200)) == 110 * 200
    assert liu.PAPER.generated_users(replace(GENERATED, users=200)) == 200
    assert liu.PAPER.generated_users(GENERATED) is None


def test_lines_are_drawn_and_tabulated() -> None:
    lines = Lines.formatted("k", (2, 10), {"a": (0.25, 0.5), "b": (0.0, 1.0)}, ".2f")
    figure = lines.figure("Figure 1", "Two lines.", "share", scale=100.0)
    assert [(point.series, point.x, point.y) for point in figure.points] == [
        ("a", 2.0, 25.0),
        ("a", 10.0, 50.0),
        ("b", 2.0, 0.0),
        ("b", 10.0, 100.0),
    ]
    assert (figure.series, figure.over) == (("a", "b"), "k")
    table = lines.table("Figure 1", "Two lines", ("a note",), corner="line")
    assert table.headings == ("line", "k = 2", "k = 10")
    assert table.rows == (("a", "0.25", "0.50"), ("b", "0.00", "1.00"))
    assert table.notes == ("a note",)


def test_a_missing_input_is_an_internal_error() -> None:
    assert required(5) == 5
    with pytest.raises(InternalError, match="an input of the evaluation is missing"):
        required(None)


def test_an_example_log_has_one_history_per_person() -> None:
    assert LOG.persons == ("x", "y", "z")
    assert LOG.vocabulary == ("a", "b", "c")
    assert (LOG.indptr.tolist(), LOG.ids.tolist(), LOG.counts.tolist()) == (
        [0, 2, 4, 5],
        [0, 1, 0, 1, 2],
        [1, 1, 1, 2, 1],
    )


def test_values_that_do_not_exist_are_neither_drawn_nor_written_as_numbers() -> None:
    lines = Lines.formatted("p", (0.1, 0.4), {"a": (float("nan"), 0.5)}, ".2f")
    assert [(point.x, point.y) for point in lines.figure("Figure", "", "share").points] == [(0.4, 0.5)]
    assert lines.table("Figure", "").rows == (("a", "–", "0.50"),)


def test_kept_pairs_are_verified() -> None:
    kept, tally = np.array([True, True, True, True, False]), RunTally()
    assert confirm_kept(QUERY_K, LOG, kept, tally) == 2
    assert confirm_kept(resolve("method", "km(k=2, m=2)"), LOG, kept, tally) == 3
    assert tally == RunTally(verified=2)
    assert str(tally) == "2 releases were verified"


def test_an_empty_release_does_not_count_as_verified() -> None:
    tally = RunTally()
    assert confirm_kept(QUERY_K, LOG, np.zeros(5, np.bool_), tally) == 0
    assert tally == RunTally(verified=0, empty=1)
    assert str(tally) == "0 releases were verified; 1 released nothing, so there was nothing to verify"


def test_a_refused_result_is_an_internal_error() -> None:
    tally = RunTally()
    with pytest.raises(InternalError, match=r"the result of query_k\(k=2\) was refused by its verifier \(violated\)"):
        confirm_kept(QUERY_K, LOG, np.ones(5, np.bool_), tally)
    assert tally == RunTally()


def test_every_claim_is_judged() -> None:
    claims = {name: ("Table 1", f"it is {name}") for name in ("so", "not so", "made so")}
    found: Found = {"so": ("it is", True), "not so": ("no", False), "made so": ("by us", BY_CONSTRUCTION)}
    assert judge(claims, found) == (
        JudgedStatement("Table 1", "it is so", "it is", "confirmed"),
        JudgedStatement("Table 1", "it is not so", "no", "not confirmed"),
        JudgedStatement("Table 1", "it is made so", "by us", "by construction"),
    )
    with pytest.raises(KeyError):
        judge(claims, {"so": ("it is", True)})


def test_figures_are_averaged_by_name() -> None:
    assert mean_figures([{"spi": 1.0, "jsd": 0.0}, {"spi": 2.0, "jsd": 0.5}]) == {"spi": 1.5, "jsd": 0.25}
