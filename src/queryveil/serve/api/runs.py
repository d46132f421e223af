"""Runs by REST: start, look at, follow, cancel, start again, delete."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import StreamingResponse

from queryveil.serve.api.models import PROBLEMS, PROBLEMS_BESIDE, Kind, Responses, RunIn, RunOut
from queryveil.serve.jobs import Jobs
from queryveil.serve.store import Store

router = APIRouter(tags=["runs"], responses=PROBLEMS)
RunId = Annotated[str, Path(description="the id of a run")]
_EVENT = {"type": "object", "properties": {"data": {"type": "string", "description": "a run as JSON"}}}
_STREAM: Responses = {
    **PROBLEMS_BESIDE,
    200: {"content": {"text/event-stream": {"schema": _EVENT}}, "description": "a run per event"},
}


@router.get("/runs")
def list_runs(request: Request, log: str | None = None, kind: Annotated[Kind | None, Query()] = None) -> list[RunOut]:
    """List the runs, the newest first; on a log or of a kind where asked for."""
    store: Store = request.app.state.store
    return [RunOut.of(row) for row in store.runs(log, kind)]


@router.post("/runs", status_code=202)
def start_run(request: Request, asked: RunIn) -> RunOut:
    """Start a run of a method on a log; it makes a release."""
    jobs: Jobs = request.app.state.jobs
    return RunOut.of(jobs.start("anonymize", asked.name, log=asked.log, spec=asked.spec()))


@router.get("/runs/{run}")
def get_run(request: Request, run: RunId) -> RunOut:
    """Return a run, with what it found once it is done."""
    store: Store = request.app.state.store
    jobs: Jobs = request.app.state.jobs
    return RunOut.of(store.run(run), jobs.result(run))


@router.get("/runs/{run}/events", response_class=StreamingResponse, responses=_STREAM)
def follow_run(request: Request, run: RunId) -> StreamingResponse:
    """Follow a run as server-sent events, each a run as JSON, until it is over."""
    store: Store = request.app.state.store
    store.run(run)  # an id that is not there is told before anything is sent
    return StreamingResponse(_events(request.app.state.jobs, run), media_type="text/event-stream")


async def _events(jobs: Jobs, run: str) -> AsyncIterator[str]:
    async for row in jobs.events(run):
        yield f"data: {RunOut.of(row).model_dump_json(exclude={'result'})}\n\n"


@router.post("/runs/{run}/cancel", status_code=202)
def cancel_run(request: Request, run: RunId) -> RunOut:
    """Cancel a run that waits or is under way; nothing of it is kept."""
    jobs: Jobs = request.app.state.jobs
    return RunOut.of(jobs.cancel(run))


@router.post("/runs/{run}/again", status_code=202)
def start_again(request: Request, run: RunId) -> RunOut:
    """Start a run that failed, was cancelled or interrupted once more."""
    jobs: Jobs = request.app.state.jobs
    return RunOut.of(jobs.again(run))


@router.delete("/runs/{run}", status_code=204)
def delete_run(request: Request, run: RunId) -> None:
    """Delete a run, its release, and the runs on that release."""
    jobs: Jobs = request.app.state.jobs
    jobs.delete(run)
