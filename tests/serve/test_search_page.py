"""Searching side by side on the page, and by REST: three answers, who is meant by POST alone."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from queryveil.core.errors import ReleaseError
from queryveil.serve.settings import Settings
from queryveil.serve.store import RunRow, Store, now
from queryveil.workflows.people import People
from queryveil.workflows.search import Searcher
from tests.serve.searching import HOSTILE, Places, make
from tests.serve.serving import API, home_of, serving

MADE = "0123456789ab"


@dataclass(frozen=True)
class Desk:
    client: httpx.Client
    places: Places


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return make(tmp_path_factory.mktemp("places"))


@pytest.fixture(scope="module")
def desk(places: Places, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Serve an index, and the groups twice: as a run of this server made them, and as --groups gives them."""
    home = home_of(tmp_path_factory.mktemp("desk"))
    _put_run(home, places)
    with serving(Settings(home, index=places.index, groups=places.groups)) as (_, client):
        yield Desk(client, places)


def _put_run(home: Path, places: Places) -> None:
    """Let a server find a run that has made the release."""
    store = Store(home)
    spec = {"method": "linkability(p=0.9, floor=1)"}
    row = RunRow(MADE, "my groups", "anonymize", None, None, spec, "done", "", 0, 0, "", now(), now(), now())
    store.add_run(row)
    store.close()
    folder = home / "runs" / MADE
    shutil.copytree(places.groups, folder / "release")
    shutil.copytree(places.private, folder / "private")
    manifest = json.loads((places.groups / "manifest.json").read_text())
    (folder / "result.json").write_text(json.dumps({"manifest": manifest}))


def send(client: httpx.Client, address: str = "/search", **fields: object) -> httpx.Response:
    """Send the form of the page, with its token."""
    token = re.search(r'name="csrf" value="([^"]+)"', client.get("/search").text)
    assert token is not None
    return client.post(address, data={"csrf": token[1], **{name: str(value) for name, value in fields.items()}})


def columns(page: str) -> list[str]:
    """Return the three columns; each is a region with a heading."""
    found = re.findall(r'<section class="card[^"]*" aria-labelledby="(column-\d)">(.*?)</section>', page, re.DOTALL)
    assert [name for name, _ in found] == ["column-1", "column-2", "column-3"]
    for name, text in found:
        assert f'<h3 id="{name}">' in text
    return [re.sub(r"<[^>]+>", "", text) for _, text in found]


def test_three_columns_say_what_moved_and_why(desk: Desk) -> None:
    answer = send(desk.client, query="java", release=MADE, people_of=MADE, person=0)
    assert answer.status_code == 200
    assert answer.url.path == "/search"
    assert not answer.url.query
    plain, own, group = columns(answer.text)
    assert "moved up" not in plain
    for text in (own, group):
        assert "moved up" in text
        assert re.search(r"Up \d+ places?, from \d+ to \d+, for \w+ 0\.\d+", text)
    assert "person 1" in own
    people, searcher = People(desk.places.groups, desk.places.private), Searcher(desk.places.index, desk.places.groups)
    in_group = people.group(0)
    assert f"group {in_group};" in group
    expected = [hit.title for hit in searcher.search("java", in_group).hits]
    assert [title for title in re.findall(r"java \d+", group) if title] == expected
    assert "coffee-0" not in answer.text  # whoever person 1 is


def test_a_group_can_be_typed_and_a_wrong_one_is_told_beside_the_field(desk: Desk) -> None:
    _, _, group = columns(send(desk.client, query="java", release=MADE, people_of=MADE, person="", group=4).text)
    assert "group 4;" in group
    for typed, sentence in (("99", "the nearest are 3, 4, 5."), ("<b>", "group must be the number of a group")):
        answer = send(desk.client, query="java", release=MADE, people_of=MADE, group=typed)
        assert answer.status_code == 422
        assert re.search(r'id="group-error">[^<]*' + re.escape(sentence), answer.text)
        assert 'aria-describedby="group-help group-error"' in answer.text
    answer = send(desk.client, query="java", release=MADE, people_of=MADE, blend="two")
    assert "blend must be a number from 0 to 1; change it." in answer.text


