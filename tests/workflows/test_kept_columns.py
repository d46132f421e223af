"""Columns kept besides the queries: coarsened, left out where few share a value, verified, and warned about."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import queryveil
from queryveil.cli import app
from queryveil.core.errors import InputError, ReleaseError
from queryveil.core.results import Score
from queryveil.release.reader import content_digest, load_release

K = 3
COARSE = ["time:day", "rank:bucket", "url:domain"]
Row = dict[str, Any]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kept") / "log.tsv"
    queryveil.generate(path, users=150, seed=8)
    return path


def release(log: Path, folder: Path, keep: Iterable[str], method: str = f"km(k={K}, m=1)", **options: Any) -> Any:
    folder.mkdir(exist_ok=True)
    kind = "queries" if method.startswith("query_k") else "log"
    return queryveil.anonymize(
        log, method, folder / "out", private=folder / "private", kind=kind, keep=list(keep), seed=1, **options
    )


def rows_with_people(done: Any) -> list[Row]:
    """Return the released rows with the person behind each."""
    membership = pq.read_table(done.private / "membership.parquet").to_pylist()
    person = {row["release_id"]: row["person"] for row in membership}
    return [row | {"person": person[row["user"]]} for row in load_release(done.release).rows.to_pylist()]


def sharing(rows: Iterable[Row], names: Iterable[str]) -> dict[Any, set[str]]:
    """Return who has each combination of values, by brute force; rows without any value are left out."""
    people = defaultdict(set)
    for row in rows:
        values = tuple(row[name] for name in names)
        if any(value is not None for value in values):
            people[values, row.get("partition")].add(row["person"])
    return people


def own(rows: list[Row], *keys: tuple[str, ...]) -> int:
    """Count the histories that have, under one of the keys, values of only one person."""
    found = set()
    for names in keys:
        people = sharing(rows, names)
        alone = {values for values, owners in people.items() if len(owners) == 1}
        found |= {row["user"] for row in rows if (tuple(row[name] for name in names), row.get("partition")) in alone}
    return len(found)


@pytest.mark.parametrize("method", [f"km(k={K}, m=1)", f"query_k(k={K})"])
@pytest.mark.parametrize("keep", [COARSE, ["time:hour", "url"], ["time", "rank", "url"]])
def test_every_value_is_that_of_as_many_people_as_the_guarantee_says(
    log: Path, tmp_path: Path, keep: list[str], method: str
) -> None:
    done = release(log, tmp_path, keep, method)
    everything = release(log, tmp_path / "all", keep, method, keep_floor=1)
    names = [text.partition(":")[0] for text in keep]
    shown, full = rows_with_people(done), rows_with_people(everything)
    for name in names:
        expected = {value for value, people in sharing(full, [name]).items() if len(people) >= K}
        assert set(sharing(shown, [name])) == expected
        assert any(len(people) < K for people in sharing(full, [name]).values()) or name == "rank"
    assert done.manifest.record()["kept"] == {"columns": keep, "floor": K}
    assert everything.manifest.record()["kept"] == {"columns": keep, "floor": 1}


def test_left_out_values_are_counted_and_a_coarser_form_is_suggested(log: Path, tmp_path: Path) -> None:
    done, full = (release(log, tmp_path / str(floor), ["url"], f"query_k(k={K})", keep_floor=floor) for floor in (K, 1))
    people = sharing(rows_with_people(full), ["url"])
    n_rare = sum(len(people[(row["url"],), None]) < K for row in rows_with_people(full) if row["url"] is not None)
    what = "values of url left out, since fewer than 3 people have them; --keep url:domain keeps more"
    assert done.summary[what] == n_rare > 0
    assert not any(text.startswith("values of") for text in full.summary)


def test_coarse_forms_are_those_of_the_log(log: Path, tmp_path: Path) -> None:
    """Against Python's own arithmetic on the lines of the log."""
    rows = rows_with_people(release(log, tmp_path, COARSE, keep_floor=1))
    logged = [line.split("\t") for line in log.read_text().splitlines()[1:]]

    def bucket(rank: str) -> str:
        names = {1: "1", 2: "2-3", 3: "2-3"} | dict.fromkeys(range(4, 11), "4-10")
        return names.get(int(rank), "11+" if int(rank) > 10 else "")

    times = {(line[0], datetime.fromisoformat(f"{line[2][:10]} 00:00:00")) for line in logged}
    urls = {(line[0], urlsplit(line[4]).hostname.removeprefix("www.")) for line in logged if line[4]}  # type: ignore[union-attr]
    ranks = {(line[0], bucket(line[3])) for line in logged if line[3]}
    for name, known in (("time", times), ("url", urls), ("rank", ranks)):
        found = {(row["person"], row[name]) for row in rows if row[name] is not None}
        assert found
        assert found <= known


