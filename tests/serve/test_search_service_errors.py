"""Errors of the search service, tested on the ASGI application itself."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from queryveil.cli import run
from queryveil.serve import search_service
from queryveil.serve.search_service import Metrics, SearchService, create_search_app
from queryveil.workflows.search import Searcher
from tests.serve.searching import SearchFolders, make_folders

SEARCH = "/api/v1/search"
JSON = (b"content-type", b"application/json")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> SearchFolders:
    return make_folders(tmp_path_factory.mktemp("faults"))


def scope(path: str = SEARCH, method: str = "POST", *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    return {"type": "http", "path": path, "method": method, "headers": [(b"host", b"[::1]:80"), JSON, *headers]}


async def answer(app: SearchService, request: dict[str, Any], *bodies: bytes, ends: bool = True) -> tuple[int, Any]:
    """Send a request in chunks, and return status and body of the response; with `ends=False` no last chunk follows."""
    pieces = [{"type": "http.request", "body": body, "more_body": True} for body in bodies]
    if pieces and ends:
        pieces[-1]["more_body"] = False
    sent: list[Any] = []

    async def receive() -> Any:
        return pieces.pop(0) if pieces else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(request, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_token_is_required_except_for_health_checks(folders: SearchFolders) -> None:
    app = create_search_app(folders.index, folders.groups, token="correct horse battery")
    given = (b"authorization", b"bearer correct horse battery")

    async def ask_all() -> list[int]:
        requests = (scope(), scope(SEARCH, "POST", (b"authorization", b"Bearer x")), scope(SEARCH, "POST", given))
        found = [(await answer(app, request, b'{"query": "java"}'))[0] for request in requests]
        return [
            *found,
            (await answer(app, scope("/healthz", "GET")))[0],
            (await answer(app, scope("/metrics", "GET")))[0],
        ]

    assert asyncio.run(ask_all()) == [401, 401, 200, 200, 401]


def test_chunked_body_is_read_and_incomplete_one_times_out(
    folders: SearchFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_search_app(folders.index, folders.groups)
    monkeypatch.setattr(search_service, "_BODY_TIMEOUT", 0.01)
    status, found = asyncio.run(answer(app, scope(), b'{"query": ', b'"java"}'))
    assert (status, len(found["hits"])) == (200, 10)
    status, found = asyncio.run(answer(app, scope(), b'{"query": ', ends=False))
    assert (status, found["error"]) == (408, "the rest of the request did not come; send it again.")


def test_too_many_long_queries_get_503(folders: SearchFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_search_app(folders.index, folders.groups)
    monkeypatch.setattr(search_service, "_MOST_WAITING", 3)

    async def ask_many() -> list[int]:
        body = json.dumps({"query": "java", "depth": 1_000}).encode()
        return [status for status, _ in await asyncio.gather(*(answer(app, scope(), body) for _ in range(8)))]

    assert sorted(asyncio.run(ask_many())) == [200] * 3 + [503] * 5


def test_internal_error_reveals_no_query(
    folders: SearchFolders, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("secret query")

    monkeypatch.setattr(Searcher, "search", fail)
    app = SearchService(Searcher(folders.index, folders.groups), Metrics({}))
    with caplog.at_level(logging.ERROR):
        status, found = asyncio.run(answer(app, scope(), b'{"query": "secret query"}'))
    assert (status, found["error"]) == (500, "the search failed by a fault of queryveil; please report it.")
    assert caplog.messages == ["a request failed: ValueError"]


def test_impossible_options_are_refused_in_one_line(folders: SearchFolders, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["serve", "--search", str(folders.index), "--groups", str(folders.groups)]
    assert run([*words, "--host", "0.0.0.0"]) == 2
    assert "so a token is required" in capsys.readouterr().err
    assert run([*words[:3], "--groups", str(folders.index)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert run(words[:3]) == 2
    assert "--search needs a release of groups" in capsys.readouterr().err


def test_counts_of_an_ended_process_are_kept(tmp_path: Path) -> None:
    ours = Metrics({}, tmp_path)
    ours.begin()
    ours.end(200, 2_000_000)
    ours.begin()
    (tmp_path / "4194305").write_bytes(next(tmp_path.iterdir()).read_bytes())  # above the largest possible process id
    text = ours.text()
    assert 'queryveil_requests_total{answer="200"} 2' in text
    assert 'queryveil_search_seconds_bucket{le="0.001"} 0' in text
    assert 'queryveil_search_seconds_bucket{le="0.0025"} 2' in text
    assert "queryveil_in_flight 1\n" in text
