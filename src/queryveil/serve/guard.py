"""The outermost middleware: checks host, login, origin, CSRF token and size of requests, and adds security headers.

A request is refused unless its Host is ours (against DNS rebinding), it presents a token or the cookie of a session,
and, if it changes something, it comes from one of our own pages or from a program. Forms carry a CSRF token: the
signature of a cookie. What is admitted is recorded in the audit trail before its answer is sent.
"""

import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Sequence

from fastapi import HTTPException, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from queryveil.core.errors import sentence_of
from queryveil.serve.access import LOG_IN, TooManyWrongTokensError, Visitor
from queryveil.serve.audit import address_of_client
from queryveil.serve.context import ServerContext, context_of
from queryveil.serve.rendering import problem, redirect
from queryveil.serve.run_files import too_large
from queryveil.serve.settings import LOOPBACK, host_in
from queryveil.serve.store import LogRow, RunRow, added_rows

FIELD, HEADER = "csrf", "x-csrf-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-src 'self'; frame-ancestors 'none'"
)
_VISIT_COOKIE, _LOGIN_COOKIE = "queryveil_visit", "queryveil_login"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_UPLOAD = "/upload"  # how the address of every route ends that takes a file
HEALTH = "/healthz"
_OPEN = ("/login", HEALTH)  # addresses that everybody may open, besides static files
_FORM_ROOM, _OTHER_BODIES = 1_000_000, 1_000_000  # bytes: of an upload's other fields, and of any other request
_DRAIN_TIMEOUT = 20.0  # seconds for which a body that is too large is still received and discarded
_YEAR = 31_536_000  # seconds
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer browsers send forms with Origin: null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
REPORT_HEADERS = {  # of a release's report, which contains its style sheet and may be shown in a frame of ours
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; "
    "base-uri 'none'; form-action 'none'; sandbox",
    "x-frame-options": "SAMEORIGIN",
}
STALE = "the form is too old or was not ours; go back, reload the page, and send it again."
FOREIGN = "the request came from a page of another site, so it was refused."
_logger = logging.getLogger("queryveil.serve")


class Guard:
    """The middleware that admits or refuses requests."""

    def __init__(self, app: ASGIApp, context: ServerContext) -> None:
        self._app, self._context = app, context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer why it is refused; an unexpected error becomes a response of status 500."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_head, scope = scope["method"] == "HEAD", {**scope}
        if is_head:  # is answered like GET, without the body
            scope["method"] = "GET"
        request = Request(scope, receive)
        visit = request.cookies.get(_VISIT_COOKIE, "")
        new_visit = "" if visit else secrets.token_urlsafe(16)
        request.state.csrf = sign(self._context.secret, "form", visit or new_visit)
        request.state.visitor = None
        added: list[LogRow | RunRow] = []
        added_rows.set(added)
        sender = _ResponseSender(request, send, self._context, added, new_visit=new_visit, is_head=is_head)
        try:
            response = await self._refusal(request)
            if response is None:
                await self._app(scope, _LimitedBody(receive, *self._body_limit(request)), sender)
                return
        except Exception as error:  # its message may contain a query, so only its type and place are logged
            _logger.error("%s", sentence_of(error) if not isinstance(error, OSError) else type(error).__name__)
            if sender.has_begun:
                raise _BrokenResponseError from None
            response = problem(request, 500, "something went wrong in the server itself; look at its terminal.")
        await response(scope, receive, sender)

    async def _refusal(self, request: Request) -> Response | None:
        """Return the response to a request that is refused, or that exchanges a token; None if it is admitted."""
        try:
            is_own_token = self._context.access.start_token
            if is_own_token and host_in(request.headers.get("host", "")) not in LOOPBACK:
                host = self._context.settings.host
                raise HTTPException(400, f"this server is not called that; ask for {host}.")
            if request.url.path == "/" and "token" in request.query_params:
                response = redirect("/")
                is_known = log_in(request, response, request.query_params["token"])
                return response if is_known else redirect("/login")
            request.state.visitor = visitor = self._check_login(request)
            if request.method not in _SAFE_METHODS:
                self._check_origin(request)
                if visitor is not None and visitor.has_session and _is_api(request):
                    check_csrf(request, request.headers.get(HEADER, ""))
                await self._check_length(request)
        except TooManyWrongTokensError as refusal:
            return too_many(request, refusal)
        except HTTPException as refusal:
            wants_page = not _is_api(request) or "text/html" in request.headers.get("accept", "")
            if refusal.status_code == 401 and wants_page:
                return redirect("/login")
            return problem(request, refusal.status_code, refusal.detail)
        return None

    def _check_login(self, request: Request) -> Visitor | None:
        """Return who sends a request, by its token or its session; None at an address that everybody may open."""
        path = request.url.path
        if path in _OPEN or path.startswith("/static/"):
            return None
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            visitor = present_token(request, token.strip())
        else:
            visitor = self._context.access.visitor_by_session(request.cookies.get(login_cookie(request), ""))
        if visitor is None:
            raise HTTPException(401, LOG_IN)
        return visitor

    def _check_origin(self, request: Request) -> None:
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
        is_ours = origin is None or origin.partition("://")[2] == request.headers.get("host")
        if not is_ours or site not in ("same-origin", "none"):
            raise HTTPException(403, FOREIGN)

    async def _check_length(self, request: Request) -> None:
        length, (most, sentence) = request.headers.get("content-length", "0"), self._body_limit(request)
        if length.isdecimal() and int(length) > most:
            await _drain(request.receive)
            raise HTTPException(413, sentence)

    def _body_limit(self, request: Request) -> tuple[int, str]:
        """Return how many bytes a body may have, and the sentence that refuses a larger one."""
        if request.url.path.endswith(_UPLOAD):
            return self._context.settings.largest_upload + _FORM_ROOM, too_large(self._context.settings.largest_upload)
        sentence = f"the request is larger than the {_OTHER_BODIES // 1_000_000} MB that this server takes; send less."
        return _OTHER_BODIES, sentence


