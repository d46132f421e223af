"""A server on loopback for tests, and a log so small that every run on it is quick."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from queryveil.serve.settings import Settings
from queryveil.serve.web_server import ImpatientProtocol, create_app

API = "/api/v1"
HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
SECRET = "xylophonist"
LINES = [
    f"u{i % 12}\t{('cheap cars', 'red shoes', 'old maps')[i % 3]} {SECRET if i == 7 else 'today'}"
    f"\t2006-03-01 07:{i % 60:02}:00\t\t\n"
    for i in range(72)
]
LOG = (HEADER + "".join(LINES)).encode()
ENDLESS = 2_000_000  # people of a demo log that takes longer to generate than any test waits


@contextmanager
def serving(settings: Settings) -> Iterator[tuple[FastAPI, httpx.Client]]:
    """Run the application in a thread; yield it and a client of it that presents the owner's token."""
    app = create_app(settings)
    with running(app) as address, httpx.Client(base_url=address, timeout=60, headers=bearer(app)) as client:
        yield app, client


def bearer(app: FastAPI) -> dict[str, str]:
    """Return the header by which a program presents the owner's token."""
    context = app.state.context
    return {"authorization": f"Bearer {context.settings.token or context.access.start_token}"}


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    """Run an application in a thread; yield its address."""
    with socket.create_server(("127.0.0.1", 0), backlog=2_048) as listening:
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=ImpatientProtocol,
                ws="none",
                log_level="critical",
                timeout_graceful_shutdown=2,
                timeout_keep_alive=60,
            )
        )
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            until(lambda: server.started)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            app.state.context.jobs.closing.set()
            server.should_exit = True
            thread.join()
            app.state.context.close()


def until(condition: Callable[[], Any], seconds: float = 600) -> None:
    """Poll a condition until it is true, ever less often, since asking takes time from what is waited for."""
    end, pause = time.monotonic() + seconds, 0.01
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(pause := min(1.2 * pause, 0.3))


def upload(client: httpx.Client, name: str, data: bytes = LOG, filename: str = "log.tsv") -> httpx.Response:
    """Upload a log."""
    return client.post(f"{API}/logs/upload", data={"name": name}, files={"file": (filename, data)})


def start(client: httpx.Client, log: str, name: str, method: str = "km(k=2, m=2)", **more: Any) -> str:
    """Start a run of a method; return its id."""
    answer = client.post(f"{API}/runs", json={"name": name, "log": log, "method": method, "seed": 1, **more})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def wait_for_end(client: httpx.Client, run: str) -> dict[str, Any]:
    """Wait for a run to end, and return it."""
    until(lambda: client.get(f"{API}/runs/{run}").json()["ended"])
    found: dict[str, Any] = client.get(f"{API}/runs/{run}").json()
    return found


def home_of(folder: Path) -> Path:
    """Return the folder of a test server's state."""
    return folder / "home"
