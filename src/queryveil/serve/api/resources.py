"""REST routes of logs, runs, the releases that runs make, and searches; never of a private folder."""

import json
import re
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import IO, Annotated, Any

from fastapi import APIRouter, File, Form, Path, Query, Request, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import Field
from starlette.responses import HTMLResponse, Response, StreamingResponse

from queryveil.core.errors import InputError
from queryveil.logs.options import ReadingOptions
from queryveil.release.manifest import Manifest
from queryveil.search.answers import Answer
from queryveil.serve.api import models
from queryveil.serve.context import ContextDep, ServerContext
from queryveil.serve.guard import REPORT_HEADERS
from queryveil.serve.jobs import RunManager
from queryveil.serve.search import RULES, SearchQuery, invalid_request
from queryveil.serve.store import RunKind, RunRow

logs = APIRouter(tags=["logs"], responses=models.PROBLEMS)
runs = APIRouter(tags=["runs"], responses=models.PROBLEMS)
releases = APIRouter(tags=["releases"], responses=models.PROBLEMS)
LogId = Annotated[str, Path(description="the id of a log")]
RunId = Annotated[str, Path(description="the id of a run")]
ReleaseId = Annotated[str, Path(description="the id of the run that made the release")]
_HELP = {each.name: each.help for each in ReadingOptions.options()}
_CHUNK = 1 << 20  # bytes
_EVENT = {"type": "object", "properties": {"data": {"type": "string", "description": "a run as JSON"}}}


def _documented(media_type: str, schema: dict[str, Any], description: str) -> models.Responses:
    """Return the responses of a route that does not return JSON."""
    return {**models.JSON_PROBLEMS, 200: {"content": {media_type: {"schema": schema}}, "description": description}}


_STREAM = _documented("text/event-stream", _EVENT, "a run per event")
_ZIP = _documented("application/zip", {"type": "string", "format": "binary"}, "the release")


@logs.get("/logs")
def list_logs(context: ContextDep) -> list[models.LogOut]:
    """List the logs, the newest first."""
    return [models.LogOut.of(row) for row in context.store.logs()]


@logs.post("/logs", status_code=201)
def add_log(context: ContextDep, body: models.LogIn) -> models.LogOut:
    """Add the demo log, or a file in the server's folder."""
    if body.demo == (body.path is not None):
        raise InputError("give either demo: true or the path of a file in the server's folder.", field="path")
    if body.demo:
        return models.LogOut.of(context.logs.add_demo(body.name))
    return models.LogOut.of(context.logs.add_file(body.name, body.path or "", body.model_dump()))


@logs.post("/logs/upload", status_code=201)
def upload_log(
    context: ContextDep,
    name: Annotated[str, Form(min_length=1, max_length=100)],
    file: Annotated[UploadFile, File(description="the log")],
    format: Annotated[str, Form(description=_HELP["format"])] = "",  # noqa: A002  (the field's name)
    columns: Annotated[str, Form(description=_HELP["columns"])] = "",
) -> models.LogOut:
    """Send a log, as a form with the file in the field `file`."""
    reading = {"format": format, "columns": columns}
    return models.LogOut.of(context.logs.add_upload(name, file.filename or "", file.file, reading))


@logs.get("/logs/{log}")
def get_log(context: ContextDep, log: LogId) -> models.LogOut:
    """Return a log."""
    return models.LogOut.of(context.store.log(log))


@logs.delete("/logs/{log}", status_code=204)
def delete_log(context: ContextDep, log: LogId) -> None:
    """Delete a log and what the server keeps of it; runs on it that have not ended fail, releases stay."""
    context.logs.delete(log)


@runs.get("/runs")
def list_runs(
    context: ContextDep, log: str | None = None, kind: Annotated[RunKind | None, Query()] = None
) -> list[models.RunOut]:
    """List the runs, the newest first; on a log or of a kind where asked for."""
    return [models.RunOut.of(row) for row in context.store.runs(log=log, kind=kind)]


@runs.post("/runs", status_code=202)
def start_run(context: ContextDep, body: models.RunIn) -> models.RunOut:
    """Start a run of a method on a log; it makes a release."""
    return models.RunOut.of(context.jobs.start(body, body.name, log=body.log))


@runs.get("/runs/{run}")
def get_run(context: ContextDep, run: RunId) -> models.RunOut:
    """Return a run, with what it found once it is done."""
    return models.RunOut.of(context.store.run(run), context.jobs.result(run))


@runs.get("/runs/{run}/events", response_class=StreamingResponse, responses=_STREAM)
def follow_run(context: ContextDep, run: RunId) -> StreamingResponse:
    """Follow a run as server-sent events, each a run as JSON, until it is over."""
    context.store.run(run)  # raises before the stream begins if there is no such run
    return StreamingResponse(_events(context.jobs, run), media_type="text/event-stream")


async def _events(jobs: RunManager, run: str) -> AsyncIterator[str]:
    async for row in jobs.events(run):
        yield f"data: {json.dumps(vars(row), ensure_ascii=False, separators=(',', ':'))}\n\n"


