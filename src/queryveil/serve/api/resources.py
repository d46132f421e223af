"""REST routes of logs, runs, the releases that runs make, and searches; never of a private folder."""

import json
import re
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path as FilePath
from typing import Annotated, Any, ClassVar

from fastapi import APIRouter, Depends, File, Form, Path, Query, Request, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import Field
from starlette.responses import HTMLResponse, Response, StreamingResponse

from queryveil.core.errors import InputError
from queryveil.logs.options import ReadingOptions
from queryveil.release.manifest import Manifest
from queryveil.search.answers import Answer, SearchOptions, answer
from queryveil.serve.access import OWNER_ONLY
from queryveil.serve.api import models
from queryveil.serve.audit import note
from queryveil.serve.context import ContextDep, ServerContext, check_files
from queryveil.serve.guard import REPORT_HEADERS
from queryveil.serve.jobs import RunManager
from queryveil.serve.logs import DELETIONS, DeletionScope
from queryveil.serve.run_specs import IndexSpec, sweep_names
from queryveil.serve.run_table import SORTS, RunFilter, find_runs
from queryveil.serve.search import MAX_GROUP, RESCORE_RULES, RULES, RescoreQuery, SearchQuery, invalid_request
from queryveil.serve.store import RunKind, RunRow, RunState
from queryveil.workflows.inspect import PersonView, SamplePerson, number_of, person_of, sample_people, show_person

logs = APIRouter(tags=["logs"], responses=models.PROBLEMS)
runs = APIRouter(tags=["runs"], responses=models.PROBLEMS)
releases = APIRouter(tags=["releases"], responses=models.PROBLEMS)
LogId = Annotated[str, Path(description="the id of a log")]
RunId = Annotated[str, Path(description="the id of a run")]
ReleaseId = Annotated[str, Path(description="the id of the run that made the release")]
_SCOPES = (
    "what goes: `log`, and releases and private folders stay; `private`, the log and who is behind its releases, which "
    "stay; `everything`, also the releases, reports and runs"
)
_HELP = {each.name: each.help for each in ReadingOptions.options()}
_CHUNK = 1 << 20  # bytes
_BUNDLED = models.IndexIn()
_EVENT = {"type": "object", "properties": {"data": {"type": "string", "description": "a run as JSON"}}}


_STREAM = models.documented("text/event-stream", _EVENT, "a run per event")
_ZIP = models.documented("application/zip", {"type": "string", "format": "binary"}, "the release")


@logs.get("/logs")
def list_logs(context: ContextDep) -> list[models.LogOut]:
    """List the logs, the newest first."""
    return [models.LogOut.of(row, context.store) for row in context.store.logs()]


@logs.post("/logs", status_code=201, dependencies=[OWNER_ONLY])
def add_log(context: ContextDep, body: models.LogIn) -> models.LogOut:
    """Add the demo log, or a file in the server's folder."""
    if body.demo == (body.path is not None):
        raise InputError("give either demo: true or the path of a file in the server's folder.", field="path")
    if body.demo:
        return models.LogOut.of(context.logs.add_demo(body.name), context.store)
    return models.LogOut.of(context.logs.add_file(body.name, body.path or "", body.model_dump()), context.store)


@logs.post("/logs/upload", status_code=201, dependencies=[OWNER_ONLY])
def upload_log(
    context: ContextDep,
    name: Annotated[str, Form(min_length=1, max_length=100)],
    file: Annotated[UploadFile, File(description="the log")],
    format: Annotated[str, Form(description=_HELP["format"])] = "",  # noqa: A002  (the field's name)
    columns: Annotated[str, Form(description=_HELP["columns"])] = "",
) -> models.LogOut:
    """Send a log, as a form with the file in the field `file`."""
    reading = {"format": format, "columns": columns}
    return models.LogOut.of(context.logs.add_upload(name, file.filename or "", file.file, reading), context.store)


@logs.get("/logs/{log}")
def get_log(context: ContextDep, log: LogId) -> models.LogOut:
    """Return a log."""
    return models.LogOut.of(context.store.log(log), context.store)


@logs.delete("/logs/{log}", status_code=204, dependencies=[OWNER_ONLY])
def delete_log(
    request: Request,
    context: ContextDep,
    log: LogId,
    scope: Annotated[DeletionScope, Query(description=_SCOPES)] = "log",
) -> None:
    """Delete a log, its statistics, and of its runs what the scope says; those that have not ended fail."""
    note(request, action=DELETIONS[scope])
    context.logs.delete(log, scope)


