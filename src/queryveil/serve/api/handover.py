"""REST routes of what is handed over with a release: its rows as CSV, and its datasheet."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, StreamingResponse

from queryveil.serve.api import models
from queryveil.serve.api.resources import ReleaseId, RunId
from queryveil.serve.context import ContextDep, check_files
from queryveil.serve.guard import REPORT_HEADERS
from queryveil.serve.run_files import DATASHEET
from queryveil.serve.run_specs import DatasheetSpec
from queryveil.serve.store import UnknownIdError

router = APIRouter(tags=["releases"], responses=models.PROBLEMS)
_CSV = models.documented("text/csv", {"type": "string"}, "the rows of the release")
_BATCH = 50_000  # rows


class DatasheetIn(DatasheetSpec, models.ReleaseRunIn):
    """A datasheet of a release."""

    model_config = models.example(
        {"name": "datasheet", "release": "0123456789ab", "owner": {"contact": "us@example.org"}}
    )


@router.post("/datasheet", status_code=202)
def write_datasheet(request: Request, context: ContextDep, body: DatasheetIn) -> models.RunOut:
    """Verify a release and write its datasheet, which the run then has."""
    check_files(request, body)
    return models.RunOut.of(context.jobs.start(body, body.name, release=body.release))


@router.get("/runs/{run}/datasheet", response_class=HTMLResponse, responses=models.JSON_PROBLEMS)
def get_datasheet(context: ContextDep, run: RunId) -> HTMLResponse:
    """Return the datasheet that a run has written, a page by itself."""
    path = context.jobs.folder_of(context.store.run(run).id) / DATASHEET
    if not path.is_file():
        raise UnknownIdError("that run has written no datasheet; choose another.", field="run")
    return HTMLResponse(path.read_bytes(), headers=REPORT_HEADERS)


@router.get("/releases/{release}/rows.csv", response_class=StreamingResponse, responses=_CSV)
def download_rows(context: ContextDep, release: ReleaseId) -> StreamingResponse:
    """Return the rows of a release as CSV; texts are quoted, and as they are published."""
    folder, manifest = context.jobs.release_of(release), context.jobs.manifest(release)
    parts = [folder / file.path for file in manifest.files if file.rows is not None]
    disposition = {"content-disposition": f'attachment; filename="{release}.csv"'}
    return StreamingResponse(_csv_chunks(parts), media_type="text/csv; charset=utf-8", headers=disposition)


def _csv_chunks(parts: list[Path]) -> Iterator[bytes]:
    """Yield the rows of Parquet files as CSV, under one heading."""
    import pyarrow.parquet as pq

    from queryveil.core.arrow import csv_bytes

    is_first = True
    for part in parts:
        with pq.ParquetFile(part) as file:
            heading = [file.schema_arrow.empty_table()] if is_first else []
            for rows in chain(heading, file.iter_batches(_BATCH)):
                yield csv_bytes(rows, include_header=is_first)
                is_first = False
