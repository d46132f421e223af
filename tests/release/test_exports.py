"""Exports: every form gives the rows back exactly, verifies like the release, and shows that it was changed."""

import hashlib
import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import queryveil
from queryveil.cli import run
from queryveil.core.errors import InputError, UnverifiedError
from queryveil.release.exports import EXPORT_FILE, FORMATS, rows_file
from queryveil.workflows.requests import ExportRequest
from tests.release.test_signing import write_keys
from tests.release.test_tampering import KINDS, changes
from tests.releases import edit_manifest, reseal

KEPT: dict[str, Any] = {"kind": "log", "keep": "time:day,rank,url"}
SCHEMA = pa.schema(
    [
        ("user", pa.int64()),
        ("term", pa.string()),
        ("weight", pa.float64()),
        ("time", pa.timestamp("us")),
        ("url", pa.string()),
    ]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(["", "=1+1", '"', "\0", "\r", "\n", "NULL"])
ROWS = st.lists(
    st.tuples(
        st.integers(0, 2**63 - 1),
        TEXTS,
        st.floats(allow_nan=False, allow_infinity=False),
        st.none() | st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)),
        st.none() | TEXTS,
    ),
    min_size=1,
)


def write_log(path: Path) -> Path:
    """Write 12 searches of 4 people, whose clicks lead to two pages, one of which a spreadsheet would compute."""
    lines = ["user,query,time,rank,url"]
    for person in range(4):
        for hour, url in enumerate(("=1+1", "http://a.example", "")):
            lines.append(f"p{person},red shoes,2026-01-0{1 + hour} 1{hour}:00:00,{1 + hour},{url}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a signed release with kept columns, its private folder and an export in every form."""
    folder = tmp_path_factory.mktemp("exports")
    secret, _ = write_keys(folder)
    log = write_log(folder / "log.csv")
    queryveil.anonymize(
        log, "km(k=2, m=2)", folder / "out", private=folder / "private", sign_key=secret, seed=1, **KEPT
    )
    for form in FORMATS:
        queryveil.export(folder / "out", form)
    return folder


@pytest.fixture
def exports(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "made")


def reseal_export(export: Path) -> None:
    """Make the digest and the number of rows in export.json those of the file as it is."""
    record = json.loads((export / EXPORT_FILE).read_text())
    data = (export / record["files"][0]["path"]).read_bytes()
    n_rows = len(data.splitlines()) - (record["format"] != "jsonl")
    record["files"][0] |= {"sha256": hashlib.sha256(data).hexdigest(), "rows": n_rows}
    (export / EXPORT_FILE).write_text(json.dumps(record))


def why_refused(export: Path, **options: Any) -> str:
    """Return why an export is refused, "" if it is not."""
    try:
        verdict = queryveil.verify(export, **options)
    except InputError as error:
        return str(error)
    return "" if verdict.holds else verdict.sentence()


@pytest.mark.parametrize("form", FORMATS)
@given(rows=ROWS)
def test_every_form_gives_all_characters_and_numbers_back(form: str, rows: list[tuple[Any, ...]]) -> None:
    table = pa.table([list(column) for column in zip(*rows, strict=True)], schema=SCHEMA)
    assert FORMATS[form].read(FORMATS[form].write(table), SCHEMA).equals(table)


def test_the_forms_are_those_of_the_option() -> None:
    to = next(each for each in ExportRequest.options() if each.name == "to")
    assert all(to.type.accepts(form) for form in FORMATS) and to.type.describe() == "one of csv, tsv, jsonl, parquet"


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_verifies_as_the_release_does(made: Path, form: str) -> None:
    export = made / f"out-{form}"
    names = {rows_file(form), EXPORT_FILE, "manifest.json", "manifest.sig", "report.html"}
    assert {path.name for path in export.iterdir()} == names
    assert queryveil.load(export).rows.equals(queryveil.load(made / "out").rows)
    for options in ({}, {"private": made / "private"}, {"key": made / "key.pub"}, {"claim": "km(k=2, m=1)"}):
        assert queryveil.verify(export, **options) == queryveil.verify(made / "out", **options)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_release_can_be_exported(tmp_path: Path, kind: str) -> None:
    method, options = KINDS[kind]
    topics = ("coffee espresso", "coffee latte", "latte mocha"), ("python compiler", "software", "algorithm software")
    lines = [f"p{i},{topics[i % 2][i // 2 % 3]},2026-01-01 10:00:00,de" for i in range(24)]
    (tmp_path / "log.csv").write_text("\n".join(["user,query,time,country", *lines]) + "\n")
    out, private = tmp_path / "out", tmp_path / "private"
    queryveil.anonymize(tmp_path / "log.csv", method, out, private=private, seed=1, **options)
    for form in FORMATS:
        export = queryveil.export(out, form, private=private).path
        assert queryveil.load(export).rows.equals(queryveil.load(out).rows)
        assert queryveil.verify(export, private=private).holds
        again = queryveil.export(export, "jsonl", tmp_path / f"again-{form}", private=private).path
        assert queryveil.verify(again, private=private).holds


def swap(lines: list[str]) -> list[str]:
    return [*lines[:-2], lines[-1], lines[-2]]


def change(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1].replace("shoes", "boots")]


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize(
    "edit", [change, swap, lambda lines: lines[:-1], lambda lines: [*lines, lines[-1]], lambda lines: lines[:1]]
)
def test_a_changed_row_is_found_even_if_its_file_is_listed_anew(
    exports: Path, form: str, edit: Callable[[list[str]], list[str]]
) -> None:
    export, key = exports / f"out-{form}", exports / "key.pub"
    file = export / rows_file(form)
    edited = edit(file.read_text().splitlines(keepends=True))
    file.write_text("".join(edited))
    assert f"{rows_file(form)} has been changed" in why_refused(export)
    reseal_export(export)
    assert "the rows do not have the digest" in why_refused(export) or len(edited) == 1
    for options in ({}, {"private": exports / "private"}, {"key": key}):
        assert why_refused(export, **options)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_another_encoding_is_found(exports: Path, encoding: str) -> None:
    file = exports / "out-csv" / "rows.csv"
    file.write_bytes(file.read_text().encode(encoding))
    assert "rows.csv has been changed" in why_refused(exports / "out-csv")


