"""The release folder and the private folder, file by file."""

import json
import os
import random
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.cli import run
from queryveil.core.errors import GuaranteeError, InputError, OutputError
from queryveil.logs.generate import generate
from queryveil.release import writer

SEED = 918273645546372


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("a-telling-name") / "raw-log.tsv"
    generate(path, like="demo", users=200, rng=np.random.default_rng(5))
    return path


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows_of(release: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = queryveil.load(release).rows.to_pylist()
    return rows


def manifest_of(release: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((release / "manifest.json").read_text())
    return manifest


def table(path: Path, rows: Sequence[tuple[str, ...]], names: str) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in [tuple(names.split()), *rows]))
    return path


@pytest.mark.parametrize(
    ("kind", "keep", "columns"),
    [
        ("histories", (), ["user", "term"]),
        ("log", (), ["user", "query_id", "term"]),
        ("log", ("time", "rank", "url"), ["user", "query_id", "term", "time", "rank", "url"]),
    ],
)
def test_a_release_holds_what_its_kind_says_and_nothing_else(
    tmp_path: Path, log: Path, kind: str, keep: tuple[str, ...], columns: list[str]
) -> None:
    out, private = tmp_path / "out", tmp_path / "private"
    done = queryveil.anonymize(log, "km(k=4, m=2)", out, private=private, kind=kind, keep=keep, seed=SEED)
    assert sorted(files_of(out)) == ["data/part-00000.parquet", "manifest.json", "report.html"]
    assert queryveil.load(out).rows.column_names == columns
    manifest = manifest_of(out)
    assert manifest == json.loads(json.dumps(done.manifest.record()))
    assert (manifest["kind"], manifest["columns"], manifest["uncovered_columns"]) == (kind, columns, list(keep))
    assert (manifest["method"], manifest["guarantee"], manifest["floor"]) == ("km(k=4, m=2)", "km(k=4, m=2)", 4)
    assert manifest["files"][0]["rows"] == len(rows_of(out))
    assert manifest["counts"]["after"]["pairs"] == len({(row["user"], row["term"]) for row in rows_of(out)})
    assert not any("{" in limit for limit in manifest["limits"])
    assert queryveil.verify(out, private=private).holds


def test_nothing_in_a_release_leads_back(tmp_path: Path, log: Path) -> None:
    header, *lines = log.read_text().splitlines()
    named = tmp_path / "raw-named.tsv"
    named.write_text("\n".join([header, *(f"person{line}" for line in lines)]) + "\n")
    log = named
    out, private = tmp_path / "the-out", tmp_path / "the-private"
    queryveil.anonymize(log, "km(k=4, m=2)", out, private=private, kind="log", seed=SEED)
    people = {line.split("\t")[0] for line in log.read_text().splitlines()[1:]}
    assert len(people) == 200
    release = queryveil.load(out)
    assert max(release.rows["user"].to_pylist()) == len(set(release.rows["user"].to_pylist())) - 1
    manifest = {key: value for key, value in manifest_of(out).items() if key not in ("files", "content_sha256")}
    texts = [json.dumps(manifest), (out / "report.html").read_text()]
    parquet = pq.ParquetFile(out / "data" / "part-00000.parquet")
    texts.append(f"{parquet.metadata.metadata} {parquet.schema_arrow.metadata}")
    secrets = [str(SEED), str(log), log.parent.name, "raw-named", str(private), str(out), "2006-0"]
    secrets += sorted(people)
    for text in texts:
        assert [secret for secret in secrets if secret in text] == []
    run_record = json.loads((private / "run.json").read_text())
    assert run_record["seed"] == SEED
    assert run_record["inputs"][0]["path"] == str(log)
    assert run_record["content_sha256"] == manifest_of(out)["content_sha256"]


