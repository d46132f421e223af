"""REST routes of the audit trail, for the owner."""

import csv
import io
from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from queryveil.serve.access import OWNER_ONLY
from queryveil.serve.api import models
from queryveil.serve.audit import AuditEvent, AuditTrail
from queryveil.serve.context import ContextDep

router = APIRouter(prefix="/audit", tags=["audit"], responses=models.PROBLEMS, dependencies=[OWNER_ONLY])
_CSV = models.documented("text/csv", {"type": "string"}, "all events, the oldest first")


@router.get("")
def list_events(
    context: ContextDep,
    before: Annotated[int | None, Query(ge=1, le=2**62, description="only events before this number")] = None,
    most: Annotated[int, Query(ge=1, le=10_000, description="how many events at most")] = 1_000,
) -> list[AuditEvent]:
    """List who looked at, started, downloaded or deleted what, the newest first."""
    return context.audit.events(before=before, most=most)


@router.get("/export", response_class=StreamingResponse, responses=_CSV)
def export_audit(context: ContextDep) -> StreamingResponse:
    """Return the whole audit trail as CSV."""
    disposition = {"content-disposition": 'attachment; filename="audit.csv"'}
    return StreamingResponse(_csv_lines(context.audit), media_type="text/csv", headers=disposition)


def _csv_lines(audit: AuditTrail) -> Iterator[str]:
    for line in audit.lines():
        text = io.StringIO()
        csv.writer(text).writerow(line)
        yield text.getvalue()
