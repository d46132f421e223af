"""The datasheet of a release: what the release says, what its owner states, and nothing else."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import queryveil
from queryveil.cli import run
from queryveil.core.errors import InputError, UnverifiedError
from queryveil.report.datasheet import MARK, OWNER_FIELDS, owner_template
from queryveil.report.rendering import markdown
from tests.release.test_tampering import KINDS
from tests.report.pages import ACTIVE, HOSTILE, cells, headings, parse, text

PARTS = [
    "Motivation",
    "Composition",
    "Collection",
    "Preprocessing and cleaning",
    "Uses",
    "Distribution",
    "Maintenance",
]
SECRET = "mademoiselle"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a release of a log whose people and rare terms must not appear anywhere, and attack it."""
    folder = tmp_path_factory.mktemp("datasheet")
    lines = [f"{SECRET}-{i},tea {SECRET}{i},2026-01-0{1 + i % 2} 10:00:00" for i in range(9)]
    (folder / "log.csv").write_text("\n".join(["user,query,time", *lines]) + "\n")
    out, private = folder / "out", folder / "private"
    options: dict[str, Any] = {"kind": "log", "keep": "time:day", "title": HOSTILE, "dataset": "a shop's searches"}
    queryveil.anonymize(folder / "log.csv", "km(k=3, m=2)", out, private=private, seed=1, **options)
    report = queryveil.attack(out, folder / "log.csv", private, attacks=["known_terms(m=1)"], targets=5)
    (folder / "attacks.json").write_text(json.dumps(report.record()))
    return folder