def test_partitions_are_counted_one_by_one(tmp_path: Path) -> None:
    lines = ["user\tquery\ttime\tcountry"]
    for person in range(12):
        country, day = ("de", 1 + person % 2) if person < 6 else ("fr", 1)
        lines.append(f"p{person}\twine\t2026-01-0{day} 10:00:00\t{country}")
    lines.append("p6\twine\t2026-01-02 10:00:00\tfr")  # of 4 people, but of one in its partition
    (tmp_path / "log.tsv").write_text("\n".join(lines) + "\n")
    done = release(tmp_path / "log.tsv", tmp_path, ["time:day"], partition_by="country")
    rows = rows_with_people(done)
    assert all(len(people) >= K for people in sharing(rows, ["time"]).values())
    shown = Counter((row["partition"], None if row["time"] is None else row["time"].day) for row in rows)
    assert shown == {("de", 1): 3, ("de", 2): 3, ("fr", 1): 6, ("fr", None): 1}


@pytest.mark.parametrize(("keep", "floor"), [(COARSE, None), (["time", "url"], 1), (["url"], 2)])
@pytest.mark.parametrize("history", ["user", "session"])
def test_the_verdict_warns_how_many_histories_have_values_of_their_own(
    log: Path, tmp_path: Path, keep: list[str], floor: int | None, history: str
) -> None:
    done = release(log, tmp_path, keep, keep_floor=floor, history=history)
    rows, names = rows_with_people(done), tuple(text.partition(":")[0] for text in keep)
    (warning,) = done.verdict.warnings
    n_histories = len({row["user"] for row in rows})
    n_own = own(rows, *((name,) for name in names))
    assert f"of {n_histories:,} histories, {n_own:,} have a value there that nobody else has" in warning
    assert all(text in warning for text in keep)
    if len(keep) > 1:
        assert f"and {own(rows, names):,} have a query whose values there nobody else has together" in warning
    assert queryveil.verify(done.release, private=done.private).warnings == (warning,)
    assert done.record()["verdict"]["warnings"] == (warning,)
    assert warning in done.report.read_text()


def test_without_the_private_folder_histories_are_counted(log: Path, tmp_path: Path) -> None:
    done = release(log, tmp_path, ["time:day"], history="session", keep_floor=1)
    rows = [row | {"person": row["user"]} for row in rows_with_people(done)]
    (warning,) = queryveil.verify(done.release).warnings
    assert f", {own(rows, ('time',)):,} have a value" in warning


def test_terminal_and_json_show_the_warning(log: Path, tmp_path: Path) -> None:
    done = release(log, tmp_path, ["time:day"])
    said = CliRunner().invoke(app, ["verify", str(done.release)])
    assert (said.exit_code, said.output.splitlines()[1]) == (0, f"warning: {done.verdict.warnings[0]}")
    verdict = json.loads(CliRunner().invoke(app, ["verify", str(done.release), "--json"]).output)
    assert verdict["warnings"] == list(done.verdict.warnings)
    words = ["anonymize", str(log), "--method", f"km(k={K}, m=1)", "--kind", "log", "--keep", "time:day"]
    made = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "again"), "--seed", "1"])
    assert f"warning: {done.verdict.warnings[0]}" in made.stderr.splitlines()
    assert "warning" not in made.stdout


def tamper(folder: Path, column: str, value: Any, **manifest: Any) -> None:
    """Change the first value of a kept column, and seal the release and its private folder again."""
    path = folder / "out"
    record = json.loads((path / "manifest.json").read_text())
    (file,) = (path / entry["path"] for entry in record["files"] if entry["path"].endswith(".parquet"))
    rows = pq.read_table(file)
    changed = pa.chunked_array([pa.array([value, *rows[column].to_pylist()[1:]], rows[column].type)])
    rows = rows.set_column(rows.column_names.index(column), column, changed)
    pq.write_table(rows, file)
    seal(folder, content_digest(rows.column_names, (rows,)), **manifest)


def seal(folder: Path, content: str | None = None, **manifest: Any) -> None:
    """Write digests that fit the files, and fields of the manifest."""
    from queryveil.release.atomic_folder import file_digest

    path = folder / "out"
    record, run = (json.loads(file.read_text()) for file in (path / "manifest.json", folder / "private" / "run.json"))
    for entry in record["files"]:
        entry["sha256"] = file_digest(path / entry["path"])
    if content is not None:
        record["content_sha256"] = run["content_sha256"] = content
    (path / "manifest.json").write_text(json.dumps(record | manifest))
    (folder / "private" / "run.json").write_text(json.dumps(run))


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("time", datetime(1999, 1, 1), "1 values of the column time are of fewer than 3 people"),
        ("time", datetime(2006, 3, 1, 10, 0, 1), "1 rows have a time that is not of the form time:day"),
        ("url", "http://example.com/a", "1 rows have a url that is not of the form url:domain"),
        ("rank", "7", "1 rows have a rank that is not of the form rank:bucket"),
    ],
)
def test_other_values_than_the_manifest_says_are_found(
    log: Path, tmp_path: Path, column: str, value: Any, reason: str
) -> None:
    release(log, tmp_path, COARSE)
    tamper(tmp_path, column, value)
    for private, counted in ((tmp_path / "private", "people"), (None, "histories")):
        verdict = queryveil.verify(tmp_path / "out", private=private)
        assert verdict.state == "violated"
        assert reason.replace("people", counted) in verdict.reason