@pytest.mark.parametrize("kind", ["histories", "log"])
def test_the_same_seed_gives_the_same_bytes(
    tmp_path: Path, log: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    for name in ("one", "two"):
        method = "km(k=4, m=2, target=random)"
        queryveil.anonymize(log, method, tmp_path / name, private=tmp_path / f"secret {name}", kind=kind, seed=3)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    assert files_of(tmp_path / "secret one") == files_of(tmp_path / "secret two")
    assert manifest_of(tmp_path / "one")["made"] == "1970-01-02"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    queryveil.anonymize(log, method, tmp_path / "later", kind=kind, seed=3)
    data = "data/part-00000.parquet"
    assert files_of(tmp_path / "later")[data] == files_of(tmp_path / "one")[data]
    assert manifest_of(tmp_path / "later")["content_sha256"] == manifest_of(tmp_path / "one")["content_sha256"]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH is a number of seconds"):
        queryveil.anonymize(log, method, tmp_path / "never", kind=kind, seed=3)


def test_title_and_data_set_are_in_the_manifest_and_the_report(tmp_path: Path, log: Path) -> None:
    out, title = tmp_path / "out", "Teas <b>&</b> coffees"
    queryveil.anonymize(log, "km(k=4, m=2)", out, private=tmp_path / "private", title=title, dataset="a shop's log")
    assert (manifest_of(out)["title"], manifest_of(out)["dataset"]) == (title, "a shop's log")
    report = (out / "report.html").read_text()
    assert "<h1>Teas &lt;b&gt;&amp;&lt;/b&gt; coffees</h1>" in report and "a shop&#39;s log" in report
    assert f"<dd>{manifest_of(out)['made']}</dd>" in report
    assert queryveil.verify(out, private=tmp_path / "private").holds
    for other in ("two\nlines", "x" * 201):
        with pytest.raises(InputError, match="title"):
            queryveil.anonymize(log, "km(k=4, m=2)", tmp_path / "other", title=other)


def test_attacks_of_the_new_release_are_in_its_report(tmp_path: Path, log: Path) -> None:
    out, private, attacks = tmp_path / "out", tmp_path / "private", ("known_terms(m=2)", "infer(m=2)")
    done = queryveil.anonymize(log, "km(k=4, m=2)", out, private=private, seed=SEED, attacks=attacks)
    later = queryveil.attack(out, log, private, attacks=attacks)
    assert done.attacks is not None and done.attacks.results == later.results
    report = (out / "report.html").read_text()
    assert "What attacks achieve" in report and str(SEED) not in report and "Success of infer(m=2)" in report
    without = queryveil.anonymize(log, "km(k=4, m=2)", tmp_path / "without", seed=SEED, attacks=attacks[:1])
    assert without.attacks is not None and without.attacks.results == later.results[: len(without.attacks.results)]
    assert queryveil.verify(out, private=private).holds and files_of(private).keys() == {
        "membership.parquet",
        "profiles.parquet",
        "run.json",
    }
    for wrong, said in (("known_term(m=2)", "known_term"), ("time", "cannot be run")):
        with pytest.raises(InputError, match=said):
            queryveil.anonymize(log, "km(k=4, m=2)", tmp_path / "never", attacks=wrong)
        assert not (tmp_path / "never").exists()


@pytest.mark.parametrize("kind", ["histories", "log"])
def test_the_order_of_the_log_does_not_show(tmp_path: Path, log: Path, kind: str) -> None:
    header, *lines = log.read_text().splitlines()
    random.Random(1).shuffle(lines)
    shuffled = tmp_path / "shuffled.tsv"
    shuffled.write_text("\n".join([header, *lines]) + "\n")
    keep = ("time",) if kind == "log" else ()
    for path, name in ((log, "one"), (shuffled, "two")):  # for m=1 the kept pairs do not depend on the order
        floor = 1 if keep else None
        queryveil.anonymize(path, "km(k=4, m=1)", tmp_path / name, kind=kind, keep=keep, keep_floor=floor, seed=3)
    assert rows_of(tmp_path / "one") == rows_of(tmp_path / "two")
    data = "data/part-00000.parquet"
    assert files_of(tmp_path / "one")[data] == files_of(tmp_path / "two")[data]
    report: dict[str, Any] = {"files": [], "fields_sha256": {}}  # it says when it was made
    assert manifest_of(tmp_path / "one") | report == manifest_of(tmp_path / "two") | report


def test_query_ids_do_not_follow_the_order_of_the_queries(tmp_path: Path) -> None:
    days = ["2006-03-01", "2006-03-02", "2006-03-03"]
    words = ["c", "a", "b"]
    lines = [(person, word, f"{day} 10:00:00") for person in "xyz" for word, day in zip(words, days, strict=True)]
    path = table(tmp_path / "log.tsv", lines, "user query time")
    queryveil.anonymize(path, "km(k=3, m=1)", tmp_path / "out", kind="log")
    assert [(row["query_id"], row["term"]) for row in rows_of(tmp_path / "out")][:3] == [(0, "a"), (1, "b"), (2, "c")]


def test_modes_keep_the_private_folder_private(tmp_path: Path, log: Path) -> None:
    out, private = tmp_path / "out", tmp_path / "private"
    before = os.umask(0o022)
    try:
        queryveil.anonymize(log, "km(k=4, m=1)", out, private=private)
    finally:
        os.umask(before)
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in private.iterdir()} == {
        "membership.parquet": 0o600,
        "profiles.parquet": 0o600,
        "run.json": 0o600,
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in (out, out / "data")} == {0o755}
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.rglob("*") if path.is_file()} == {0o644}


