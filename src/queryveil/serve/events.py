"""The event stream of a page: the states of all runs at once, and every change of them.

One stream serves any number of runs, and a browser shares it between its tabs. A message holds the runs that changed;
the first one holds all, so that a page that was away shows what happened in the meantime. Messages without a run are
sent at intervals, by whose absence a page notices that the server is gone.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from queryveil.serve.jobs import RunManager
from queryveil.serve.progress_text import progress_text
from queryveil.serve.store import RunRow, Store

INTERVAL = 0.15  # seconds between two looks at the store
HEARTBEAT = 3.0  # seconds between two messages if nothing changes
RETRY = 500  # milliseconds after which a browser that lost the stream connects again


async def run_events(store: Store, jobs: RunManager) -> AsyncIterator[str]:
    """Yield server-sent events with the runs that changed, until the server stops."""
    yield f"retry: {RETRY}\n\n"
    known: dict[str, dict[str, Any]] | None = None
    version, sent = -1, 0.0
    while not jobs.closing.is_set():
        if store.changes != version:
            version = store.changes
            current = {run.id: run_state(run, jobs) for run in store.runs()}
            changes = _changes(known, current)
            known = current
        else:
            changes = {}
        if changes or time.monotonic() - sent > HEARTBEAT:
            sent = time.monotonic()
            yield f"data: {json.dumps(changes, ensure_ascii=False, separators=(',', ':'))}\n\n"
        await asyncio.sleep(INTERVAL)


def _changes(known: dict[str, dict[str, Any]] | None, current: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what a message says: whether it holds all runs, those that changed, and the ids of deleted ones."""
    if known is None:
        return {"all": True, "runs": list(current.values())}
    changed = [state for run, state in current.items() if known.get(run) != state]
    deleted = [run for run in known if run not in current]
    return {**({"runs": changed} if changed else {}), **({"deleted": deleted} if deleted else {})}


def run_state(run: RunRow, jobs: RunManager) -> dict[str, Any]:
    """Return what a page shows of a run while it changes."""
    return {
        "id": run.id,
        "name": run.name,
        "state": run.state,
        "is_over": run.is_over,
        "done": run.done,
        "total": run.total,
        "text": progress_text(run, jobs.seconds_left(run.id)),
    }
