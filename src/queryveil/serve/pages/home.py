"""The start page, login and logout, the guided start, the audit trail, and the documentation of the REST service."""

import json
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import HTMLResponse, Response

from queryveil.serve.access import OWNER_ONLY, TooManyWrongTokensError
from queryveil.serve.context import ContextDep
from queryveil.serve.fields import suggested_runs
from queryveil.serve.guard import end_login, log_in
from queryveil.serve.rendering import page, redirect
from queryveil.serve.store import LogRow, RunRow

router = APIRouter()
WRONG = "that is not this server's token; whoever started the server has it."
_RECENT, _EVENTS = 6, 100  # runs on the start page, events on one of the audit trail


@router.get("/")
def show_start(request: Request, context: ContextDep) -> HTMLResponse:
    """Show the demo log, the most recent runs, and what queryveil promises."""
    logs = context.store.logs()
    names = {log.id: log.name for log in logs}
    demo = next((log for log in logs if log.kind == "demo"), None)
    runs = [run for run in context.store.runs() if run.kind != "statistics"][:_RECENT]
    return page(request, "start.html", demo=demo, runs=runs, names=names, has_logs=bool(logs))


@router.get("/login")
def show_login(request: Request) -> HTMLResponse:
    """Ask for the token."""
    return page(request, "login.html", wrong="")


@router.post("/login")
def submit_login(request: Request, token: Annotated[str, Form()] = "") -> Response:
    """Log the browser in, or ask again."""
    response = redirect("/")
    try:
        if log_in(request, response, token):
            return response
    except TooManyWrongTokensError as refusal:
        return page(request, "login.html", status=429, wrong=str(refusal))
    return page(request, "login.html", status=403, wrong=WRONG)


@router.post("/logout")
def log_out(request: Request) -> Response:
    """Log the browser out."""
    response = redirect("/login")
    end_login(request, response)
    return response


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


@router.get("/audit", dependencies=[OWNER_ONLY])
def show_audit(
    request: Request, context: ContextDep, before: Annotated[int | None, Query(ge=1, le=2**62)] = None
) -> HTMLResponse:
    """List who looked at, started, downloaded or deleted what, the newest first."""
    events = context.audit.events(before=before, most=_EVENTS)
    rows: list[LogRow | RunRow] = [*context.store.logs(), *context.store.drafts(), *context.store.runs()]
    names = {row.id: row.name for row in rows}
    oldest = events[-1].number if len(events) == _EVENTS else None
    return page(request, "audit.html", events=events, names=names, oldest=oldest)


@router.get("/api/v1/docs")
def show_api(request: Request) -> HTMLResponse:
    """Show the routes of the REST service from its OpenAPI document."""
    document = request.app.openapi()
    routes = [
        {
            "path": path,
            "method": method.upper(),
            **operation,
            "fields": [*_query_fields(operation), *_body_fields(operation, document)],
            "example": _example(operation, document),
        }
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    return page(request, "api.html", section="api", routes=routes, address=request.app.openapi_url)


def _query_fields(operation: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parameters that an operation takes in the address, after a question mark."""
    given = (each for each in operation.get("parameters", ()) if each["in"] == "query")
    return [
        _field(
            each["name"], {"description": each.get("description", ""), **each["schema"]}, "address", each["required"]
        )
        for each in given
    ]


def _body_fields(operation: dict[str, Any], document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a request's body."""
    schema = _body_schema(operation, document)
    required = schema.get("required", ())
    return [_field(key, field, "body", key in required) for key, field in schema.get("properties", {}).items()]


def _example(operation: dict[str, Any], document: dict[str, Any]) -> str:
    """Return an example of a request's body as JSON; empty if there is none."""
    examples = _body_schema(operation, document).get("examples", ())
    return json.dumps(examples[0], ensure_ascii=False) if examples else ""


def _body_schema(operation: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    for content in operation.get("requestBody", {}).get("content", {}).values():
        name = content["schema"].get("$ref", "").rsplit("/", 1)[-1]
        schema: dict[str, Any] = document["components"]["schemas"].get(name, {})
        return schema
    return {}


def _field(name: str, schema: dict[str, Any], place: str, is_required: object) -> dict[str, Any]:
    """Return what the page shows of a field."""
    default = schema.get("default")
    return {
        "name": name,
        "place": place,
        "kind": _type_of(schema),
        "help": schema.get("description", ""),
        "required": bool(is_required),
        "default": "" if default in (None, "", [], {}) else json.dumps(default),
    }


def _type_of(field: dict[str, Any]) -> str:
    """Return the type of a field in a word or two."""
    kinds = [each.get("type", "") for each in field.get("anyOf", [field])]
    return " or ".join(kind for kind in kinds if kind and kind != "null")
