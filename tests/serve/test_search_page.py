"""Search on the page and by REST: three answers side by side; query and person are sent by POST only."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from queryveil.core.errors import ReleaseError
from queryveil.serve.run_specs import AnonymizeSpec
from queryveil.serve.settings import Settings
from queryveil.serve.store import RunRow, Store, now
from queryveil.workflows.search import People, Searcher
from tests.serve.searching import HOSTILE, SearchFolders, make_folders
from tests.serve.serving import API, home_of, serving, wait_for_end

MADE = "0123456789ab"


@dataclass(frozen=True)
class SearchSite:
    client: httpx.Client
    folders: SearchFolders


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> SearchFolders:
    return make_folders(tmp_path_factory.mktemp("folders"))


@pytest.fixture(scope="module")
def site(folders: SearchFolders, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchSite]:
    """Serve an index, and the groups twice: as a run of this server made them, and as --groups gives them."""
    home = home_of(tmp_path_factory.mktemp("site"))
    _put_run(home, folders)
    with serving(Settings(home=home, index=folders.index, groups=folders.groups)) as (_, client):
        yield SearchSite(client, folders)


def _put_run(home: Path, folders: SearchFolders) -> None:
    """Write the state of a run that has made the release."""
    store = Store(home)
    row = RunRow.queued("my groups", AnonymizeSpec(method="linkability(p=0.9, floor=1)"))
    store.add(replace(row, id=MADE, state="done", started=now(), ended=now()))
    store.close()
    folder = home / "runs" / MADE
    shutil.copytree(folders.groups, folder / "release")
    shutil.copytree(folders.private, folder / "private")
    manifest = json.loads((folders.groups / "manifest.json").read_text())
    (folder / "result.json").write_text(json.dumps({"manifest": manifest}))


def send(client: httpx.Client, address: str = "/search", **fields: object) -> httpx.Response:
    """Send the page's form, with its CSRF token."""
    token = re.search(r'name="csrf" value="([^"]+)"', client.get("/search").text)
    assert token is not None
    data = {"csrf": token[1], **{name: str(value) for name, value in fields.items()}}
    return client.post(address, data=data, follow_redirects=True)


def columns(page: str) -> list[str]:
    """Return the three columns; each is a region with a heading."""
    found = re.findall(r'<section class="card[^"]*" aria-labelledby="(column-\d)">(.*?)</section>', page, re.DOTALL)
    assert [name for name, _ in found] == ["column-1", "column-2", "column-3"]
    for name, text in found:
        assert f'<h3 id="{name}">' in text
    return [re.sub(r"<[^>]+>", "", text) for _, text in found]


def test_three_columns_explain_the_ranking(site: SearchSite) -> None:
    answer = send(site.client, query="java", release=MADE, people_of=MADE, person=0)
    assert answer.status_code == 200
    assert answer.url.path == "/search"
    assert b"java" not in answer.url.query
    again = site.client.get(str(answer.url))  # as Back and a reload do
    assert columns(again.text) == columns(answer.text)
    assert "does not remember this answer" in site.client.get("/search?answer=unknown").text
    assert "my groups" in answer.text.partition("<form")[0] + answer.text.partition("Groups of the release")[2][:200]
    plain, own, group = columns(answer.text)
    assert "moved up" not in plain
    for text in (own, group):
        assert "moved up" in text
        assert re.search(r"Up \d+ places?, from \d+ to \d+, for \w+ 0\.\d+", text)
    assert "person 1" in own
    people, searcher = (
        People(site.folders.groups, site.folders.private),
        Searcher(site.folders.index, site.folders.groups),
    )
    in_group = people.group(0)
    assert f"group {in_group};" in group
    expected = [hit.title for hit in searcher.search("java", in_group).hits]
    assert [title for title in re.findall(r"java \d+", group) if title] == expected
    assert "coffee-0" not in answer.text  # the user id of person 1


def test_anybody_is_searched_as_by_the_user_in_the_log(site: SearchSite) -> None:
    people = People(site.folders.groups, site.folders.private)
    for user, number in (("coffee-0", 0), ("programs-2", people.number("programs-2"))):
        _, own, group = columns(send(site.client, query="java", release=MADE, people_of=MADE, user=user).text)
        assert f"person {number + 1} searched for" in own
        assert f"group {people.group(number)};" in group
    unknown = send(site.client, query="java", release=MADE, people_of=MADE, user=HOSTILE)
    assert unknown.status_code == 422
    assert 'id="user-error">the log has nobody by that name' in unknown.text
    assert HOSTILE not in unknown.text


