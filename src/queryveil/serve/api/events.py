"""The REST route of the event stream that pages and programs follow all runs by."""

from fastapi import APIRouter
from starlette.responses import StreamingResponse

from queryveil.serve.api import models
from queryveil.serve.context import ContextDep
from queryveil.serve.events import run_events

router = APIRouter(tags=["runs"], responses=models.PROBLEMS)
_SCHEMA = {"type": "object", "properties": {"data": {"type": "string", "description": "the runs that changed"}}}
_STREAM = models.documented("text/event-stream", _SCHEMA, "the runs that changed, as JSON")


@router.get("/events", response_class=StreamingResponse, responses=_STREAM)
def follow_all_runs(context: ContextDep) -> StreamingResponse:
    """Follow all runs as server-sent events: first every run, then each that changes, and the ids of deleted ones."""
    return StreamingResponse(run_events(context.store, context.jobs), media_type="text/event-stream")
