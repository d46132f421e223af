"""Logs in memory: tables of any library, releases that are never written, results in place of releases, brief reprs."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import queryveil
from queryveil.core.files import MemoryPath
from queryveil.core.results import Verdict, Violation
from queryveil.engines import QueryLog

SECRETS = ("zanzibarsecret", "person-4711")
TOPICS = (("tea", "milk", "sugar"), ("pizza", "pasta", "bread"), ("hotel", "paris", "train"))
METHODS = (
    "km(k=3, m=2)",
    "query_k(k=3)",
    "ppp(release=none)",
    "linkability(p=0.9)",
    "vocabulary(k=3, eps=4)",
    "generalize(k=3)",
    "suppress(k=3)",
)


@cache
def columns() -> dict[str, list[str]]:
    """Return a small log with times and a planted secret: a term and an identifier that one person has."""
    rng, users, queries = np.random.default_rng(5), [], []
    for user in range(40):
        for _ in range(4 + 4 * (user % 2)):
            users.append(f"person-{4700 + user}")
            queries.append(" ".join(rng.choice(TOPICS[user % 3], 2, replace=False)))
    queries[users.index(SECRETS[1])] += f" {SECRETS[0]}"
    times = [f"2006-03-{1 + i % 28:02d} 10:00:{i % 60:02d}" for i in range(len(users))]
    ranks = [str(1 + i % 3) if i % 2 else "" for i in range(len(users))]
    return {"user": users, "query": queries, "time": times, "rank": ranks}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(columns()).to_csv("log.csv", index=False)
    return tmp_path


def logs() -> dict[str, Any]:
    """Return the same log as a file and as tables of three libraries; pandas has whole numbers with gaps as floats."""
    frame = pd.read_csv("log.csv")
    assert frame["rank"].dtype == float
    return {
        "file": "log.csv",
        "pandas": frame,
        "polars": pl.DataFrame(columns()),
        "arrow": pa.Table.from_pandas(frame, preserve_index=False),
    }


def facts(result: Any) -> Any:
    """Return what must not depend on how a log was given."""
    if isinstance(result, pa.Table):
        return result.to_pylist()
    if hasattr(result, "to_arrow"):
        table = result.to_arrow()
        return table.drop_columns([name for name in table.column_names if name == "seconds"]).to_pylist()
    return result


def calls(log: Any, done: Any, place: Path) -> Iterator[Any]:
    """Yield the result of every function that takes a log."""
    with queryveil.read(log, keep=["time", "rank"]) as opened:
        yield opened.to_arrow()
    yield queryveil.profiles(log)
    queryveil.write_profiles(log, place / "profiles.csv", force=True)
    yield (place / "profiles.csv").read_bytes()
    kept = queryveil.anonymize(log, "km(k=3, m=2)", kind="log", keep=["time:day", "rank"], seed=1)
    yield kept
    yield kept.manifest.counts
    yield queryveil.verify(log, claim="km(k=2, m=1)").record()
    yield queryveil.measure(done, log)
    yield queryveil.measure(log, log, measures=["jsd"])
    yield queryveil.attack(done, log, seed=3)
    yield queryveil.compare(log, "km(k=2|3, m=2)")
    yield queryveil.reproduce("carpineto", log, seed=1).tables


def test_a_log_gives_the_same_in_every_form(folder: Path) -> None:
    done = queryveil.anonymize("log.csv", "km(k=3, m=2)", seed=1)
    found = {name: [facts(result) for result in calls(log, done, folder)] for name, log in logs().items()}
    for name, results in found.items():
        for number, (ours, theirs) in enumerate(zip(results, found["file"], strict=True)):
            assert ours == theirs, (name, number)


@pytest.mark.parametrize("method", METHODS)
def test_a_release_in_memory_is_the_one_that_would_be_written(method: str, folder: Path) -> None:
    done = queryveil.anonymize("log.csv", method, seed=1)
    assert list(folder.iterdir()) == [folder / "log.csv"]
    assert done.verdict.holds
    assert len(done.scores) == len(done.scores.to_pandas())
    written = queryveil.anonymize("log.csv", method, "release", private="private", seed=1)
    assert done.manifest == written.manifest
    assert done.to_arrow().equals(written.to_arrow())
    assert done.to_polars().rows() == written.to_polars().rows()
    assert queryveil.verify(done) == queryveil.verify("release", private="private") == queryveil.verify(written)
    assert queryveil.measure(done, "log.csv") == queryveil.measure(written, pl.DataFrame(columns()))
    assert queryveil.load(done).to_arrow().equals(queryveil.load("release").to_arrow())


def test_results_stand_for_releases(folder: Path) -> None:
    done = queryveil.anonymize("log.csv", "km(k=3, m=2)", "release", private="private", seed=1)
    assert queryveil.verify(done).counted == "people"
    assert queryveil.verify(queryveil.load("release")).counted == "histories"
    assert queryveil.attack(done, "log.csv").results == queryveil.attack("release", "log.csv", "private").results
    stronger = queryveil.anonymize("log.csv", "km(k=4, m=2)", start_from=done, seed=1)
    assert stronger.verdict.holds
    weaker = queryveil.anonymize("log.csv", "km(k=3, m=2)", seed=1)
    assert queryveil.anonymize("log.csv", "km(k=4, m=2)", start_from=weaker, seed=1).to_arrow() == stronger.to_arrow()
    with pytest.raises(queryveil.InputError, match="private is missing; give it: The release's private folder"):
        queryveil.why("release", user="person-4700")


def test_groups_in_memory_are_extended_and_searched(folder: Path) -> None:
    Path("documents.jsonl").write_text('{"id": "1", "text": "tea with milk"}\n{"id": "2", "text": "pizza"}\n')
    queryveil.index("documents.jsonl", "index")
    groups = queryveil.anonymize("log.csv", "linkability(p=0.9)", seed=1)
    again = queryveil.anonymize("log.csv", "linkability(p=0.9)", groups=groups, seed=1)
    assert again.to_arrow() == groups.to_arrow()
    searcher = queryveil.Searcher("index", groups)
    assert [hit.id for hit in searcher.search("tea", searcher.groups[0]).hits] == ["1"]
    assert queryveil.search_index("index", "tea", group=searcher.groups[0], groups=groups).hits[0].id == "1"


def test_a_changed_release_in_memory_is_found_out(folder: Path) -> None:
    done = queryveil.anonymize("log.csv", "km(k=3, m=2)", seed=1)
    assert isinstance(done.location, MemoryPath)
    done.location.files["more.txt"] = b"x"
    assert "more.txt is not in the manifest" in queryveil.verify(done).sentence()
    del done.location.files["more.txt"], done.location.files["data/part-00000.parquet"]
    assert "data/part-00000.parquet is missing" in queryveil.verify(done).sentence()


def test_what_is_in_memory_has_no_paths(folder: Path) -> None:
    done = queryveil.anonymize("log.csv", "km(k=3, m=2)")
    with pytest.raises(queryveil.InputError, match="is not on a disk of this machine"):
        done.release  # noqa: B018
    for options in cast("list[dict[str, Any]]", [{"private": "private"}, {"engine": "spark"}]):
        with pytest.raises(queryveil.InputError, match=r"is written; name a folder for .* by out"):
            queryveil.anonymize("log.csv", "km(k=3, m=2)", **options)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_identifiers_of_any_type(library: Any, folder: Path) -> None:
    queries = ["tea milk", "tea milk", "tea"]
    for ids, expected in (
        ([1, 2, 3], ["1", "2", "3"]),
        ([b"a", b"b", b"c"], ["a", "b", "c"]),
        ([UUID(int=1), UUID(int=2), UUID(int=3)], [str(UUID(int=i)) for i in (1, 2, 3)]),
    ):
        frame = library({"uid": ids, "q": queries})
        done = queryveil.anonymize(frame, "km(k=2, m=2)", columns={"user": "uid", "query": "q"})
        assert list(queryveil.profiles(frame, columns={"user": "uid"}).persons) == expected
        assert queryveil.why(done, user=ids[0]).to_pandas()["term"].tolist() == ["milk", "tea"]
    mixed = pd.DataFrame({"user": [1, "b", None, 2.5], "query": [*queries, "tea"]})
    assert queryveil.profiles(mixed, max_bad_lines="1").persons == ("1", "b", "2.5")


def test_unusual_tables_are_read_or_refused() -> None:
    frame = pd.DataFrame({"user": [1.0, 2.0, None], "query": ["a", "b", "c"]}, index=["x", "y", "z"])
    assert queryveil.profiles(frame, max_bad_lines="1").persons == ("1", "2")
    numbered = pd.DataFrame([[1, "tea"], [2, "tea"]])
    assert queryveil.profiles(numbered, columns={"user": "0", "query": "1"}).persons == ("1", "2")
    with pytest.raises(queryveil.InputError, match="two columns of the same name"):
        queryveil.read(pd.DataFrame([[1, 2]], columns=["user", "user"]))
    blobs = pa.table({"user": pa.array([b"\xff", b"\x00"]), "query": ["tea", "tea"]})
    assert queryveil.profiles(blobs).persons == ("ff", "00")


def test_profiles_as_a_table_are_profiles(folder: Path) -> None:
    queryveil.write_profiles("log.csv", "profiles.csv")
    frame = pd.read_csv("profiles.csv")
    assert queryveil.profiles(frame).to_arrow() == queryveil.profiles("profiles.csv").to_arrow()
    ours, theirs = (queryveil.anonymize(log, "linkability(p=0.9)", seed=1) for log in (frame, "profiles.csv"))
    assert ours.to_arrow() == theirs.to_arrow()
    with pytest.raises(queryveil.LogError, match="the table, row 1 has a negative weight"):
        queryveil.profiles(frame.assign(weight=-1.0))


def test_errors_name_keywords(folder: Path) -> None:
    with pytest.raises(queryveil.InputError, match=r"^start_from needs that .* give it by start_from_private\.$"):
        queryveil.anonymize("log.csv", "km(k=3, m=2)", start_from="nowhere")
    with pytest.raises(queryveil.InputError, match=r'see queryveil.names\("measures"\)'):
        queryveil.measure(queryveil.anonymize("log.csv", "km(k=3, m=2)"), "log.csv", measures=["linkability(p=0.5)"])
    with pytest.raises(queryveil.LogError, match="name it with columns query=COLUMN"):
        queryveil.read(pd.DataFrame({"user": [1]}))
    with pytest.raises(queryveil.UnknownNameError, match="km has no parameter 'q'"):
        queryveil.name("km", k=5, q=2)
    with pytest.raises(queryveil.UnknownNameError, match="there is nothing called 'kn'; did you mean km"):
        queryveil.name("kn", k=5)
    assert str(queryveil.name("unique", m=2)) == "unique(m=2)"


def test_reprs_are_short_and_hold_nothing_of_the_log(folder: Path) -> None:
    frame = pd.read_csv("log.csv")
    done = queryveil.anonymize(frame, "km(k=3, m=2)", seed=1)
    violated = queryveil.verify(frame, claim="km(k=2, m=1)")
    assert violated.counterexample is not None
    assert violated.counterexample.entries == (SECRETS[0],)
    why = queryveil.why(done, user=SECRETS[1])
    report, compared = queryveil.attack(done, frame), queryveil.compare(frame, "km(k=3, m=2)")
    with queryveil.read(frame) as opened:
        shown = [
            *(opened, opened.source, queryveil.profiles(frame), done, done.manifest, done.verdict, done.scores),
            *(done.location, violated, violated.counterexample, queryveil.load(done), why, why.fates[0], report),
            *(report.results[0], compared, compared.runs[0], queryveil.write_profiles(frame, "profiles.csv")),
            *(done.scores[0], queryveil.sensitivity_model("explain", SECRETS[0]), queryveil.names("methods")),
            *(queryveil.reproduce("carpineto", frame), queryveil.generate("made.tsv", users=20)),
        ]
        texts = {type(each).__name__: [repr(each)] for each in shown}
        for each in shown:
            texts[type(each).__name__] += [each._repr_html_()] if hasattr(each, "_repr_html_") else []
    for name, (text, *html) in texts.items():
        assert len(text) <= 500, name
        for secret in SECRETS:
            assert secret not in text, name
            assert secret not in "".join(html), name
    assert {QueryLog.__name__, "Profiles", "ReleaseResult", "Verdict", "TermExplanation"} <= set(texts)
    assert "secret" not in Verdict("km", "violated", "people", 1, 1, Violation(("secret",), 1, 2))._repr_html_()
    assert report.to_pandas()["control_high"].notna().all()