def test_the_private_folder_says_who_is_behind_each_history(tmp_path: Path) -> None:
    lines = [("ann", "tea milk"), ("bob", "tea milk"), ("cyd", "tea rare"), ("dan", "gone")]
    path = table(tmp_path / "log.tsv", lines, "user query")
    out, private = tmp_path / "out", tmp_path / "private"
    queryveil.anonymize(path, "km(k=2, m=2)", out, private=private)
    assert [(row["user"], row["term"]) for row in rows_of(out)] == [
        (0, "milk"), (0, "tea"), (1, "milk"), (1, "tea"), (2, "tea"),
    ]  # fmt: skip
    membership = pq.read_table(private / "membership.parquet").to_pydict()
    assert membership["person"] == ["ann", "bob", "cyd", "dan"]
    assert membership["history"] == [0, 1, 2, 3]
    assert membership["release_id"] == [0, 1, 2, None]
    profiles = pq.read_table(private / "profiles.parquet").to_pylist()
    assert {(row["history"], row["term"], row["count"]) for row in profiles} == {
        (0, "tea", 1), (0, "milk", 1), (1, "tea", 1), (1, "milk", 1), (2, "tea", 1), (2, "rare", 1), (3, "gone", 1),
    }  # fmt: skip


def partitioned(tmp_path: Path) -> Path:
    lines = [(f"{part}{n}", word, part) for part in ("de", "fr") for n in range(4) for word in ("tea", f"only {part}")]
    lines += [(f"it{n}", "tea", "it") for n in range(2)] + [("de0", "milk", "de"), ("fr0", "milk", "fr")]
    return table(tmp_path / "log.tsv", lines, "user query country")


def test_parts_are_anonymised_apart_and_small_ones_left_out(tmp_path: Path) -> None:
    out, private = tmp_path / "out", tmp_path / "private"
    done = queryveil.anonymize(partitioned(tmp_path), "km(k=3, m=2)", out, private=private, partition_by="country")
    by_part = {part: {row["term"] for row in rows_of(out) if row["partition"] == part} for part in ("de", "fr", "it")}
    assert by_part == {"de": {"tea", "only", "de"}, "fr": {"tea", "only", "fr"}, "it": set()}
    assert done.summary["parts with too few people"] == 1
    assert done.manifest.record()["partition"]["column"] == "country"
    assert queryveil.verify(out, private=private).holds
    assert queryveil.verify(out).checked == 2 * 6  # a combination counts once in each part


