"""The guard: host, origin, token and CSRF checks, and the headers of every response."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from queryveil.serve.guard import FOREIGN, POLICY, STALE
from queryveil.serve.settings import Settings
from tests.serve.conftest import Lab
from tests.serve.serving import API, bearer, home_of, running, serving

TOKEN = "a token that is long enough"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8000", "[::2]", "[x", "@", ""]
)
def test_foreign_host_name_is_refused(lab: Lab, host: str) -> None:
    answer = lab.client.get(f"{API}/logs", headers={"host": host})
    assert answer.status_code == 400
    assert lab.client.get(f"{API}/logs", headers={"host": "localhost:1"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_requests_from_foreign_pages_change_nothing(lab: Lab, headers: dict[str, str]) -> None:
    for call in (
        lab.client.post(f"{API}/logs", json={"name": "x", "demo": True}, headers=headers),
        lab.client.post(f"{API}/runs/{lab.release}/again", headers=headers),
        lab.client.delete(f"{API}/logs/{lab.log}", headers=headers),
    ):
        assert (call.status_code, call.json()["error"]) == (403, FOREIGN)
    assert lab.client.get(f"{API}/logs/{lab.log}").status_code == 200


def test_every_response_has_security_headers(lab: Lab) -> None:
    for path in (f"{API}/logs", f"{API}/docs", "/nothing", f"{API}/openapi.json", f"{API}/logs/{lab.log}"):
        headers = lab.client.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
    assert "'unsafe" not in POLICY
    assert "http" not in POLICY


def test_static_files_are_cacheable_and_confined(lab: Lab) -> None:
    page = lab.client.get(f"{API}/docs").text
    [address] = re.findall(r'href="(/static/style\.css\?v=[0-9a-f]+)"', page)
    assert "immutable" in lab.client.get(address).headers["cache-control"]
    for outside in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd"):
        assert lab.client.get(outside).status_code == 404


def test_report_is_served_with_a_sandbox_policy(lab: Lab) -> None:
    answer = lab.client.get(f"{API}/releases/{lab.release}/report")
    policy = answer.headers["content-security-policy"]
    assert "sandbox" in policy
    assert "script-src" not in policy
    assert "default-src 'none'" in policy
    assert answer.text.startswith("<!DOCTYPE html>")


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Serve with a token, which the client does not send by default."""
    settings = Settings(home=home_of(tmp_path_factory.mktemp("locked")), token=TOKEN, host="0.0.0.0")
    with serving(settings) as (_, client):
        del client.headers["authorization"]
        yield client


def test_token_is_required(locked: httpx.Client) -> None:
    for headers in (
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": TOKEN},
        {"cookie": f"queryveil_login={TOKEN}"},
    ):
        assert locked.get(f"{API}/logs", headers=headers).status_code == 401
    known = {"authorization": f"Bearer {TOKEN}", "host": "logs.example"}
    assert locked.get(f"{API}/logs", headers=known).json() == []
    page = locked.get("/")
    assert (page.status_code, page.headers["location"]) == (303, "/login")


def test_logged_in_browser_needs_the_csrf_token(locked: httpx.Client) -> None:
    with httpx.Client(base_url=locked.base_url, timeout=60) as browser:
        form = browser.get("/login").text
        [csrf] = re.findall(r'name="csrf" value="([0-9a-f]+)"', form)[:1]
        assert browser.post("/login", data={"token": TOKEN}).status_code == 403
        assert browser.post("/login", data={"token": "wrong", "csrf": csrf}).status_code in (401, 403, 422)
        assert browser.get(f"{API}/logs").status_code == 401
        entered = browser.post("/login", data={"token": TOKEN, "csrf": csrf})
        assert entered.status_code == 303
        cookie = next(text for text in entered.headers.get_list("set-cookie") if "login" in text)
        assert {"HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
        assert TOKEN not in cookie
        assert browser.get(f"{API}/logs").status_code == 200
        body = {"name": "x", "path": "y"}
        refused = browser.post(f"{API}/logs", json=body)
        assert (refused.status_code, refused.json()["error"]) == (403, STALE)
        allowed = browser.post(f"{API}/logs", json=body, headers={"x-csrf-token": csrf})
        assert allowed.status_code == 422


def test_internal_error_reveals_no_query(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from queryveil.serve.web_server import create_app

    app: FastAPI = create_app(Settings(home=home_of(tmp_path)))

    @app.get(f"{API}/fault")
    def fail() -> None:
        raise ValueError("somebody's query")

    with running(app) as address:
        answer = httpx.get(f"{address}{API}/fault", timeout=60, headers=bearer(app))
    assert answer.status_code == 500
    assert "something went wrong" in answer.json()["error"]
    assert "ValueError at tests.serve.test_guard" in caplog.text
    assert "somebody" not in answer.text + caplog.text
