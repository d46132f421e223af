"""Drafts: a log is previewed, and its columns are corrected without sending it again, before it is added."""

import gzip
import io
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queryveil.serve.store import Store
from tests.serve.conftest import Lab
from tests.serve.serving import API, LINES, LOG, SECRET, start, wait_for_end

TABLE = b"who,what\nann,cheap cars\nben,old maps\nann,<b>red</b> shoes\n"


def send(lab: Lab, name: str, data: bytes, filename: str = "log.tsv", **fields: str) -> httpx.Response:
    """Send a draft."""
    files = {"file": (filename, data)}
    return lab.client.post(f"{API}/drafts/upload", data={"name": name, **fields}, files=files)


def csrf_of(lab: Lab, page: str) -> str:
    [token] = set(re.findall(r'name="csrf" value="([0-9a-f]+)"', lab.client.get(page).text))
    return str(token)


def as_parquet(data: bytes) -> bytes:
    rows = [line.split("\t") for line in data.decode().splitlines()]
    out = io.BytesIO()
    pq.write_table(pa.table({name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0][:2])}), out)
    return out.getvalue()


@pytest.mark.parametrize("form", [bytes, gzip.compress, as_parquet], ids=["plain", "gzip", "parquet"])
def test_first_rows_and_cleaning_are_shown_before_a_log_is_added(lab: Lab, form: Callable[[bytes], bytes]) -> None:
    n_logs = len(lab.client.get(f"{API}/logs").json())
    draft = send(lab, "looked at", form(LOG)).json()
    shown = draft["preview"]
    assert [(row["user"], row["query"]) for row in shown["rows"][:2]] == [
        ("u0", "cheap cars today"),
        ("u1", "red shoes today"),
    ]
    assert shown["steps"][0].startswith(f"{len(LINES)} rows read")
    assert shown["problem"] == ""
    page = lab.client.get(f"/drafts/{draft['id']}").text
    for text in ("cheap cars today", *shown["steps"][:2]):
        assert text in page
    assert len(lab.client.get(f"{API}/logs").json()) == n_logs
    assert lab.client.get(f"{API}/runs?log={draft['id']}").json() == []  # nothing is computed yet
    assert f'href="/drafts/{draft["id"]}"' in lab.client.get("/logs").text
    assert lab.client.delete(f"{API}/drafts/{draft['id']}").status_code == 204
    assert not (lab.home / "logs" / draft["id"]).exists()
    assert lab.client.get(f"/drafts/{draft['id']}").status_code == 404


def test_columns_are_corrected_without_another_upload(lab: Lab) -> None:
    csrf = csrf_of(lab, "/logs")
    sent = lab.client.post("/logs/upload", data={"csrf": csrf}, files={"file": ("table.csv", TABLE)})
    assert sent.status_code == 303
    address = sent.headers["location"]
    page = lab.client.get(address)
    assert "table.csv: the format could not be guessed" in page.text
    assert "ann,cheap cars" in page.text  # the lines as they are
    assert [name in page.text for name in ('<option value="who">', '<option value="what">')] == [True, True]
    form = {"csrf": csrf, "name": "table", "user": "who", "query": "whom"}
    for action in ("look", "add"):
        refused = lab.client.post(address, data={**form, "action": action}, follow_redirects=True)
        assert "there is no column &#39;whom&#39; for query" in refused.text
        assert 'value="whom"' in refused.text
    form["query"] = "what"
    looked = lab.client.post(address, data={**form, "action": "look"}, follow_redirects=True)
    assert "<bdi>&lt;b&gt;red&lt;/b&gt; shoes</bdi>" in looked.text
    assert "could not be guessed" not in looked.text
    taken = lab.client.post(address, data={**form, "action": "add", "name": "shared"})
    assert (taken.status_code, "there is a log named shared already" in taken.text) == (409, True)
    added = lab.client.post(address, data={**form, "action": "add"})
    log = added.headers["location"].rpartition("/")[2]
    assert lab.client.get(f"{API}/logs/{log}").json()["reading"] == {"columns": "user=who,query=what"}
    [statistics] = lab.client.get(f"{API}/runs?log={log}").json()
    assert wait_for_end(lab.client, statistics["id"])["result"]["people"] == 2
    reopened = lab.client.post(f"/logs/{log}/reopen", data={"csrf": csrf})
    assert reopened.headers["location"] == address
    assert lab.client.get(f"{API}/logs/{log}").status_code == 404
    assert lab.client.get(f"{API}/runs?log={log}").json() == []
    assert 'value="who"' in lab.client.get(address).text  # is read as before until that is changed
    changed = lab.client.patch(f"{API}/drafts/{log}", json={"columns": "user=what,query=who"}).json()
    assert changed["preview"]["rows"][0] == {"user": "cheap cars", "query": "ann"}
    assert lab.client.post(f"{API}/drafts/{log}/add").status_code == 201
    assert lab.client.delete(f"{API}/logs/{log}").status_code == 204


