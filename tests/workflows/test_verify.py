"""Verifying releases: honest ones hold, tampered ones are found, and anybody's file can be checked."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.cli import run
from queryveil.core.errors import InputError, ReleaseError, UnknownNameError
from queryveil.core.results import Violation
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import ReleaseContent
from queryveil.logs.generate import generate
from queryveil.release.reader import content_digest
from tests.builders import encode_histories, profiles_of
from tests.releases import COUNTS, edit_manifest, manifest_of, reseal, write_release

CLAIM = "km(k=4, m=2)"
DATA = "data/part-00000.parquet"
Folders = tuple[Path, Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    folder = tmp_path_factory.mktemp("made")
    generate(folder / "log.tsv", like="demo", users=200, rng=np.random.default_rng(5))
    queryveil.anonymize(folder / "log.tsv", CLAIM, folder / "out", private=folder / "private", seed=1)
    return folder / "out", folder / "private"


@pytest.fixture
def release(made: Folders, tmp_path: Path) -> Folders:
    """A copy of a release to tamper with."""
    shutil.copytree(made[0], tmp_path / "out")
    shutil.copytree(made[1], tmp_path / "private")
    return tmp_path / "out", tmp_path / "private"


def rows_of(out: Path) -> pa.Table:
    return pq.ParquetFile(out / DATA).read()


def change_manifest(out: Path, **changes: Any) -> None:
    """Change fields of the manifest, and its own digests so that these do not tell."""
    edit_manifest(out, **changes)
    reseal(out)


def change_counts(out: Path, *numbers: int, private: Path | None = None) -> None:
    """Change what the manifest says of the release, and where the private folder is given its record of that."""
    counts = json.loads((out / "manifest.json").read_text())["counts"]
    edit_manifest(out, counts=counts | {"after": dict(zip(COUNTS, numbers, strict=True))})
    reseal(out, private)


def change_rows(out: Path, change: Callable[[list[dict[str, Any]]], object], *, cover_up: bool = False) -> None:
    """Write other rows; where it is covered up, with a manifest that goes with them."""
    rows = rows_of(out).to_pylist()
    change(rows)
    replace_data(out, pa.Table.from_pylist(rows, rows_of(out).schema), cover_up=cover_up)


def replace_data(out: Path, table: pa.Table, *, cover_up: bool) -> None:
    pq.write_table(table, out / DATA)
    if not cover_up:
        return
    manifest = json.loads((out / "manifest.json").read_text())
    entry = {"path": DATA, "sha256": hashlib.sha256((out / DATA).read_bytes()).hexdigest(), "rows": table.num_rows}
    after = manifest["counts"]["after"] | {
        "histories": len(set(table["user"].to_pylist())),
        "terms": len(set(table["term"].to_pylist())),
        "pairs": table.num_rows,
    }
    change_manifest(
        out,
        files=[entry, *manifest["files"][1:]],
        counts=manifest["counts"] | {"after": after},
        columns=table.column_names,
        content_sha256=content_digest(table.column_names, (table,)),
    )


def holders_of_a_rare_term(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the term that the fewest hold, except for three of them."""
    terms = [row["term"] for row in rows]
    rare = min(terms, key=lambda term: (terms.count(term), term))
    return [row for row in rows if row["term"] == rare][3:]


def rename_a_rare_term(rows: list[dict[str, Any]]) -> None:
    holders_of_a_rare_term(rows)[0]["term"] = "xyzzy"


def delete_rare_rows(rows: list[dict[str, Any]]) -> None:
    for row in holders_of_a_rare_term(rows):
        rows.remove(row)


def add_a_rare_term(rows: list[dict[str, Any]]) -> None:
    rows.append({"user": rows[-1]["user"], "term": "xyzzy"})


