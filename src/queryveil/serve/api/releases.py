"""Releases by REST: what was made, its report and its files; never the private folder."""

import re
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import IO, Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import HTMLResponse, StreamingResponse

from queryveil.serve.api.models import PROBLEMS, PROBLEMS_BESIDE, ReleaseDetail, ReleaseOut, Responses, RunOut
from queryveil.serve.guard import REPORT_HEADERS
from queryveil.serve.jobs import Jobs
from queryveil.serve.settings import Settings
from queryveil.serve.store import RunRow, Store

router = APIRouter(tags=["releases"], responses=PROBLEMS)
ReleaseId = Annotated[str, Path(description="the id of the run that made the release")]
_CHUNK = 1 << 20  # bytes
_BINARY = {"type": "string", "format": "binary"}
_ZIP: Responses = {
    **PROBLEMS_BESIDE,
    200: {"content": {"application/zip": {"schema": _BINARY}}, "description": "the release"},
}


@router.get("/releases")
def list_releases(request: Request) -> list[ReleaseOut]:
    """List the releases, the newest first."""
    store: Store = request.app.state.store
    made = [row for row in store.runs(kind="anonymize") if row.state == "done"]
    return [ReleaseOut(**_about(row, _found(request, row)["manifest"])) for row in made]


@router.get("/releases/{release}")
def get_release(request: Request, release: ReleaseId) -> ReleaseDetail:
    """Return a release: manifest, verdict, scores, and the runs on it."""
    jobs: Jobs = request.app.state.jobs
    store: Store = request.app.state.store
    row = jobs.made(release)
    found = _found(request, row)
    runs = [RunOut.of(run, jobs.result(run.id)) for run in store.runs(release=release)]
    shown = {name: found[name] for name in ("manifest", "verdict", "scores")}
    return ReleaseDetail(**_about(row, found["manifest"]), **shown, runs=runs)


@router.get("/releases/{release}/report", response_class=HTMLResponse, responses=PROBLEMS_BESIDE)
def get_report(request: Request, release: ReleaseId) -> HTMLResponse:
    """Return a release's report, a page by itself."""
    jobs: Jobs = request.app.state.jobs
    return HTMLResponse((jobs.release_of(release) / "report.html").read_bytes(), headers=REPORT_HEADERS)


@router.get("/releases/{release}/download", response_class=StreamingResponse, responses=_ZIP)
def download_release(request: Request, release: ReleaseId) -> StreamingResponse:
    """Return the files of a release as a zip archive."""
    jobs: Jobs = request.app.state.jobs
    settings: Settings = request.app.state.settings
    name = re.sub(r"[^A-Za-z0-9]+", "-", jobs.made(release).name).strip("-") or "release"
    archive = _packed(jobs.release_of(release), name, settings.home)
    disposition = {"content-disposition": f'attachment; filename="{name}.zip"'}
    return StreamingResponse(_chunks(archive), media_type="application/zip", headers=disposition)


def _found(request: Request, row: RunRow) -> dict[str, Any]:
    jobs: Jobs = request.app.state.jobs
    return jobs.result(row.id) or {}


def _about(row: RunRow, manifest: dict[str, Any]) -> dict[str, Any]:
    told = {name: manifest[name] for name in ("kind", "method", "guarantee", "promise", "content_sha256")}
    return {"id": row.id, "name": row.name, "log": row.log, "made": row.ended, **told}


def _packed(release: FilePath, name: str, home: FilePath) -> IO[bytes]:
    """Pack a release into a file that nobody else sees and that is gone when it is closed."""
    archive = tempfile.TemporaryFile(dir=home)  # noqa: SIM115  (closed when it has been sent)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packing:
        for path in sorted(release.rglob("*")):
            if path.is_file():
                packing.write(path, f"{name}/{path.relative_to(release)}")
    archive.seek(0)
    return archive


def _chunks(archive: IO[bytes]) -> Iterator[bytes]:
    with archive:
        while chunk := archive.read(_CHUNK):
            yield chunk
