"""The lean search service under load: 32 connections on loopback, the load on the same processors as the service.

`python -m benchmarks.serving` (30 seconds; another number may be given): the bundled corpus, groups of the demo log.
Every query is personalised and gets ten documents. Queries are titles that find at least 100 documents, so that 100
are re-ranked each time, or, as "the log's own", what people of the demo log typed. Each connection sends its next
query when it has the answer to the last. Compared are one process with as many as there are processors, and a plain
route with one of a framework.
"""

import json
import multiprocessing
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import ROOT, Figures

SECONDS, SHORT, CONNECTIONS, QUERIES, DEPTH, PEOPLE, SEED = 30.0, 10.0, 32, 5_000, 100, 1_000, 1
SEARCH = "/api/v1/search"
_WARM = [b'{"query": "warm", "group": 0}']
_SPAWN = multiprocessing.get_context("spawn")


def measure(seconds: float = SECONDS) -> Figures:
    """Load the service, and the baselines for a shorter time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        titles, typed = _make(folder)
        with _service("lean", folder, 0) as port:
            every = _loaded(port, titles, seconds)
            own = _loaded(port, typed, min(seconds, SHORT))
        with _service("lean", folder, 1) as port:
            one = _loaded(port, titles, min(seconds, SHORT))
        with _service("framework", folder, 1) as port:
            framework = _loaded(port, titles, min(seconds, SHORT))
    return {
        "personalised queries/s (bar: ≥ 800; ★ 2,000)": round(every["rate"]),
        "median, ms": round(every["median"], 1),
        "99th percentile, ms (bar: ≤ 150)": round(every["p99"], 1),
        "longest, ms": round(every["longest"], 1),
        "errors (bar: 0)": int(every["errors"]),
        "answers": int(every["answers"]),
        "processor time of the load, share of one": round(every["processor"], 2),
        "the log's own queries, queries/s": round(own["rate"]),
        "the log's own queries, 99th percentile, ms": round(own["p99"], 1),
        "one process, queries/s": round(one["rate"]),
        "one process, 99th percentile, ms": round(one["p99"], 1),
        "one process with FastAPI, queries/s": round(framework["rate"]),
        "one process, rate against FastAPI": round(one["rate"] / framework["rate"], 2),
    }


def _make(folder: Path) -> tuple[list[bytes], list[bytes]]:
    """Make the index and the groups; return the bodies of requests of both kinds."""
    from queryveil import index
    from queryveil.api import Searcher, anonymize, generate

    generate(folder / "log.tsv", users=PEOPLE, seed=SEED)
    anonymize(folder / "log.tsv", "linkability(p=0.4)", folder / "groups", private=folder / "private", seed=SEED)
    index("wordnet", folder / "index")
    searcher = Searcher(folder / "index", folder / "groups")
    rng = np.random.default_rng(SEED)
    all_titles = searcher.index.documents.table["title"].to_pylist()
    drawn = (all_titles[number].split(",")[0] for number in rng.permutation(len(all_titles)))
    titles = list(islice((query for query in drawn if len(searcher.index.search(query, DEPTH)) == DEPTH), QUERIES))
    lines = (folder / "log.tsv").read_text().splitlines()[1:]
    typed = [lines[number].split("\t")[1] for number in rng.integers(0, len(lines), QUERIES)]
    groups = rng.choice(searcher.groups, QUERIES).tolist()
    return _bodies(titles, groups), _bodies(typed, groups)


def _bodies(queries: list[str], groups: list[int]) -> list[bytes]:
    pairs = zip(queries, groups, strict=True)
    return [json.dumps({"query": query, "group": group}).encode() for query, group in pairs]


@contextmanager
def _service(kind: str, folder: Path, processes: int) -> Iterator[int]:
    """Run a service in a process of its own; yield its port once it answers, all kernels loaded."""
    command = [sys.executable, "-m", "benchmarks.serving", kind, str(folder), str(processes)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            _await(port)
            _loaded(port, _WARM, 3.0)  # while the other processes come up
            yield port
        finally:
            process.terminate()


def _await(port: int) -> None:
    """Wait for the first answer."""
    line = _Line(port)
    line.send(_requests(port, _WARM)[0])
    while line.receive() is None:
        pass
    line.socket.close()


def _lean(folder: Path, processes: int) -> None:
    from queryveil.serve.search_service import serve_search
    from queryveil.serve.settings import Settings

    def announce(address: str) -> None:
        print(address.rpartition(":")[2], flush=True)

    settings = Settings(port=0, search=folder / "index", groups=folder / "groups")
    serve_search(settings, announce, processes=processes or None)


def _framework(folder: Path, _: int) -> None:
    """Serve the same searches by a route of FastAPI, in the event loop as the plain ASGI application does."""
    import uvicorn
    from fastapi import FastAPI

    from queryveil.search.answers import Answer
    from queryveil.serve.search import SearchQuery
    from queryveil.serve.search_service import create_search_app
    from queryveil.serve.settings import bind
    from queryveil.workflows.search import Searcher

    create_search_app(folder / "index", folder / "groups")  # warms what both need
    searcher, app = Searcher(folder / "index", folder / "groups"), FastAPI()

    @app.post(SEARCH)
    async def search(query: SearchQuery) -> Answer:
        return query.answer(searcher)

    with bind("127.0.0.1", 0) as listening:
        print(listening.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(app, ws="none", log_level="warning", access_log=False)).run([listening])


def _loaded(port: int, bodies: list[bytes], seconds: float) -> dict[str, float]:
    """Put load on a service from a process of its own."""
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_load, args=(port, bodies, seconds, theirs))
    process.start()
    theirs.close()  # so that its end is noticed
    found: dict[str, float] = ours.recv()
    process.join()
    return found


class _Line:
    """One connection: a request at a time, the next when the last is answered."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._got = b""
        self._sent_at = 0.0

    def send(self, request: bytes) -> None:
        self._sent_at = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> tuple[float, bool] | None:
        """Return the seconds that an answer took and whether it was good, once all of it is there."""
        part = self.socket.recv(262_144)
        if not part:
            raise ConnectionError("the service hung up")
        self._got += part
        head, found, body = self._got.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.lower().partition(b"content-length:")[2].split(b"\r", 1)[0]):
            return None
        self._got = b""
        return time.perf_counter() - self._sent_at, head.startswith(b"HTTP/1.1 200")


