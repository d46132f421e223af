"""Releases by REST: list, get, report, download, verify, measure and attack; never the private folder."""

import re
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import IO, Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import HTMLResponse, StreamingResponse

from queryveil.serve.api.models import (
    JSON_PROBLEMS,
    PROBLEMS,
    AttackIn,
    MeasureIn,
    ReleaseDetail,
    ReleaseOut,
    Responses,
    RunOut,
    VerifyIn,
)
from queryveil.serve.context import ContextDep, ServerContext
from queryveil.serve.guard import REPORT_HEADERS
from queryveil.serve.records import RunRow

router = APIRouter(tags=["releases"], responses=PROBLEMS)
ReleaseId = Annotated[str, Path(description="the id of the run that made the release")]
_CHUNK = 1 << 20  # bytes
_BINARY = {"type": "string", "format": "binary"}
_ZIP: Responses = {
    **JSON_PROBLEMS,
    200: {"content": {"application/zip": {"schema": _BINARY}}, "description": "the release"},
}


@router.get("/releases")
def list_releases(context: ContextDep) -> list[ReleaseOut]:
    """List the releases, the newest first."""
    made = [row for row in context.store.runs(kind="anonymize") if row.state == "done"]
    return [ReleaseOut(**_summary(row, _result(context, row)["manifest"])) for row in made]


@router.get("/releases/{release}")
def get_release(context: ContextDep, release: ReleaseId) -> ReleaseDetail:
    """Return a release: manifest, verdict, scores, and the runs on it."""
    row = context.jobs.made(release)
    result = _result(context, row)
    runs = [RunOut.of(run, context.jobs.result(run.id)) for run in context.store.runs(release=release)]
    details = {name: result[name] for name in ("manifest", "verdict", "scores")}
    return ReleaseDetail(**_summary(row, result["manifest"]), **details, runs=runs)


@router.get("/releases/{release}/report", response_class=HTMLResponse, responses=JSON_PROBLEMS)
def get_report(context: ContextDep, release: ReleaseId) -> HTMLResponse:
    """Return a release's report, a page by itself."""
    return HTMLResponse((context.jobs.release_of(release) / "report.html").read_bytes(), headers=REPORT_HEADERS)


@router.get("/releases/{release}/download", response_class=StreamingResponse, responses=_ZIP)
def download_release(context: ContextDep, release: ReleaseId) -> StreamingResponse:
    """Return the files of a release as a zip archive."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", context.jobs.made(release).name).strip("-") or "release"
    archive = _zip(context.jobs.release_of(release), name, context.settings.home)
    disposition = {"content-disposition": f'attachment; filename="{name}.zip"'}
    return StreamingResponse(_chunks(archive), media_type="application/zip", headers=disposition)


@router.post("/verify", status_code=202)
def verify(context: ContextDep, asked: VerifyIn) -> RunOut:
    """Check whether a release keeps what it claims."""
    return _start(context, asked)


@router.post("/measure", status_code=202)
def measure(context: ContextDep, asked: MeasureIn) -> RunOut:
    """Measure what a release kept of its log, and what it gives away."""
    return _start(context, asked)


@router.post("/attack", status_code=202)
def attack(context: ContextDep, asked: AttackIn) -> RunOut:
    """Attack a release with knowledge drawn from its log."""
    return _start(context, asked)


def _start(context: ServerContext, asked: VerifyIn | MeasureIn | AttackIn) -> RunOut:
    return RunOut.of(context.jobs.start(asked, asked.name, release=asked.release))


def _result(context: ServerContext, row: RunRow) -> dict[str, Any]:
    return context.jobs.result(row.id) or {}


def _summary(row: RunRow, manifest: dict[str, Any]) -> dict[str, Any]:
    shown = {name: manifest[name] for name in ("kind", "method", "guarantee", "promise", "content_sha256")}
    return {"id": row.id, "name": row.name, "log": row.log, "made": row.ended, **shown}


def _zip(release: FilePath, name: str, home: FilePath) -> IO[bytes]:
    """Return a zip archive of a release in an unnamed temporary file of the private folder."""
    archive = tempfile.TemporaryFile(dir=home)  # noqa: SIM115  (closed when it has been sent)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
        for path in sorted(release.rglob("*")):
            if path.is_file():
                packed.write(path, f"{name}/{path.relative_to(release)}")
    archive.seek(0)
    return archive


def _chunks(archive: IO[bytes]) -> Iterator[bytes]:
    with archive:
        while chunk := archive.read(_CHUNK):
            yield chunk