def test_another_record_of_kept_columns_is_found(log: Path, tmp_path: Path) -> None:
    release(log, tmp_path, ["time:day"])
    for kept in ({"columns": ["time"], "floor": K}, {"columns": ["time:day"], "floor": 1}):
        seal(tmp_path, kept=kept)
        verdict = queryveil.verify(tmp_path / "out", private=tmp_path / "private")
        assert "the private folder recorded another manifest (kept)" in verdict.reason
    seal(tmp_path, kept={"columns": ["time:day"], "floor": 1_000})
    assert "fewer than 1,000 histories" in queryveil.verify(tmp_path / "out").reason


@pytest.mark.parametrize(
    "kept",
    [
        None,
        7,
        [],
        {},
        {"columns": [], "floor": 3},
        {"columns": ["url"], "floor": 3},
        {"columns": ["time:week"], "floor": 3},
        {"columns": ["time:day"], "floor": 0},
        {"columns": ["time:day"], "floor": True},
        {"columns": ["time:day"], "floor": "3"},
        {"columns": ["time:day"], "floor": 3, "more": 1},
        {"columns": [1], "floor": 3},
    ],
)
def test_a_manifest_without_a_valid_record_of_kept_columns_is_refused(log: Path, tmp_path: Path, kept: Any) -> None:
    release(log, tmp_path, ["time:day"])
    seal(tmp_path, kept=kept)
    with pytest.raises(ReleaseError, match="kept"):
        queryveil.verify(tmp_path / "out")


def by_measure(scores: Iterable[Score]) -> dict[str, Score]:
    return {score.measure: score for score in scores}


def test_histories_are_singled_out_by_one_kept_value(log: Path, tmp_path: Path) -> None:
    done = release(log, tmp_path, ["time", "url:domain"], keep_floor=1)
    made = by_measure(done.scores)
    assert made["unique(m=1, by=time)"].value == 100.0
    assert "by=rank" not in str(made)
    assert "singled out by 1 random URL" in done.report.read_text()
    rows = rows_with_people(done)
    people, domains = sharing(rows, ["url"]), defaultdict(set)
    for row in rows:
        if row["url"] is not None:
            domains[row["user"]].add(row["url"])
    # the chance of drawing a domain of one's own, averaged over histories with a domain
    chance = [sum(len(people[(u,), None]) == 1 for u in urls) / len(urls) for urls in domains.values()]
    expected = 100 * sum(chance) / len(chance)
    scores = by_measure(queryveil.measure(done.release, log, private=done.private))
    found = scores["unique(m=1, by=url)"]
    assert found.value == pytest.approx(expected, abs=8)
    assert found.units_counted == len(domains)
    assert found.original is not None
    assert found.original > 10
    assert list(scores)[:4] == ["retention", "unique(m=1)", "unique(m=2)", "unique(m=3)"]


def test_a_floor_singles_out_nobody_by_one_value(log: Path, tmp_path: Path) -> None:
    scores = by_measure(release(log, tmp_path, COARSE).scores)
    assert [scores[f"unique(m=1, by={name})"].value for name in ("time", "rank", "url")] == [0.0, 0.0, 0.0]


def test_columns_that_are_not_there_cannot_be_measured(log: Path, tmp_path: Path) -> None:
    heading, *lines = log.read_text().splitlines()
    distinct = {tuple(line.split("\t")[:2]): line for line in lines}  # without times nothing more is merged
    (tmp_path / "distinct.tsv").write_text("\n".join((heading, *distinct.values())) + "\n")
    done = release(tmp_path / "distinct.tsv", tmp_path, ["time:day"])
    with pytest.raises(InputError, match="the release has no url; only one made with keep url has"):
        queryveil.measure(done.release, tmp_path / "distinct.tsv", measures=["unique(m=1, by=url)"])
    plain = tmp_path / "plain.csv"
    plain.write_text("user,query\n" + "\n".join(map(",".join, distinct)) + "\n")
    with pytest.raises(InputError, match="the log has no time; name its column"):
        queryveil.measure(done.release, plain, measures=["unique(m=1, by=time)"])


def test_reading_a_log_coarsens_its_columns(log: Path) -> None:
    with queryveil.read(log, keep=["time:day", "url:domain"]) as opened:
        table = opened.to_arrow()
    assert {time.hour for time in table["time"].to_pylist()} == {0}
    assert not any("/" in url for url in table["url"].to_pylist() if url)
