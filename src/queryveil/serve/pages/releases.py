"""The page of a release: its promise and verdict, and the runs that verify, attack or measure it."""

from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import QueryveilError
from queryveil.core.names import Declaration, declarations, plural
from queryveil.kinds.base import Kind, kind_of
from queryveil.serve.context import ContextDep, ServerContext
from queryveil.serve.declarations import suggested_name
from queryveil.serve.pages.comparison import crowds_of
from queryveil.serve.pages.runs import log_of
from queryveil.serve.records import RunKind, RunRow, free_name
from queryveil.serve.rendering import page, redirect
from queryveil.serve.run_specs import AttackSpec, MeasureSpec, RunSpec, VerifySpec

router = APIRouter(prefix="/releases/{release}")
KINDS: tuple[RunKind, ...] = ("verify", "attack", "measure")  # of runs on a release


@router.get("")
def show_release(request: Request, context: ContextDep, release: str) -> HTMLResponse:
    """Show a release."""
    return _page(request, context, context.jobs.made(release))


@router.post("/verify")
def verify(request: Request, context: ContextDep, release: str) -> Response:
    """Start a run that verifies the release again."""
    return _start(request, context, release, VerifySpec())


@router.post("/attack")
async def attack(request: Request, context: ContextDep, release: str) -> Response:
    """Start a run of the ticked attacks."""
    return _start(request, context, release, AttackSpec(attacks=_ticked(await request.form(), "attacks")))


@router.post("/measure")
async def measure(request: Request, context: ContextDep, release: str) -> Response:
    """Start a run of the ticked measures."""
    return _start(request, context, release, MeasureSpec(measures=_ticked(await request.form(), "measures")))


def _ticked(form: FormData, name: str) -> list[str]:
    return [value for value in form.getlist(name) if isinstance(value, str)]


def _start(request: Request, context: ServerContext, release: str, asked: RunSpec) -> Response:
    """Start a run on a release, named after its kind and the release."""
    row, kind = context.jobs.made(release), asked.run_kind
    name = free_name(f"{kind} {row.name}"[:96], {run.name for run in context.store.runs(kind=kind)})
    try:
        context.jobs.start(asked, name, release=release)
    except QueryveilError as error:
        return _page(request, context, row, status=422, errors={kind: str(error)})
    return redirect(f"/releases/{release}#{kind}")


def _page(
    request: Request, context: ServerContext, row: RunRow, status: int = 200, errors: Mapping[str, str] | None = None
) -> HTMLResponse:
    found = context.jobs.result(row.id) or {}
    kind = kind_of(found["manifest"]["kind"])
    runs = context.store.runs(release=row.id)
    by_kind = {each: [(run, context.jobs.result(run.id)) for run in runs if run.kind == each] for each in KINDS}
    return page(
        request,
        "release.html",
        status=status,
        run=row,
        log=log_of(context, row),
        found=found,
        manifest=found["manifest"],
        kind=kind,
        crowds=crowds_of(row.id, found, context.jobs),
        by_kind=by_kind,
        is_busy=any(not run.is_over for run in runs),
        attacks=_applicable("attack", kind),
        measures=_applicable("measure", kind),
        errors=errors or {},
    )


def _applicable(what: str, kind: Kind) -> list[tuple[str, str]]:
    """Return name and purpose of the attacks, or measures, that apply to a kind of release and need no file."""
    also = getattr(kind, plural(what))
    found = declarations(what).values()
    usable = (each for each in found if kind.name in getattr(each, "kinds", ()) or each.name in also)
    return [(suggested_name(each), each.purpose) for each in usable if not _needs_file(each)]


def _needs_file(declaration: Declaration) -> bool:
    return any(getattr(declaration, need, False) for need in ("needs_index", "needs_market"))
