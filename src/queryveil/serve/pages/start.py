"""The first page: the demo log one click away, what ran last, and what is promised."""

from fastapi import APIRouter, Request
from starlette.background import BackgroundTask
from starlette.responses import HTMLResponse

from queryveil.report.charts import warm_up
from queryveil.serve.pages.here import Here
from queryveil.serve.rendering import page

router = APIRouter()
_RECENT = 6  # runs


@router.get("/")
def start(request: Request, here: Here) -> HTMLResponse:
    """Show where to begin, or to go on."""
    logs = here.store.logs()
    names = {log.id: log.name for log in logs}
    demo = next((log for log in logs if log.kind == "demo"), None)
    runs = [run for run in here.store.runs() if run.kind != "statistics"][:_RECENT]
    answer = page(request, "start.html", demo=demo, runs=runs, names=names, has_logs=bool(logs))
    answer.background = BackgroundTask(warm_up)  # the next page will have one
    return answer
