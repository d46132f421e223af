"""The pages of a run, of the release that it made, and of one person's history before and after.

Who is looked at is sent in forms and never appears in an address: only the owner of the log may know.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import InputError, QueryveilError
from queryveil.core.names import declarations, plural
from queryveil.kinds.base import Kind, kind_of
from queryveil.report.attacks import COLUMNS, describe_risks, level_bounds, read_attacks
from queryveil.report.datasheet import OWNER_FIELDS
from queryveil.serve.access import GONE, OWNER_ONLY, RememberedForms
from queryveil.serve.audit import note
from queryveil.serve.context import ContextDep, FormDataDep, FormDep, ServerContext
from queryveil.serve.fields import suggested_name
from queryveil.serve.pages.comparison import crowds_of
from queryveil.serve.rendering import page, redirect, status_of
from queryveil.serve.run_specs import LONGEST_FIELD, DatasheetSpec, parse_spec
from queryveil.serve.store import LogRow, RunRow, free_name
from queryveil.workflows.inspect import number_of, person_of, sample_people, show_person

router = APIRouter(prefix="/runs/{run}")
releases = APIRouter(prefix="/releases/{release}")
NOBODY = "nobody was chosen; choose one of the people below, or give a user as it stands in the log."
_LISTED_PEOPLE = 12
_NO_TEXTS: Mapping[str, str] = {}
_SHOWN: RememberedForms[tuple[str, str, int | None]] = RememberedForms()  # run, user, and number where that was sent
_BACK = ("/logs/", "/try?", "/runs", "/releases/", "/search")  # pages that a form may lead back to


@router.get("")
def show_run(request: Request, context: ContextDep, run: str) -> HTMLResponse:
    """Show a run's progress, outcome and result."""
    return run_page(request, context, run)


def run_page(
    request: Request,
    context: ServerContext,
    run: str,
    *,
    errors: Mapping[str, str] = _NO_TEXTS,
    values: Mapping[str, str] = _NO_TEXTS,
) -> HTMLResponse:
    """Return the page of a run, with the values and errors of the form that describes it, if that was refused."""
    row = context.store.run(run)
    found = context.result_for(request, row)
    is_release = row.kind == "anonymize" and found is not None
    return page(
        request,
        "run.html",
        status=422 if errors else 200,
        run=row,
        log=log_of(context, row),
        release=next(iter(context.store.runs(id=row.release or "")), None),
        found=found,
        crowds=crowds_of(run, context.jobs) if is_release else None,
        kind=kind_of(context.jobs.manifest(run).kind) if is_release else None,
        summary=_summary_lines(found.get("summary", {})) if found else [],
        attacked=attack_view(found),
        errors=errors,
        values=values,
    )


@router.post("/cancel")
def cancel_run(context: ContextDep, form: FormDep, run: str) -> Response:
    """Cancel a run, unless it has ended in the meantime."""
    if not context.store.run(run).is_over:
        context.jobs.cancel(run)
    return redirect(_back(form, run))


@router.post("/again")
def start_again(context: ContextDep, form: FormDep, run: str) -> Response:
    """Start a run again."""
    context.jobs.restart(run)
    return redirect(_back(form, run))


@router.get("/delete", dependencies=[OWNER_ONLY])
def ask_whether_to_delete(request: Request, context: ContextDep, run: str) -> HTMLResponse:
    """Say what is deleted with a run, and ask whether to."""
    return page(request, "delete_run.html", run=context.store.run(run), examining=context.store.runs(release=run))


@router.get("/forget", dependencies=[OWNER_ONLY])
def ask_whether_to_forget(request: Request, context: ContextDep, run: str) -> HTMLResponse:
    """Say what is forgotten of a release, and ask whether to."""
    return page(request, "forget_run.html", run=context.jobs.run_that_made(run))


@router.post("/forget", dependencies=[OWNER_ONLY])
def forget_run(context: ContextDep, run: str) -> Response:
    """Delete who is behind the release of a run, and keep the release."""
    context.jobs.forget(run)
    return redirect(f"/releases/{run}")


@router.post("/delete", dependencies=[OWNER_ONLY])
def delete_run(context: ContextDep, run: str) -> Response:
    """Delete a run and what it made."""
    row = context.store.run(run)
    context.jobs.delete(run)
    if row.release is not None:
        return redirect(f"/releases/{row.release}")
    return redirect(f"/try?log={row.log}" if log_of(context, row) else "/")


@router.get("/history", dependencies=[OWNER_ONLY])
def show_people(request: Request, context: ContextDep, run: str, view: Annotated[str, Query()] = "") -> HTMLResponse:
    """Offer a few people whose history can be shown, and show the one that a form asked for."""
    row, shown = context.jobs.run_that_made(run), _SHOWN.find(request, view)
    if shown is None or shown[0] != run:
        return _history_page(request, context, row, gone=GONE if view else "")
    _, person, number = shown
    found = show_person(context.jobs.release_of(run), context.jobs.private_of(run), person)
    note(request, runs=[run], person=number_of(context.jobs.private_of(run), person) if number is None else number)
    return _history_page(request, context, row, found=found, number=number, person=person)


@router.post("/history", dependencies=[OWNER_ONLY])
def show_history(request: Request, context: ContextDep, form: FormDep, run: str) -> Response:
    """Show one person's history before and after."""
    row = context.jobs.run_that_made(run)
    release, private = context.jobs.release_of(run), context.jobs.private_of(run)
    person, number = form.get("person", "").strip(), None
    try:
        if not person:
            text = form.get("number", "")
            if not text.isdecimal() or len(text) > 12:
                raise InputError(NOBODY, field="person")
            number = int(text)
            person = person_of(private, number)
        show_person(release, private, person)
        note(request, runs=[run], person=number_of(private, person) if number is None else number)
    except QueryveilError as error:
        return _history_page(request, context, row, status=422, error=error)
    return redirect(f"/runs/{run}/history?view={_SHOWN.keep(request, (run, person, number))}")


