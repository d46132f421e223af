"""Adding logs: what is no log is refused in a sentence, and nothing outside the server's folder can be reached."""

import io
from pathlib import Path

import pytest

from queryveil.core.errors import InputError
from queryveil.serve.logs import Guess, Logs
from queryveil.serve.settings import Settings
from tests.serve.conftest import Lab
from tests.serve.serving import API, LOG, SECRET, ended, upload


def kept(lab: Lab) -> set[Path]:
    return set((lab.home / "logs").iterdir())


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "my log.tsv is empty; give a log with at least one line."),
        (bytes(range(256)) * 20, "my log.tsv holds NUL bytes"),
        (f"dear diary, {SECRET}\nbye\n".encode(), "my log.tsv: the format could not be guessed; name it with --format"),
        (b"PAR1" + LOG, "my log.tsv is a truncated or damaged Parquet file"),
    ],
)
def test_a_file_that_is_no_log_is_refused(lab: Lab, data: bytes, sentence: str) -> None:
    before = kept(lab)
    answer = upload(lab.client, "no log", data, "../my log.tsv")
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]
    assert answer.json()["field"] == "file"
    assert SECRET not in answer.text
    assert str(lab.home) not in answer.text
    assert kept(lab) == before


def test_columns_can_be_named_by_hand(lab: Lab) -> None:
    data = b"who,what\na,cheap cars\nb,old maps\n"
    assert "columns of a table with --columns" in upload(lab.client, "by hand", data).json()["error"]
    form = {"name": "by hand", "columns": "user=who,query=what", "format": "table"}
    answer = lab.client.post(f"{API}/logs/upload", data=form, files={"file": ("a.csv", data)})
    assert answer.status_code == 201
    assert answer.json()["reading"] == {"columns": "user=who,query=what", "format": "table"}
    for wrong, field in (({"columns": "user"}, "columns"), ({"columns": "users=who"}, "file"), ({"format": "x"}, "")):
        refused = lab.client.post(f"{API}/logs/upload", data={**form, **wrong}, files={"file": ("a.csv", data)})
        assert refused.status_code == 422
        assert (refused.json()["field"] or "") == field
    assert lab.client.delete(f"{API}/logs/{answer.json()['id']}").status_code == 204


def test_a_log_that_is_too_large_is_not_kept(lab: Lab) -> None:
    before = kept(lab)
    with pytest.raises(InputError, match=r"larger than the 0 MB that this server takes; put it into the server's fol"):
        lab.app.state.logs.add_upload("large", "large.tsv", io.BytesIO(LOG * 100))
    assert kept(lab) == before


def test_files_of_the_folder_can_be_chosen(lab: Lab) -> None:
    logs: Logs = lab.app.state.logs
    assert logs.files() == [("inner/log.tsv", len(LOG))]
    assert logs.guess(lab.folder / "inner" / "log.tsv") == Guess(
        "aol",
        ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL"),
        {"user": "AnonID", "query": "Query", "time": "QueryTime", "rank": "ItemRank", "url": "ClickURL"},
    )
    answer = lab.client.post(f"{API}/logs", json={"name": "chosen", "path": "inner/log.tsv"})
    assert answer.status_code == 201
    taken = lab.client.post(f"{API}/logs", json={"name": "chosen", "path": "inner/log.tsv"})
    assert (taken.status_code, taken.json()["field"]) == (409, "name")
    statistics = logs.statistics(answer.json()["id"])
    assert statistics is not None
    assert ended(lab.client, statistics.id)["result"]["people"] == 12
    assert lab.client.delete(f"{API}/logs/{answer.json()['id']}").status_code == 204
    assert (lab.folder / "inner" / "log.tsv").exists()


@pytest.mark.parametrize(
    "path",
    [
        "../outside.tsv",
        "inner/../../outside.tsv",
        "/etc/passwd",
        "link.tsv",
        "way out/outside.tsv",
        "inner",
        "",
        ".",
        "inner/log.tsv\0",
        "inner\\..\\..\\outside.tsv",
        "%2e%2e/outside.tsv",
        "x" * 5_000,
        "~root",
    ],
)
def test_what_lies_outside_the_folder_is_refused(lab: Lab, path: str) -> None:
    answer = lab.client.post(f"{API}/logs", json={"name": "outside", "path": path})
    assert answer.status_code in (404, 422)
    assert answer.json()["field"] in ("path", None)
    assert "root" not in answer.json()["error"]


def test_without_a_folder_no_file_can_be_chosen(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="start it with --folder"):
        Settings(tmp_path).file("log.tsv")
