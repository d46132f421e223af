"""A release: what it promises, whether that holds, what attacks reach, and its files."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import QueryveilError
from queryveil.core.names import declarations
from queryveil.serve import declared
from queryveil.serve.pages.here import Here, State, free_name, go
from queryveil.serve.pages.runs import log_of
from queryveil.serve.pages.side_by_side import crowds_of
from queryveil.serve.pages.suggested import suggested_name
from queryveil.serve.rendering import page
from queryveil.serve.store import RunRow

router = APIRouter(prefix="/releases/{release}")
KINDS = ("verify", "attack", "measure")  # of runs on a release


@router.get("")
def one(request: Request, here: Here, release: str) -> HTMLResponse:
    """Show a release."""
    return _page(request, here, here.jobs.made(release))


@router.post("/verify")
def verify(request: Request, here: Here, release: str) -> Response:
    """Have a release verified anew."""
    return _begin(request, here, release, "verify", {})


@router.post("/attack")
async def attack(request: Request, here: Here, release: str) -> Response:
    """Have a release attacked."""
    form: FormData = await request.form()
    return _begin(request, here, release, "attack", {"attacks": _ticked(form, "attacks")})


@router.post("/measure")
async def measure(request: Request, here: Here, release: str) -> Response:
    """Have a release measured."""
    form: FormData = await request.form()
    return _begin(request, here, release, "measure", {"measures": _ticked(form, "measures")})


def _ticked(form: FormData, name: str) -> list[str]:
    return [value for value in form.getlist(name) if isinstance(value, str)]


def _begin(request: Request, here: State, release: str, kind: str, spec: dict[str, Any]) -> Response:
    """Start a run on a release, under a name that says what it is."""
    row = here.jobs.made(release)
    name = free_name(f"{kind} {row.name}"[:96], {run.name for run in here.store.runs(kind=kind)})
    try:
        here.jobs.start(kind, name, release=release, spec={key: value for key, value in spec.items() if value})
    except QueryveilError as error:
        return _page(request, here, row, status=422, errors={kind: str(error)})
    return go(f"/releases/{release}#{kind}")


def _page(
    request: Request, here: State, row: RunRow, status: int = 200, errors: dict[str, str] | None = None
) -> HTMLResponse:
    found = here.jobs.result(row.id) or {}
    kind = found["manifest"]["kind"]
    runs = here.store.runs(release=row.id)
    by_kind = {each: [(run, here.jobs.result(run.id)) for run in runs if run.kind == each] for each in KINDS}
    return page(
        request,
        "release.html",
        status=status,
        run=row,
        log=log_of(here, row),
        found=found,
        manifest=found["manifest"],
        crowds=crowds_of(row.id, found, here.jobs),
        by_kind=by_kind,
        is_busy=any(not run.is_over for run in runs),
        attacks=_of_kind("attack", kind),
        measures=_of_kind("measure", kind),
        errors=errors or {},
    )


def _of_kind(what: str, kind: str) -> list[tuple[str, str]]:
    """Return the attacks, or the measures, that a kind of release can be put to without a file, and what for."""
    found = ((each, declared.entry(each)["about"]) for each in declarations(what).values())
    usable = (each for each, about in found if kind in about["kinds"] and not _needs_a_file(about))
    return [(suggested_name(each), each.purpose) for each in usable]


def _needs_a_file(about: Mapping[str, Any]) -> bool:
    return bool(about.get("needs_index") or about.get("needs_market"))
