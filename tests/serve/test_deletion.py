"""What is deleted is gone from every file below the home folder; what stays is what was said to stay."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from queryveil.serve.context import ServerContext
from queryveil.serve.settings import Settings
from queryveil.serve.store import Store, now
from tests.serve.killing import Template
from tests.serve.serving import API, HEADER, home_of, serving, start, until, upload, wait_for_end

PEOPLE = [f"person-{n}-zq" for n in range(12)]
QUERIES = ("quarrelsome llamas", "vermilion kayaks", "gossamer turbines")
FILLER = "windward"
PRIVATE = "onlyoneaskedthis"
LINES = [
    f"{PEOPLE[n % 12]}\t{QUERIES[n % 3]} {PRIVATE if n == 7 else FILLER}\t2006-03-01 07:{n % 60:02}:00\t\t\n"
    for n in range(72)
]
LOG = (HEADER + "".join(LINES)).encode()
SECRETS = [*PEOPLE, PRIVATE]  # of the log, and never in a release
TERMS = [word for query in QUERIES for word in query.split()] + [FILLER]


def held(home: Path, words: list[str]) -> dict[str, list[str]]:
    """Return the files below the home folder that hold some words, in their bytes, and these words.

    Parquet files are searched for what they hold unpacked, too.
    """
    import pyarrow.parquet as pq

    found: dict[str, list[str]] = {}
    for path in sorted(path for path in home.rglob("*") if path.is_file()):
        data = path.read_bytes()
        if path.suffix == ".parquet":
            data += str(pq.read_table(path).to_pylist()).encode()
        here = [word for word in words if word.encode() in data]
        if here:
            found[str(path.relative_to(home))] = here
    return found


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """Make a home with a log, a release of it, and runs that examined the release."""
    home = home_of(tmp_path_factory.mktemp("deletion"))
    with serving(Settings(home=home)) as (_, client):
        log = upload(client, "vermilion log", LOG, f"{PEOPLE[0]}.tsv").json()["id"]
        release = start(client, log, f"for {QUERIES[0]}")
        assert wait_for_end(client, release)["state"] == "done"
        for kind, more in (("verify", {"claim": "km(k=9, m=2)"}), ("attack", {"targets": 5})):
            run = client.post(f"{API}/{kind}", json={"name": f"{kind} {PRIVATE}", "release": release, **more}).json()
            assert wait_for_end(client, run["id"])["state"] == "done"
        assert f"logs/{log}/log" in held(home, [PRIVATE])
    return Template.of(home, log, release)


@pytest.fixture
def site(template: Template) -> Iterator[tuple[FastAPI, httpx.Client, Path, str, str]]:
    """Serve the home as it was made."""
    template.restore()
    with serving(Settings(home=template.home)) as (app, client):
        yield app, client, template.home, template.log, template.release


def test_deleting_everything_leaves_no_term_and_no_id_in_any_file(
    site: tuple[FastAPI, httpx.Client, Path, str, str],
) -> None:
    _, client, home, log, release = site
    data = {"person": PEOPLE[7], "csrf": csrf_of(client, "/logs")}
    page = client.post(f"/runs/{release}/history", data=data, follow_redirects=True)
    assert PRIVATE in page.text  # what was looked at is in the audit trail, without content
    assert held(home, [*SECRETS, *TERMS])
    assert client.delete(f"{API}/logs/{log}", params={"scope": "everything"}).status_code == 204
    assert held(home, [*SECRETS, *TERMS]) == {}
    assert client.get(f"{API}/runs").json() == client.get(f"{API}/logs").json() == []
    assert [path for folder in ("logs", "runs") for path in (home / folder).iterdir()] == []
    assert any(event["action"] == "delete everything of the log" for event in client.get(f"{API}/audit").json())


def test_forgetting_drops_people_and_keeps_the_release(site: tuple[FastAPI, httpx.Client, Path, str, str]) -> None:
    app, client, home, _, release = site
    before = client.get(f"{API}/releases/{release}").json()
    answer = client.post(f"{API}/runs/{release}/forget")
    assert answer.status_code == 200
    assert answer.json()["forgotten"]
    assert not (home / "runs" / release / "private").exists()
    assert not held(home / "runs" / release, SECRETS)
    after = client.get(f"{API}/releases/{release}").json()
    assert {name: after[name] for name in ("manifest", "verdict", "scores")} == {
        name: before[name] for name in ("manifest", "verdict", "scores")
    }
    for path in (f"/releases/{release}", f"/runs/{release}", "/", f"{API}/releases/{release}/download"):
        assert client.get(path).status_code == 200
    assert "was forgotten on" in client.get(f"/releases/{release}").text
    assert client.get(f"/runs/{release}/history").status_code == 409
    assert client.post(f"{API}/releases/{release}/history", json={"number": 0}).status_code == 409
    refused = client.post(f"{API}/attack", json={"name": "again", "release": release})
    assert (refused.status_code, refused.json()["field"]) == (409, "release")
    assert client.post(f"{API}/runs/{release}/forget").status_code == 409
    run = client.post(f"{API}/verify", json={"name": "again", "release": release}).json()["id"]
    assert wait_for_end(client, run)["result"]["verdict"]["counted"] == "histories"
    assert app.state.context.jobs.release_of(release).is_dir()


def test_scopes_of_deletion_keep_what_the_page_says(site: tuple[FastAPI, httpx.Client, Path, str, str]) -> None:
    _, client, home, log, release = site
    page = client.get(f"/logs/{log}/delete").text
    for words in (
        "Everybody’s history can still be looked at.",
        "Nobody can be looked up any more",
        "cannot be undone",
    ):
        assert words in page
    csrf = csrf_of(client, f"/logs/{log}/delete")
    assert client.post(f"/logs/{log}/delete", data={"csrf": csrf}).status_code == 422  # without a choice
    assert client.get(f"{API}/logs/{log}").status_code == 200
    assert client.post(f"/logs/{log}/delete", data={"csrf": csrf, "scope": "log"}).status_code == 303
    assert not (home / "logs" / log).exists()
    assert (home / "runs" / release / "private").exists()
    for address in (f"/runs/{release}/delete", f"/runs/{release}/forget"):
        assert "cannot be undone" in client.get(address).text
    assert client.delete(f"{API}/logs/{log}", params={"scope": "all"}).status_code == 422


def test_releases_stay_when_those_behind_them_are_forgotten(
    site: tuple[FastAPI, httpx.Client, Path, str, str],
) -> None:
    _, client, home, log, release = site
    assert client.delete(f"{API}/logs/{log}", params={"scope": "private"}).status_code == 204
    assert (home / "runs" / release / "release").exists()
    assert not (home / "runs" / release / "private").exists()
    assert client.get(f"{API}/runs/{release}").json()["forgotten"]
    assert not held(home / "runs" / release, SECRETS)
    assert client.get(f"/releases/{release}").status_code == 200


def test_people_are_forgotten_after_the_time_that_was_set(template: Template) -> None:
    template.restore()
    folder = template.home / "runs" / template.release
    old = "2020-01-01T00:00:00.000+00:00"
    for ended, days, is_forgotten in ((old, 0, False), (now(), 30, False), (old, 30, True)):
        store = Store(template.home)
        store.execute("UPDATE runs SET ended = ? WHERE id = ?", ended, template.release)
        store.close()
        context = ServerContext.open(Settings(home=template.home, forget_after=days))
        if is_forgotten:  # by the manager's thread, at once
            until(lambda: not (folder / "private").exists())
        else:
            context.jobs._forget_old()
        context.close()
        store = Store(template.home)
        assert (store.run(template.release).forgotten is not None) == is_forgotten
        store.close()
        assert (folder / "private").exists() != is_forgotten
        assert (folder / "release").exists()


def csrf_of(client: httpx.Client, page: str) -> str:
    [token] = set(re.findall(r'name="csrf" value="([0-9a-f]+)"', client.get(page).text))
    return str(token)
