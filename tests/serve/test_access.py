"""Tokens, sessions, roles, delays after wrong tokens, and the audit trail."""

import csv
import io
import multiprocessing
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from queryveil.serve.access import NOT_OWNER, Access, TooManyWrongTokensError
from queryveil.serve.settings import Settings
from queryveil.serve.store import Store
from tests.serve.conftest import Lab
from tests.serve.serving import API, LOG, SECRET, home_of, serving, upload, wait_for_end

_NOBODY = 65_534  # the account `nobody`
OWNER, ANALYST = "the owner's token, long enough", "the analysts' token, long enough"


@contextmanager
def browsing(lab: Lab) -> Iterator[httpx.Client]:
    """Yield a browser without any cookie."""
    with httpx.Client(base_url=lab.client.base_url, timeout=60) as browser:
        yield browser


def log_in(browser: httpx.Client, app: FastAPI) -> httpx.Response:
    """Open the address that the server printed."""
    return browser.get("/", params={"token": app.state.context.access.start_token})


def csrf_of(browser: httpx.Client, page: str) -> str:
    [token] = set(re.findall(r'name="csrf" value="([0-9a-f]+)"', browser.get(page).text))
    return str(token)


def test_default_server_asks_everybody(lab: Lab) -> None:
    pages = ["/", "/logs", f"/logs/{lab.log}", f"/runs/{lab.release}", f"/runs/{lab.release}/history", "/audit"]
    with browsing(lab) as stranger:
        for path in pages:
            answer = stranger.get(path)
            assert (answer.status_code, answer.headers["location"]) == (303, "/login")
        for path in ("logs", "runs", f"runs/{lab.release}", f"releases/{lab.release}/download", "openapi.json"):
            assert stranger.get(f"{API}/{path}").status_code == 401
        docs = stranger.get(f"{API}/docs", headers={"accept": "text/html,*/*"})
        assert (docs.status_code, docs.headers["location"]) == (303, "/login")
        csrf = csrf_of(stranger, "/login")
        history = stranger.post(f"/runs/{lab.release}/history", data={"number": 1, "csrf": csrf})
        assert (history.status_code, history.headers["location"]) == (303, "/login")
        assert (stranger.get("/healthz").status_code, stranger.get("/healthz").json()) == (200, {"status": "ok"})
        assert stranger.head("/healthz").status_code == 200
        assert stranger.get("/", params={"token": "wrong"}).headers["location"] == "/login"


