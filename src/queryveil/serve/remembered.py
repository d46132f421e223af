"""What a browser asked for, remembered for a while, so that Back and a reload work without the request in the address.

A query or a person never appears in an address: a form's answer is redirected to an address with a random key, under
which the form is kept in memory, for the session that sent it alone.
"""

import secrets
import threading
from collections import OrderedDict
from typing import Generic, TypeVar

from fastapi import Request

from queryveil.serve.access import visitor_of

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
