"""Runs by REST: start, get, follow, cancel, start again, delete."""

import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import StreamingResponse

from queryveil.serve.api.models import JSON_PROBLEMS, PROBLEMS, Responses, RunIn, RunOut
from queryveil.serve.context import ContextDep
from queryveil.serve.jobs import Jobs
from queryveil.serve.records import RunKind

router = APIRouter(tags=["runs"], responses=PROBLEMS)
RunId = Annotated[str, Path(description="the id of a run")]
_EVENT = {"type": "object", "properties": {"data": {"type": "string", "description": "a run as JSON"}}}
_STREAM: Responses = {
    **JSON_PROBLEMS,
    200: {"content": {"text/event-stream": {"schema": _EVENT}}, "description": "a run per event"},
}


@router.get("/runs")
def list_runs(
    context: ContextDep, log: str | None = None, kind: Annotated[RunKind | None, Query()] = None
) -> list[RunOut]:
    """List the runs, the newest first; on a log or of a kind where asked for."""
    return [RunOut.of(row) for row in context.store.runs(log, kind)]


@router.post("/runs", status_code=202)
def start_run(context: ContextDep, asked: RunIn) -> RunOut:
    """Start a run of a method on a log; it makes a release."""
    return RunOut.of(context.jobs.start(asked, asked.name, log=asked.log))


@router.get("/runs/{run}")
def get_run(context: ContextDep, run: RunId) -> RunOut:
    """Return a run, with what it found once it is done."""
    return RunOut.of(context.store.run(run), context.jobs.result(run))


@router.get("/runs/{run}/events", response_class=StreamingResponse, responses=_STREAM)
def follow_run(context: ContextDep, run: RunId) -> StreamingResponse:
    """Follow a run as server-sent events, each a run as JSON, until it is over."""
    context.store.run(run)  # raises before the stream begins if there is no such run
    return StreamingResponse(_events(context.jobs, run), media_type="text/event-stream")


async def _events(jobs: Jobs, run: str) -> AsyncIterator[str]:
    async for row in jobs.events(run):
        yield f"data: {json.dumps(vars(row), ensure_ascii=False, separators=(',', ':'))}\n\n"


@router.post("/runs/{run}/cancel", status_code=202)
def cancel_run(context: ContextDep, run: RunId) -> RunOut:
    """Cancel a run that waits or is under way; nothing of it is kept."""
    return RunOut.of(context.jobs.cancel(run))


@router.post("/runs/{run}/again", status_code=202)
def start_again(context: ContextDep, run: RunId) -> RunOut:
    """Start a run that failed, was cancelled or interrupted once more."""
    return RunOut.of(context.jobs.restart(run))


@router.delete("/runs/{run}", status_code=204)
def delete_run(context: ContextDep, run: RunId) -> None:
    """Delete a run, its release, and the runs on that release."""
    context.jobs.delete(run)
