"""The search service for production: a group and a query in, documents out; nothing else, and never a person.

It is a plain ASGI application, since a framework costs about as much as the search (`python -m benchmarks.serving`
compares). A query of about a millisecond is answered in the event loop; a long one goes to a thread pool, and when too
many of those wait, further ones are answered 503. Several processes share one port, since each uses one processor only.
"""

import asyncio
import gc
import hmac
import json
import logging
import mmap
import os
import re
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from time import perf_counter_ns
from typing import Any
from urllib.parse import parse_qsl

from pydantic import ValidationError

from queryveil.core.errors import InputError
from queryveil.core.extras import needs
from queryveil.core.files import scratch
from queryveil.serve.search import RESCORE_RULES, RescoreQuery, SearchQuery, invalid_request
from queryveil.serve.settings import LOOPBACK, UVICORN_OPTIONS, Settings, address_of, bind, check_address, host_in
from queryveil.serve.store import UnknownIdError
from queryveil.serve.worker import exit_with_parent
from queryveil.workflows.requests import SearchBodyRequest
from queryveil.workflows.search import Searcher

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Headers = tuple[tuple[bytes, bytes], ...]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_logger = logging.getLogger("queryveil.serve")
SEARCH, HEALTH, METRICS = "/api/v1/search", "/healthz", "/metrics"
RESCORE = "/api/v1/groups/{group}/rescore"
_RESCORE_PATH = re.compile(r"/api/v1/groups/(\d{1,10})/rescore")
_METHODS = {SEARCH: ("POST",), RESCORE: ("GET", "HEAD"), HEALTH: ("GET", "HEAD"), METRICS: ("GET", "HEAD")}
_JSON, _PLAIN = b"application/json", b"text/plain; version=0.0.4; charset=utf-8"
_LARGEST_BODY = 16_384  # bytes
_BODY_TIMEOUT = 10.0  # seconds for the rest of a body
_THREADS, _MOST_WAITING = 4, 256  # of long queries
_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
ANSWERS = (200, 400, 401, 404, 405, 408, 413, 415, 421, 422, 500, 503)
BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5)  # seconds
_COUNTER_OF = {answer: position for position, answer in enumerate(ANSWERS)}
_BUCKETS = len(ANSWERS)  # the first bucket; the last bucket counts what took longer than the last bound
_NANOSECONDS = _BUCKETS + len(BOUNDS) + 1
_IN_FLIGHT = _NANOSECONDS + 1
_SIZE = _IN_FLIGHT + 1


@dataclass(frozen=True)
class Reply:
    """A response."""

    status: int
    body: bytes
    kind: bytes = _JSON
    headers: Headers = ()


class RefusedError(Exception):
    """A request is refused with a status and a sentence."""

    def __init__(self, status: int, sentence: str, field: str = "", headers: Headers = ()) -> None:
        super().__init__(sentence)
        self.reply = Reply(status, json.dumps({"error": sentence, "field": field or None}).encode(), headers=headers)


def _refused(status: int, error: InputError) -> RefusedError:
    return RefusedError(status, SearchBodyRequest.with_keywords(str(error)), error.field)


