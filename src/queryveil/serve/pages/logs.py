"""Pages about logs: the list, the forms that add one, and what is in a log."""

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated

from fastapi import APIRouter, File, Form, Request, UploadFile
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import InputError, QueryveilError
from queryveil.core.names import declarations
from queryveil.logs.options import ROLES, ReadingOptions
from queryveil.report.description import chart_of
from queryveil.serve.access import OWNER_ONLY
from queryveil.serve.context import ContextDep, FormDep, ServerContext
from queryveil.serve.fields import form_field
from queryveil.serve.logs import DELETION_SCOPES, GuessedLayout
from queryveil.serve.rendering import page, redirect
from queryveil.serve.store import LogRow, free_name

router = APIRouter(prefix="/logs")
NO_FILE = "no file was chosen; choose one, or load the demo log."
_FORMAT = next(each for each in ReadingOptions.options() if each.name == "format")
_NO_VALUES: Mapping[str, str] = {}


@router.get("")
def show_logs(request: Request, context: ContextDep) -> HTMLResponse:
    """List the logs, and offer to add one."""
    return _list_page(request, context)


@router.post("", dependencies=[OWNER_ONLY])
def add_log(request: Request, context: ContextDep, form: FormDep) -> Response:
    """Add the demo log, or a file of the server's folder."""
    try:
        if form.get("demo"):
            return redirect(f"/logs/{context.logs.add_demo(_name(context, '', 'Demo log')).id}")
        path = form.get("path", "")
        if not path:
            raise InputError(NO_FILE, field="path")
        row = context.logs.add_file(_name(context, form.get("name", ""), path), path, _reading(form))
        return redirect(f"/logs/{row.id}")
    except QueryveilError as error:
        return _list_page(request, context, "folder", form, error)


@router.post("/upload", dependencies=[OWNER_ONLY])
def upload_log(
    request: Request,
    context: ContextDep,
    form: FormDep,
    file: Annotated[UploadFile, File()],
    name: Annotated[str, Form()] = "",
) -> Response:
    """Add an uploaded log."""
    try:
        if not file.filename:
            raise InputError(NO_FILE, field="file")
        row = context.logs.add_upload(_name(context, name, file.filename), file.filename, file.file, _reading(form))
        return redirect(f"/logs/{row.id}")
    except QueryveilError as error:
        return _list_page(request, context, "upload", form, error)


@router.get("/{log}")
def show_log(request: Request, context: ContextDep, log: str) -> HTMLResponse:
    """Show the statistics and the layout of a log."""
    row = context.store.log(log)
    run = context.logs.statistics(log)
    found = context.jobs.result(run.id) if run is not None else None
    guess, problem = _layout(context, row)
    made = context.store.runs(log=log, kind="anonymize")
    parts = [(part, chart_of(part["chart"], part["bars"])) for part in found["sections"]] if found else []
    return page(
        request, "log.html", log=row, run=run, guess=guess, problem=problem, made=made, found=found, parts=parts
    )


@router.get("/{log}/delete", dependencies=[OWNER_ONLY])
def confirm_deletion(request: Request, context: ContextDep, log: str) -> HTMLResponse:
    """Say what can be deleted with a log and what stays, and ask which."""
    return _confirm_page(request, context, context.store.log(log))


@router.post("/{log}/delete", dependencies=[OWNER_ONLY])
def delete_log(request: Request, context: ContextDep, form: FormDep, log: str) -> Response:
    """Delete a log, and what else was chosen."""
    row, scope = context.store.log(log), form.get("scope", "")
    if scope not in DELETION_SCOPES:
        return _confirm_page(request, context, row, status=422, error="nothing was chosen; choose what to delete.")
    context.logs.delete(log, scope)
    return redirect("/logs")


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
    where: str = "",
    values: Mapping[str, str] = _NO_VALUES,
    error: QueryveilError | None = None,
) -> HTMLResponse:
    """Return the list of logs, with the values and the error of the form that was sent, if any."""
    formats = declarations("format")
    errors = {}
    if error is not None:
        own = "path" if where == "folder" else "file"
        errors[error.field if error.field in ("name", "format", "columns") else own] = str(error)
    return page(
        request,
        "logs.html",
        status=200 if error is None else 422,
        rows=[(log, context.logs.statistics(log.id)) for log in context.store.logs()],
        files=context.logs.files(),
        format_field=form_field(_FORMAT, tuple(formats)),
        formats={name: f"{name}: {declared.purpose}" for name, declared in formats.items()},
        roles=ROLES,
        where=where,
        values=values,
        errors=errors,
    )


def _name(context: ServerContext, given: str, otherwise: str) -> str:
    """Return the given name, else one made from the file name that no log has."""
    taken = {log.name for log in context.store.logs()}
    return given.strip() or free_name(PurePath(otherwise).name[:90] or "log", taken)


def _reading(form: Mapping[str, str]) -> dict[str, str]:
    """Return the reading options of a form: the format, and the column of each role."""
    columns = ",".join(f"{role}={form[role].strip()}" for role in ROLES if form.get(role, "").strip())
    return {"format": form.get("format", ""), "columns": columns}


def _layout(context: ServerContext, log: LogRow) -> tuple[GuessedLayout | None, str]:
    """Return the layout of the log's file, or why it cannot be determined."""
    if not Path(log.path).exists():
        is_pending = log.kind == "demo"
        return None, "" if is_pending else f"{log.filename} is not there any more; put it back, or delete this log."
    try:
        return context.logs.guess(Path(log.path), log.reading), ""
    except QueryveilError as error:
        return None, str(error).replace(log.path, log.filename)
