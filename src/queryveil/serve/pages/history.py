"""One history before and after, for the owner of the log only: who it is travels in forms, never in addresses."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import InputError, QueryveilError
from queryveil.serve.pages.here import Fields, Here, State
from queryveil.serve.pages.runs import log_of
from queryveil.serve.rendering import page
from queryveil.serve.store import RunRow
from queryveil.workflows.person_view import person_of, sample_people, show_person

router = APIRouter(prefix="/runs/{run}/history")
SHOWN = 12  # people to choose from
NOBODY = "nobody was chosen; choose one of the people below, or give a user as it stands in the log."


@router.get("")
def choose(request: Request, here: Here, run: str) -> HTMLResponse:
    """Offer a few people to look at."""
    return _page(request, here, here.jobs.made(run))


@router.post("")
def show(request: Request, here: Here, fields: Fields, run: str) -> Response:
    """Show one person's history."""
    row = here.jobs.made(run)
    release, private = here.jobs.release_of(run), here.jobs.private_of(run)
    try:
        person, number = _asked(here, run, fields.get("person", "").strip(), fields.get("number", ""))
        found = show_person(release, private, person)
    except QueryveilError as error:
        return _page(request, here, row, status=422, error=error)
    return _page(request, here, row, found=found, number=number, person=person)


def _asked(here: State, run: str, person: str, number: str) -> tuple[str, int | None]:
    """Return the user that a form asks for, by name or by number."""
    if person:
        return person, None
    if not number.isdecimal() or len(number) > 12:
        raise InputError(NOBODY, field="person")
    return person_of(here.jobs.private_of(run), int(number)), int(number)


def _page(request: Request, here: State, row: RunRow, status: int = 200, **context: Any) -> HTMLResponse:
    people = sample_people(here.jobs.private_of(row.id), SHOWN)
    found = here.jobs.result(row.id) or {}
    manifest = found["manifest"]
    return page(
        request,
        "history.html",
        status=status,
        run=row,
        log=log_of(here, row),
        people=people,
        manifest=manifest,
        **context,
    )