class SearchService:
    """The ASGI application."""

    def __init__(self, searcher: Searcher, metrics: "Metrics", token: str | None = None) -> None:
        self._searcher, self._metrics, self._token = searcher, metrics, token
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="search")
        self._n_waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
            return
        started = perf_counter_ns()
        self._metrics.begin()
        try:
            path, headers = scope["path"], dict(scope["headers"])
            group = _RESCORE_PATH.fullmatch(path)
            self._check(path if group is None else RESCORE, scope["method"], headers)
            if path == SEARCH:
                reply = await self._search(headers, receive)
            elif group is not None:
                reply = self._rescore(int(group[1]), scope["query_string"])
            elif path == METRICS:
                reply = Reply(200, self._metrics.text().encode(), _PLAIN)
            else:
                reply = Reply(200, b'{"status": "ok"}')
        except RefusedError as refused:
            reply = refused.reply
        except Exception as error:  # its message may contain the query, so only its type is logged
            _logger.error("a request failed: %s", type(error).__name__)
            reply = _INTERNAL_ERROR
        self._metrics.end(reply.status, perf_counter_ns() - started if scope["path"] == SEARCH else None)
        await _send(reply, send, has_body=scope["method"] != "HEAD")

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        self._threads.shutdown(cancel_futures=True)
        await send({"type": "lifespan.shutdown.complete"})

    def _check(self, path: str, method: str, headers: Mapping[bytes, bytes]) -> None:
        """Refuse unauthorised requests, unknown paths and wrong methods."""
        if self._token is None and host_in(headers.get(b"host", b"").decode("latin-1")) not in LOOPBACK:
            raise RefusedError(421, "this service answers under the name of its own machine only, such as 127.0.0.1.")
        if path not in _METHODS:
            raise RefusedError(404, f"there is nothing here; ask {', '.join(_METHODS)}.")
        if method not in _METHODS[path]:
            allowed = ", ".join(_METHODS[path])
            raise RefusedError(405, f"{path} takes {allowed}; use that.", headers=((b"allow", allowed.encode()),))
        if self._token is not None and path != HEALTH:
            scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(given, self._token.encode()):
                sentence = "a token is required; send it as Authorization: Bearer TOKEN."
                raise RefusedError(401, sentence, headers=((b"www-authenticate", b"Bearer"),))

    async def _search(self, headers: Mapping[bytes, bytes], receive: Receive) -> Reply:
        """Answer a search, or refuse a body that is no valid request."""
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != _JSON:
            raise RefusedError(415, "a search is sent as application/json; set the content type.")
        try:
            request = SearchQuery.model_validate_json(await _read_body(receive))
            found = await self._answer(request)
        except ValidationError as error:
            location = error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"]
            raise _refused(422 if location else 400, invalid_request(location)) from None
        except InputError as error:
            raise _refused(404 if isinstance(error, UnknownIdError) else 422, error) from None
        return Reply(200, json.dumps(found).encode())

    def _rescore(self, group: int, query_string: bytes) -> Reply:
        """Answer with the rescore part of a group, or refuse an address that is no valid request."""
        values = dict(parse_qsl(query_string.decode("latin-1"), keep_blank_values=True))
        try:
            part = RescoreQuery.model_validate(values).rescore(self._searcher, group)
        except ValidationError as error:
            location = error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"]
            raise _refused(422, invalid_request(location, RESCORE_RULES)) from None
        except InputError as error:
            raise _refused(404 if isinstance(error, UnknownIdError) else 422, error) from None
        return Reply(200, json.dumps(part).encode())

    async def _answer(self, request: SearchQuery) -> dict[str, Any]:
        """Answer a quick request at once and a long one in a thread; refuse a long one if too many wait."""
        if request.is_quick:
            return request.answer_record(self._searcher)
        if self._n_waiting >= _MOST_WAITING:
            raise RefusedError(503, "too many long queries wait already; try again in a second.", headers=_RETRY)
        self._n_waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, request.answer_record, self._searcher)
        finally:
            self._n_waiting -= 1


def create_search_app(
    index: Path, groups: Path, *, token: str | None = None, counts: Path | None = None
) -> SearchService:
    """Return the service of an index and a release of groups; processes that share the folder `counts` sum metrics."""
    searcher = Searcher(index, groups)
    gauges = {
        "queryveil_index_documents": ("Documents in the index.", len(searcher.index.documents)),
        "queryveil_index_terms": ("Terms in the index.", len(searcher.index.terms)),
        "queryveil_groups": ("Groups that can be searched as.", len(searcher.groups)),
    }
    # Load the kernel and the lexicon, so that the first request need not wait for them.
    searcher.index.analyzer.terms("unheard-of words")
    searcher.search(next(iter(searcher.index.terms), ""), next(iter(searcher.groups), None))
    return SearchService(searcher, Metrics(gauges, counts), token)


async def _read_body(receive: Receive) -> bytes:
    """Return the body of a request, or refuse it if it is too large or too slow."""
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body"):
        try:
            async with asyncio.timeout(_BODY_TIMEOUT):
                while message.get("more_body") and len(body) <= _LARGEST_BODY:
                    message = await receive()
                    body += message.get("body", b"")
        except TimeoutError:
            raise RefusedError(408, "the rest of the request did not come; send it again.", headers=_CLOSE) from None
    if len(body) > _LARGEST_BODY:
        sentence = f"a search takes at most {_LARGEST_BODY:,} bytes; shorten the query."
        raise RefusedError(413, sentence, headers=_CLOSE)
    return body


async def _send(reply: Reply, send: Send, *, has_body: bool) -> None:
    headers = [(b"content-type", reply.kind), (b"content-length", b"%d" % len(reply.body)), *_HEADERS, *reply.headers]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body if has_body else b""})


_RETRY, _CLOSE = ((b"retry-after", b"1"),), ((b"connection", b"close"),)
_INTERNAL_ERROR = RefusedError(500, "the search failed by a fault of queryveil; please report it.").reply