def run_verify(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """Run `queryveil verify` and return its exit code and what it printed, one line."""
    code = run(["verify", *map(str, arguments)])
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert text.count("\n") == 1
    return code, text


def test_an_honest_release_holds(made: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    out, private = made
    code, text = run_verify(capsys, out)
    assert (code, text.split(":")[0]) == (0, f"{CLAIM} holds")
    assert "counting histories; that these are different people needs the private folder" in text
    code, text = run_verify(capsys, out, "--private", private)
    assert (code, text.endswith("counting people.\n")) == (0, True)


@pytest.mark.parametrize("cover_up", [False, True])
@pytest.mark.parametrize("change", [rename_a_rare_term, delete_rare_rows, add_a_rare_term])
def test_tampering_with_rows_is_found_with_a_counterexample(
    release: Folders, change: Callable[[list[dict[str, Any]]], None], cover_up: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    out, private = release
    change_rows(out, change, cover_up=cover_up)
    verdict = queryveil.verify(out)
    assert (verdict.state, verdict.claim) == ("violated", CLAIM)
    assert verdict.counterexample is not None
    assert verdict.counterexample.support < 4
    assert ("has been changed" in verdict.reason) != cover_up
    assert run_verify(capsys, out)[0] == 1
    # with the private folder too, unless it may as well be another release's
    assert run_verify(capsys, out, "--private", private)[0] == (2 if cover_up else 1)


def test_a_change_that_breaks_no_claim_is_still_found(release: Folders) -> None:
    out, _ = release
    change_rows(out, lambda rows: rows.reverse())
    verdict = queryveil.verify(out)
    assert (verdict.state, verdict.counterexample) == ("violated", None)
    assert verdict.reason == f"{DATA} has been changed since it was released"
    assert verdict.sentence().endswith("Its rows keep km(k=4, m=2).")


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (lambda out: (out / DATA).unlink(), f"{DATA} is missing"),
        (lambda out: (out / "report.html").unlink(), "report.html is missing"),
        (lambda out: (out / "report.html").write_text("<p>"), "report.html has been changed"),
        (lambda out: (out / "extra.csv").touch(), "extra.csv is not in the manifest"),
        (lambda out: (out / "data" / "link").symlink_to("nowhere"), "data/link is not in the manifest"),
        (lambda out: (out / DATA).write_bytes(b"PAR1 not at all PAR1"), "is not a readable Parquet file"),
        (lambda out: (out / DATA).write_bytes((out / DATA).read_bytes()[:-9]), "is not a readable Parquet file"),
        (lambda out: change_manifest(out, content_sha256="0" * 64), "do not have the digest"),
        (lambda out: change_manifest(out, columns=["user", "term", "query"]), "other columns"),
        (
            lambda out: change_manifest(out, partition={"column": "country", "values": 1, "left_out": 0}),
            "other columns",
        ),
        (
            lambda out: change_manifest(out, files=json.loads((out / "manifest.json").read_text())["files"] * 2),
            "do not have the digest",
        ),
        (
            lambda out: change_counts(out, *[9] * 5),
            "the manifest gives another number of histories than the rows",
        ),
    ],
)
def test_a_folder_that_is_not_what_its_manifest_says(
    release: Folders, tamper: Callable[[Path], object], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = release
    tamper(out)
    code, text = run_verify(capsys, out)
    assert code == 1
    assert reason in text


def test_a_column_that_nobody_mentioned_is_found(release: Folders) -> None:
    out, _ = release
    rows = rows_of(out)
    replace_data(out, rows.append_column("ip", pa.array(["10.0.0.1"] * rows.num_rows)), cover_up=True)
    assert "the data has other columns than the manifest says" in queryveil.verify(out).reason


def test_a_stronger_claim_than_holds_is_found(release: Folders) -> None:
    out, _ = release
    change_manifest(out, guarantee="km(k=5, m=2)")
    verdict = queryveil.verify(out)
    assert (verdict.claim, verdict.state) == ("km(k=5, m=2)", "violated")
    assert verdict.counterexample is not None
    assert verdict.counterexample.support == 4
    assert "the manifest has method, promise, floor that cannot be of a release under km(k=5, m=2)" in verdict.reason


@pytest.mark.parametrize(
    ("method", "after", "name"),
    [
        ("km(k=4, m=2, floor=many)", {}, "method"),
        (CLAIM, {"people": 10**6, "histories": 10**6}, "counts"),
        (CLAIM, {"people": 10**6}, "counts"),
    ],
)
def test_what_no_run_states_is_named(release: Folders, method: str, after: dict[str, int], name: str) -> None:
    out, _ = release
    counts = json.loads((out / "manifest.json").read_text())["counts"]
    change_manifest(out, method=method, counts={**counts, "after": counts["after"] | after})
    assert f"the manifest has {name} that cannot be of a release under {CLAIM}" in queryveil.verify(out).reason


def test_a_weaker_claim_can_be_checked(made: Folders) -> None:
    assert queryveil.verify(made[0], claim="km(k=2, m=1)").holds
    assert queryveil.verify(made[0], claim="km(k=5, m=2)").state == "violated"


@pytest.mark.parametrize(
    ("tamper", "says"),
    [
        (lambda out: (out / "manifest.json").unlink(), "has no manifest.json, so it is not a finished release"),
        (lambda out: (out / "manifest.json").write_text("{"), "cannot be read as JSON"),
        (lambda out: (out / "manifest.json").write_text("[" * 100_000), "cannot be read as JSON"),
        (lambda out: (out / "manifest.json").write_bytes(b"\xff\xfe"), "cannot be read as JSON"),
        (lambda out: (out / "manifest.json").write_text("[]"), "is not a JSON object"),
        (lambda out: (out / "manifest.json").write_text("{}"), "lacks queryveil, kind, method"),
        (lambda out: change_manifest(out, guarantee=None), "lacks guarantee"),
        (lambda out: change_manifest(out, guarantee="\ud800"), "cannot be read as JSON"),
        (lambda out: change_manifest(out, guarantee="secret(k=2)"), "there is no guarantee 'secret'"),
        (lambda out: change_manifest(out, guarantee="km(k=0, m=1)"), "k must be a whole number of at least 2"),
        (lambda out: change_manifest(out, kind="pictures"), "not known to this version"),
        (lambda out: change_manifest(out, kind="log"), "does not have the columns user, query_id, term"),
        (lambda out: change_manifest(out, files=["x"]), "lacks files, or has it in another form"),
        (lambda out: change_manifest(out, files=[{"path": 1, "sha256": ""}]), "lacks files, or has it in another form"),
        (
            lambda out: change_manifest(out, counts={"after": {"people": "<b>"}}),
            "lacks counts, or has it in another form",
        ),
        (lambda out: change_manifest(out, cleaning={}), "lacks cleaning, or has it in another form"),
        (lambda out: change_manifest(out, columns=[1]), "lacks columns, or has it in another form"),
        (lambda out: change_manifest(out, files=[{"path": "../x.parquet", "sha256": "0" * 64}]), "outside the release"),
        (lambda out: change_manifest(out, files=[{"path": "/etc/passwd", "sha256": "0" * 64}]), "outside the release"),
        (lambda out: change_manifest(out, files=[{"path": "a\0b", "sha256": "0" * 64}]), "outside the release"),
    ],
)
def test_a_manifest_that_makes_no_sense_cannot_be_checked(
    release: Folders, tamper: Callable[[Path], object], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = release
    tamper(out)
    code, text = run_verify(capsys, out)
    assert code == 2
    assert says in text


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"user": ["a"], "term": ["t"]}, "does not have the columns user, term"),
        ({"user": [1], "term": [2]}, "does not have the columns user, term"),
        ({"term": ["t"], "user": [1]}, "does not have the columns user, term"),
        ({"user": [1, None], "term": ["t", "t"]}, "rows without a user"),
        ({"user": [1, 1], "term": ["t", None]}, "rows without a term"),
        ({"user": [1, 1], "term": ["t", "s"], "partition": ["a", None]}, "rows without a partition"),
        ({"user": [1, 1], "term": ["t", "s"], "partition": ["a", "b"]}, "a history in two partitions"),
    ],
)
def test_rows_that_make_no_sense_cannot_be_checked(
    release: Folders, table: dict[str, list[Any]], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = release
    replace_data(out, pa.table(table), cover_up=False)
    code, text = run_verify(capsys, out)
    assert code == 2
    assert says in text


def test_bytes_that_are_no_text_are_not_readable(release: Folders) -> None:
    out, _ = release
    bad = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff"))
    replace_data(out, pa.table({"user": [1], "term": bad}), cover_up=False)
    assert "is not a readable Parquet file" in queryveil.verify(out).reason


def test_parts_with_different_columns_cannot_be_checked(release: Folders) -> None:
    out, _ = release
    other = out / "data" / "part-00001.parquet"
    pq.write_table(pa.table({"user": [1]}), other)
    entry = {"path": "data/part-00001.parquet", "sha256": hashlib.sha256(other.read_bytes()).hexdigest(), "rows": 1}
    change_manifest(out, files=[*json.loads((out / "manifest.json").read_text())["files"], entry])
    with pytest.raises(ReleaseError, match="the parts of the data have different columns"):
        queryveil.verify(out)


def test_another_releases_private_folder_is_refused(
    made: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = made[0].parent / "log.tsv"
    other = tmp_path / "private"
    queryveil.anonymize(log, "km(k=3, m=2)", tmp_path / "out", private=other, seed=1)
    code, text = run_verify(capsys, made[0], "--private", other)
    assert code == 2
    assert f"{other} does not belong to this release" in text
    code, text = run_verify(capsys, made[0], "--private", tmp_path / "out")
    assert (code, "is not a private folder" in text) == (2, True)


def test_a_private_folder_of_a_smaller_release_is_refused(release: Folders) -> None:
    out, private = release
    membership = pq.ParquetFile(private / "membership.parquet").read()
    pq.write_table(membership.slice(0, 50), private / "membership.parquet")
    with pytest.raises(ReleaseError, match="other histories were released from it"):
        queryveil.verify(out, private=private)


@pytest.mark.parametrize("name", ["membership.parquet", "profiles.parquet", "run.json"])
@pytest.mark.parametrize("content", [None, b"[1]", b"PAR1"])
def test_a_damaged_private_folder_cannot_be_used(
    release: Folders, name: str, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    out, private = release
    (private / name).unlink()
    if content is not None:
        (private / name).write_bytes(content)
    code, text = run_verify(capsys, out, "--private", private)
    assert code == 2
    assert "--private" in text


def release_of(
    folder: Path, profiles: Profiles, content: ReleaseContent, claim: str, mask: Sequence[bool] | None = None
) -> Folders:
    """Write a release and its private folder by hand, whatever it holds."""
    manifest = manifest_of(profiles, content.rows, claim, None if mask is None else np.array(mask))
    write_release(folder / "out", folder / "private", profiles, content, manifest)
    return folder / "out", folder / "private"


def test_sessions_of_one_person_are_one_person(tmp_path: Path) -> None:
    profiles = profiles_of([["tea", "milk"]] * 3 + [["tea"]], owners=[0, 0, 0, 1])
    content = encode_histories(profiles, np.ones(7, np.bool_))
    out, private = release_of(tmp_path, profiles, content, "km(k=3, m=2)")
    verdict = queryveil.verify(out)
    assert (verdict.state, verdict.counted) == ("holds", "histories")
    verdict = queryveil.verify(out, private=private)
    assert (verdict.state, verdict.counted) == ("violated", "people")
    assert verdict.counterexample == Violation(("milk",), support=1, required=3)


def test_invented_terms_are_found_with_the_private_folder(tmp_path: Path) -> None:
    profiles = profiles_of([["tea"], ["tea"], ["tea", "milk"]])
    rows = pa.table({"user": [0, 0, 1, 1, 2, 2], "term": ["lie", "tea"] * 3})
    content = ReleaseContent(rows, np.arange(3))
    out, private = release_of(tmp_path, profiles, content, "km(k=3, m=2)")
    change_counts(out, 3, 3, 2, 6, 6, private=private)
    assert queryveil.verify(out).holds
    verdict = queryveil.verify(out, private=private)
    assert verdict.state == "violated"
    assert verdict.reason == "3 released terms were never in the history behind them"
    rows = pa.table({"user": [0, 1, 2], "term": ["milk"] * 3})
    content = ReleaseContent(rows, np.arange(3))  # a term of one, given to all
    (tmp_path / "again").mkdir()
    out, private = release_of(tmp_path / "again", profiles, content, "km(k=3, m=2)")
    change_counts(out, 3, 3, 1, 3, 3, private=private)
    assert "2 released terms were never" in queryveil.verify(out, private=private).reason


def test_the_number_of_people_is_checked_with_the_private_folder(tmp_path: Path) -> None:
    profiles = profiles_of([["tea"]] * 4, owners=[0, 1, 2, 2])
    content = encode_histories(profiles, np.ones(4, np.bool_))
    out, private = release_of(tmp_path, profiles, content, "km(k=3, m=1)")
    assert queryveil.verify(out, private=private).holds
    change_counts(out, 4, 4, 1, 4, 4, private=private)
    assert "another number of people than the private folder" in queryveil.verify(out, private=private).reason


def test_a_release_without_rows_is_not_certified(tmp_path: Path) -> None:
    profiles = profiles_of([["tea"]] * 3)
    content = encode_histories(profiles, np.zeros(3, np.bool_))
    out, _ = release_of(tmp_path, profiles, content, "km(k=3, m=1)", [False] * 3)
    assert queryveil.verify(out).state == "unchecked"
    assert run(["verify", str(out)]) == 2


def text_file(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text", "options", "claim", "code", "says"),
    [
        ("t.csv", "user,term\na,Java\nb,Java\n", [], "km(k=2, m=1)", 0, "1 combination checked"),
        ("t.csv", "user,term\na,Java\nb,java\n", [], "km(k=2, m=1)", 1, "{Java}: 1 holder has it"),
        ("t.csv", "user,term\na,ice tea\nb,ice tea\n", [], "km(k=2, m=2)", 0, "1 combination checked"),
        ("q.csv", "user,query\na,Java tea\nb,tea java\n", [], "km(k=2, m=2)", 0, "3 combinations checked"),
        ("q.csv", "user,query\na,tea\na,milk\nb,tea milk\nc,tea\n", [], "km(k=3, m=2)", 1, "{milk}: 2 holders"),
        ("b.dat", "1 2 3\n3 2\n2 3\n", [], "km(k=2, m=2)", 1, "{1}: 1 holder has it"),
        ("b.dat", "2 3\n3 2\n 2  3\n", [], "km(k=3, m=2)", 0, "3 combinations checked"),
        ("b.txt", "Java c++\njava c\n", ["--format", "transactions"], "km(k=2, m=1)", 1, "and 3 more"),
        ("b.txt", "Java c++\nJava c++\n", ["--format", "transactions"], "km(k=2, m=2)", 0, "3 combinations"),
        ("t.csv", "user,term\na,x\nb,x\n", [], "secret(k=2)", 2, "there is no guarantee 'secret'"),
        ("t.csv", "user,term\na,x\nb,x\n", [], None, 2, "name a guarantee by --claim"),
        ("t.csv", "user,term\na,x\nb,x\n", ["--private", "."], "km(k=2, m=1)", 2, "--private goes with a queryveil"),
        ("t.csv", "user,term\na,x\nb,x\n,y\n", [], "km(k=2, m=1)", 2, "1 cannot be read; correct the file"),
        ("t.csv", "user,term\na,x\nb,y\n,y\n", [], "km(k=2, m=1)", 1, "{x}: 1 holder has it"),
    ],
)
def test_anybodys_file_can_be_checked(
    tmp_path: Path,
    name: str,
    text: str,
    options: list[str],
    claim: str | None,
    code: int,
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = [*options, *(["--claim", claim] if claim else [])]
    found, printed = run_verify(capsys, text_file(tmp_path / name, text), *arguments)
    assert (found, says in printed) == (code, True), printed


def test_what_is_not_there_cannot_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run_verify(capsys, tmp_path / "nothing")
    assert (code, "there is no release" in text) == (2, True)
    with pytest.raises(ReleaseError, match=r"has no manifest.json"):
        queryveil.verify(tmp_path)


def test_tables_can_be_checked() -> None:
    columns = {"user": [1, 2, 3], "term": ["tea", "tea", "Tea"]}
    for table in (pa.table(columns), pd.DataFrame(columns), pl.DataFrame(columns)):
        verdict = queryveil.verify(table, claim=queryveil.name("km", k=2, m=1))
        assert verdict.counterexample == Violation(("Tea",), support=1, required=2)
    with pytest.raises(InputError, match="name a guarantee by claim"):
        queryveil.verify(pa.table(columns))
    with pytest.raises(UnknownNameError, match="did you mean columns"):
        queryveil.verify(pa.table(columns), claim="km(k=2, m=1)", colums="user=user")


def loaded_by_verify(*arguments: object) -> str:
    """Run `queryveil verify` in a process of its own; return its exit code and the modules that it should not load."""
    code = (
        "import sys; from queryveil.cli import run; code = run(sys.argv[1:]); "
        "heavy = [name for name in sys.modules if name.startswith('queryveil.methods') "
        "or name in ('duckdb', 'pandas', 'polars', 'queryveil.engines.local', 'cryptography')]; "
        "print(code, heavy)"
    )
    command = [sys.executable, "-c", code, "verify", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]


def test_verifying_loads_neither_methods_nor_the_engine(made: Folders) -> None:
    assert loaded_by_verify(made[0]) == "0 []"
    assert loaded_by_verify(made[0], "--private", made[1]) in ("0 []", "0 ['pandas']")


@pytest.mark.parametrize("method", ["linkability(p=0.5, min_similarity=0.1)", "vocabulary(k=3, eps=8)"])
def test_comparing_meanings_with_the_private_folder_loads_no_method(made: Folders, tmp_path: Path, method: str) -> None:
    out, private = tmp_path / "out", tmp_path / "private"
    queryveil.anonymize(made[0].parent / "log.tsv", method, out, private=private, seed=1)
    assert loaded_by_verify(out, "--private", private) in ("0 []", "0 ['pandas']")


def test_a_taxonomy_is_kept_in_the_private_folder_for_verifiers(tmp_path: Path) -> None:
    drinks = {"wine": "alcohol", "vino": "alcohol", "alcohol": "goods", "boots": "shoes", "shoes": "goods", "goods": ""}
    taxonomy = text_file(tmp_path / "tree.csv", "".join(f"{a},{b}\n" for a, b in drinks.items() if b))
    people = ["wine boots", "vino boots", "wine boots", "vino shoes", "boots wine", "shoes vino"]
    log = text_file(tmp_path / "log.csv", "user,query\n" + "".join(f"u{i},{q}\n" for i, q in enumerate(people)))
    out, private = tmp_path / "out", tmp_path / "private"
    queryveil.anonymize(log, "vocabulary(k=3, eps=2)", out, private=private, taxonomy=taxonomy, seed=1)
    assert queryveil.verify(out, private=private).holds
    assert (private / "taxonomy.csv").read_bytes() == taxonomy.read_bytes()
    assert (private / "taxonomy.csv").stat().st_mode & 0o077 == 0
    text_file(private / "taxonomy.csv", "wine,goods\nvino,other\nother,goods\nboots,goods\nshoes,other\n")
    assert "have no counterpart in the history behind them" in queryveil.verify(out, private=private).reason
    (private / "taxonomy.csv").unlink()
    with pytest.raises(InputError, match="taxonomy"):
        queryveil.verify(out, private=private)
