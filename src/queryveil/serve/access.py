"""Who may do what: the tokens of owner and analysts, the sessions of browsers, and the delays after wrong tokens.

The owner may do everything. An analyst makes, compares, examines and downloads releases, but sees no person and deletes
nothing. A browser exchanges a token for a session, which is stored here, by its digest, until it is logged out.
"""

import hashlib
import hmac
import math
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Generic, Literal, TypeVar

from fastapi import Depends, HTTPException, Request
from starlette.requests import HTTPConnection

from queryveil.core.files import write_file
from queryveil.serve.settings import Settings
from queryveil.serve.store import Store, now

Role = Literal["owner", "analyst"]
SESSION_DAYS = 7  # after which a browser is asked for the token again
NOT_OWNER = "only the owner of this server may do that; log in with the owner's token."
LOG_IN = "this server asks for its token; send it as the header Authorization: Bearer TOKEN."
_FREE_ATTEMPTS = 4  # wrong tokens of one address before the first delay
_LONGEST_DELAY, _MOST_ADDRESSES = 60.0, 10_000  # seconds; addresses of which wrong tokens are counted


@dataclass(frozen=True)
class Visitor:
    """Who sent a request: their role, and the beginning of their session's digest or `token`."""

    role: Role
    who: str

    @property
    def has_session(self) -> bool:
        """Return whether a browser's cookie was presented, and not the token itself."""
        return self.who != _PROGRAM


_PROGRAM = "token"  # in place of a session


class TooManyWrongTokensError(Exception):
    """A token is not even looked at, since several wrong ones came from the same address just before."""

    def __init__(self, seconds: float) -> None:
        self.seconds = math.ceil(seconds)
        super().__init__(f"too many wrong tokens came from your address; try again in {self.seconds} s.")


class Access:
    """Checks tokens and sessions."""

    def __init__(self, settings: Settings, store: Store, secret: bytes) -> None:
        """Take the tokens of the settings; an owner's token is made if none is given."""
        self._store, self._secret = store, secret
        self.start_token = secrets.token_urlsafe(24) if settings.token is None else ""
        given = {"owner": settings.token or self.start_token, "analyst": settings.analyst_token}
        self._tokens: dict[Role, str] = {role: token for role, token in given.items() if token}  # type: ignore[misc]
        self._wrong: dict[str, tuple[int, float]] = {}  # address → wrong tokens in a row, and when the next may come

    def visitor_by_token(self, token: str, address: str) -> Visitor | None:
        """Return who has a token; None, and a longer wait for the next from this address, if nobody does."""
        n_wrong, until = self._wrong.get(address, (0, 0.0))
        if time.monotonic() < until:
            raise TooManyWrongTokensError(until - time.monotonic())
        for role, expected in self._tokens.items():
            if hmac.compare_digest(token.encode(errors="replace"), expected.encode()):
                self._wrong.pop(address, None)
                return Visitor(role, _PROGRAM)
        delay = min(2.0 ** (n_wrong - _FREE_ATTEMPTS), _LONGEST_DELAY) if n_wrong >= _FREE_ATTEMPTS else 0.0
        if len(self._wrong) >= _MOST_ADDRESSES:
            self._wrong.pop(next(iter(self._wrong)))
        self._wrong[address] = (min(n_wrong + 1, 100), time.monotonic() + delay)
        return None

    def visitor_by_session(self, session: str) -> Visitor | None:
        """Return whose session a cookie names; None if it was logged out, is too old, or its token was replaced."""
        digest = _digest(session)
        oldest = (datetime.now(UTC) - timedelta(days=SESSION_DAYS)).isoformat(timespec="milliseconds")
        rows = self._store.execute("SELECT * FROM sessions WHERE digest = ? AND created > ?", digest, oldest)
        if not rows or rows[0]["token"] != self._mark_of(rows[0]["role"]):
            return None
        return Visitor(rows[0]["role"], digest[:8])

    def open_session(self, role: Role) -> str:
        """Return the cookie of a new session; sessions that are too old are removed."""
        session, oldest = secrets.token_urlsafe(32), datetime.now(UTC) - timedelta(days=SESSION_DAYS)
        self._store.execute("DELETE FROM sessions WHERE created <= ?", oldest.isoformat(timespec="milliseconds"))
        row = (_digest(session), role, self._mark_of(role), now())
        self._store.execute("INSERT INTO sessions (digest, role, token, created) VALUES (?, ?, ?, ?)", *row)
        return session

    def end_session(self, session: str) -> None:
        """Revoke a session."""
        self._store.execute("DELETE FROM sessions WHERE digest = ?", _digest(session))

    def _mark_of(self, role: Role) -> str:
        """Return what tells a role's token from others without revealing it; all that were made at a start are alike.

        Sessions are stored with it, so that they survive a restart but not the replacement of a token.
        """
        token = self._tokens.get(role, secrets.token_urlsafe())  # a role without a token has no sessions
        return "" if token == self.start_token else hmac.new(self._secret, token.encode(), hashlib.sha256).hexdigest()


def load_secret(home: Path) -> bytes:
    """Return the server's signing key, creating it on first use; it is kept so that open pages survive a restart."""
    path = home / "secret"
    if not path.exists():
        write_file(path, secrets.token_bytes(32), 0o600)
    return path.read_bytes()


def _digest(session: str) -> str:
    return hashlib.sha256(session.encode(errors="replace")).hexdigest()


def visitor_of(request: HTTPConnection) -> Visitor | None:
    """Return who sent a request; None at the addresses that everybody may open."""
    visitor: Visitor | None = getattr(request.state, "visitor", None)
    return visitor


def is_by_owner(request: HTTPConnection) -> bool:
    """Return whether the owner sent a request."""
    visitor = visitor_of(request)
    return visitor is not None and visitor.role == "owner"


def require_owner(request: Request) -> None:
    """Refuse a request of anybody but the owner; a dependency of routes."""
    if not is_by_owner(request):
        raise HTTPException(403, NOT_OWNER)


OWNER_ONLY = Depends(require_owner)


MOST = 500  # forms of all sessions; the oldest are forgotten first
GONE = "the server does not remember this answer any more; send the form again."
Form = TypeVar("Form")


class RememberedForms(Generic[Form]):
    """Forms by a random key."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._forms: OrderedDict[str, tuple[str, Form]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, request: Request, form: Form) -> str:
        """Keep a form and return its key."""
        key = secrets.token_urlsafe(16)
        with self._lock:
            self._forms[key] = _session_of(request), form
            if len(self._forms) > self._most:
                self._forms.popitem(last=False)
        return key

    def find(self, request: Request, key: str) -> Form | None:
        """Return a form of the same session; None if it was forgotten, or is another session's."""
        with self._lock:
            session, form = self._forms.get(key, ("", None))
        return form if session == _session_of(request) else None


def _session_of(request: Request) -> str:
    visitor = visitor_of(request)
    return "" if visitor is None else f"{visitor.role} {visitor.who}"
