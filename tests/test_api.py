"""The Python API: the same words as the commands, on files and on tables, and results that show well."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import queryveil
from queryveil.core.errors import InputError, LogError, UnknownNameError
from queryveil.core.results import Score, Scores, Verdict, Violation

COLUMNS = {
    "user": ["ann", "bob", "cyd", "dan", "eve"],
    "query": ["tea milk", "milk tea", "tea", "tea rare", "other"],
}


def file_of(folder: Path) -> Path:
    path = folder / "log.csv"
    lines = zip(COLUMNS["user"], COLUMNS["query"], strict=True)
    path.write_text("user,query\n" + "".join(f"{user},{query}\n" for user, query in lines))
    return path


MAKERS: dict[str, Callable[[Path], Any]] = {
    "path": file_of,
    "text": lambda folder: str(file_of(folder)),
    "list": lambda folder: [file_of(folder)],
    "arrow": lambda folder: pa.table(COLUMNS),
    "pandas": lambda folder: pd.DataFrame(COLUMNS),
    "polars": lambda folder: pl.DataFrame(COLUMNS),
}


@pytest.fixture(params=MAKERS)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return MAKERS[request.param](tmp_path)


def test_public_names() -> None:
    assert queryveil.__all__ == [
        "CorpusError",
        "GuaranteeError",
        "InputError",
        "InternalError",
        "LogError",
        "NoTermsError",
        "OutputError",
        "QueryveilError",
        "ReleaseError",
        "Searcher",
        "Timings",
        "UnknownNameError",
        "UnverifiedError",
        "__version__",
        "anonymize",
        "attack",
        "compare",
        "datasheet",
        "describe",
        "estimate",
        "export",
        "generate",
        "index",
        "load",
        "measure",
        "name",
        "names",
        "profiles",
        "read",
        "reproduce",
        "search_body",
        "search_index",
        "sensitivity_model",
        "verify",
        "warm",
        "why",
        "write_profiles",
    ]
    assert dir(queryveil) == sorted(queryveil.__all__)
    assert all(getattr(queryveil, name) is not None for name in queryveil.__all__)
    with pytest.raises(AttributeError, match="no attribute 'anonymise'"):
        queryveil.anonymise  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, queryveil; print({'numpy', 'pyarrow', 'duckdb', 'numba', 'typer'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_log_is_read_from_anything(log: Any) -> None:
    with queryveil.read(log) as opened:
        table = opened.to_arrow()
        assert table.column_names == ["person", "query_id", "query"]
        assert table["person"].to_pylist() == COLUMNS["user"]
        assert table["query"].to_pylist() == COLUMNS["query"]
        assert queryveil.profiles(opened).n_people == 5


def test_profiles_come_as_tables(log: Any) -> None:
    profiles = queryveil.profiles(log)
    assert (profiles.n_histories, profiles.vocabulary[:2]) == (5, ("tea", "milk"))
    frame = profiles.to_pandas()
    assert frame.columns.tolist() == ["history", "person", "entry", "count"]
    assert profiles.to_polars()["person"].to_list() == frame["person"].tolist()
    assert queryveil.profiles(log, unit="query").n_histories == 5
    assert "5 histories of 5 people" in profiles._repr_html_()


def test_a_log_is_anonymised_verified_and_measured(log: Any, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    out, private = tmp_path / "out", str(tmp_path / "private")
    done = queryveil.anonymize(
        log,
        queryveil.name("km", k=2, m=2),
        str(out),
        private=private,
        seed=1,
        progress=lambda *report: seen.append(report),
    )
    assert {"reading", "cleaning", "writing", "verifying", "measuring"} <= {stage for stage, _, _ in seen}
    assert all(total == 0 or 0 <= amount <= total for _, amount, total in seen)
    assert (done.verdict.holds, done.verdict.counted) == (True, "people")
    assert done.report.is_file()
    assert (str(done.release), str(done.private)) == (str(out), private)
    expected = {(0, "milk"), (0, "tea"), (1, "milk"), (1, "tea"), (2, "tea"), (3, "tea")}
    release = queryveil.load(out)
    for frame in (done.to_pandas(), release.to_pandas()):
        assert set(frame.itertuples(index=False, name=None)) == expected
    assert set(release.to_polars().iter_rows()) == expected
    assert release.kind.name == "histories"
    assert queryveil.verify(str(out), private=private).holds
    assert queryveil.verify(out).counted == "histories"


def test_scores_come_as_a_table(tmp_path: Path) -> None:
    log = file_of(tmp_path)
    queryveil.anonymize(log, "km(k=2, m=2)", tmp_path / "out", private=tmp_path / "private")
    seen: list[str] = []
    scores = queryveil.measure(
        tmp_path / "out",
        log,
        measures=["retention", queryveil.name("unique", m=1)],
        private=tmp_path / "private",
        progress=lambda stage, done, total: seen.append(stage),
    )
    assert {score.measure for score in scores} == {"retention", "unique(m=1)"}
    assert "measuring" in seen
    assert scores._repr_html_().count("<tr>") == len(scores) + 1
    assert len(queryveil.measure(tmp_path / "out", str(log))) > len(scores)
    with pytest.raises(UnknownNameError, match="there is no measure 'retension'"):
        queryveil.measure(tmp_path / "out", log, measures=["retension"])


def test_a_log_is_generated(tmp_path: Path) -> None:
    made = queryveil.generate(tmp_path / "log.tsv", users=30, seed=4)
    again = queryveil.generate(str(tmp_path / "again.tsv"), users=30, seed=4)
    assert made.people == again.people == 30
    assert made.path.read_bytes() == again.path.read_bytes()
    assert queryveil.profiles(made.path).n_people == 30


def test_names_are_text_and_python() -> None:
    name = queryveil.name("km", k=10, m=2, target="clicks")
    assert str(name) == "km(k=10, m=2, target=clicks)"
    assert repr(name) == "km(k=10, m=2, target='clicks')"


def test_an_unknown_option_gets_the_nearest_name(tmp_path: Path) -> None:
    table = pa.table(COLUMNS)
    with pytest.raises(UnknownNameError, match="there is no option 'charsett'; did you mean charset"):
        queryveil.read(table, charsett="paper")
    with pytest.raises(UnknownNameError, match="did you mean stop_words"):
        queryveil.anonymize(table, "km(k=2, m=1)", tmp_path / "out", stopwords="english")
    with pytest.raises(UnknownNameError, match="charset must be one of letters, paper, not greek"):
        queryveil.profiles(table, charset="greek")
    assert list(tmp_path.iterdir()) == []


def test_objects_that_are_not_logs_are_refused() -> None:
    with pytest.raises(InputError, match="a log is a file, files, or a pandas, Polars or Arrow table, not int"):
        queryveil.read(3)
    with pytest.raises(LogError, match="there is no file"):
        queryveil.read("nowhere.csv")
    with queryveil.read(pa.table(COLUMNS)) as opened, pytest.raises(InputError, match="give them to read"):
        queryveil.read(opened, charset="paper")


def test_results_escape_hostile_text(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    verdict = Verdict(evil, "violated", "people", 1, 1, Violation((evil,), 1, 2), reason=evil, warnings=(evil,))
    scores = Scores([Score(evil, evil, 1.0, note=evil)])
    assert "<script>" not in verdict._repr_html_() + scores._repr_html_()
    assert "&lt;script&gt;" in verdict._repr_html_()
    folder = tmp_path / evil.replace("/", "")
    folder.mkdir()
    done = queryveil.anonymize(pa.table(COLUMNS), "km(k=2, m=1)", folder / "out")
    assert "<script>" not in done._repr_html_()
    assert "&lt;script&gt;" in done._repr_html_()
    assert "<b>release</b>" in queryveil.load(folder / "out")._repr_html_()
