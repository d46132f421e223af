"""Adding logs: other files are refused with a sentence, and nothing outside the server's folder can be reached."""

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queryveil.core.errors import InputError
from queryveil.serve.context import ServerContext
from queryveil.serve.logs import GuessedLayout, Logs
from queryveil.serve.settings import Settings
from queryveil.serve.store import TooLargeError
from tests.serve.conftest import Lab
from tests.serve.serving import API, LOG, SECRET, upload, wait_for_end


def stored_logs(lab: Lab) -> set[Path]:
    return set((lab.home / "logs").iterdir())


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "my log.tsv is empty; give a log with at least one line."),
        (bytes(range(256)) * 20, "my log.tsv holds NUL bytes"),
        (f"dear diary, {SECRET}\nbye\n".encode(), "my log.tsv: the format could not be guessed; name it with format"),
        (b"PK\x03\x04" + LOG, "my log.tsv is a zip archive; unpack it, and send the log itself"),
        (b"PAR1" + LOG, "my log.tsv is a truncated or damaged Parquet file"),
    ],
)
def test_file_that_is_no_log_is_refused(lab: Lab, data: bytes, sentence: str) -> None:
    before = stored_logs(lab)
    answer = upload(lab.client, "no log", data, "../my log.tsv")
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]
    assert answer.json()["field"] == "file"
    assert SECRET not in answer.text
    assert str(lab.home) not in answer.text
    assert stored_logs(lab) == before


def test_columns_can_be_given_explicitly(lab: Lab) -> None:
    data = b"who,what\na,cheap cars\nb,old maps\n"
    assert "columns of a table with columns" in upload(lab.client, "by hand", data).json()["error"]
    form = {"name": "by hand", "columns": "user=who,query=what", "format": "table"}
    answer = lab.client.post(f"{API}/logs/upload", data=form, files={"file": ("a.csv", data)})
    assert answer.status_code == 201
    assert answer.json()["reading"] == {"columns": "user=who,query=what", "format": "table"}
    for wrong, field in (({"columns": "user"}, "columns"), ({"columns": "users=who"}, "file"), ({"format": "x"}, "")):
        refused = lab.client.post(f"{API}/logs/upload", data={**form, **wrong}, files={"file": ("a.csv", data)})
        assert refused.status_code == 422
        assert (refused.json()["field"] or "") == field
    assert lab.client.delete(f"{API}/logs/{answer.json()['id']}").status_code == 204


def test_log_that_is_too_large_is_not_stored(lab: Lab) -> None:
    before = stored_logs(lab)
    with pytest.raises(InputError, match=r"larger than the 0 MB that this server takes; put it into the server's fol"):
        lab.app.state.context.logs.add_upload("large", "large.tsv", io.BytesIO(LOG * 100))
    assert stored_logs(lab) == before


@pytest.mark.parametrize("kind", ["gzip", "zstd", "parquet"])
def test_log_that_is_too_large_when_unpacked_is_not_stored(tmp_path: Path, kind: str) -> None:
    text = LOG + b"".join(b"u1\tcheap cars\t2006-03-01 07:00:00\t\t\n" for _ in range(200_000))
    if kind == "parquet":
        packed = io.BytesIO()
        queries = pa.table({"user": ["u1"] * 200_000, "query": [f"cheap cars {n}" for n in range(200_000)]})
        pq.write_table(queries, packed, compression="zstd")
        data = packed.getvalue()
    else:
        buffer = pa.BufferOutputStream()
        with pa.CompressedOutputStream(buffer, kind) as stream:
            stream.write(text)
        data = buffer.getvalue().to_pybytes()
    settings = Settings(home=tmp_path, max_unpacked="1MB")
    context = ServerContext.open(settings)
    with pytest.raises(TooLargeError, match="bomb is larger than 1MB when it is unpacked, which is the most"):
        context.logs.add_upload("bomb", "bomb", io.BytesIO(data))
    assert not list((tmp_path / "logs").iterdir())
    context.close()


def test_file_of_the_server_folder_can_be_added(lab: Lab) -> None:
    logs: Logs = lab.app.state.context.logs
    assert logs.files() == [("inner/log.tsv", len(LOG))]
    assert logs.guess(lab.folder / "inner" / "log.tsv") == GuessedLayout(
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
    assert wait_for_end(lab.client, statistics.id)["result"]["people"] == 12
    body = {"name": "of the file", "path": "inner/log.tsv", "claim": "km(k=2, m=1)"}
    check = lab.client.post(f"{API}/check", json=body).json()["id"]  # finds the word that one person searched for
    assert SECRET in str(wait_for_end(lab.client, check)["result"])
    assert "also those that checked or indexed the file" in lab.client.get(f"/logs/{answer.json()['id']}/delete").text
    address = f"{API}/logs/{answer.json()['id']}"
    assert lab.client.delete(address, params={"scope": "everything"}).status_code == 204
    assert not (lab.home / "runs" / check).exists()
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
def test_path_outside_the_server_folder_is_refused(lab: Lab, path: str) -> None:
    answer = lab.client.post(f"{API}/logs", json={"name": "outside", "path": path})
    assert answer.status_code in (404, 422)
    assert answer.json()["field"] in ("path", None)
    assert "root" not in answer.json()["error"]


def test_without_a_folder_no_file_can_be_chosen(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="start it with --folder"):
        Settings(home=tmp_path).file("log.tsv")