def test_printed_address_opens_a_session_that_logout_revokes(lab: Lab) -> None:
    with browsing(lab) as browser, browsing(lab) as other:
        for each in (browser, other):
            answer = log_in(each, lab.app)
            assert (answer.status_code, answer.headers["location"]) == (303, "/")
            assert each.get("/").status_code == 200
            assert lab.app.state.context.access.start_token not in str(dict(each.cookies))
        kept = {"cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
        assert browser.post("/logout", data={"csrf": csrf_of(browser, "/")}).status_code == 303
        assert browser.get("/").headers["location"] == "/login"
        assert httpx.get(f"{lab.client.base_url}{API}/logs", headers=kept).status_code == 401
        assert other.get("/").status_code == 200
    assert lab.home.stat().st_mode & 0o077 == 0  # no other account can read a file below it


def test_scheme_is_read_in_any_case(lab: Lab) -> None:
    token = lab.client.headers["authorization"].partition(" ")[2]
    for scheme in ("bearer", "BEARER", "Bearer"):
        answer = httpx.get(f"{lab.client.base_url}{API}/logs", headers={"authorization": f"{scheme} {token}"})
        assert answer.status_code == 200


def test_delay_grows_with_wrong_tokens_of_one_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, moment = Store(tmp_path), 1_000.0
    monkeypatch.setattr("queryveil.serve.access.time.monotonic", lambda: moment)
    access = Access(Settings(home=tmp_path, token=OWNER), store, b"secret")
    waits = []
    for _ in range(12):
        assert access.visitor_by_token("wrong", "10.0.0.1") is None
        _, until = access._wrong["10.0.0.1"]
        waits.append(until - moment)
        if until > moment:
            with pytest.raises(TooManyWrongTokensError, match="too many wrong tokens came from your address"):
                access.visitor_by_token(OWNER, "10.0.0.1")
        other = access.visitor_by_token(OWNER, "10.0.0.2")
        assert other is not None
        assert other.role == "owner"
        moment = until
    assert waits == [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert access.visitor_by_token(OWNER, "10.0.0.1") is not None
    assert "10.0.0.1" not in access._wrong  # the right one ends the delays
    store.close()


def test_many_wrong_tokens_are_refused_unread_and_recorded_without_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(Settings(home=home_of(tmp_path), token=OWNER)) as (_, client):
        guesses = [client.get(f"{API}/logs", headers={"authorization": f"Bearer guess-{n}"}) for n in range(30)]
        assert [answer.status_code for answer in guesses[:5]] == [401] * 5
        assert {answer.status_code for answer in guesses[5:]} == {429}
        assert int(guesses[-1].headers["retry-after"]) >= 1
        assert client.get(f"{API}/logs").status_code == 429  # the right one has to wait as well
    database = b"".join(path.read_bytes() for path in home_of(tmp_path).glob("state.sqlite*"))
    assert b"present a wrong token" in database
    assert b"guess-" not in database
    assert "guess-" not in caplog.text


def test_sessions_end_with_their_token_and_survive_a_restart(tmp_path: Path) -> None:
    def access_with(token: str | None, store: Store) -> Access:
        return Access(Settings(home=tmp_path, token=token), store, b"secret")

    store = Store(tmp_path)
    first, started = access_with(OWNER, store), access_with(None, store)
    session, of_start = first.open_session("owner"), started.open_session("owner")
    assert first.visitor_by_session(session) == access_with(OWNER, store).visitor_by_session(session) is not None
    assert access_with(OWNER + "!", store).visitor_by_session(session) is None
    assert access_with(None, store).visitor_by_session(of_start) is not None
    assert access_with(OWNER, store).visitor_by_session(of_start) is None
    store.execute("UPDATE sessions SET created = '2020'")
    assert first.visitor_by_session(session) is None
    first.open_session("owner")
    assert len(store.execute("SELECT * FROM sessions")) == 1
    store.close()


@pytest.fixture(scope="module")
def analyst(lab: Lab) -> Iterator[httpx.Client]:
    """Give the shared server an analysts' token for as long as this module's tests run."""
    access = lab.app.state.context.access
    access._tokens["analyst"] = ANALYST
    with httpx.Client(base_url=lab.client.base_url, timeout=60) as client:
        client.headers["authorization"] = f"Bearer {ANALYST}"
        yield client
    del access._tokens["analyst"]


def test_analyst_sees_no_person_and_deletes_nothing(lab: Lab, analyst: httpx.Client) -> None:
    for path in (
        "/",
        "/logs",
        f"/logs/{lab.log}",
        f"/try?log={lab.log}",
        f"/runs/{lab.release}",
        f"/releases/{lab.release}",
        f"{API}/releases/{lab.release}/download",
        f"{API}/releases/{lab.release}/report",
    ):
        answer = analyst.get(path)
        assert answer.status_code == 200, path
        assert "/history" not in answer.text
        assert '/delete"' not in answer.text
        assert "inner/log.tsv" not in answer.text
    csrf = csrf_of(analyst, f"/try?log={lab.log}")
    path = "inner/log.tsv"  # a raw log of the folder, which no error, counterexample or document may quote
    refused = [
        analyst.post(f"{API}/check", json={"name": "peek", "path": path, "claim": "km(k=2, m=1)"}),
        analyst.post("/check", data={"path": path, "claim": "km(k=2, m=1)", "csrf": csrf}),
        analyst.post(f"{API}/attack-other", json={"name": "x", "log": lab.log, "path": "a", "private": "b"}),
        analyst.post("/check/attack", data={"csrf": csrf, "log": lab.log, "path": "a", "private": "b"}),
        analyst.post(f"{API}/index", json={"path": path}),
        analyst.get(f"{API}/folder"),
        analyst.post(f"{API}/runs", json={"name": "x", "log": lab.log, "method": "suppress(k=2)", "taxonomy": path}),
        analyst.post("/try", data={"log": lab.log, "method": "suppress", "k": "2", "taxonomy": path, "csrf": csrf}),
        analyst.post(f"{API}/measure", json={"name": "x", "release": lab.release, "market": path}),
        analyst.post("/search/index", data={"path": path, "csrf": csrf}),
        analyst.get(f"/runs/{lab.release}/history"),
        analyst.post(f"/runs/{lab.release}/history", data={"number": 1, "csrf": csrf}),
        analyst.post("/runs/delete", data={"csrf": csrf, "run": lab.release}),
        analyst.post(f"/logs/{lab.log}/delete", data={"csrf": csrf}),
        analyst.post("/logs", data={"demo": 1, "csrf": csrf}),
        analyst.get("/audit"),
        analyst.delete(f"{API}/runs/{lab.release}"),
        analyst.delete(f"{API}/logs/{lab.log}"),
        analyst.post(f"{API}/logs", json={"name": "x", "demo": True}),
        analyst.get(f"{API}/audit"),
    ]
    assert [answer.status_code for answer in refused] == [403] * len(refused)
    assert refused[-1].json()["error"] == NOT_OWNER
    assert lab.client.get(f"{API}/releases/{lab.release}").status_code == 200


def test_what_a_check_found_in_the_folder_is_shown_to_the_owner_alone(lab: Lab, analyst: httpx.Client) -> None:
    body = {"name": "own", "path": "inner/log.tsv", "claim": "km(k=2, m=1)"}
    run = lab.client.post(f"{API}/check", json=body).json()["id"]
    assert SECRET in str(wait_for_end(lab.client, run)["result"])  # the word that one person searched for
    assert SECRET in lab.client.get(f"/runs/{run}").text
    for answer in (
        analyst.get(f"{API}/runs/{run}"),
        analyst.patch(f"{API}/runs/{run}", json={"notes": "seen"}),
        analyst.get(f"{API}/runs"),
        analyst.get(f"{API}/runs.csv"),
        analyst.get(f"/runs/{run}"),
    ):
        assert answer.status_code == 200
        assert SECRET not in answer.text
    assert "shown to the owner only" in answer.text
    assert lab.client.delete(f"{API}/runs/{run}").status_code == 204


def test_audit_trail_names_what_was_added_started_exported_and_deleted(lab: Lab) -> None:
    log = upload(lab.client, "audited").json()["id"]
    body = {"name": "audited", "log": log, "method": "km(k=2|3, m=1)"}
    runs = [run["id"] for run in lab.client.post(f"{API}/sweeps", json=body).json()]
    for run in runs:
        wait_for_end(lab.client, run)
    lab.client.get(f"{API}/comparison.csv", params={"run": runs})
    csrf = csrf_of(lab.client, "/logs")
    lab.client.post("/runs/delete", data={"csrf": csrf, "run": runs[:1]})
    lab.client.get(f"/logs/{log}/delete")
    lab.client.delete(f"{API}/logs/{log}", params={"scope": "everything"})
    trail = {(event["action"], event["log"], event["run"]) for event in lab.client.get(f"{API}/audit").json()}
    assert {
        ("upload log", log, None),
        *(("start sweep", log, run) for run in runs),
        *(("export comparison", None, run) for run in runs),
        ("delete runs", None, runs[0]),
        ("ask what to delete", log, None),  # the page that asks is not the deletion
        ("delete everything of the log", log, None),
    } <= trail


def test_audit_trail_says_who_looked_and_deleted_and_is_never_changed(lab: Lab, analyst: httpx.Client) -> None:
    csrf = csrf_of(lab.client, f"/runs/{lab.release}/history")
    for form in ({"person": "u7"}, {"number": 3}, {"person": "nobody there"}):
        lab.client.post(f"/runs/{lab.release}/history", data={**form, "csrf": csrf})
    for _ in range(3):
        analyst.get(f"{API}/releases/{lab.release}/download")
    events = lab.client.get(f"{API}/audit").json()
    looks = [event for event in events if event["person"] is not None and event["run"] == lab.release]
    assert len(looks) == 2
    assert {event["role"] for event in looks} == {"owner"}
    downloads = [event for event in events if event["action"] == "download release" and event["role"] == "analyst"]
    assert len(downloads) == 1  # the same look within ten minutes is recorded once
    page = lab.client.get("/audit")
    assert "download release" in page.text
    exported = lab.client.get(f"{API}/audit/export")
    assert exported.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(exported.text)))
    assert [int(row["number"]) for row in rows] == sorted({int(row["number"]) for row in rows})
    assert {event["number"] for event in events} <= {int(row["number"]) for row in rows}
    for content in (SECRET, "u7", "cheap"):
        assert content not in exported.text
    store: Store = lab.app.state.context.store
    for change in ("UPDATE audit SET role = 'x'", "DELETE FROM audit"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            store.execute(change)


def test_one_token_for_both_roles_is_refused(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, token=OWNER)
    with pytest.raises(Exception, match="analysts need a token other than the owner's"):
        replace(settings, analyst_token=OWNER).check()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another account")
def test_another_account_of_the_machine_reads_nothing() -> None:
    place = Path(tempfile.mkdtemp(prefix="another-account-"))
    place.chmod(0o755)  # so that nothing but the modes of our own files protects them
    try:
        with serving(Settings(home=place / "home")) as (_, client):
            log = upload(client, "private", LOG).json()["id"]
            [statistics] = client.get(f"{API}/runs").json()
            wait_for_end(client, statistics["id"])
            files = [path for path in (place / "home").rglob("*") if path.is_file()]
            assert {path.name for path in files} >= {"log", "state.sqlite", "secret", "result.json"}
            paths = ["/", "/logs", f"/logs/{log}", f"/runs/{statistics['id']}", f"{API}/logs", f"{API}/logs/{log}"]
            context = multiprocessing.get_context("fork")
            receiving, sending = context.Pipe(duplex=False)
            other = context.Process(target=_try_all, args=(str(client.base_url), paths, files, sending))
            other.start()
            statuses, readable = receiving.recv()
            other.join()
        assert readable == []
        assert set(statuses) == {303, 401, 429}
        assert len(statuses) == 3 * len(paths)
    finally:
        shutil.rmtree(place)


def _try_all(address: str, paths: list[str], files: list[Path], answer: Connection) -> None:
    """As the account `nobody`, open addresses without a token, with a cookie, and with guesses; then the files."""
    os.setgroups([])
    os.setgid(_NOBODY)
    os.setuid(_NOBODY)
    port = address.rpartition(":")[2]
    statuses = []
    for path in paths:
        for headers in ({}, {"cookie": f"queryveil_login_{port}=guess"}, {"authorization": f"Bearer guess {path}"}):
            statuses.append(httpx.get(f"{address}{path}", headers=headers, timeout=60).status_code)
    readable = [str(path) for path in (*files, files[0].parent) if os.access(path, os.R_OK)]
    answer.send((statuses, readable))
