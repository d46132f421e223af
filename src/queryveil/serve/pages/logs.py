"""Pages about logs: the list, the forms that add one, and what is in a log."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, File, Request, UploadFile
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import InputError, QueryveilError
from queryveil.core.names import parse_sweep
from queryveil.report.description import chart_of
from queryveil.serve.access import OWNER_ONLY, is_by_owner
from queryveil.serve.audit import note
from queryveil.serve.context import ContextDep, FormDep, ServerContext
from queryveil.serve.logs import DELETIONS, GuessedLayout
from queryveil.serve.rendering import page, redirect, status_of
from queryveil.serve.store import LogRow, free_name

router = APIRouter(prefix="/logs")
NO_FILE = "no file was chosen; choose one, or load the demo log."
_NO_ERRORS: Mapping[str, str] = {}


@router.get("")
def show_logs(request: Request, context: ContextDep) -> HTMLResponse:
    """List the logs, and offer to add one."""
    return _list_page(request, context)


@router.post("", dependencies=[OWNER_ONLY])
def add_log(request: Request, context: ContextDep, form: FormDep) -> Response:
    """Add the demo log, or look at a file of the server's folder."""
    try:
        if form.get("demo"):
            return redirect(f"/logs/{context.logs.add_demo(_name(context, 'Demo log')).id}")
        path = form.get("path", "")
        if not path:
            raise InputError(NO_FILE, field="path")
        return redirect(f"/drafts/{context.drafts.choose(_name(context, path), path).id}")
    except QueryveilError as error:
        return _list_page(request, context, {"path": str(error)}, status=status_of(error), path=form.get("path", ""))


@router.post("/upload", dependencies=[OWNER_ONLY])
def upload_log(request: Request, context: ContextDep, file: Annotated[UploadFile, File()]) -> Response:
    """Keep a log that is sent, and look at it."""
    try:
        if not file.filename:
            raise InputError(NO_FILE, field="file")
        return redirect(f"/drafts/{context.drafts.send(_name(context, file.filename), file.filename, file.file).id}")
    except QueryveilError as error:
        return _list_page(request, context, {"file": str(error)}, status=status_of(error))


@router.get("/{log}")
def show_log(request: Request, context: ContextDep, log: str) -> HTMLResponse:
    """Show the statistics and the layout of a log."""
    row = context.store.log(log)
    run = context.logs.statistics(log)
    found = context.jobs.result(run.id) if run is not None else None
    guess, problem = _layout(context, row)
    runs = context.store.runs(log=log)
    made = [each for each in runs if each.kind == "anonymize"]
    parts = [(part, chart_of(part["chart"], part["bars"])) for part in found["sections"]] if found else []
    return page(
        request,
        "log.html",
        log=row,
        run=run,
        guess=guess,
        problem=problem,
        made=made,
        has_runs=any(each != run for each in runs),
        found=found,
        parts=parts,
        next=[] if found is None else _next_runs(row, found["next"]),
    )


@router.get("/{log}/delete", dependencies=[OWNER_ONLY])
def ask_what_to_delete(request: Request, context: ContextDep, log: str) -> HTMLResponse:
    """Say what can be deleted with a log and what stays, and ask which."""
    return _confirm_page(request, context, context.store.log(log))


@router.post("/{log}/delete", dependencies=[OWNER_ONLY])
def delete_log(request: Request, context: ContextDep, form: FormDep, log: str) -> Response:
    """Delete a log, and what else was chosen."""
    row, scope = context.store.log(log), next((each for each in DELETIONS if each == form.get("scope")), None)
    if scope is None:
        return _confirm_page(request, context, row, status=422, error="nothing was chosen; choose what to delete.")
    note(request, action=DELETIONS[scope])
    context.logs.delete(log, scope)
    return redirect("/logs")


def _next_runs(log: LogRow, suggested: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return the suggested runs of methods, each with the address of the form that it fills in, and the reason."""
    found = []
    for each in suggested:
        words = shlex.split(each["command"])
        if "--method" in words:
            method = words[words.index("--method") + 1]
            runs = [dict(name.arguments) for name in parse_sweep(method)]
            values = {key: ", ".join(dict.fromkeys(str(run[key]) for run in runs)) for key in runs[0]}
            address = urlencode({"log": log.id, "method": method.partition("(")[0], **values})
            found.append({"method": method, "reason": each["reason"], "address": f"/try?{address}#new"})
    return found


def _confirm_page(
    request: Request, context: ServerContext, row: LogRow, *, status: int = 200, error: str = ""
) -> HTMLResponse:
    runs = context.store.runs(log=row.id)
    made = [run for run in runs if run.kind == "anonymize" and run.state == "done"]
    unfinished = [run for run in runs if not run.is_over]
    return page(request, "delete_log.html", status=status, log=row, made=made, unfinished=unfinished, error=error)


def _list_page(
    request: Request,
    context: ServerContext,
    errors: Mapping[str, str] = _NO_ERRORS,
    *,
    status: int = 200,
    path: str = "",
) -> HTMLResponse:
    """Return the list of logs, with the error of the form that was sent, if any, and the file chosen there."""
    return page(
        request,
        "logs.html",
        status=status,
        rows=[(log, context.logs.statistics(log.id)) for log in context.store.logs()],
        drafts=context.store.drafts() if is_by_owner(request) else [],
        files=context.logs.files(),
        chosen=path,
        errors=errors,
    )


def _name(context: ServerContext, filename: str) -> str:
    """Return a name made from that of a file, which no log has."""
    taken = {log.name for log in context.store.logs()}
    return free_name(PurePath(filename).name[:90] or "log", taken)


def _layout(context: ServerContext, log: LogRow) -> tuple[GuessedLayout | None, str]:
    """Return the layout of the log's file, or why it cannot be determined."""
    if not Path(log.path).exists():
        is_pending = log.kind == "demo"
        return None, "" if is_pending else f"{log.filename} is not there any more; put it back, or delete this log."
    try:
        return context.logs.guess(Path(log.path), log.reading), ""
    except QueryveilError as error:
        return None, str(error).replace(log.path, log.filename)
