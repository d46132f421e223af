"""Hostile input: every request is answered, nothing is lost, and the server stays up."""

import asyncio
import resource
import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.serve.conftest import Lab
from tests.serve.serving import API, HEADER, LOG, upload

CONNECTIONS = 1_000
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def still_up(lab: Lab) -> Iterator[None]:
    """Check after each test that the log and the release are intact."""
    yield
    assert lab.client.get(f"{API}/logs/{lab.log}").status_code == 200
    assert lab.client.get(f"{API}/releases/{lab.release}").json()["verdict"]["state"] == "holds"


@pytest.mark.parametrize(
    "path",
    [
        f"{API}/runs/../../state.sqlite",
        f"{API}/runs/..%2f..%2fstate.sqlite",
        f"{API}/runs/%00",
        f"{API}/runs/%ff%fe",
        f"{API}/releases/..%2f..%2fsecret/report",
        f"{API}/releases/%2e%2e/download",
        f"{API}/logs/' OR 1=1 --",
        "/static/..%2f..%2f..%2fetc/passwd",
        "/runs/%2e%2e",
        "/" + "x" * 10_000,
    ],
)
def test_path_traversal_is_refused(lab: Lab, path: str) -> None:
    answer = lab.client.get(path)
    assert answer.status_code in (400, 404)
    assert "root:" not in answer.text


def test_script_in_a_name_or_a_query_is_escaped(lab: Lab) -> None:
    data = LOG + f"u1\t{SCRIPT}\t2006-03-01 07:00:00\t\t\n".encode() * 3
    added = upload(lab.client, SCRIPT, data, f"{SCRIPT}.tsv")
    assert added.status_code == 201
    for path in ("/", "/logs", f"/logs/{added.json()['id']}", f"/try?log={added.json()['id']}"):
        assert SCRIPT not in lab.client.get(path).text
    assert lab.client.delete(f"{API}/logs/{added.json()['id']}").status_code == 204


def test_upload_over_the_limit_is_refused(lab: Lab) -> None:
    before = set((lab.home / "logs").iterdir())
    too_large = HEADER.encode() + b"u1\tcars\t2006-03-01 07:00:00\t\t\n" * 40_000
    with_length = upload(lab.client, "large", too_large)
    form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    parts = (form, *(too_large[:10_000] for _ in range(200)), b"\r\n--b--\r\n")
    kind = {"content-type": "multipart/form-data; boundary=b"}
    chunked = lab.client.post(f"{API}/logs/upload", content=iter(parts), headers=kind)
    under_form_limit = upload(lab.client, "large", too_large[:200_000])  # over the limit of the file alone
    for answer in (with_length, chunked, under_form_limit):
        assert answer.status_code == 413, answer.text
        assert "put it into the server's folder" in answer.json()["error"]
    assert set((lab.home / "logs").iterdir()) == before
    other = lab.client.post(f"{API}/runs", content=b" " * 2_000_000, headers={"content-type": "application/json"})
    assert other.status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"name": NaN}',
        b'{"name": 1e999}',
        b'{"name": "\\ud800", "log": "\\ud800", "method": "\\ud800"}',
        b'{"name": "x", "log": "\\u0000", "method": "km(k=2, m=2)"}',
        b'{"name": "x", "log": "a", "method": "' + b"(" * 900 + b'"}',
        b'{"name": "x", "log": "a", "method": "km(k=' + b"9" * 900 + b')"}',
        b'{"name": "x", "log": "a", "method": "km(k=2, m=2)", "seed": ' + b"9" * 5_000 + b"}",
        b"null",
        b"",
    ],
)
def test_malformed_json_is_refused(lab: Lab, body: bytes) -> None:
    for path in ("runs", "logs", "verify", "attack"):
        answer = lab.client.post(f"{API}/{path}", content=body, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 404, 422), answer.text
        assert answer.json()["error"]
    plain = lab.client.post(f"{API}/logs", content=body, headers={"content-type": "text/plain"})
    assert plain.status_code in (400, 422)


@pytest.mark.parametrize(
    "text",
    [
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n",
        b"POST /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
    ],
)
def test_server_answers_after_malformed_requests(lab: Lab, text: bytes) -> None:
    address = lab.client.base_url
    with socket.create_connection((address.host, address.port or 0), timeout=120) as connection:
        try:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass
        except ConnectionError:
            pass
    headers = lab.client.headers
    assert httpx.get(f"{address}{API}/logs", timeout=120, headers=headers).status_code == 200  # by its own connection


def test_half_sent_headers_do_not_keep_a_connection(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queryveil.serve.web_server.HEADER_TIMEOUT", 0.3)
    address = lab.client.base_url
    whole = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    for sent, answer in ((b"", b""), (whole[:30], b""), (whole + whole[:30], b"HTTP/1.1 200 OK")):
        with socket.create_connection((address.host, address.port or 0), timeout=120) as connection:
            connection.sendall(sent)
            received = b""
            while more := connection.recv(65_536):  # until the server closes the connection
                received += more
            assert received[:15] == answer


def test_a_thousand_parallel_connections_are_answered(lab: Lab) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        answers = asyncio.run(_ask_at_once(lab.client.base_url, lab.client.headers["authorization"]))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert answers == [b"HTTP/1.1 200 OK"] * CONNECTIONS


async def _ask_at_once(address: httpx.URL, token: str) -> list[bytes]:
    """Open all connections first, then send a request on each."""
    opened = await asyncio.gather(*(asyncio.open_connection(address.host, address.port) for _ in range(CONNECTIONS)))
    return list(await asyncio.gather(*(_ask(*pair, token) for pair in opened)))


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> bytes:
    headers = f"Host: 127.0.0.1\r\nConnection: close\r\nAuthorization: {token}"
    writer.write(f"GET {API}/logs HTTP/1.1\r\n{headers}\r\n\r\n".encode())
    await writer.drain()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer.split(b"\r\n")[0]
