"""REST routes that examine what somebody else released."""

from typing import Annotated

from fastapi import APIRouter, File, Form, UploadFile
from pydantic import BaseModel

from queryveil.serve.access import OWNER_ONLY
from queryveil.serve.api import models
from queryveil.serve.context import ContextDep
from queryveil.serve.other_releases import AttackOtherSpec, CheckSpec, releases_in

router = APIRouter(tags=["releases"], responses=models.PROBLEMS)


class FileOut(BaseModel):
    """A file of the server's folder."""

    path: str
    size: int


class FolderOut(BaseModel):
    """What may be chosen from the server's folder: files, releases, and private folders of releases."""

    files: list[FileOut]
    releases: list[str]
    private: list[str]


class CheckIn(CheckSpec, models.NamedRun):
    """A check of a release, or a file, in the server's folder."""

    model_config = models.example({"name": "theirs", "path": "their-release", "claim": "km(k=5, m=2)"})


class AttackOtherIn(AttackOtherSpec, models.LogRunIn):
    """Attacks on a release in the server's folder, with knowledge drawn from a log that was added."""

    model_config = models.example(
        {"name": "attack theirs", "log": "0f3a9c1b2d4e", "path": "their-release", "private": "their-private"}
    )


@router.get("/folder", dependencies=[OWNER_ONLY])
def list_folder(context: ContextDep) -> FolderOut:
    """List what may be chosen from the server's folder."""
    releases, private = releases_in(context.settings.folder)
    files = [FileOut(path=path, size=size) for path, size in context.logs.files()]
    return FolderOut(files=files, releases=releases, private=private)


@router.post("/check", status_code=202, dependencies=[OWNER_ONLY])
def check(context: ContextDep, body: CheckIn) -> models.RunOut:
    """Check a claim about somebody else's release, or about any file, in the server's folder."""
    return models.RunOut.of(context.jobs.start(body, body.name))


@router.post("/check/upload", status_code=202)
def check_upload(
    context: ContextDep,
    name: Annotated[str, Form(min_length=1, max_length=100)],
    file: Annotated[UploadFile, File(description="a release's folder as a zip archive, or any file")],
    claim: Annotated[str, Form(description="the guarantee to check; a release states its own")] = "",
    format: Annotated[str, Form(description="of a file; guessed if empty")] = "",  # noqa: A002  (the field's name)
    columns: Annotated[str, Form(description="of a file; guessed if empty")] = "",
) -> models.RunOut:
    """Send somebody else's release, or any file, and check a claim about it."""
    spec = {"claim": claim or None, "format": format, "columns": columns}
    return models.RunOut.of(context.jobs.start_on_upload(CheckSpec, spec, name, file.filename or "", file.file))


@router.post("/attack-other", status_code=202, dependencies=[OWNER_ONLY])
def attack_other(context: ContextDep, body: AttackOtherIn) -> models.RunOut:
    """Attack a release in the server's folder that has its private folder there."""
    return models.RunOut.of(context.jobs.start(body, body.name, log=body.log))