def test_example_shows_what_a_profile_does(site: SearchSite) -> None:
    page = site.client.get(f"/search?release={MADE}").text
    [example] = re.findall(r'<input id="query" name="query" value="([^"]+)"', page)
    people, searcher = (
        People(site.folders.groups, site.folders.private),
        Searcher(site.folders.index, site.folders.groups),
    )
    [shown] = [int(number) for number in re.findall(r'<option value="(\d+)" selected', page)]
    hits = searcher.search(example, people.group(shown), explain=True).hits
    assert any(hit.rank < hit.engine_rank and any(term != example for term, _ in hit.terms) for hit in hits)


def test_person_is_searched_as_by_rest(site: SearchSite) -> None:
    address = f"{API}/releases/{MADE}/search"
    by_number = site.client.post(address, json={"query": "java", "number": 0, "n": 5})
    assert by_number.status_code == 200, by_number.text
    assert len(by_number.json()["hits"]) == 5
    assert site.client.post(address, json={"query": "java", "user": "coffee-0", "n": 5}).json() == by_number.json()
    ranked = site.client.post(address, json={"query": "java", "number": 0, "n": 5, "ranking": "paper"}).json()
    assert ranked["hits"] != by_number.json()["hits"]
    for wrong, field in (({}, "number"), ({"number": 0, "user": "a"}, "number"), ({"user": "nobody"}, "user")):
        refused = site.client.post(address, json={"query": "java", **wrong})
        assert (refused.status_code, refused.json()["field"]) == (422, field)
    looks = [event for event in site.client.get(f"{API}/audit").json() if event["action"] == "search as person"]
    assert {event["person"] for event in looks} == {0}


def test_documents_of_the_folder_are_searched(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "docs.jsonl").write_text('{"id": "1", "title": "Tea", "text": "green tea of my own"}\n')
    (tmp_path / "files" / "letter.bin").write_bytes(bytes(range(256)))
    with serving(Settings(home=home_of(tmp_path), folder=tmp_path / "files")) as (_, client):
        run = client.post(f"{API}/index", json={"path": "docs.jsonl"}).json()
        assert wait_for_end(client, run["id"])["state"] == "done"
        page = send(client, query="tea").text
        assert "green tea of my own" in page
        assert f'<a href="/runs/{run["id"]}"><bdi>docs.jsonl</bdi></a>' in page
        for path in ("letter.bin", "../home/secret", "nothing"):
            refused = send(client, "/search/index", path=path)
            assert (refused.status_code, 'id="path-error"' in refused.text) == (422, True), path
        assert client.delete(f"{API}/runs/{run['id']}").status_code == 204
        assert "Make the bundled corpus searchable" in client.get("/search").text


def test_group_can_be_typed_and_a_wrong_one_gets_an_error_at_its_field(site: SearchSite) -> None:
    _, _, group = columns(send(site.client, query="java", release=MADE, people_of=MADE, person="", group=4).text)
    assert "group 4;" in group
    for typed, sentence in (("99", "the nearest are 3, 4, 5."), ("<b>", "group must be the number of a group")):
        answer = send(site.client, query="java", release=MADE, people_of=MADE, group=typed)
        assert answer.status_code == 422
        assert re.search(r'id="group-error">[^<]*' + re.escape(sentence), answer.text)
        assert 'aria-describedby="group-help group-error"' in answer.text
    answer = send(site.client, query="java", release=MADE, people_of=MADE, blend="two")
    assert "blend must be a number from 0 to 1; change it." in answer.text


def test_release_of_the_settings_has_no_people(site: SearchSite) -> None:
    page = send(site.client, query="java", release="given", people_of="given")
    _, own, group = columns(page.text)
    assert "no private folder" in own
    assert "group 0;" in group
    chosen = send(site.client, action="choose", query="java", release=MADE)
    assert "column-1" not in chosen.text
    assert 'name="person"' in chosen.text


