"""`queryveil serve`: what it refuses, and that it starts, answers and stops."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from queryveil.cli import run

TOKEN = "a-token-that-is-long-enough"
LONG = 120  # seconds: other tests may run at the same time


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUERYVEIL_TOKEN", raising=False)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--host", "0.0.0.0"], "so a token is required; put one into a file and give it by --token-file"),
        (["--host", "192.0.2.1"], "so a token is required"),
        (["--folder", "nowhere"], "--folder: there is no folder nowhere; make it, or give another."),
        (["--index", "nowhere"], "--index: there is no folder nowhere"),
        (["--groups", "nowhere"], "--groups: there is no folder nowhere"),
        (["--port", "70000"], "--port must be a whole number from 0 to 65535, not 70000; give another value."),
        (["--port", "x"], "it must be a whole number of at least 0"),
        (["--jobs", "0"], "--jobs must be a whole number of at least 1"),
        (["--max-upload", "lots"], "--max-upload must be a size such as 500MB or 2GB, not lots"),
        (["--token-file", "nowhere"], "--token-file: nowhere cannot be read"),
        (["--token-file", "short"], "a token has at least 16 plain characters"),
        (["--token-file", "read by all"], "other accounts can read read by all; make it yours alone with chmod 600"),
        (["--analyst-token-file", "read by all"], "--analyst-token-file: other accounts can read read by all"),
        (["--home", "short"], "--home: cannot keep state in short"),
        (["--search", "nowhere"], "--search needs a release of groups"),
        (["--search", "nowhere", "--groups", "nowhere"], "nowhere"),
        (["--search", "nowhere", "--folder", "."], "--folder is for the pages, and --search serves searches alone"),
        (["--host", "no such host"], "so a token is required"),
    ],
)
def test_invalid_settings_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short").write_text("short")
    (tmp_path / "short").chmod(0o600)
    (tmp_path / "read by all").write_text(TOKEN)
    (tmp_path / "read by all").chmod(0o644)
    home = [] if {"--home", "--search"} & set(options) else ["--home", "home"]
    assert run(["serve", "--port", "0", *home, *options]) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert len(printed.err.splitlines()) == 1
    assert not printed.out


def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["serve", "--home", str(tmp_path / "home"), "--port", str(port)]) == 2
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use" in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


@contextmanager
def served(home: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    command = [sys.executable, "-W", "error", "-m", "queryveil", "serve", "--port", "0", "--home", str(home), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            assert line.startswith("queryveil is at http://127.0.0.1:"), server.communicate()
            address, _, token = line.split()[3].partition("/?token=")
            headers = {"authorization": f"Bearer {token}"} if token else {}
            with httpx.Client(base_url=address, timeout=60, headers=headers) as client:
                yield server, client
        finally:
            server.kill()


def test_a_server_starts_answers_and_stops(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "token").chmod(0o600)
    with served(tmp_path / "home", "--token-file", str(tmp_path / "token")) as (server, client):
        assert client.get("/api/v1/logs").status_code == 401
        client.headers["authorization"] = f"Bearer {TOKEN}"
        assert client.get("/").status_code == 200
        log = client.post("/api/v1/logs", json={"name": "a", "demo": True}).json()
        [statistics] = client.get("/api/v1/runs").json()
        with client.stream("GET", f"/api/v1/runs/{statistics['id']}/events") as events:
            lines = events.iter_lines()
            next(lines)
            server.send_signal(signal.SIGTERM)  # while somebody follows a run
            list(lines)
        out, err = server.communicate(timeout=LONG)
        assert (server.returncode, out, err) == (0, "", "")
        assert log["name"] == "a"


def test_a_killed_server_leaves_no_worker_and_reports_interrupted_runs(tmp_path: Path) -> None:
    with served(tmp_path / "home") as (server, client):
        client.post("/api/v1/logs", json={"name": "a", "demo": True})
        worker = _worker_of(server.pid)
        server.kill()
        server.wait()
    end = time.monotonic() + LONG
    while _is_alive(worker):
        assert time.monotonic() < end
        time.sleep(0.05)
    with served(tmp_path / "home") as (server, client):
        [run] = client.get("/api/v1/runs").json()
        assert run["state"] == "interrupted"
        assert "start it again" in run["error"]
        assert client.get("/").status_code == 200
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=LONG) == 0


def _worker_of(server: int) -> int:
    """Wait for the server to have a worker at work; return its process."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                stat, words = (folder / "stat").read_text(), (folder / "cmdline").read_text()
            except OSError:
                continue
            if stat.rsplit(")", 1)[1].split()[1] == str(server) and "spawn_main" in words:
                return int(folder.name)
        time.sleep(0.02)
    raise AssertionError("there is no worker")


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
