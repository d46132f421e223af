"""The pages of all runs: the table with filters, runs side by side, deletion of several, and notes on one."""

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import InputError, QueryveilError
from queryveil.serve.access import OWNER_ONLY
from queryveil.serve.audit import note
from queryveil.serve.context import ContextDep, FormDataDep, FormDep, ServerContext
from queryveil.serve.pages.comparison import compare_runs
from queryveil.serve.pages.runs import run_page
from queryveil.serve.rendering import PRODUCTS, page, redirect
from queryveil.serve.run_table import SORTS, RunFilter, find_runs
from queryveil.serve.store import FINAL_STATES, RunRow

router = APIRouter()
NOTHING_TICKED = "no run is ticked; tick those that are meant."
_STATES = ("queued", "running", *FINAL_STATES)


@router.get("/runs")
def list_runs(request: Request, context: ContextDep) -> HTMLResponse:
    """Show all runs, or those that match the filters, in the order that the address names."""
    return _table_page(request, context)


@router.post("/runs/selected")
def choose_runs(request: Request, context: ContextDep, form: FormDataDep) -> Response:
    """Compare the ticked runs, or ask whether to delete them."""
    ticked = [str(run) for run in form.getlist("run")]
    if not ticked:
        return _table_page(request, context, InputError(NOTHING_TICKED))
    runs = urlencode({"run": ticked}, doseq=True)
    return redirect(f"/compare?{runs}" if form.get("action") == "compare" else f"/runs/delete?{runs}")


@router.get("/runs/delete", dependencies=[OWNER_ONLY])
def ask_whether_to_delete(request: Request, context: ContextDep, run: Annotated[list[str], Query()]) -> HTMLResponse:
    """Say what would be deleted, and ask."""
    rows = _existing(context, run)
    also = [other for row in rows for other in context.store.runs(release=row.id) if other not in rows]
    return page(request, "delete_runs.html", rows=rows, also=also)


@router.post("/runs/delete", dependencies=[OWNER_ONLY])
def delete_runs(request: Request, context: ContextDep, form: FormDataDep) -> Response:
    """Delete the runs, their releases, and the runs on these."""
    rows = _existing(context, [str(run) for run in form.getlist("run")])
    note(request, runs=[row.id for row in rows])
    for row in rows:
        if context.store.runs(id=row.id):  # not deleted with the release that it examined
            context.jobs.delete(row.id)
    return redirect("/runs")


@router.get("/compare")
def show_comparison(
    request: Request, context: ContextDep, run: Annotated[list[str] | None, Query()] = None
) -> HTMLResponse:
    """Show runs side by side, those of each log by themselves."""
    rows = _existing(context, run or [])
    note(request, runs=[row.id for row in rows])
    names = {log.id: log.name for log in context.store.logs()}
    logs = dict.fromkeys(row.log for row in rows)
    made = [(log, [row for row in rows if row.log == log and row.kind == "anonymize"]) for log in logs]
    compared = [(names.get(log or "", "a log that was deleted"), compare_runs(own, context.jobs)) for log, own in made]
    left_out = [row for row in rows if row.kind != "anonymize" or row.state != "done"]
    compared_ids = [row.id for row in rows if row not in left_out]
    address = f"/api/v1/comparison.csv?{urlencode({'run': compared_ids}, doseq=True)}"
    return page(request, "compare.html", logs=compared, left_out=left_out, rows=rows, export=address)


@router.post("/runs/{run}/describe")
def change_run(request: Request, context: ContextDep, form: FormDep, run: str) -> Response:
    """Rename a run, or change its tags or notes."""
    try:
        tags = form.get("tags", "").split(",")
        context.store.describe_run(run, name=form.get("name"), tags=tags, notes=form.get("notes"))
    except QueryveilError as error:
        return run_page(request, context, run, errors={error.field: str(error)}, values=form)
    return redirect(f"/runs/{run}#describe")


def _existing(context: ServerContext, runs: Sequence[str]) -> list[RunRow]:
    """Return the runs of some ids that exist, in the given order."""
    known = {row.id: row for row in context.store.runs()}
    return [known[run] for run in dict.fromkeys(runs) if run in known]


def _table_page(request: Request, context: ServerContext, error: QueryveilError | None = None) -> HTMLResponse:
    wanted = RunFilter.read(request.query_params)
    everything = context.store.runs()
    columns = [(key, heading, f"/runs?{urlencode(_turned(wanted, key))}") for key, heading in SORTS.items()]
    return page(
        request,
        "runs.html",
        status=200 if error is None else 422,
        rows=find_runs(context.store, wanted),
        n_all=len(everything),
        wanted=wanted,
        columns=columns,
        logs={log.id: log.name for log in context.store.logs()},
        kinds=PRODUCTS,
        states=_STATES,
        tags=sorted({tag for run in everything for tag in run.tags}),
        export=f"/api/v1/runs.csv?{urlencode(wanted.query())}",
        error=error,
    )


def _turned(wanted: RunFilter, key: str) -> dict[str, str]:
    """Return the address's values of the table sorted by a column, the other way round if it is by that column."""
    if wanted.sort != key:
        return wanted.query(sort=key, order="")
    return wanted.query(order="asc" if wanted.order == "desc" else "desc")