@pytest.mark.parametrize("name", ["rows.csv", "report.html", "manifest.json", EXPORT_FILE])
def test_a_missing_file_is_found(exports: Path, name: str) -> None:
    (exports / "out-csv" / name).unlink()
    assert why_refused(exports / "out-csv")


def test_a_file_too_many_is_found(exports: Path) -> None:
    (exports / "out-csv" / "rows.tsv").write_text("")
    assert "rows.tsv is not in the manifest" in why_refused(exports / "out-csv")


def test_every_change_of_the_manifest_or_the_record_of_the_export_is_found(exports: Path) -> None:
    export = exports / "out-csv"
    for name in (EXPORT_FILE, "manifest.json"):
        honest = (export / name).read_text()
        record = json.loads(honest)
        for key in record:
            for other in (*changes(record[key]), None if record[key] is not None else 1):
                (export / name).write_text(json.dumps({**record, key: other}))
                is_version = (name, key) == (EXPORT_FILE, "queryveil")  # of who exported: nothing contradicts it
                assert why_refused(export) or is_version, (name, key, other)
        (export / name).write_text(honest)
    assert not why_refused(export)
    edit_manifest(export, promise="Nobody can be found.")
    reseal(export)
    for options in ({}, {"private": exports / "private"}, {"key": exports / "key.pub"}):
        assert "promise" in why_refused(export, **options) or "signature" in why_refused(export, **options)


def test_a_release_that_does_not_verify_is_not_exported(exports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (exports / "out" / "report.html").write_text("other")
    with pytest.raises(UnverifiedError, match=r"nothing was written: .* report.html has been changed"):
        queryveil.export(exports / "out", "csv", exports / "new")
    assert run(["export", str(exports / "out"), "--to", "csv", "--out", str(exports / "new")]) == 1
    assert not (exports / "new").exists() and capsys.readouterr().err.count("\n") == 1


def test_what_cannot_be_checked_is_not_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = tmp_path / "log.tsv", tmp_path / "out"
    queryveil.generate(log, users=60)
    queryveil.anonymize(log, "linkability(p=0.6)", out, private=tmp_path / "private")
    assert run(["export", str(out), "--to", "csv"]) == 2
    assert "give --private" in capsys.readouterr().err and not (tmp_path / "out-csv").exists()
    assert run(["export", str(out), "--to", "csv", "--private", str(tmp_path / "private")]) == 0


@pytest.mark.parametrize("target", ["out", "private", "other"])
def test_only_an_export_is_replaced(exports: Path, target: str) -> None:
    (exports / "other").mkdir()
    (exports / "other" / "file").write_text("mine")
    for force in (False, True):
        with pytest.raises(InputError, match="exists already" if not force else "not made by|inside the release"):
            queryveil.export(exports / "out-csv", "tsv", exports / target, force=force)
    assert queryveil.export(exports / "out", "tsv", exports / "out-csv", force=True).file == "rows.tsv"
    assert not (exports / "out-csv" / "rows.csv").exists() and queryveil.verify(exports / "out-csv").holds


def test_bad_forms_and_places_are_refused_in_one_sentence(exports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(exports / "out")
    for arguments in ([out], [out, "--to", "xlsx"], [str(exports / "none"), "--to", "csv"]):
        assert run(["export", *arguments]) == 2
    assert run(["export", out, "--to", "csv", "--out", f"{out}/inside"]) == 2
    assert capsys.readouterr().err.count("\n") == 4


def test_texts_that_spreadsheets_compute_are_kept_and_counted(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form, is_warned in (("csv", True), ("jsonl", False)):
        done = queryveil.export(made / "out", form, force=True)
        assert any("8 cells may be taken for formulas" in warning for warning in done.warnings) == is_warned
    assert '"=1+1"' in (made / "out-csv" / "rows.csv").read_text()
    assert run(["export", str(made / "out"), "--to", "csv", "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == "rows.csv"


def test_rows_that_a_form_cannot_hold_are_refused(exports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from queryveil.workflows import export

    damaged = FORMATS["csv"].write(queryveil.load(exports / "out").rows.slice(0, 3))
    monkeypatch.setattr(export, "encode_export", lambda *_: {"rows.csv": damaged})
    with pytest.raises(InputError, match="cannot be written as CSV exactly"):
        queryveil.export(exports / "out", "csv", exports / "new")


def test_a_record_that_is_no_file_is_an_error(exports: Path) -> None:
    (exports / "out-csv" / EXPORT_FILE).unlink()
    (exports / "out-csv" / EXPORT_FILE).mkdir()
    assert "check its permissions" in why_refused(exports / "out-csv")