def test_hostile_text_is_escaped_and_long_query_refused(site: SearchSite) -> None:
    answer = send(site.client, query=f"java {HOSTILE}", release=MADE, people_of=MADE)
    assert HOSTILE not in answer.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    for query in ("", " ", "a" * 1_001):
        answer = send(site.client, query=query, release=MADE, people_of=MADE)
        assert answer.status_code == 422
        assert 'id="query-error"' in answer.text
    for person in ("12345678901234567890", "-1", "x", "999"):
        assert send(site.client, query="java", release=MADE, people_of=MADE, person=person).status_code == 200
    assert send(site.client, query="?!", release="gone", people_of="gone").status_code == 200


def test_form_without_csrf_token_is_refused(site: SearchSite) -> None:
    assert site.client.post("/search", data={"query": "java"}).status_code == 403


def test_rest_answers_equal_those_of_the_searcher(site: SearchSite) -> None:
    searcher = Searcher(site.folders.index, site.folders.groups)
    for release in ({}, {"release": MADE}, {"release": "given"}):
        answer = site.client.post(
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
def test_invalid_rest_requests_get_status_sentence_and_field(
    site: SearchSite, fields: dict[str, object], status: int, sentence: str, field: str
) -> None:
    answer = site.client.post(f"{API}/search", json=fields)
    assert answer.status_code == status
    assert sentence in answer.json()["error"]
    assert answer.json()["field"] == field


def test_the_rescore_part_of_a_group_by_rest(site: SearchSite) -> None:
    rescored = site.client.get(f"{API}/groups/3/rescore", params={"engine": "opensearch", "query": "java"})
    clauses = rescored.json()["rescore"]["query"]["rescore_query"]["bool"]["should"]
    assert "profile_terms.java" in [clause["rank_feature"]["field"] for clause in clauses]
    for group, given, status, sentence in (
        (99_999, {"engine": "terms"}, 404, "the release has no group 99999; the nearest are"),
        (3, {"engine": "solr"}, 422, "engine must be one of opensearch, elasticsearch, terms, not solr"),
        (3, {}, 422, "engine must be one of opensearch, elasticsearch, terms; change it."),
        (3, {"engine": "terms", "ranking": "best"}, 422, "ranking must be one of blended, paper, not best"),
        (3, {"engine": "terms", "release": "gone"}, 404, "there is no such release"),
        (-1, {"engine": "terms"}, 422, "group must be the number of a group of the release"),
        (3, {"engine": "terms", "user": "ann"}, 422, "and never who searches; leave user out."),
    ):
        refused = site.client.get(f"{API}/groups/{group}/rescore", params=given)
        assert (refused.status_code, sentence in refused.json()["error"]) == (status, True), refused.text


def test_truncated_json_gets_a_sentence(site: SearchSite) -> None:
    answer = site.client.post(f"{API}/search", content=b'{"query": "ja', headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert "a search is a JSON object such as" in answer.json()["error"]


def test_page_offers_to_index_the_bundled_corpus(tmp_path: Path) -> None:
    with serving(Settings(home=home_of(tmp_path))) as (app, client):
        assert "Make the bundled corpus searchable" in client.get("/search").text
        answer = client.post(f"{API}/search", json={"query": "java"})
        assert (answer.status_code, answer.json()["field"]) == (409, None)
        assert send(client, query="java").status_code == 422
        assert [each.status_code for each in send(client, "/search/index").history] == [303]
        [run] = app.state.context.store.runs(kind="index")
        page = client.get("/search").text
        assert "Documents are being made searchable" in page
        assert f'data-run="{run.id}"' in page
        app.state.context.searchers.start_indexing()  # does nothing while one is under way
        assert len(app.state.context.store.runs(kind="index")) == 1
        app.state.context.jobs.cancel(run.id)


def test_private_folder_of_another_release_is_refused(folders: SearchFolders, tmp_path: Path) -> None:
    shutil.copytree(folders.private, tmp_path / "private")
    record = json.loads((tmp_path / "private" / "run.json").read_text())
    (tmp_path / "private" / "run.json").write_text(json.dumps({**record, "content_sha256": "0" * 64}))
    with pytest.raises(ReleaseError):
        People(folders.groups, tmp_path / "private")