def _history_page(
    request: Request, context: ServerContext, row: RunRow, status: int = 200, **values: Any
) -> HTMLResponse:
    people = sample_people(context.jobs.private_of(row.id), _LISTED_PEOPLE)
    manifest, log = context.jobs.manifest(row.id), log_of(context, row)
    values |= {"run": row, "log": log, "people": people, "manifest": manifest, "kind": kind_of(manifest.kind)}
    return page(request, "history.html", status=status, **values)


def log_of(context: ServerContext, row: RunRow) -> LogRow | None:
    """Return the log of a run; None if it was deleted or the run has none."""
    return next(iter(context.store.logs(id=row.log or "")), None)


def _back(form: Mapping[str, str], run: str) -> str:
    """Return the page that a form leads back to, if it is one of ours."""
    back = form.get("back", "")
    return back if back.startswith(_BACK) and "\\" not in back else f"/runs/{run}"


def _summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return the texts and figures of a method's summary, one line each."""
    lines = []
    for what, value in summary.items():
        if isinstance(value, Mapping):
            parts = [f"{_short(figure)} by {way}" for way, figure in value.items() if _is_figure(figure)]
            lines += [f"{what}: {', '.join(parts)}"] if parts else []
        elif isinstance(value, str):
            lines.append(f"{what}: {value}")
        elif _is_figure(value):
            lines.append(f"{what}: {_short(value)}")
    return lines


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _short(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


@releases.get("")
def show_release(request: Request, context: ContextDep, release: str) -> HTMLResponse:
    """Show a release."""
    return _release_page(request, context, context.jobs.run_that_made(release))


@releases.post("/verify")
@releases.post("/attack")
@releases.post("/measure")
def examine_release(request: Request, context: ContextDep, form: FormDataDep, release: str) -> Response:
    """Start a run that verifies the release again, or that of the ticked attacks or measures."""
    kind = request.url.path.rpartition("/")[2]
    row, ticked = context.jobs.run_that_made(release), form.getlist(plural(kind))
    name = free_name(f"{kind} {row.name}"[:96], {run.name for run in context.store.runs(kind=kind, log=row.log)})
    try:
        context.jobs.start(parse_spec(kind, {plural(kind): ticked} if ticked else {}), name, release=release)
    except QueryveilError as error:
        return _release_page(request, context, row, status=422, errors={kind: str(error)})
    return redirect(f"/releases/{release}#{kind}")


@releases.post("/datasheet")
def write_datasheet(request: Request, context: ContextDep, form: FormDep, release: str) -> Response:
    """Start a run that writes the datasheet of a release, with the results of the last attacks on it."""
    row, runs = context.jobs.run_that_made(release), context.store.runs(release=release)
    owner = {name: form.get(name, "")[:LONGEST_FIELD].strip() for name in OWNER_FIELDS}
    attacks = next((run.id for run in runs if run.kind == "attack" and run.state == "done"), "")
    name = free_name(f"datasheet {row.name}"[:96], {run.name for run in runs})
    try:
        run = context.jobs.start(DatasheetSpec(owner=owner, attacks=attacks), name, release=release)
    except QueryveilError as error:
        return _release_page(request, context, row, status=status_of(error), errors={"datasheet": str(error)})
    return redirect(f"/runs/{run.id}")


def _release_page(
    request: Request, context: ServerContext, row: RunRow, status: int = 200, errors: Mapping[str, str] | None = None
) -> HTMLResponse:
    manifest = context.jobs.manifest(row.id)
    kind = kind_of(manifest.kind)
    runs = context.store.runs(release=row.id)
    by_kind = {
        each: [(run, context.jobs.result(run.id)) for run in runs if run.kind == each]
        for each in ("verify", "attack", "measure")
    }
    return page(
        request,
        "release.html",
        status=status,
        run=row,
        log=log_of(context, row),
        found=context.jobs.result(row.id),
        manifest=manifest,
        kind=kind,
        crowds=crowds_of(row.id, context.jobs),
        by_kind=by_kind,
        attacked=attack_view(by_kind["attack"][0][1]) if by_kind["attack"] else None,
        is_busy=any(not run.is_over for run in runs),
        attacks=_applicable("attack", kind),
        measures=_applicable("measure", kind),
        owner_fields=OWNER_FIELDS,
        datasheets=[run for run in runs if run.kind == "datasheet"],
        errors=errors or {},
    )


def _applicable(what: str, kind: Kind) -> list[tuple[str, str]]:
    """Return name and purpose of the attacks, or measures, that apply to a kind of release and need no file."""
    also = getattr(kind, plural(what))
    return [
        (suggested_name(each), each.purpose)
        for each in declarations(what).values()
        if kind.name in getattr(each, "kinds", ()) or each.name in also
        if not any(getattr(each, f"needs_{file}", False) for file in ("index", "market"))
    ]


@dataclass(frozen=True)
class AttackView:
    """The results of attacks, explained."""

    risks: list[dict[str, Any]]
    columns: Mapping[str, str]  # heading → what it says
    levels: str  # what the words for risks mean
    skipped: Mapping[str, str]  # attack → why it was not run


def attack_view(result: Mapping[str, Any] | None) -> AttackView | None:
    """Return the explained results of a run of attacks; None for the result of any other run."""
    if result is None or "threats" not in result:
        return None
    report = read_attacks({name: value for name, value in result.items() if name != "table"})
    return AttackView(describe_risks(report), COLUMNS, level_bounds(), report.skipped)