class _BrokenResponseError(Exception):
    """A response failed after its first bytes were sent; the log says why."""


class _LimitedBody:
    """Receives a request's body and refuses it once it exceeds the limit."""

    def __init__(self, receive: Receive, most: int, sentence: str) -> None:
        self._receive, self._left, self._sentence = receive, most, sentence

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            await _drain(self._receive)
            raise HTTPException(413, self._sentence)
        return message


class _ResponseSender:
    """Sends a response with the security headers, and with the visit cookie if the browser has none.

    Before the first byte the request is recorded in the audit trail, so that nothing is shown without a record.
    """

    def __init__(
        self,
        request: Request,
        send: Send,
        context: ServerContext,
        added: Sequence[LogRow | RunRow],
        *,
        new_visit: str,
        is_head: bool,
    ) -> None:
        self._request, self._send, self._new_visit, self._audit = request, send, new_visit, context.audit
        self._path, self._is_head, self._added = request.url.path, is_head, added
        self.has_begun = self._has_ended = self._is_endless = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if self._request.state.visitor is not None:
                await run_in_threadpool(self._audit.record_request, self._request, message["status"], self._added)
            self.has_begun = True
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            if self._path.startswith("/static/") and message["status"] == 200:
                headers["cache-control"] = f"public, max-age={_YEAR}, immutable"
            elif self._new_visit and headers.get("content-type", "").startswith("text/html"):
                headers.append("set-cookie", _cookie(_VISIT_COOKIE, self._new_visit))
            self._is_endless = self._is_head and headers.get("content-type", "").startswith("text/event-stream")
        elif self._is_endless:  # uvicorn drops the body of an answer to HEAD, but a stream of events must end, too
            if self._has_ended:
                return
            self._has_ended, message = True, {"type": "http.response.body", "body": b""}
        await self._send(message)


async def _drain(receive: Receive) -> None:
    """Receive and discard the rest of a body: a browser that cannot finish sending never shows our response."""
    until = time.monotonic() + _DRAIN_TIMEOUT
    while time.monotonic() < until:
        message = await receive()
        if message["type"] != "http.request" or not message.get("more_body", False):
            return


def sign(secret: bytes, purpose: str, text: str) -> str:
    """Return an HMAC that only this server can make."""
    return hmac.new(secret, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def check_csrf(request: Request, given: str) -> None:
    """Refuse a request whose CSRF token does not match the visit cookie."""
    if not request.cookies.get(_VISIT_COOKIE) or not hmac.compare_digest(given.encode(), request.state.csrf.encode()):
        raise HTTPException(403, STALE)


async def check_form(request: Request) -> None:
    """Refuse a form without a valid CSRF token; a dependency of every page's router."""
    if request.method not in _SAFE_METHODS:
        given = (await request.form()).get(FIELD) or request.headers.get(HEADER, "")
        check_csrf(request, given if isinstance(given, str) else "")


def present_token(request: Request, token: str) -> Visitor | None:
    """Return who has a token that a request presents; a wrong one is recorded, without itself."""
    context, address = context_of(request), address_of_client(request)
    visitor = context.access.visitor_by_token(token, address)
    if visitor is None:
        context.audit.record("present a wrong token", None, address)
        _logger.warning("a wrong token was presented from %s", address)
    return visitor


def too_many(request: Request, refusal: TooManyWrongTokensError) -> Response:
    """Return the response to a token that comes too soon after wrong ones."""
    response = problem(request, 429, str(refusal))
    response.headers["retry-after"] = str(refusal.seconds)
    return response


def log_in(request: Request, response: Response, token: str) -> bool:
    """Open a session and add its cookie to the response if the token is right; return whether it is."""
    visitor = present_token(request, token.strip())
    if visitor is None:
        return False
    context = context_of(request)
    session = context.access.open_session(visitor.role)
    response.headers.append("set-cookie", _cookie(login_cookie(request), session))
    context.audit.record("log in", context.access.visitor_by_session(session), address_of_client(request))
    return True


def end_login(request: Request, response: Response) -> None:
    """Revoke the session of a browser and delete its cookie."""
    name = login_cookie(request)
    context_of(request).access.end_session(request.cookies.get(name, ""))
    response.delete_cookie(name, path="/")


def login_cookie(request: Request) -> str:
    """Return the name of the login cookie, which holds the port: servers of one machine share its cookies."""
    _, port = request.scope.get("server") or ("", 0)
    return f"{_LOGIN_COOKIE}_{port}"


def _cookie(name: str, value: str) -> str:
    return f"{name}={value}; Path=/; HttpOnly; SameSite=Strict"


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")