def test_a_release_that_would_be_empty_is_not_made(tmp_path: Path) -> None:
    path = table(tmp_path / "log.tsv", [(str(n), f"word{n}", "x") for n in range(5)], "user query part")
    for column in ("", "part"):
        with pytest.raises(GuaranteeError, match="nothing would be left"):
            queryveil.anonymize(path, "km(k=3, m=1)", tmp_path / "out", partition_by=column)
    assert [file.name for file in tmp_path.iterdir()] == ["log.tsv"]


def test_big_releases_come_in_parts(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "PART_ROWS", 100)
    out = tmp_path / "out"
    queryveil.anonymize(log, "km(k=4, m=1)", out, seed=1)
    parts = [entry for entry in manifest_of(out)["files"] if entry["path"].startswith("data/")]
    assert len(parts) > 2
    assert [entry["rows"] for entry in parts[:-1]] == [100] * (len(parts) - 1)
    assert queryveil.verify(out).holds
    monkeypatch.undo()
    queryveil.anonymize(log, "km(k=4, m=1)", tmp_path / "whole", seed=1)
    assert manifest_of(out)["content_sha256"] == manifest_of(tmp_path / "whole")["content_sha256"]


@pytest.mark.parametrize(
    ("out", "private", "says"),
    [
        ("out", "out/private", "would lie inside the release"),
        ("out", "out", "would lie inside the release"),
        ("private/out", "private", "would lie inside the private folder"),
        ("link/out", "real", "would lie inside the private folder"),
        ("missing/out", None, "there is no folder"),
        ("taken", None, "exists already"),
        ("out", "taken", "exists already"),
        (".", None, "exists already"),
        ("log.tsv", None, "exists already"),
    ],
)
def test_places_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, private: str | None, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "log.tsv", [("ann", "tea"), ("bob", "tea")], "user query")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "taken").mkdir()
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.raises(OutputError, match=says):
        queryveil.anonymize("log.tsv", "km(k=2, m=1)", out, private=private)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_force_replaces_only_what_queryveil_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table(tmp_path / "log.tsv", [("ann", "tea"), ("bob", "tea")], "user query")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    for place in (path, tmp_path / "mine"):
        with pytest.raises(OutputError, match="not made by queryveil"):
            queryveil.anonymize(path, "km(k=2, m=1)", place, force=True)
    for _ in range(2):
        queryveil.anonymize(path, "km(k=2, m=1)", tmp_path / "empty", force=True)
    monkeypatch.chdir(tmp_path / "empty")
    queryveil.anonymize(path, "km(k=2, m=1)", ".", force=True)
    assert queryveil.verify(tmp_path / "empty").holds
    assert sorted(file.name for file in tmp_path.iterdir()) == ["empty", "log.tsv", "mine"]


def test_a_folder_that_is_not_ours_to_write_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(OutputError, match="is not yours to write"):
        queryveil.anonymize("no log is looked for yet", "km(k=2, m=1)", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_a_folder_that_cannot_be_written_is_refused_by_its_name(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(OutputError, match=r"cannot write .*page\.html: the folder .* is not yours to write"):
        queryveil.compare(log, "km(k=4, m=2)", page=tmp_path / "page.html")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"keep": ("time",)}, "goes with kind log"),
        ({"keep": ("when",), "kind": "log"}, "there is no column 'when' to keep"),
        ({"keep": ("url",), "kind": "log"}, "the log has no url; leave it out"),
        ({"kind": "queries"}, "not 'queries'"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    path = table(tmp_path / "log.tsv", [("ann", "tea"), ("bob", "tea")], "user query")
    with pytest.raises(InputError, match=says):
        queryveil.anonymize(path, "km(k=2, m=1)", tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_the_command_prints_the_manifest_as_json(tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["anonymize", str(log), "--method", "km(k=4,m=1)", "--out", str(out), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["manifest"] == manifest_of(out)
    assert printed["verdict"]["state"] == "holds"


def test_rows_come_back_as_arrow(tmp_path: Path, log: Path) -> None:
    done = queryveil.anonymize(log, "km(k=4, m=1)", tmp_path / "out")
    assert done.to_arrow().schema == pa.schema({"user": pa.int64(), "term": pa.string()})