def serve_search(settings: Settings, announce: Callable[[str], None], *, processes: int | None = None) -> None:
    """Serve searches until stopped, by one process for each processor unless a number is given."""
    with needs("serve", "queryveil serve"):
        import uvicorn
        from uvicorn.supervisors import Multiprocess

    index, groups, token = settings.search, settings.groups, settings.token
    if index is None or groups is None:
        raise InputError("--search needs a release of groups to search by; give it by --groups.")
    check_address(settings.host, token)
    Searcher(index, groups)  # raises here, before any process is started, if something cannot be opened
    with scratch("counts") as folder, bind(settings.host, settings.port) as listening:
        counts = folder / "processes"  # beside the lock of the folder, which a later start removes if we are killed
        counts.mkdir()
        open_app = partial(_open_in_process, index, groups, token, counts)
        config = uvicorn.Config(open_app, factory=True, workers=processes or os.cpu_count() or 1, **UVICORN_OPTIONS)
        announce(address_of(listening))
        Multiprocess(config, sockets=[listening]).run()


def _open_in_process(index: Path, groups: Path, token: str | None, counts: Path) -> SearchService:
    """Return the service of one worker process, which ends with its supervisor."""
    exit_with_parent()
    service = create_search_app(index, groups, token=token, counts=counts)
    gc.freeze()  # long-lived objects need not be scanned by the garbage collector, which would delay requests
    return service


class Metrics:
    """The counters of a process, and their sums, in Prometheus' text format; never a query, a group or an address.

    Several processes may share a folder: each counts in a memory-mapped file of its own there, and the process that is
    scraped adds up all files.
    """

    def __init__(self, gauges: Mapping[str, tuple[str, int]], folder: Path | None = None) -> None:
        """Take constant gauges (name → purpose, value), and a folder if several processes share it."""
        self._gauges, self._folder = gauges, folder
        self._counts = memoryview(bytearray(8 * _SIZE)).cast("q") if folder is None else _map_file(folder)

    def begin(self) -> None:
        """Count a request that has arrived."""
        self._counts[_IN_FLIGHT] += 1

    def end(self, answer: int, nanoseconds: int | None = None) -> None:
        """Count a response by its status and, for a search, by its latency."""
        counts = self._counts
        counts[_IN_FLIGHT] -= 1
        counts[_COUNTER_OF[answer]] += 1
        if nanoseconds is not None:
            counts[_BUCKETS + bisect_left(BOUNDS, nanoseconds / 1e9)] += 1
            counts[_NANOSECONDS] += nanoseconds

    def text(self) -> str:
        """Return all metrics in Prometheus' text format."""
        processes = [self._counts.tolist()] if self._folder is None else map(_read, self._folder.iterdir())
        sums = [sum(column) for column in zip(*processes, strict=True)]
        return "".join(f"{line}\n" for line in self._lines(sums))

    def _lines(self, sums: list[int]) -> Iterator[str]:
        name = "queryveil_requests_total"
        yield from _heading(name, "counter", "Requests by the status of the answer.")
        yield from (f'{name}{{answer="{answer}"}} {sums[position]}' for answer, position in _COUNTER_OF.items())
        name = "queryveil_search_seconds"
        yield from _heading(name, "histogram", "Time from a search request to its answer.")
        totals = list(accumulate(sums[_BUCKETS:_NANOSECONDS]))
        bounds = (*map(str, BOUNDS), "+Inf")
        yield from (f'{name}_bucket{{le="{bound}"}} {n}' for bound, n in zip(bounds, totals, strict=True))
        yield f"{name}_sum {sums[_NANOSECONDS] / 1e9:.9f}"
        yield f"{name}_count {totals[-1]}"
        in_flight = ("Requests that are being answered.", sums[_IN_FLIGHT])
        for name, (purpose, value) in {"queryveil_in_flight": in_flight, **self._gauges}.items():
            yield from _heading(name, "gauge", purpose)
            yield f"{name} {value}"


def _heading(name: str, kind: str, purpose: str) -> tuple[str, str]:
    return f"# HELP {name} {purpose}", f"# TYPE {name} {kind}"


def _map_file(folder: Path) -> memoryview:
    """Map this process's file; the counts of an earlier process with the same id are continued."""
    descriptor = os.open(folder / str(os.getpid()), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.ftruncate(descriptor, 8 * _SIZE)
        counts = memoryview(mmap.mmap(descriptor, 8 * _SIZE)).cast("q")
    finally:
        os.close(descriptor)
    counts[_IN_FLIGHT] = 0
    return counts


def _read(path: Path) -> list[int]:
    """Return the counts of a process; requests in flight in a process that has ended do not count."""
    counts = memoryview(path.read_bytes().ljust(8 * _SIZE, b"\0")).cast("q").tolist()
    try:
        os.kill(int(path.name), 0)  # sends nothing
    except ProcessLookupError:
        counts[_IN_FLIGHT] = 0
    return counts