def _wanted_runs(
    request: Request,
    log: str = "",
    kind: Annotated[RunKind | None, Query()] = None,
    state: Annotated[RunState | None, Query()] = None,
    tag: str = "",
    q: Annotated[str, Query(description="a text in the name, the method, a tag or the notes")] = "",
    sort: Annotated[str, Query(description=f"one of {', '.join(SORTS)}")] = "created",
    order: Annotated[str, Query(description="asc or desc")] = "",
) -> RunFilter:
    """Return the filter in an address; the parameters are there for the documentation, and to be checked."""
    return RunFilter.read(request.query_params)


WantedRuns = Annotated[RunFilter, Depends(_wanted_runs)]


@runs.get("/runs")
def list_runs(context: ContextDep, wanted: WantedRuns) -> list[models.RunOut]:
    """List the runs that match all filters, the newest first unless they are sorted otherwise."""
    return [models.RunOut.of(row) for row in find_runs(context.store, wanted)]


@runs.post("/runs", status_code=202)
def start_run(request: Request, context: ContextDep, body: models.RunIn) -> models.RunOut:
    """Start a run of a method on a log; it makes a release."""
    check_files(request, body)
    return models.RunOut.of(context.jobs.start(body, body.name, log=body.log))


@runs.get("/runs/{run}")
def get_run(request: Request, context: ContextDep, run: RunId) -> models.RunOut:
    """Return a run, with what it found once it is done; what it found in the server's folder only to the owner."""
    row = context.store.run(run)
    return models.RunOut.of(row, context.result_for(request, row))


@runs.post("/runs/{run}/forget", dependencies=[OWNER_ONLY])
def forget_run(context: ContextDep, run: RunId) -> models.RunOut:
    """Delete the private folder of a run, who is behind its release, and keep the release."""
    return models.RunOut.of(context.jobs.forget(run), context.jobs.result(run))


@runs.post("/sweeps", status_code=202)
def start_sweep(request: Request, context: ContextDep, body: models.SweepIn) -> list[models.RunOut]:
    """Start a run for each combination of the values of a method's parameters, such as `km(k=5|10, m=2)`."""
    check_files(request, body)
    names = sweep_names(body.method)
    runs = [(f"{body.name}: {name}", body.spec_of(name)) for name in names]
    return [models.RunOut.of(row) for row in context.jobs.start_all(runs, log=body.log)]


@runs.post("/index", status_code=202)
def start_indexing(request: Request, context: ContextDep, body: models.IndexIn = _BUNDLED) -> models.RunOut:
    """Make the bundled corpus searchable, or documents of the server's folder, which takes the owner's token."""
    check_files(request, IndexSpec(path=body.path))
    return models.RunOut.of(context.searchers.start_indexing(body.path))


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


@runs.delete("/runs/{run}", status_code=204, dependencies=[OWNER_ONLY])
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
    archive = _zip_chunks(folder, name, context.settings.state_folder)
    disposition = {"content-disposition": f'attachment; filename="{name}.zip"'}
    return StreamingResponse(archive, media_type="application/zip", headers=disposition)


@releases.get("/releases/{release}/people", dependencies=[OWNER_ONLY])
def list_people(
    context: ContextDep, release: ReleaseId, most: Annotated[int, Query(ge=1, le=1_000)] = 12
) -> list[SamplePerson]:
    """List some of the people behind a release by number, from the longest history to the shortest."""
    return sample_people(context.jobs.private_of(release), most)


@releases.post("/releases/{release}/history", dependencies=[OWNER_ONLY])
def show_history(request: Request, context: ContextDep, release: ReleaseId, body: models.PersonIn) -> PersonView:
    """Return one person's history, what became of it, and what the release shows instead."""
    folder, private = context.jobs.release_of(release), context.jobs.private_of(release)
    if (body.number is None) == (body.person is None):
        raise InputError("give either the number of a person or a user as it stands in the log.", field="person")
    person = body.person if body.number is None else person_of(private, body.number)
    found = show_person(folder, private, person or "")
    note(request, runs=[release], person=number_of(private, person or "") if body.number is None else body.number)
    return found


