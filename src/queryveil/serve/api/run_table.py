"""REST routes of all runs: their table and its export, changes of several, comparison, and the stream of events.

One stream serves any number of runs, and a browser shares it between its tabs. A message holds the runs that changed;
the first one holds all, so that a page that was away shows what happened in the meantime. Messages without a run are
sent at intervals, by whose absence a page notices that the server is gone.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response, StreamingResponse

from queryveil.serve.access import OWNER_ONLY
from queryveil.serve.api import models
from queryveil.serve.api.resources import RunId, WantedRuns
from queryveil.serve.audit import note
from queryveil.serve.context import ContextDep
from queryveil.serve.jobs import RunManager
from queryveil.serve.progress_text import progress_text
from queryveil.serve.run_table import SCORE_COLUMNS, as_csv, find_runs, runs_as_csv, score_rows
from queryveil.serve.store import RunRow, Store

router = APIRouter(tags=["runs"], responses=models.PROBLEMS)
Runs = Annotated[list[str], Field(min_length=1, max_length=1_000, description="the ids of runs")]
_CSV = models.documented("text/csv", {"type": "string"}, "a table as CSV")
_SCHEMA = {"type": "object", "properties": {"data": {"type": "string", "description": "the runs that changed"}}}
_STREAM = models.documented("text/event-stream", _SCHEMA, "the runs that changed, as JSON")
INTERVAL = 0.15  # seconds between two looks at the store
HEARTBEAT = 3.0  # seconds between two messages if nothing changes
RETRY = 500  # milliseconds after which a browser that lost the stream connects again


class RunChanges(models.StrictModel):
    """What is changed of a run; what is left out stays."""

    model_config = models.example({"name": "for review", "tags": ["final"], "notes": "the one that we publish"})
    name: models.RunName | None = None
    tags: Annotated[list[str], Field(max_length=100)] | None = None
    notes: str | None = None


class RunSelection(models.StrictModel):
    """Several runs."""

    model_config = models.example({"runs": ["0f3a9c1b2d4e", "9b1c4e7f0a2d"]})
    runs: Runs


class ScoreRow(BaseModel):
    """One figure of one release."""

    run: str
    name: str
    method: str
    measure: str
    label: str
    unit: str
    counted_in: str
    original: float | None
    value: float | None
    low: float | None
    high: float | None


@router.get("/runs.csv", response_class=Response, responses=_CSV)
def export_runs(context: ContextDep, wanted: WantedRuns) -> Response:
    """Return the runs, or those that match all filters, as CSV, in the order of `sort` and `order`."""
    return _csv(runs_as_csv(find_runs(context.store, wanted), context.store, context.jobs), "runs.csv")


@router.patch("/runs/{run}")
def change_run(request: Request, context: ContextDep, run: RunId, body: RunChanges) -> models.RunOut:
    """Rename a run, or replace its tags or notes."""
    row = context.store.describe_run(run, name=body.name, tags=body.tags, notes=body.notes)
    return models.RunOut.of(row, context.result_for(request, row))


@router.post("/runs/delete", status_code=204, dependencies=[OWNER_ONLY])
def delete_runs(request: Request, context: ContextDep, body: RunSelection) -> None:
    """Delete several runs with their releases and the runs on these; nothing is deleted if one is unknown."""
    for run in body.runs:
        context.store.run(run)
    note(request, runs=body.runs)
    for run in body.runs:
        if context.store.runs(id=run):  # not deleted with the release that it examined
            context.jobs.delete(run)


@router.get("/comparison")
def compare_releases(request: Request, context: ContextDep, run: Annotated[list[str], Query()]) -> list[ScoreRow]:
    """Return every figure of the named runs that have made releases, to be put side by side."""
    note(request, runs=run)
    return [ScoreRow(**dict(zip(SCORE_COLUMNS, row, strict=True))) for row in score_rows(run, context.jobs)]


@router.get("/comparison.csv", response_class=Response, responses=_CSV)
def export_comparison(request: Request, context: ContextDep, run: Annotated[list[str], Query()]) -> Response:
    """Return every figure of the named runs that have made releases as CSV."""
    note(request, runs=run)
    return _csv(as_csv(SCORE_COLUMNS, score_rows(run, context.jobs)), "comparison.csv")


def _csv(text: str, name: str) -> Response:
    headers: dict[str, Any] = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/events", response_class=StreamingResponse, responses=_STREAM)
def follow_all_runs(context: ContextDep) -> StreamingResponse:
    """Follow all runs as server-sent events: first every run, then each that changes, and the ids of deleted ones."""
    return StreamingResponse(run_events(context.store, context.jobs), media_type="text/event-stream")


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