def test_the_given_release_has_no_people(desk: Desk) -> None:
    page = send(desk.client, query="java", release="given", people_of="given")
    _, own, group = columns(page.text)
    assert "no private folder" in own
    assert "group 0;" in group
    chosen = send(desk.client, action="choose", query="java", release=MADE)
    assert "column-1" not in chosen.text
    assert 'name="person"' in chosen.text


def test_hostile_text_is_escaped_and_long_queries_are_refused(desk: Desk) -> None:
    answer = send(desk.client, query=f"java {HOSTILE}", release=MADE, people_of=MADE)
    assert HOSTILE not in answer.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    for query in ("", " ", "a" * 1_001):
        answer = send(desk.client, query=query, release=MADE, people_of=MADE)
        assert answer.status_code == 422
        assert 'id="query-error"' in answer.text
    for person in ("12345678901234567890", "-1", "x", "999"):
        assert send(desk.client, query="java", release=MADE, people_of=MADE, person=person).status_code == 200
    assert send(desk.client, query="?!", release="gone", people_of="gone").status_code == 200


def test_a_form_without_its_token_is_refused(desk: Desk) -> None:
    assert desk.client.post("/search", data={"query": "java"}).status_code == 403


def test_rest_answers_as_the_searcher_does(desk: Desk) -> None:
    searcher = Searcher(desk.places.index, desk.places.groups)
    for release in ({}, {"release": MADE}, {"release": "given"}):
        answer = desk.client.post(
            f"{API}/search", json={"query": "java", "group": 3, "n": 5, "explain": True, **release}
        )
        assert answer.status_code == 200
        found = searcher.search("java", 3, n=5, explain=True)
        assert [hit["id"] for hit in answer.json()["hits"]] == [hit.id for hit in found.hits]
        assert [hit["score"] for hit in answer.json()["hits"]] == [hit.score for hit in found.hits]
        assert answer.json()["hits"][0]["terms"] == [list(term) for term in found.hits[0].terms]


@pytest.mark.parametrize(
    ("fields", "status", "sentence", "field"),
    [
        ({"query": "java", "user": "coffee-1"}, 422, "and never who searches; leave user out.", "user"),
        ({"query": "java", "group": 99}, 404, "the release has no group 99; the nearest are 3, 4, 5.", "group"),
        ({"query": "java", "group": 1, "release": "gone"}, 404, "there is no such release", "release"),
        ({"query": "java", "group": 1, "release": 5}, 422, "release must be the id of a run", "release"),
        ({"query": "a" * 1_001}, 422, "query must be a text of at most 1,000 characters; change it.", "query"),
        ({}, 422, "query must be a text of at most 1,000 characters; change it.", "query"),
    ],
)
def test_bad_rest_requests_get_a_sentence(
    desk: Desk, fields: dict[str, object], status: int, sentence: str, field: str
) -> None:
    answer = desk.client.post(f"{API}/search", json=fields)
    assert answer.status_code == status
    assert sentence in answer.json()["error"]
    assert answer.json()["field"] == field


def test_json_that_breaks_off_gets_a_sentence(desk: Desk) -> None:
    answer = desk.client.post(f"{API}/search", content=b'{"query": "ja', headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert "a search is a JSON object such as" in answer.json()["error"]


def test_without_an_index_the_page_offers_to_make_one(tmp_path: Path) -> None:
    with serving(Settings(home_of(tmp_path))) as (app, client):
        assert "Make the bundled corpus searchable" in client.get("/search").text
        answer = client.post(f"{API}/search", json={"query": "java"})
        assert (answer.status_code, answer.json()["field"]) == (409, None)
        assert send(client, query="java").status_code == 422
        assert send(client, "/search/index").status_code == 303
        [run] = app.state.store.runs(kind="index")
        page = client.get("/search").text
        assert "is being made searchable" in page
        assert f'data-run="{run.id}"' in page
        app.state.desk.make_index()  # once is enough
        assert len(app.state.store.runs(kind="index")) == 1
        app.state.jobs.cancel(run.id)


def test_a_private_folder_of_another_release_is_refused(places: Places, tmp_path: Path) -> None:
    shutil.copytree(places.private, tmp_path / "private")
    record = json.loads((tmp_path / "private" / "run.json").read_text())
    (tmp_path / "private" / "run.json").write_text(json.dumps({**record, "content_sha256": "0" * 64}))
    with pytest.raises(ReleaseError):
        People(places.groups, tmp_path / "private")
