"""The guided start: a goal, and the runs of methods that serve it with the reasons."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from queryveil.serve.context import ContextDep
from queryveil.serve.fields import suggested_runs
from queryveil.serve.rendering import page

router = APIRouter()


@router.get("/guide")
def show_guide(
    request: Request, context: ContextDep, log: Annotated[str, Query()] = "", goal: Annotated[str, Query()] = ""
) -> HTMLResponse:
    """Ask what the log is for, and show the runs that serve it."""
    goals = suggested_runs()
    chosen = next((each for each in goals if each.goal == goal), None)
    logs = context.store.logs()
    selected = context.store.log(log) if log else next(iter(logs), None)
    runs = []
    if chosen is not None and selected is not None:
        runs = [(each, f"/try?{urlencode({'log': selected.id, **each.settings})}#new") for each in chosen.suggestions]
    return page(request, "guide.html", goals=goals, chosen=chosen, logs=logs, log=selected, runs=runs)
