"""Logs by REST: add, list, get, delete."""

from typing import Annotated

from fastapi import APIRouter, File, Form, Path, UploadFile

from queryveil.core.errors import InputError
from queryveil.serve.api.models import PROBLEMS, LogIn, LogOut
from queryveil.serve.context import ContextDep

router = APIRouter(tags=["logs"], responses=PROBLEMS)
LogId = Annotated[str, Path(description="the id of a log")]


@router.get("/logs")
def list_logs(context: ContextDep) -> list[LogOut]:
    """List the logs, the newest first."""
    return [LogOut.of(row) for row in context.store.logs()]


@router.post("/logs", status_code=201)
def add_log(context: ContextDep, asked: LogIn) -> LogOut:
    """Add the demo log, or a file in the server's folder."""
    if asked.demo == (asked.path is not None):
        raise InputError("give either demo: true or the path of a file in the server's folder.", field="path")
    if asked.demo:
        return LogOut.of(context.logs.add_demo(asked.name))
    reading = {"format": asked.format, "columns": asked.columns}
    return LogOut.of(context.logs.add_file(asked.name, asked.path or "", reading))


@router.post("/logs/upload", status_code=201)
def upload_log(
    context: ContextDep,
    name: Annotated[str, Form(min_length=1, max_length=100)],
    file: Annotated[UploadFile, File(description="the log")],
    format: Annotated[str, Form()] = "",  # noqa: A002  (the field's name)
    columns: Annotated[str, Form()] = "",
) -> LogOut:
    """Send a log, as a form with the file in the field `file`."""
    reading = {"format": format, "columns": columns}
    return LogOut.of(context.logs.add_upload(name, file.filename or "", file.file, reading))


@router.get("/logs/{log}")
def get_log(context: ContextDep, log: LogId) -> LogOut:
    """Return a log."""
    return LogOut.of(context.store.log(log))


@router.delete("/logs/{log}", status_code=204)
def delete_log(context: ContextDep, log: LogId) -> None:
    """Delete a log and what the server keeps of it; runs on it that have not ended fail, releases stay."""
    context.logs.delete(log)
