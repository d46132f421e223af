"""REST routes of drafts: logs that are looked at, and read differently if need be, before they are added."""

from typing import Annotated

from fastapi import APIRouter, File, Form, Path, UploadFile
from pydantic import Field

from queryveil.logs.options import ReadingOptions
from queryveil.serve.access import OWNER_ONLY
from queryveil.serve.api import models
from queryveil.serve.api.resources import LogId
from queryveil.serve.context import ContextDep, ServerContext
from queryveil.serve.fields import with_options
from queryveil.serve.store import DraftRow
from queryveil.workflows.preview import LogPreview

router = APIRouter(tags=["drafts"], responses=models.PROBLEMS, dependencies=[OWNER_ONLY])
DraftId = Annotated[str, Path(description="the id of a draft, which is that of the log it becomes")]
_HELP = {each.name: each.help for each in ReadingOptions.options()}


@with_options(ReadingOptions, "format", "columns")
class DraftIn(models.StrictModel):
    """A file of the server's folder, to be looked at."""

    model_config = models.example({"name": "march", "path": "march.tsv"})
    name: models.RunName
    path: Annotated[str, Field(description="the path of a file in the server's folder")]


class DraftChanges(models.StrictModel):
    """What is changed of a draft; what is left out stays."""

    model_config = models.example({"columns": "user=who,query=what"})
    name: models.RunName | None = None
    format: str | None = None
    columns: str | None = None


class DraftOut(models.LogFields):
    """A draft."""

    @classmethod
    def of(cls, row: DraftRow) -> "DraftOut":
        """Return a draft as programs see it, without its path."""
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class DraftDetail(DraftOut):
    """A draft, with the beginning of its file as it would be read."""

    preview: LogPreview


@router.get("/drafts")
def list_drafts(context: ContextDep) -> list[DraftOut]:
    """List the drafts, the newest first."""
    return [DraftOut.of(row) for row in context.store.drafts()]


@router.post("/drafts", status_code=201)
def choose_draft(context: ContextDep, body: DraftIn) -> DraftDetail:
    """Look at a file of the server's folder without adding it."""
    reading = body.model_dump(include={"format", "columns"})
    return _detail(context, context.drafts.choose(body.name, body.path, reading))


@router.post("/drafts/upload", status_code=201)
def upload_draft(
    context: ContextDep,
    name: Annotated[str, Form(min_length=1, max_length=100)],
    file: Annotated[UploadFile, File(description="the log")],
    format: Annotated[str, Form(description=_HELP["format"])] = "",  # noqa: A002  (the field's name)
    columns: Annotated[str, Form(description=_HELP["columns"])] = "",
) -> DraftDetail:
    """Send a log to look at how it would be read, without adding it."""
    reading = {"format": format, "columns": columns}
    return _detail(context, context.drafts.send(name, file.filename or "", file.file, reading))


@router.get("/drafts/{draft}")
def get_draft(context: ContextDep, draft: DraftId) -> DraftDetail:
    """Return a draft with its first rows as they would be read, and what cleaning does to its first lines."""
    return _detail(context, context.store.draft(draft))


@router.patch("/drafts/{draft}")
def change_draft(context: ContextDep, draft: DraftId, body: DraftChanges) -> DraftDetail:
    """Rename a draft, or read it differently."""
    row = context.store.draft(draft)
    reading = {**row.reading, **body.model_dump(include={"format", "columns"}, exclude_none=True)}
    return _detail(context, context.drafts.change(draft, name=body.name or row.name, reading=reading))


@router.post("/drafts/{draft}/add", status_code=201)
def add_draft(context: ContextDep, draft: DraftId) -> models.LogOut:
    """Add a draft as a log."""
    return models.LogOut.of(context.drafts.add(draft), context.store)


@router.delete("/drafts/{draft}", status_code=204)
def discard_draft(context: ContextDep, draft: DraftId) -> None:
    """Delete a draft, and the server's copy of its file."""
    context.drafts.discard(draft)


@router.post("/logs/{log}/reopen", status_code=201)
def reopen_log(context: ContextDep, log: LogId) -> DraftDetail:
    """Make a log of which nothing was made a draft again, to read it differently; its id stays."""
    return _detail(context, context.drafts.reopen(log))


def _detail(context: ServerContext, row: DraftRow) -> DraftDetail:
    return DraftDetail(**DraftOut.of(row).model_dump(), preview=context.drafts.preview(row))
