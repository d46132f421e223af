"""The page of the audit trail, for the owner."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from queryveil.serve.access import OWNER_ONLY
from queryveil.serve.context import ContextDep
from queryveil.serve.rendering import page
from queryveil.serve.store import LogRow, RunRow

router = APIRouter(prefix="/audit", dependencies=[OWNER_ONLY])
_LISTED = 100  # events


@router.get("")
def show_audit(
    request: Request, context: ContextDep, before: Annotated[int | None, Query(ge=1, le=2**62)] = None
) -> HTMLResponse:
    """List who looked at, started, downloaded or deleted what, the newest first."""
    events = context.audit.events(before=before, most=_LISTED)
    rows: list[LogRow | RunRow] = [*context.store.logs(), *context.store.drafts(), *context.store.runs()]
    names = {row.id: row.name for row in rows}
    oldest = events[-1].number if len(events) == _LISTED else None
    return page(request, "audit.html", events=events, names=names, oldest=oldest)
