"""One run: how far it is, how it ended, what it found, and what can be done about it."""

import math
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from queryveil.serve.pages.here import Fields, Here, State, go
from queryveil.serve.pages.side_by_side import crowds_of
from queryveil.serve.rendering import page
from queryveil.serve.store import LogRow, RunRow, UnknownIdError

router = APIRouter(prefix="/runs/{run}")
_BACK = ("/logs/", "/try?", "/runs/", "/releases/", "/search")  # pages that a form may lead back to


@router.get("")
def one(request: Request, here: Here, run: str) -> HTMLResponse:
    """Show a run."""
    row = here.store.run(run)
    found = here.jobs.result(run)
    is_release = row.kind == "anonymize" and found is not None
    crowds = crowds_of(run, found, here.jobs) if is_release and found is not None else None
    log, release = log_of(here, row), _release_of(here, row)
    did = list(_sentences(found.get("summary", {}))) if found else []
    return page(request, "run.html", run=row, log=log, release=release, found=found, crowds=crowds, did=did)


@router.post("/cancel")
def cancel(here: Here, fields: Fields, run: str) -> Response:
    """Stop a run."""
    if not here.store.run(run).is_over:  # whoever was late sees how it ended
        here.jobs.cancel(run)
    return go(_back(fields, run))


@router.post("/again")
def again(here: Here, fields: Fields, run: str) -> Response:
    """Start a run once more."""
    here.jobs.again(run)
    return go(_back(fields, run))


@router.post("/delete")
def delete(here: Here, run: str) -> Response:
    """Remove a run and what it made."""
    row = here.store.run(run)
    here.jobs.delete(run)
    if row.release is not None:
        return go(f"/releases/{row.release}")
    return go(f"/try?log={row.log}" if log_of(here, row) else "/")


def log_of(here: State, row: RunRow) -> LogRow | None:
    """Return the log of a run, unless it was deleted or there is none."""
    try:
        return None if row.log is None else here.store.log(row.log)
    except UnknownIdError:
        return None


def _release_of(here: State, row: RunRow) -> RunRow | None:
    try:
        return None if row.release is None else here.store.run(row.release)
    except UnknownIdError:
        return None


def _back(fields: Mapping[str, str], run: str) -> str:
    """Return the page that a form leads back to, if it is one of ours."""
    back = fields.get("back", "")
    return back if back.startswith(_BACK) and "\\" not in back else f"/runs/{run}"


def _sentences(summary: Mapping[str, Any]) -> list[str]:
    """Say what a method tried, chose and counted."""
    found = []
    for what, value in summary.items():
        if isinstance(value, Mapping):
            parts = [f"{_short(figure)} by {way}" for way, figure in value.items() if _is_figure(figure)]
            found += [f"{what}: {', '.join(parts)}"] if parts else []
        elif isinstance(value, str):
            found.append(f"{what}: {value}")
        elif _is_figure(value):
            found.append(f"{what}: {_short(value)}")
    return found


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _short(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
