"""The search service for production: a group and a query in, documents out; nothing else, and never a person.

It is a bare ASGI application: a framework costs about as much as the search (`python -m benchmarks.serving` compares).
A query that takes about a millisecond is answered at once; a long one goes to a few threads, and when too many of those
wait, the rest are told to come back.
"""

import asyncio
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from pydantic import ValidationError

from queryveil.core.errors import InputError
from queryveil.serve.metrics import Metrics
from queryveil.serve.searching import SearchRequest, find, refusal
from queryveil.serve.settings import LOOPBACK, host_in
from queryveil.serve.store import UnknownIdError
from queryveil.workflows.search import Searcher

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Headers = tuple[tuple[bytes, bytes], ...]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_LOG = logging.getLogger("queryveil.serve")
SEARCH, HEALTH, METRICS = "/api/v1/search", "/healthz", "/metrics"
_METHODS = {SEARCH: ("POST",), HEALTH: ("GET", "HEAD"), METRICS: ("GET", "HEAD")}
_JSON, _PLAIN = b"application/json", b"text/plain; version=0.0.4; charset=utf-8"
_LARGEST_BODY = 16_384  # bytes
_PATIENCE = 10.0  # seconds for the rest of a body
_THREADS, _MOST_WAITING = 4, 256  # of long queries
_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


@dataclass(frozen=True)
class Reply:
    """What a request is answered with."""

    status: int
    body: bytes
    kind: bytes = _JSON
    headers: Headers = ()


class RefusedError(Exception):
    """A request is answered with a sentence."""

    def __init__(self, status: int, sentence: str, field: str = "", headers: Headers = ()) -> None:
        super().__init__(sentence)
        self.reply = Reply(status, json.dumps({"error": sentence, "field": field or None}).encode(), headers=headers)


class SearchService:
    """The application that an ASGI server runs."""

    def __init__(self, searcher: Searcher, metrics: Metrics, token: str | None = None) -> None:
        self._searcher, self._metrics, self._token = searcher, metrics, token
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="search")
        self._n_waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        started = perf_counter_ns()
        self._metrics.begin()
        try:
            reply = await self._reply(scope, receive)
        except RefusedError as refused:
            reply = refused.reply
        except Exception as error:  # its text may hold what was asked for, so only its kind is told
            _LOG.error("a request failed: %s", type(error).__name__)
            reply = _BROKEN
        self._metrics.end(reply.status, perf_counter_ns() - started if scope["path"] == SEARCH else None)
        await _send(reply, send, has_body=scope["method"] != "HEAD")

    async def _live(self, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        self._threads.shutdown(cancel_futures=True)
        await send({"type": "lifespan.shutdown.complete"})

    async def _reply(self, scope: Scope, receive: Receive) -> Reply:
        path, headers = scope["path"], dict(scope["headers"])
        self._check(path, scope["method"], headers)
        if path == SEARCH:
            return await self._search(headers, receive)
        if path == METRICS:
            return Reply(200, self._metrics.text().encode(), _PLAIN)
        return Reply(200, b'{"status": "ok"}')

    def _check(self, path: str, method: str, headers: Mapping[bytes, bytes]) -> None:
        """Refuse who may not ask, and what is not served."""
        if self._token is None and host_in(headers.get(b"host", b"").decode("latin-1")) not in LOOPBACK:
            raise RefusedError(421, "this service answers under the name of its own machine only, such as 127.0.0.1.")
        if path not in _METHODS:
            raise RefusedError(404, f"there is nothing here; ask {', '.join(_METHODS)}.")
        if method not in _METHODS[path]:
            allowed = ", ".join(_METHODS[path])
            raise RefusedError(405, f"{path} takes {allowed}; use that.", headers=((b"allow", allowed.encode()),))
        if self._token is not None and path != HEALTH:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, b"Bearer " + self._token.encode()):
                sentence = "a token is required; send it as Authorization: Bearer TOKEN."
                raise RefusedError(401, sentence, headers=((b"www-authenticate", b"Bearer"),))

    async def _search(self, headers: Mapping[bytes, bytes], receive: Receive) -> Reply:
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != _JSON:
            raise RefusedError(415, "a search is sent as application/json; set the content type.")
        try:
            request = SearchRequest.model_validate_json(await _body(receive))
            found = await self._find(request)
        except ValidationError as error:
            place = error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"]
            refused = refusal(place)
            raise RefusedError(422 if place else 400, str(refused), refused.field) from None
        except UnknownIdError as error:
            raise RefusedError(404, str(error), error.field) from None
        except InputError as error:
            raise RefusedError(422, str(error), error.field) from None
        return Reply(200, json.dumps(found).encode())

    async def _find(self, request: SearchRequest) -> dict[str, Any]:
        if request.is_quick:
            return find(self._searcher, request)
        if self._n_waiting >= _MOST_WAITING:
            raise RefusedError(503, "too many long queries wait already; try again in a second.", headers=_SOON)
        self._n_waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, find, self._searcher, request)
        finally:
            self._n_waiting -= 1


def create_search_app(
    index: Path, groups: Path, *, token: str | None = None, counts: Path | None = None
) -> SearchService:
    """Open an index and a release of groups, and return the service; processes that share `counts` count together."""
    searcher = Searcher(index, groups)
    gauges = {
        "queryveil_index_documents": ("Documents in the index.", len(searcher.index.documents)),
        "queryveil_index_terms": ("Terms in the index.", len(searcher.index.terms)),
        "queryveil_groups": ("Groups that can be searched as.", len(searcher.groups)),
    }
    _warm(searcher)
    return SearchService(searcher, Metrics(gauges, counts), token)


def _warm(searcher: Searcher) -> None:
    """Load the kernel and the lexicon, so that the first person need not wait for them."""
    searcher.index.analyzer.terms("unheard-of words")
    searcher.search(next(iter(searcher.index.terms), ""), next(iter(searcher.groups), None))


async def _body(receive: Receive) -> bytes:
    """Return the body of a request; one that is too large or too slow is refused."""
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body"):
        try:
            async with asyncio.timeout(_PATIENCE):
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
    headers = [
        (b"content-type", reply.kind),
        (b"content-length", b"%d" % len(reply.body)),
        *_HEADERS,
        *reply.headers,
    ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body if has_body else b""})


_SOON, _CLOSE = ((b"retry-after", b"1"),), ((b"connection", b"close"),)
_BROKEN = RefusedError(500, "the search failed by a fault of queryveil; please report it.").reply