def refused(made: Path, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        queryveil.datasheet(made / "out", **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_it_has_the_parts_of_datasheets_in_both_forms(made: Path, tmp_path: Path) -> None:
    sheet = queryveil.datasheet(made / "out", attacks=made / "attacks.json", private=made / "private")
    assert re.findall(r"^## (.*)$", sheet.text, re.MULTILINE) == PARTS
    page = queryveil.datasheet(made / "out", attacks=made / "attacks.json", out=tmp_path / "sheet.html").text
    assert headings(page) == PARTS and (tmp_path / "sheet.html").read_text() == page
    assert not re.search(ACTIVE, re.sub(r"<pre>.*?</pre>", "", page)) and "\n\n\n" not in sheet.text
    assert sheet.missing == tuple(OWNER_FIELDS) and sheet.verdict is not None and sheet.verdict.counted == "people"


def test_it_says_what_the_release_says_and_nothing_private(made: Path, tmp_path: Path) -> None:
    done = queryveil.load(made / "out").manifest
    for form in ("sheet.md", "sheet.html"):
        sheet = queryveil.datasheet(made / "out", attacks=made / "attacks.json", out=tmp_path / form).text
        shown = " ".join(sheet.split())
        for said in (done.promise, done.content_sha256, done.files[0].sha256, done.made, "queryveil verify ."):
            assert said in shown
        assert SECRET not in sheet and str(made) not in sheet and not re.search(r"(?<!\\)<script", sheet)
        assert all(limit.split("'")[0] in shown for limit in done.limits)
    page = (tmp_path / "sheet.html").read_text()
    columns = cells(page, "Columns")
    assert [row[0] for row in columns[1:]] == ["user", "query_id", "term", "time"]
    assert [row[3] for row in columns[1:]] == ["yes", "yes", "yes", "no"] and "time:day" in columns[4][2]
    assert cells(page, "What was kept")[1] == ["people", "9", "9", "100.0%"]
    assert cells(page, "What was kept")[3] == ["terms", "10", "1", "10.0%"]
    assert text(next(parse(page).iter("h1"))) == HOSTILE and "a shop's searches" in text(parse(page))
    assert cells(page, "Attacks")[1][0] == "known_terms(m=1)"


def test_without_attacks_it_says_that_there_are_none(made: Path) -> None:
    assert "No results of attacks on this release were given" in queryveil.datasheet(made / "out").text


def test_owner_fields_are_shown_and_missing_ones_listed(made: Path, tmp_path: Path) -> None:
    owner = tmp_path / "owner.toml"
    owner.write_text('purpose = """Research\n- on | teas <script>"""\nlicence = "CC0"\ncontact = "  "\n')
    sheet = queryveil.datasheet(made / "out", owner=owner)
    assert sheet.missing == tuple(name for name in OWNER_FIELDS if name not in ("purpose", "licence"))
    assert "- **Purpose**: Research - on \\| teas \\<script\\>\n" in sheet.text and "**Licence**: CC0\n" in sheet.text
    assert "- Contact: where to ask" in sheet.text and "- Purpose: for what" not in sheet.text


def test_the_template_is_empty_and_can_be_read(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    owner = tmp_path / "owner.toml"
    assert run(["datasheet", str(made / "out"), "--template"]) == 0
    assert capsys.readouterr().out == owner_template()
    assert run(["datasheet", str(made / "out"), "--template", "--out", str(owner)]) == 0
    assert owner.read_text() == owner_template()
    assert run(["datasheet", str(made / "out"), "--template", "--out", str(owner), "--force"]) == 2
    assert queryveil.datasheet(made / "out", owner=owner).missing == tuple(OWNER_FIELDS)


def test_wrong_owner_files_are_refused_in_one_sentence(made: Path, tmp_path: Path) -> None:
    owner = tmp_path / "owner.toml"
    for content, said in (
        ('purpos = "x"', "unknown field 'purpos'; .*purpose"),
        ("licence = 4", "licence in .* must be a text in quotes"),
        ("[purpose]\na = 1", "purpose in .* must be a text"),
        ("purpose", "not TOML in UTF-8"),
    ):
        owner.write_text(content)
        assert re.search(said, refused(made, owner=owner))
    owner.write_bytes(b'purpose = "\xff"')
    assert "not TOML in UTF-8" in refused(made, owner=owner)
    assert "cannot be read" in refused(made, owner=tmp_path / "none.toml")


def test_attacks_on_other_rows_or_of_another_form_are_refused(made: Path, tmp_path: Path) -> None:
    record, file = json.loads((made / "attacks.json").read_text()), tmp_path / "attacks.json"
    for change, said in (
        ({"content_sha256": "0" * 64}, "is about another release"),
        ({"results": []}, "is not the JSON that queryveil attack prints"),
        ({"results": [{**record["results"][0], "rate": {"value": "1", "low": 0, "high": 1}}]}, "is not the JSON"),
        ({"extra": 1}, "is not the JSON"),
        ({"threats": 5}, "is not the JSON"),
    ):
        file.write_text(json.dumps({**record, **change}))
        assert said in refused(made, attacks=file)
    file.write_text("[")
    assert "is not the JSON" in refused(made, attacks=file)
    assert "cannot be read" in refused(made, attacks=tmp_path / "none.json")


def test_only_a_datasheet_is_replaced(made: Path, tmp_path: Path) -> None:
    for name in ("sheet.md", "sheet.html"):
        file = tmp_path / name
        queryveil.datasheet(made / "out", out=file)
        assert MARK in file.read_text() and "exists already" in refused(made, out=file)
        queryveil.datasheet(made / "out", out=file, force=True)
        file.write_text("mine")
        assert "is not a datasheet" in refused(made, out=file, force=True)
    assert "a datasheet is a file .md or .html" in refused(made, out=tmp_path / "sheet.pdf")
    assert "inside the release" in refused(made, out=made / "out" / "sheet.md")


def test_a_release_that_does_not_hold_gets_none(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export = queryveil.export(made / "out", "csv", tmp_path / "export").path
    assert "rows.csv" in queryveil.datasheet(export).text
    (export / "rows.csv").write_text((export / "rows.csv").read_text().replace("tea", "ale", 1))
    with pytest.raises(UnverifiedError, match="nothing was written"):
        queryveil.datasheet(export)
    assert run(["datasheet", str(export), "--out", str(tmp_path / "sheet.md")]) == 1
    assert not (tmp_path / "sheet.md").exists() and capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_one(tmp_path: Path, kind: str) -> None:
    method, options = KINDS[kind]
    topics = ("coffee espresso", "coffee latte", "latte mocha"), ("python compiler", "software", "algorithm software")
    lines = [f"p{i},{topics[i % 2][i // 2 % 3]},2026-01-01 10:00:00,de" for i in range(24)]
    (tmp_path / "log.csv").write_text("\n".join(["user,query,time,country", *lines]) + "\n")
    out, private = tmp_path / "out", tmp_path / "private"
    queryveil.anonymize(tmp_path / "log.csv", method, out, private=private, seed=1, **options)
    page = queryveil.datasheet(out, private=private, out=tmp_path / "sheet.html").text
    assert headings(page) == PARTS
    names = [row[0] for row in cells(page, "Columns")[1:]]
    assert names == list(queryveil.load(out).manifest.columns) and all(row[2] for row in cells(page, "Columns"))
    assert ("queryveil verify . --private FOLDER" in page) == (kind == "groups")


def test_json_has_everything(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["datasheet", str(made / "out"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["missing"] == list(OWNER_FIELDS) and record["verdict"]["state"] == "holds" and not record["path"]


@given(st.text())
def test_markdown_keeps_no_markup(raw: str) -> None:
    shown = str(markdown(raw))
    assert "\n" not in shown and not re.search(r"(?<!\\)(\\\\)*[<>|`*_&#]", shown)
    assert re.sub(r"\\(.)", r"\1", shown) == " ".join(raw.split())
    assert not re.match(r"[-+=]|\d+[.)]( |$)", shown)
