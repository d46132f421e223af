"""Logs: adding one, what is in it, and why it should be anonymised."""

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import InputError, QueryveilError
from queryveil.core.names import declarations
from queryveil.logs.options import ROLES
from queryveil.serve import charts, declared
from queryveil.serve.logs import Guess
from queryveil.serve.pages.here import Fields, Here, State, free_name, go
from queryveil.serve.rendering import page
from queryveil.serve.store import LogRow

router = APIRouter(prefix="/logs")
NO_FILE = "no file was chosen; choose one, or load the demo log."
_NOTHING: Mapping[str, str] = {}


@router.get("")
def logs(request: Request, here: Here) -> HTMLResponse:
    """List the logs, and offer to add one."""
    return _list(request, here)


@router.post("")
def add(request: Request, here: Here, fields: Fields) -> Response:
    """Add the demo log, or a file of the server's folder."""
    try:
        if fields.get("demo"):
            return go(f"/logs/{here.logs.add_demo(_name(here, '', 'Demo log')).id}")
        path = fields.get("path", "")
        if not path:
            raise InputError(NO_FILE, field="path")
        return go(f"/logs/{here.logs.add_file(_name(here, fields.get('name', ''), path), path, _reading(fields)).id}")
    except QueryveilError as error:
        return _list(request, here, "folder", fields, error)


@router.post("/upload")
def upload(
    request: Request, here: Here, fields: Fields, file: Annotated[UploadFile, File()], name: Annotated[str, Form()] = ""
) -> Response:
    """Take in a log."""
    try:
        if not file.filename:
            raise InputError(NO_FILE, field="file")
        row = here.logs.add_upload(_name(here, name, file.filename), file.filename, file.file, _reading(fields))
        return go(f"/logs/{row.id}")
    except QueryveilError as error:
        return _list(request, here, "upload", fields, error)


@router.get("/{log}")
def one(request: Request, here: Here, log: str) -> HTMLResponse:
    """Show what is in a log."""
    row = here.store.log(log)
    run = here.logs.statistics(log)
    found = here.jobs.result(run.id) if run is not None else None
    guess, problem = _layout(here, row)
    made = here.store.runs(log=log, kind="anonymize")
    shown = _shown(found) if found else {}
    return page(request, "log.html", log=row, run=run, guess=guess, problem=problem, made=made, found=found, **shown)


@router.post("/{log}/delete")
def delete(here: Here, log: str) -> Response:
    """Forget a log."""
    here.logs.delete(log)
    return go("/logs")


def _list(
    request: Request,
    here: State,
    where: str = "",
    values: Mapping[str, str] = _NOTHING,
    error: QueryveilError | None = None,
) -> HTMLResponse:
    """Show the logs, with a form as it was sent and what is wrong with it."""
    files = here.logs.files()
    sentences = {} if error is None else {_field(where, error.field): str(error)}
    return page(
        request,
        "logs.html",
        status=200 if error is None else 422,
        rows=[(log, here.logs.statistics(log.id)) for log in here.store.logs()],
        files=files,
        formats=[declared.entry(each) for each in declarations("format").values()],
        roles=ROLES,
        where=where,
        values=values,
        errors=sentences,
    )


def _field(where: str, field: str) -> str:
    """Return the field of a form beside which a sentence stands; the file's, unless the sentence is about another."""
    own = "path" if where == "folder" else "file"
    return field if field in ("name", "format", "columns") else own


def _name(here: State, given: str, otherwise: str) -> str:
    """Return the name that was given, else one that nobody has taken."""
    return given.strip() or free_name(PurePath(otherwise).name[:90] or "log", {log.name for log in here.store.logs()})


def _reading(fields: Mapping[str, str]) -> dict[str, str]:
    """Return how a log is to be read: its format, and which column is which."""
    columns = ",".join(f"{role}={fields[role].strip()}" for role in ROLES if fields.get(role, "").strip())
    return {"format": fields.get("format", ""), "columns": columns}


def _layout(here: State, log: LogRow) -> tuple[Guess | None, str]:
    """Return how the log's file is laid out, or why that cannot be told."""
    if not Path(log.path).exists():
        is_coming = log.kind == "demo"
        return None, "" if is_coming else f"{log.filename} is not there any more; put it back, or delete this log."
    try:
        return here.logs.guess(Path(log.path), log.reading), ""
    except QueryveilError as error:
        return None, str(error).replace(log.path, log.filename)


def _shown(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pictures of a log's statistics."""
    singled = [(row["terms"], 100 * row["rate"]["value"]) for row in found["singled_out"]]
    n_terms, n_histories = max(1, found["terms"]), max(1, found["histories"])
    return {
        "singled_chart": charts.singled_out(tuple(singled)),
        "tail_chart": charts.shares(
            "Bar chart of how many people hold a term",
            tuple((charts.between(c["low"], c["high"]), 100 * c["number"] / n_terms) for c in found["holders"]),
        ),
        "length_chart": charts.shares(
            "Bar chart of how many terms a history has",
            tuple((charts.between(c["low"], c["high"]), 100 * c["number"] / n_histories) for c in found["sizes"]),
        ),
        "alone": next((c["number"] for c in found["holders"] if c["low"] == 1), 0),
        "between": charts.between,
    }
