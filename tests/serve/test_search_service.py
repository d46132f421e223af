"""The search service as real processes: it answers like `queryveil search`, and errors with a sentence."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from queryveil.cli import run
from tests.serve.searching import HOSTILE, SearchFolders, make_folders
from tests.serve.serving import until

SEARCH = "/api/v1/search"
CONNECTIONS = 1_000


@dataclass(frozen=True)
class Service:
    process: "subprocess.Popen[str]"
    client: httpx.Client
    folders: SearchFolders
    port: int
    temporary: Path


def start(folders: SearchFolders, temporary: Path) -> "subprocess.Popen[str]":
    words = ["serve", "--search", str(folders.index), "--groups", str(folders.groups), "--port", "0"]
    return subprocess.Popen(
        [sys.executable, "-m", "queryveil", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"},
    )


def address_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().split()[3]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("search")
    folders = make_folders(folder)
    (folder / "tmp").mkdir()
    process = start(folders, folder / "tmp")
    address = address_of(process)
    with httpx.Client(base_url=address, timeout=60) as client:
        yield Service(process, client, folders, int(address.rpartition(":")[2]), folder / "tmp")
    if process.poll() is None:
        process.kill()
    process.communicate(timeout=120)


def ask(service: Service, **fields: Any) -> httpx.Response:
    return service.client.post(SEARCH, json=fields)


def counts(service: Service) -> dict[str, float]:
    lines = service.client.get("/metrics").text.splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def test_answers_equal_those_of_the_command(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    folders = service.folders
    for words, fields in (
        (["java"], {"query": "java"}),
        (["java", "--as-group", "0"], {"query": "java", "group": 0}),
        (["java", "--as-group", "1", "-n", "25", "--explain"], {"query": "java", "group": 1, "n": 25, "explain": True}),
        (["java cup", "--as-group", "2", "--blend", "0.3"], {"query": "java cup", "group": 2, "blend": 0.3}),
        (["java", "--as-group", "2", "--depth", "300"], {"query": "java", "group": 2, "depth": 300}),
        (["?!", "--as-group", "0"], {"query": "?!", "group": 0}),
    ):
        groups = ["--groups", str(folders.groups)] if "--as-group" in words else []
        assert run(["search", str(folders.index), *words, *groups, "--json"]) == 0
        answer = ask(service, **fields)
        assert answer.status_code == 200
        assert answer.json() == json.loads(capsys.readouterr().out)


def test_groups_get_different_rankings(service: Service) -> None:
    firsts = {ask(service, query="java", group=group).json()["hits"][0]["text"].split(",")[0] for group in range(6)}
    assert len(firsts) == 3


@pytest.mark.parametrize(
    ("body", "status", "sentence", "field"),
    [
        (b'{"query": "java", "user": "ann"}', 422, "never who searches; leave user out.", "user"),
        (b'{"query": "java", "<b>": 1}', 422, "leave every other field out.", None),
        (b'{"query": "ja', 400, "a search is a JSON object such as", None),
        (b"[]", 400, "a search is a JSON object such as", None),
        (b"\xff", 400, "a search is a JSON object such as", None),
        (b'{"query": "\\ud800"}', 400, "a search is a JSON object such as", None),
        (b"[" * 10_000, 400, "a search is a JSON object such as", None),
        (b"{}", 422, "query must be a text of at most 1,000 characters; change it.", "query"),
        (b'{"query": "%s"}' % (b"a" * 1_001), 422, "query must be a text of at most 1,000 characters", "query"),
        (b'{"query": "%s"}' % (b"a" * 20_000), 413, "a search takes at most 16,384 bytes; shorten the query.", None),
        (b'{"query": "java", "group": 9}', 404, "the release has no group 9; the nearest are 3, 4, 5.", "group"),
        (b'{"query": "java", "group": -1}', 422, "group must be the number of a group", "group"),
        (b'{"query": "java", "group": "1"}', 422, "group must be the number of a group", "group"),
        (b'{"query": "java", "group": 1e400}', 422, "group must be the number of a group", "group"),
        (b'{"query": "java", "n": 101}', 422, "n must be a whole number from 1 to 100; change it.", "n"),
        (b'{"query": "java", "depth": 0}', 422, "depth must be a whole number from 1 to 1,000; change it.", "depth"),
        (b'{"query": "java", "blend": NaN}', 422, "blend must be a number from 0 to 1; change it.", "blend"),
        (b'{"query": "java", "explain": 1}', 422, "explain must be true or false; change it.", "explain"),
    ],
)
def test_invalid_requests_get_status_sentence_and_field(
    service: Service, body: bytes, status: int, sentence: str, field: str | None
) -> None:
    answer = service.client.post(SEARCH, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert sentence in answer.json()["error"]
    assert answer.json()["field"] == field
    assert str(service.folders.groups) not in answer.text


def test_hostile_queries_are_answered_as_text(service: Service) -> None:
    for query in (HOSTILE, "\0", "' OR 1=1 --", "title:java AND *", "\u202eavaj", "😀" * 1_000, "java " * 200):
        answer = ask(service, query=query, group=1)
        assert answer.status_code == 200
        assert answer.json()["query"] == query
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_other_paths_methods_and_content_types_are_refused(service: Service) -> None:
    client = service.client
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.head("/healthz").status_code == 200
    assert client.get("/../../etc/passwd").status_code == 404
    assert client.get(f"{SEARCH}?query=java").headers["allow"] == "POST"
    assert client.post(SEARCH, content=b'{"query": "java"}').status_code == 415
    answer = client.get("/healthz", headers={"host": "rebound.example"})
    assert answer.status_code == 421
    assert "its own machine only" in answer.json()["error"]


def test_metrics_sum_over_processes_and_reveal_no_query(service: Service) -> None:
    before = counts(service)
    for number in range(20):  # each on a new connection, so that any process may accept it
        with httpx.Client(base_url=service.client.base_url, timeout=60) as client:
            assert client.post(SEARCH, json={"query": "zyzzyva", "group": number % 3}).status_code == 200
    ask(service, query="zyzzyva", group=12_345)
    after = counts(service)
    grown = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert grown['queryveil_requests_total{answer="200"}'] == 21  # including the request of the metrics
    assert grown['queryveil_requests_total{answer="404"}'] == 1
    assert grown["queryveil_search_seconds_count"] == grown['queryveil_search_seconds_bucket{le="+Inf"}'] == 21
    assert grown["queryveil_search_seconds_sum"] > 0
    assert (after["queryveil_index_documents"], after["queryveil_groups"]) == (40, 6)
    assert after["queryveil_in_flight"] == 1
    text = service.client.get("/metrics").text
    assert "zyzzyva" not in text
    assert "12345" not in text


def test_a_thousand_parallel_connections_are_answered(service: Service) -> None:
    body = b'{"query": "java", "group": 1, "n": 1}'
    head = f"POST {SEARCH} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nconnection: close\r\n"
    sockets = [socket.create_connection(("127.0.0.1", service.port), timeout=120) for _ in range(CONNECTIONS)]
    try:
        for connection in sockets:
            connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        answers = [_read(connection) for connection in sockets]
    finally:
        for connection in sockets:
            connection.close()
    assert {answer.split(b"\r\n")[0] for answer in answers} == {b"HTTP/1.1 200 OK"}
    assert len({answer.partition(b"\r\n\r\n")[2] for answer in answers}) == 1
    assert service.client.get("/healthz").status_code == 200


def _read(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(65_536):
        parts.append(part)
    return b"".join(parts)


def test_killed_process_is_replaced_and_its_counts_are_kept(service: Service) -> None:
    [folder] = service.temporary.glob(".queryveil-counts-*/processes")
    before = counts(service)["queryveil_search_seconds_count"]
    victim = int(next(folder.iterdir()).name)
    os.kill(victim, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{victim}").exists())  # a dying process may still accept a connection
    for _ in range(5):
        with httpx.Client(
            base_url=service.client.base_url, timeout=60, transport=httpx.HTTPTransport(retries=3)
        ) as client:
            assert client.post(SEARCH, json={"query": "java"}).status_code == 200
    assert counts(service)["queryveil_search_seconds_count"] == before + 5


RESCORE = "/api/v1/groups/{}/rescore"


def test_the_rescore_part_of_a_group(service: Service) -> None:
    found = service.client.get(RESCORE.format(0), params={"engine": "opensearch", "query": "java"})
    assert found.status_code == 200
    part = found.json()["rescore"]
    clauses = part["query"]["rescore_query"]["bool"]["should"]
    fields = [clause["rank_feature"]["field"] for clause in clauses]
    assert "profile_terms.java" in fields and len(fields) > 1
    paper = service.client.get(RESCORE.format(0), params={"engine": "terms", "ranking": "paper", "depth": 7}).json()
    assert paper["rescore"]["window_size"] == 7
    assert paper["rescore"]["query"]["query_weight"] == 1e-6
    assert all("term" in clause for clause in paper["rescore"]["query"]["rescore_query"]["bool"]["should"])


@pytest.mark.parametrize(
    ("group", "given", "status", "sentence"),
    [
        (99, {"engine": "terms"}, 404, "the release has no group 99; the nearest are"),
        (0, {"engine": "solr"}, 422, "engine must be one of opensearch, elasticsearch, terms, not solr"),
        (0, {}, 422, "engine must be one of opensearch, elasticsearch, terms; change it."),
        (0, {"engine": "terms", "blend": "2"}, 422, "blend must be a number from 0 to 1; change it."),
        (0, {"engine": "terms", "ranking": "best"}, 422, "ranking must be one of blended, paper, not best"),
        (0, {"engine": "terms", "user": "ann"}, 422, "and never who searches; leave user out."),
    ],
)
def test_bad_rescore_requests(service: Service, group: int, given: dict[str, str], status: int, sentence: str) -> None:
    answer = service.client.get(RESCORE.format(group), params=given)
    assert answer.status_code == status
    assert sentence in answer.json()["error"]
    assert "ann" not in answer.text


def test_rescore_is_got(service: Service) -> None:
    assert service.client.post(RESCORE.format(0)).status_code == 405
    assert service.client.get("/api/v1/groups/x/rescore").status_code == 404


def test_sigterm_stops_all_processes_and_leaves_no_file(service: Service) -> None:
    service.client.close()
    service.process.send_signal(signal.SIGTERM)
    _, errors = service.process.communicate(timeout=120)
    assert service.process.returncode == 0
    assert errors == ""
    assert list(service.temporary.iterdir()) == []


def test_killed_service_leaves_no_process_and_its_counts_go_at_the_next_start(service: Service) -> None:
    process = start(service.folders, service.temporary)
    with httpx.Client(base_url=address_of(process), timeout=60, transport=httpx.HTTPTransport(retries=3)) as client:
        assert client.post(SEARCH, json={"query": "java"}).status_code == 200
    process.kill()
    process.communicate(timeout=120)  # returns once the last process that holds the pipe has ended
    [left] = service.temporary.iterdir()
    process = start(service.folders, service.temporary)
    address_of(process)
    assert not left.exists()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert list(service.temporary.iterdir()) == []
