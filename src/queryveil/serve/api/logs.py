"""Logs by REST: add, list, look at, delete."""

from typing import Annotated

from fastapi import APIRouter, File, Form, Path, Request, UploadFile

from queryveil.core.errors import InputError
from queryveil.serve.api.models import PROBLEMS, LogIn, LogOut
from queryveil.serve.logs import Logs
from queryveil.serve.store import Store

router = APIRouter(tags=["logs"], responses=PROBLEMS)
LogId = Annotated[str, Path(description="the id of a log")]


@router.get("/logs")
def list_logs(request: Request) -> list[LogOut]:
    """List the logs, the newest first."""
    store: Store = request.app.state.store
    return [LogOut.of(row) for row in store.logs()]


@router.post("/logs", status_code=201)
def add_log(request: Request, asked: LogIn) -> LogOut:
    """Add the demo log, or a file in the server's folder."""
    logs: Logs = request.app.state.logs
    if asked.demo == (asked.path is not None):
        raise InputError("give either demo: true or the path of a file in the server's folder.", field="path")
    if asked.demo:
        return LogOut.of(logs.add_demo(asked.name))
    reading = {"format": asked.format, "columns": asked.columns}
    return LogOut.of(logs.add_file(asked.name, asked.path or "", reading))


@router.post("/logs/upload", status_code=201)
def upload_log(
    request: Request,
    name: Annotated[str, Form(min_length=1, max_length=100)],
    file: Annotated[UploadFile, File(description="the log")],
    format: Annotated[str, Form()] = "",  # noqa: A002  (the field's name)
    columns: Annotated[str, Form()] = "",
) -> LogOut:
    """Send a log, as a form with the file in the field `file`."""
    logs: Logs = request.app.state.logs
    reading = {"format": format, "columns": columns}
    return LogOut.of(logs.add_upload(name, file.filename or "", file.file, reading))


@router.get("/logs/{log}")
def get_log(request: Request, log: LogId) -> LogOut:
    """Return a log."""
    store: Store = request.app.state.store
    return LogOut.of(store.log(log))


@router.delete("/logs/{log}", status_code=204)
def delete_log(request: Request, log: LogId) -> None:
    """Delete a log and what the server keeps of it; runs on it that have not ended fail, releases stay."""
    logs: Logs = request.app.state.logs
    logs.delete(log)