@runs.post("/runs/{run}/cancel", status_code=202)
def cancel_run(context: ContextDep, run: RunId) -> models.RunOut:
    """Cancel a run that waits or is under way; nothing of it is kept."""
    return models.RunOut.of(context.jobs.cancel(run))


@runs.post("/runs/{run}/again", status_code=202)
def start_again(context: ContextDep, run: RunId) -> models.RunOut:
    """Start a run that failed, was cancelled or interrupted once more."""
    return models.RunOut.of(context.jobs.restart(run))


@runs.delete("/runs/{run}", status_code=204)
def delete_run(context: ContextDep, run: RunId) -> None:
    """Delete a run, its release, and the runs on that release."""
    context.jobs.delete(run)


@releases.get("/releases")
def list_releases(context: ContextDep) -> list[models.ReleaseOut]:
    """List the releases, the newest first."""
    made = [row for row in context.store.runs(kind="anonymize") if row.state == "done"]
    return [models.ReleaseOut(**_summary(row, context.jobs.manifest(row.id))) for row in made]


@releases.get("/releases/{release}")
def get_release(context: ContextDep, release: ReleaseId) -> models.ReleaseDetail:
    """Return a release: manifest, verdict, scores, and the runs on it."""
    row, manifest = context.jobs.run_that_made(release), context.jobs.manifest(release)
    result = context.jobs.result(release) or {}
    details = {name: result[name] for name in ("verdict", "scores")}
    runs = [models.RunOut.of(run, context.jobs.result(run.id)) for run in context.store.runs(release=release)]
    return models.ReleaseDetail(**_summary(row, manifest), **details, manifest=manifest.record(), runs=runs)


@releases.get("/releases/{release}/report", response_class=HTMLResponse, responses=models.JSON_PROBLEMS)
def get_report(context: ContextDep, release: ReleaseId) -> HTMLResponse:
    """Return a release's report, a page by itself."""
    return HTMLResponse((context.jobs.release_of(release) / "report.html").read_bytes(), headers=REPORT_HEADERS)


@releases.get("/releases/{release}/download", response_class=StreamingResponse, responses=_ZIP)
def download_release(context: ContextDep, release: ReleaseId) -> StreamingResponse:
    """Return the files of a release as a zip archive."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", context.jobs.run_that_made(release).name).strip("-") or "release"
    folder = context.jobs.release_of(release)
    archive = tempfile.TemporaryFile(dir=context.settings.state_folder)  # noqa: SIM115  (closed when it has been sent)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                packed.write(path, f"{name}/{path.relative_to(folder)}")
    archive.seek(0)
    disposition = {"content-disposition": f'attachment; filename="{name}.zip"'}
    return StreamingResponse(_chunks(archive), media_type="application/zip", headers=disposition)


@releases.post("/verify", status_code=202)
def verify(context: ContextDep, body: models.VerifyIn) -> models.RunOut:
    """Check whether a release keeps what it claims."""
    return _start(context, body)


@releases.post("/measure", status_code=202)
def measure(context: ContextDep, body: models.MeasureIn) -> models.RunOut:
    """Measure what a release kept of its log, and what it gives away."""
    return _start(context, body)


@releases.post("/attack", status_code=202)
def attack(context: ContextDep, body: models.AttackIn) -> models.RunOut:
    """Attack a release with knowledge drawn from its log."""
    return _start(context, body)


def _start(context: ServerContext, body: models.VerifyIn | models.MeasureIn | models.AttackIn) -> models.RunOut:
    return models.RunOut.of(context.jobs.start(body, body.name, release=body.release))


def _summary(row: RunRow, manifest: Manifest) -> dict[str, Any]:
    shown = {name: getattr(manifest, name) for name in ("kind", "method", "guarantee", "promise", "content_sha256")}
    return {"id": row.id, "name": row.name, "log": row.log, "made": row.ended, **shown}


def _chunks(archive: IO[bytes]) -> Iterator[bytes]:
    with archive:
        while chunk := archive.read(_CHUNK):
            yield chunk


_SEARCH_RULES = {**RULES, "release": "the id of a run that made groups, or left out for the newest"}


class SearchIn(SearchQuery):
    """A query, the group for which it is answered, and the release it is a group of; never a person."""

    release: Annotated[
        str | None, Field(max_length=100, description="the run that made the groups; the newest if left out")
    ] = None


class SearchRoute(APIRoute):
    """A route that describes an invalid request in the sentences of the search service."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with its validation errors translated."""
        handle = super().get_route_handler()

        async def handle_with_sentences(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                location = error.errors()[0]["loc"][1:]
                is_named = bool(location) and isinstance(location[0], str)
                raise invalid_request(location if is_named else (), _SEARCH_RULES) from None

        return handle_with_sentences


searches = APIRouter(tags=["search"], responses=models.PROBLEMS, route_class=SearchRoute)


@searches.post("/search")
def search(context: ContextDep, body: SearchIn) -> Answer:
    """Search as a group of a release, or as nobody; who asks is never said."""
    searchers = context.searchers
    release = body.release or (None if body.group is None else next(iter(searchers.releases()), None))
    return body.answer(searchers.searcher(release))
