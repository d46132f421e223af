"""The audit trail: who looked at which log, run or person, and who added, started, downloaded or deleted what.

It holds ids and numbers, never content: a person is the number in a private folder, which means nothing without it.
Rows are only ever added; the database refuses to change or delete one.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from fastapi import Request

from queryveil.serve.access import Visitor
from queryveil.serve.store import LogRow, RunRow, Store, now

_SAME_LOOK = 600.0  # seconds within which the same look by the same visitor is recorded once
_MOST_REMEMBERED = 10_000  # looks
_OK = 200  # the status of looks; what adds, starts or deletes something is answered with another
Look = tuple[str, str, str | None, str | None, int | None]
Subject = tuple[str | None, str | None]  # a log, a run


@dataclass(frozen=True, kw_only=True)
class AuditEvent:
    """One row of the trail."""

    number: int
    time: str
    role: str  # owner, analyst or nobody
    who: str  # the beginning of a session's digest, or `token` for a program
    address: str  # from which the request came
    action: str
    log: str | None
    run: str | None
    person: int | None  # the number in the private folder of the run


class AuditTrail:
    """Records events and returns them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looks: dict[Look, float] = {}
        self._lock = threading.Lock()

    def record_request(self, request: Request, status: int, added: Sequence[LogRow | RunRow] = ()) -> None:
        """Record a request that was admitted and answered: the name of its route, and what it was about or has added.

        What it was about are the ids in its address, and what its route has noted.
        """
        visitor, endpoint = request.state.visitor, request.scope.get("endpoint")
        if endpoint is None or visitor is None or status >= 400:
            return
        noted: dict[str, Any] = getattr(request.state, "noted", {})
        action, person = noted.get("action", endpoint.__name__.replace("_", " ")), noted.get("person")
        subjects = _subjects(request.scope.get("path_params", {}), noted, added)
        is_change = request.method not in ("GET", "HEAD", "OPTIONS")
        who = f"{visitor.role} {visitor.who}"  # all programs are called alike
        for log, run in subjects or ([(None, None)] if is_change else []):
            if status != _OK or not self._is_repeated((who, action, log, run, person)):
                self.record(action, visitor, address_of_client(request), log=log, run=run, person=person)

    def record(
        self,
        action: str,
        visitor: Visitor | None,
        address: str,
        *,
        log: str | None = None,
        run: str | None = None,
        person: int | None = None,
    ) -> None:
        """Add a row."""
        role, who = ("nobody", "") if visitor is None else (visitor.role, visitor.who)
        columns = "time, role, who, address, action, log, run, person"
        values = (now(), role, who, address, action, log, run, person)
        self._store.execute(f"INSERT INTO audit ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *values)

    def events(self, *, before: int | None = None, most: int = 1_000) -> list[AuditEvent]:
        """Return events, the newest first; only those before a number if one is given."""
        condition, values = ("number < ?", (before,)) if before is not None else ("TRUE", ())
        rows = self._store.execute(f"SELECT * FROM audit WHERE {condition} ORDER BY number DESC LIMIT ?", *values, most)
        return [AuditEvent(**row) for row in rows]

    def lines(self) -> Iterator[list[Any]]:
        """Yield the headings and all events, the oldest first, as the lines of a table."""
        yield [each.name for each in fields(AuditEvent)]
        last = 0
        while rows := self._store.execute("SELECT * FROM audit WHERE number > ? ORDER BY number LIMIT 1000", last):
            yield from (list(asdict(AuditEvent(**row)).values()) for row in rows)
            last = rows[-1]["number"]

    def _is_repeated(self, look: Look) -> bool:
        """Return whether a look was recorded a short while ago, as those of programs that wait for a run are."""
        moment = time.monotonic()
        with self._lock:
            is_repeated = moment - self._looks.get(look, -_SAME_LOOK) < _SAME_LOOK
            if not is_repeated:
                self._looks.pop(look, None)
                self._looks[look] = moment
                if len(self._looks) > _MOST_REMEMBERED:
                    self._looks.pop(next(iter(self._looks)))
        return is_repeated


def address_of_client(request: Request) -> str:
    """Return the address from which a request came."""
    return request.client.host if request.client is not None else ""


def note(request: Request, *, runs: Sequence[str] = (), person: int | None = None, action: str | None = None) -> None:
    """Note for the audit trail what a request is about that its address does not say; `action` replaces its name."""
    given = {"runs": runs, "person": person, "action": action}
    request.state.noted = {name: value for name, value in given.items() if value not in (None, ())}


def _subjects(about: Mapping[str, str], noted: Mapping[str, Any], added: Sequence[LogRow | RunRow]) -> list[Subject]:
    """Return the logs and runs that a request was about; of a log that it has added, not the run of its statistics."""
    logs: list[Subject] = [(row.id, None) for row in added if isinstance(row, LogRow)]
    runs: list[Subject] = [(row.log, row.id) for row in added if isinstance(row, RunRow)]
    own: Subject = about.get("log", about.get("draft")), about.get("run", about.get("release"))
    return logs or runs or [(None, run) for run in noted.get("runs", ())] or ([own] if any(own) else [])
