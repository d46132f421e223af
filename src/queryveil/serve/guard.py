"""What stands before every page: who may ask, from where, how much may be sent, and what browsers must not do.

A request is refused unless its Host is ours (so that no foreign page can reach this machine by a name of its own), it
knows the token where there is one, and, where it changes something, it comes from one of our own pages or from a
program. Forms carry a token that only our pages know: the signature of a cookie.
"""

import hashlib
import hmac
import logging
import os
import secrets
import time
from pathlib import Path

from fastapi import HTTPException, Request
from starlette.datastructures import MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from queryveil.core.errors import sentence_of
from queryveil.serve.logs import too_large
from queryveil.serve.rendering import problem
from queryveil.serve.settings import LOOPBACK, Settings, host_in

FIELD, HEADER = "csrf", "x-csrf-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-src 'self'; frame-ancestors 'none'"
)
_VISIT, _LOGIN = "queryveil_visit", "queryveil_login"  # cookies
_SAFE = ("GET", "HEAD", "OPTIONS")
_UPLOADS = ("/api/v1/logs/upload", "/logs/upload")
_FORM_ROOM, _OTHER_BODIES = 1_000_000, 1_000_000  # bytes: of an upload's other fields, and of any other request
_DRAIN = 20.0  # seconds for which what is too large is still taken in and thrown away
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
REPORT_HEADERS = {  # of a release's report, which has its style within it and may stand in a frame of ours
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; "
    "base-uri 'none'; form-action 'none'; sandbox",
    "x-frame-options": "SAMEORIGIN",
}
STALE = "the form is too old or was not ours; go back, reload the page, and send it again."
FOREIGN = "the request came from a page of another site, so it was refused."
_journal = logging.getLogger("queryveil.serve")


class Refusal(HTTPException):
    """A request that is not let in, with the sentence that says why."""


class Guard:
    """The outermost layer of the service."""

    def __init__(self, app: ASGIApp, settings: Settings, secret: bytes) -> None:
        self._app, self._settings, self._secret = app, settings, secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say why not; whatever goes wrong inside becomes a sentence."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        visit = request.cookies.get(_VISIT, "")
        new_visit = "" if visit else secrets.token_urlsafe(16)
        request.state.csrf = sign(self._secret, "form", visit or new_visit)
        answer = _Answer(scope, send, new_visit)
        try:
            response = await self._refuse(request)
            if response is None:
                await self._app(scope, _Limited(receive, self._most(request), self._too_large(request)), answer)
                return
        except Exception as error:  # its text may hold what somebody typed, so only its place is told
            _journal.error("%s", sentence_of(error) if not isinstance(error, OSError) else type(error).__name__)
            if answer.has_begun:
                raise _BrokenOffError from None
            response = problem(request, 500, "something went wrong in the server itself; look at its terminal.")
        await response(scope, receive, answer)

    async def _refuse(self, request: Request) -> Response | None:
        """Return the answer to a request that is not let in."""
        try:
            self._check_host(request)
            is_known = self._check_login(request)
            if request.method not in _SAFE:
                self._check_origin(request)
                if is_known == "cookie" and _is_api(request):
                    check_token(request, request.headers.get(HEADER, ""))
                await self._check_length(request)
        except Refusal as refusal:
            if refusal.status_code == 401 and not _is_api(request):
                return RedirectResponse("/login", 303)
            return problem(request, refusal.status_code, refusal.detail)
        return None

    def _check_host(self, request: Request) -> None:
        """Refuse names that are not this machine's own; who knows the token may call it by any."""
        if self._settings.token is None and host_in(request.headers.get("host", "")) not in LOOPBACK:
            raise Refusal(400, f"this server is not called that; ask for {self._settings.host}.")

    def _check_login(self, request: Request) -> str:
        """Return how the token is known, if it must be: by a header or a cookie."""
        token, path = self._settings.token, request.url.path
        if token is None or path == "/login" or path.startswith("/static/"):
            return ""
        given = request.headers.get("authorization", "")
        if hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            return "header"
        if hmac.compare_digest(request.cookies.get(_LOGIN, "").encode(), sign(self._secret, "login", token).encode()):
            return "cookie"
        raise Refusal(401, "this server asks for its token; send it as the header Authorization: Bearer TOKEN.")

    def _check_origin(self, request: Request) -> None:
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
        is_ours = origin is None or origin.partition("://")[2] == request.headers.get("host")
        if not is_ours or site not in ("same-origin", "none"):
            raise Refusal(403, FOREIGN)

    async def _check_length(self, request: Request) -> None:
        length = request.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._most(request):
            await _drain(request.receive)
            raise Refusal(413, self._too_large(request))

    def _most(self, request: Request) -> int:
        return self._settings.max_upload + _FORM_ROOM if request.url.path in _UPLOADS else _OTHER_BODIES

    def _too_large(self, request: Request) -> str:
        if request.url.path in _UPLOADS:
            return too_large(self._settings.max_upload)
        return f"the request is larger than the {_OTHER_BODIES // 1_000_000} MB that this server takes; send less."


class _BrokenOffError(Exception):
    """The answer broke off in the middle; why stands in the journal."""


class _Limited:
    """A request's body, cut off where it becomes too large."""

    def __init__(self, receive: Receive, most: int, sentence: str) -> None:
        self._receive, self._left, self._sentence = receive, most, sentence

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            await _drain(self._receive)
            raise Refusal(413, self._sentence)
        return message


class _Answer:
    """Sends an answer with the headers that all of them have."""

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
                headers.append("set-cookie", _cookie(_VISIT, self._new_visit))
        await self._send(message)


async def _drain(receive: Receive) -> None:
    """Take in the rest of a body and throw it away: a browser that cannot finish sending never shows our answer."""
    until = time.monotonic() + _DRAIN
    while time.monotonic() < until:
        message = await receive()
        if message["type"] != "http.request" or not message.get("more_body", False):
            return


def sign(secret: bytes, purpose: str, text: str) -> str:
    """Return a signature that only this server can make."""
    return hmac.new(secret, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def check_token(request: Request, given: str) -> None:
    """Refuse a form, or a page's call, without the token of our pages."""
    if not request.cookies.get(_VISIT) or not hmac.compare_digest(given.encode(), request.state.csrf.encode()):
        raise Refusal(403, STALE)


async def check_form(request: Request) -> None:
    """Refuse what changes something and carries no token of our pages; every page's router depends on this."""
    if request.method not in _SAFE:
        given = (await request.form()).get(FIELD) or request.headers.get(HEADER, "")
        check_token(request, given if isinstance(given, str) else "")


def log_in(request: Request, response: Response, token: str) -> bool:
    """Let a browser in that knows the token; say whether it does."""
    settings: Settings = request.app.state.settings
    if settings.token is None or not hmac.compare_digest(token.strip().encode(), settings.token.encode()):
        return False
    response.headers.append("set-cookie", _cookie(_LOGIN, sign(request.app.state.secret, "login", settings.token)))
    return True


def log_out(response: Response) -> None:
    """Forget a browser."""
    response.delete_cookie(_LOGIN, path="/")


def load_secret(home: Path) -> bytes:
    """Return what the server signs with; it is kept, so that open pages outlive a restart."""
    path = home / "secret"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_bytes()
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(secrets.token_bytes(32))
    return path.read_bytes()


def _cookie(name: str, value: str) -> str:
    return f"{name}={value}; Path=/; HttpOnly; SameSite=Strict"


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")