@releases.post("/releases/{release}/search", dependencies=[OWNER_ONLY])
def search_as_person(request: Request, context: ContextDep, release: ReleaseId, body: models.PersonSearchIn) -> Answer:
    """Search as one of the people behind a release of groups, by what they searched for."""
    people = context.searchers.people(release)
    if (body.number is None) == (body.user is None):
        raise InputError("give either the number of a person or a user as it stands in the log.", field="number")
    if people is None or (body.number is not None and body.number >= len(people)):
        raise InputError("there is nobody of that number behind the release; choose another.", field="number")
    number = people.number(body.user or "") if body.number is None else body.number
    index = context.searchers.searcher(release).index
    note(request, runs=[release], person=number)
    shown = body.model_dump(include={"n", "depth", "explain"})
    options = SearchOptions(**shown, ranking=body.settings())
    return answer(index, body.query, people.profile(number, index), options)


@releases.post("/verify", status_code=202)
def verify(request: Request, context: ContextDep, body: models.VerifyIn) -> models.RunOut:
    """Check whether a release keeps what it claims."""
    return _start(request, context, body)


@releases.post("/measure", status_code=202)
def measure(request: Request, context: ContextDep, body: models.MeasureIn) -> models.RunOut:
    """Measure what a release kept of its log, and what it gives away."""
    return _start(request, context, body)


@releases.post("/attack", status_code=202)
def attack(request: Request, context: ContextDep, body: models.AttackIn) -> models.RunOut:
    """Attack a release with knowledge drawn from its log."""
    return _start(request, context, body)


def _start(
    request: Request, context: ServerContext, body: models.VerifyIn | models.MeasureIn | models.AttackIn
) -> models.RunOut:
    check_files(request, body)
    return models.RunOut.of(context.jobs.start(body, body.name, release=body.release))


def _summary(row: RunRow, manifest: Manifest) -> dict[str, Any]:
    shown = {name: getattr(manifest, name) for name in ("kind", "method", "guarantee", "promise", "content_sha256")}
    return {"id": row.id, "name": row.name, "log": row.log, "made": row.ended, **shown}


def _zip_chunks(folder: FilePath, name: str, temporary: FilePath) -> Iterator[bytes]:
    """Pack a folder when the first bytes are asked for, and yield the archive, which no file is left of."""
    with tempfile.TemporaryFile(dir=temporary) as archive:
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    packed.write(path, f"{name}/{path.relative_to(folder)}")
        archive.seek(0)
        while chunk := archive.read(_CHUNK):
            yield chunk


_RELEASE_RULE = {"release": "the id of a run that made groups, or left out for the newest"}
ReleaseField = Annotated[
    str | None, Field(max_length=100, description="the run that made the groups; the newest if left out")
]


class SearchIn(SearchQuery):
    """A query, the group for which it is answered, and the release it is a group of; never a person."""

    release: ReleaseField = None


class RescoreIn(RescoreQuery):
    """A request for the `rescore` part of a group, and the release it is a group of."""

    release: ReleaseField = None


class SearchRoute(APIRoute):
    """A route that describes an invalid request in the sentences of the search service."""

    rules: ClassVar = {**RULES, **_RELEASE_RULE}

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with its validation errors translated."""
        handle = super().get_route_handler()

        async def handle_with_sentences(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                location = error.errors()[0]["loc"][1:]
                is_named = bool(location) and isinstance(location[0], str)
                raise invalid_request(location if is_named else (), self.rules) from None

        return handle_with_sentences


class RescoreRoute(SearchRoute):
    """The same for requests for another engine."""

    rules: ClassVar = {"group": RULES["group"], **RESCORE_RULES, **_RELEASE_RULE}


searches = APIRouter(tags=["search"], responses=models.PROBLEMS, route_class=SearchRoute)


@searches.post("/search")
def search(context: ContextDep, body: SearchIn) -> Answer:
    """Search as a group of a release, or as nobody; who asks is never said."""
    searchers = context.searchers
    release = body.release or (None if body.group is None else next(iter(searchers.releases()), None))
    return body.answer(searchers.searcher(release))


rescores = APIRouter(tags=["search"], responses=models.PROBLEMS, route_class=RescoreRoute)


@rescores.get("/groups/{group}/rescore")
def rescore(
    context: ContextDep,
    group: Annotated[int, Path(ge=0, le=MAX_GROUP, description="a group of the release")],
    request: Annotated[RescoreIn, Query()],
) -> dict[str, Any]:
    """Return a group's profile as the `rescore` part of a search for OpenSearch, Elasticsearch or another engine."""
    searchers = context.searchers
    release = request.release or next(iter(searchers.releases()), None)
    return request.rescore(searchers.searcher(release), group)