def test_log_with_runs_is_not_read_differently(lab: Lab) -> None:
    refused = lab.client.post(f"{API}/logs/{lab.log}/reopen")
    assert (refused.status_code, refused.json()["field"]) == (409, "log")
    assert "runs were started on this log as it is read now" in refused.json()["error"]
    assert "/reopen" not in lab.client.get(f"/logs/{lab.log}").text
    demo = lab.client.post(f"{API}/logs", json={"name": "demo to reopen", "demo": True}).json()["id"]
    assert "cannot be read differently" in lab.client.post(f"{API}/logs/{demo}/reopen").json()["error"]
    lab.client.delete(f"{API}/logs/{demo}")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "my log.tsv is empty"),
        (bytes(range(256)) * 20, "my log.tsv holds NUL bytes"),
        (b"PK\x03\x04" + LOG, "my log.tsv is a zip archive"),
        (b"PAR1" + LOG, "my log.tsv is a truncated or damaged Parquet file"),
        (b"\x1f\x8b" + LOG, "my log.tsv cannot be read: it is damaged"),
    ],
    ids=["empty", "binary", "archive", "parquet", "gzip"],
)
def test_file_that_can_be_no_log_is_not_kept(lab: Lab, data: bytes, sentence: str) -> None:
    before = set((lab.home / "logs").iterdir())
    answer = send(lab, "no log", data, "../my log.tsv")
    assert (answer.status_code, answer.json()["field"]) == (422, "file")
    assert sentence in answer.json()["error"]
    assert SECRET not in answer.text
    assert set((lab.home / "logs").iterdir()) == before
    assert "no log" not in {draft["name"] for draft in lab.client.get(f"{API}/drafts").json()}


def test_too_many_bad_lines_are_a_problem_of_the_preview(lab: Lab) -> None:
    data = LOG + b"one column only\n" * 9
    draft = send(lab, "bad lines", data).json()
    assert "9 of 81 lines are bad" in draft["preview"]["problem"]
    assert "correct the file, check format and columns, or raise max_bad_lines" in draft["preview"]["problem"]
    assert "only" not in draft["preview"]["problem"].partition("(")[2].partition(")")[0]
    lab.client.delete(f"{API}/drafts/{draft['id']}")


def test_file_of_the_folder_stays_where_it_is(lab: Lab) -> None:
    csrf = csrf_of(lab, "/logs")
    chosen = lab.client.post("/logs", data={"csrf": csrf, "path": "inner/log.tsv"})
    address = chosen.headers["location"]
    assert "cheap cars today" in lab.client.get(address).text
    assert lab.client.post(f"{address}/discard", data={"csrf": csrf}).headers["location"] == "/logs"
    assert (lab.folder / "inner" / "log.tsv").read_bytes() == LOG
    refused = lab.client.post("/logs", data={"csrf": csrf, "path": "../outside.tsv"})
    assert (refused.status_code, "not a file in the server&#39;s folder" in refused.text) == (422, True)
    assert lab.client.post(f"{API}/drafts", json={"name": "x", "path": "../outside.tsv"}).status_code == 422
    draft = lab.client.post(f"{API}/drafts", json={"name": "x", "path": "inner/log.tsv"}).json()
    assert lab.client.delete(f"{API}/drafts/{draft['id']}").status_code == 204


def test_draft_becomes_a_log_that_methods_run_on(lab: Lab) -> None:
    draft = send(lab, "becomes a log", LOG).json()["id"]
    assert lab.client.post(f"{API}/drafts/{draft}/add").json()["id"] == draft
    assert lab.client.post(f"{API}/drafts/{draft}/add").status_code == 404
    run = start(lab.client, draft, "on a draft")
    assert wait_for_end(lab.client, run)["state"] == "done"
    assert lab.client.delete(f"{API}/logs/{draft}?scope=everything").status_code == 204


def test_home_without_drafts_is_opened(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.execute("DROP TABLE drafts")
    store.close()
    store = Store(tmp_path)
    assert store.drafts() == []
    store.close()