def _requests(port: int, bodies: list[bytes]) -> list[bytes]:
    head = f"POST {SEARCH} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    return [f"{head}content-length: {len(body)}\r\n\r\n".encode() + body for body in bodies]


def _load(port: int, bodies: list[bytes], seconds: float, results: Connection) -> None:
    """Send requests over all connections for a while, and send the measured times through a pipe."""
    requests = _requests(port, bodies)
    lines = [_Line(port) for _ in range(CONNECTIONS)]
    times: list[float] = []
    errors, sent = 0, 0
    began, used = time.perf_counter(), time.process_time()
    with selectors.DefaultSelector() as ready:
        for line in lines:
            ready.register(line.socket, selectors.EVENT_READ, line)
            line.send(requests[sent % len(requests)])
            sent += 1
        while time.perf_counter() - began < seconds:
            for key, _ in ready.select(1):
                line = key.data
                answer = line.receive()
                if answer is not None:
                    times.append(answer[0])
                    errors += not answer[1]
                    line.send(requests[sent % len(requests)])
                    sent += 1
    passed = time.perf_counter() - began
    results.send(
        {**_summary(times), "rate": len(times) / passed, "errors": errors, "answers": len(times)}
        | {"processor": (time.process_time() - used) / passed}
    )


def _summary(times: list[float]) -> dict[str, Any]:
    milliseconds = sorted(1000 * seconds for seconds in times)
    p99 = milliseconds[int(0.99 * len(milliseconds))]
    return {"median": statistics.median(milliseconds), "p99": p99, "longest": milliseconds[-1]}


if __name__ == "__main__":
    if sys.argv[1:2] in (["lean"], ["framework"]):
        {"lean": _lean, "framework": _framework}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
    else:
        for what, value in measure(float(sys.argv[1]) if sys.argv[1:] else SECONDS).items():
            print(f"{what}: {value}", flush=True)
