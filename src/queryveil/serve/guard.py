"""The outermost middleware: checks host, login, origin, CSRF token and size of requests, and adds security headers.

A request is refused unless its Host is ours (against DNS rebinding), it presents the token if there is one, and, if it
changes something, it comes from one of our own pages or from a program. Forms carry a CSRF token: the signature of a
cookie.
"""

import hashlib
import hmac
import logging
import secrets
import time
from pathlib import Path

from fastapi import HTTPException, Request
from starlette.datastructures import MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from queryveil.core.errors import sentence_of
from queryveil.core.files import write_file
from queryveil.serve.context import context_of
from queryveil.serve.logs import too_large
from queryveil.serve.rendering import problem
from queryveil.serve.settings import LOOPBACK, Settings, host_in

FIELD, HEADER = "csrf", "x-csrf-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-src 'self'; frame-ancestors 'none'"
)
_VISIT_COOKIE, _LOGIN_COOKIE = "queryveil_visit", "queryveil_login"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_UPLOADS = ("/api/v1/logs/upload", "/logs/upload")
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

    def __init__(self, app: ASGIApp, settings: Settings, secret: bytes) -> None:
        self._app, self._settings, self._secret = app, settings, secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer why it is refused; an unexpected error becomes a response of status 500."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        visit = request.cookies.get(_VISIT_COOKIE, "")
        new_visit = "" if visit else secrets.token_urlsafe(16)
        request.state.csrf = sign(self._secret, "form", visit or new_visit)
        sender = _ResponseSender(scope, send, new_visit)
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
        """Return the response to a request that is refused; None if it is admitted."""
        try:
            if self._settings.token is None and host_in(request.headers.get("host", "")) not in LOOPBACK:
                raise HTTPException(400, f"this server is not called that; ask for {self._settings.host}.")
            credential = self._check_login(request)
            if request.method not in _SAFE_METHODS:
                origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
                is_ours = origin is None or origin.partition("://")[2] == request.headers.get("host")
                if not is_ours or site not in ("same-origin", "none"):
                    raise HTTPException(403, FOREIGN)
                if credential == "cookie" and _is_api(request):
                    check_csrf(request, request.headers.get(HEADER, ""))
                await self._check_length(request)
        except HTTPException as refusal:
            if refusal.status_code == 401 and not _is_api(request):
                return RedirectResponse("/login", 303)
            return problem(request, refusal.status_code, refusal.detail)
        return None

    def _check_login(self, request: Request) -> str:
        """Return whether the token was presented by `header` or `cookie`; empty if none is required."""
        token, path = self._settings.token, request.url.path
        if token is None or path == "/login" or path.startswith("/static/"):
            return ""
        given, cookie = request.headers.get("authorization", ""), request.cookies.get(_LOGIN_COOKIE, "")
        if hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            return "header"
        if hmac.compare_digest(cookie.encode(), sign(self._secret, "login", token).encode()):
            return "cookie"
        sentence = "this server asks for its token; send it as the header Authorization: Bearer TOKEN."
        raise HTTPException(401, sentence)

    async def _check_length(self, request: Request) -> None:
        length, (most, sentence) = request.headers.get("content-length", "0"), self._body_limit(request)
        if length.isdecimal() and int(length) > most:
            await _drain(request.receive)
            raise HTTPException(413, sentence)

    def _body_limit(self, request: Request) -> tuple[int, str]:
        """Return how many bytes a body may have, and the sentence that refuses a larger one."""
        if request.url.path in _UPLOADS:
            return self._settings.largest_upload + _FORM_ROOM, too_large(self._settings.largest_upload)
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
    """Sends a response with the security headers, and with the visit cookie if the browser has none."""

    def __init__(self, scope: Scope, send: Send, new_visit: str) -> None:
        self._path, self._send, self._new_visit = scope["path"], send, new_visit
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            if self._path.startswith("/static/") and message["status"] == 200:
                headers["cache-control"] = f"public, max-age={_YEAR}, immutable"
            elif self._new_visit and headers.get("content-type", "").startswith("text/html"):
                headers.append("set-cookie", _cookie(_VISIT_COOKIE, self._new_visit))
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


def log_in(request: Request, response: Response, token: str) -> bool:
    """Add the login cookie to the response if the token is right; return whether it is."""
    expected = context_of(request).settings.token
    if expected is None or not hmac.compare_digest(token.strip().encode(), expected.encode()):
        return False
    cookie = _cookie(_LOGIN_COOKIE, sign(request.app.state.secret, "login", expected))
    response.headers.append("set-cookie", cookie)
    return True


def log_out(response: Response) -> None:
    """Delete the login cookie."""
    response.delete_cookie(_LOGIN_COOKIE, path="/")


def load_secret(home: Path) -> bytes:
    """Return the server's signing key, creating it on first use; it is kept so that open pages survive a restart."""
    path = home / "secret"
    if not path.exists():
        write_file(path, secrets.token_bytes(32), 0o600)
    return path.read_bytes()


def _cookie(name: str, value: str) -> str:
    return f"{name}={value}; Path=/; HttpOnly; SameSite=Strict"


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")
