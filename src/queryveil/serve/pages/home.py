"""The start page, login and logout, and the documentation page of the REST service."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import HTMLResponse, Response

from queryveil.serve.context import ContextDep
from queryveil.serve.guard import log_in, log_out
from queryveil.serve.rendering import page, redirect

router = APIRouter()
WRONG = "that is not this server's token; whoever started the server has it."
_RECENT = 6  # runs


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
    if log_in(request, response, token):
        return response
    return page(request, "login.html", status=403, wrong=WRONG)


@router.post("/logout")
def submit_logout() -> Response:
    """Log the browser out."""
    response = redirect("/login")
    log_out(response)
    return response


@router.get("/api/v1/docs")
def show_api(request: Request) -> HTMLResponse:
    """Show the routes of the REST service from its OpenAPI document."""
    document = request.app.openapi()
    routes = [
        {"path": path, "method": method.upper(), **operation, "fields": _body_fields(operation, document)}
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    return page(request, "api.html", section="api", routes=routes, address=request.app.openapi_url)


def _body_fields(operation: dict[str, Any], document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a request's body."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        name = content["schema"].get("$ref", "").rsplit("/", 1)[-1]
        schema = document["components"]["schemas"].get(name, {})
        required = schema.get("required", ())
        return [
            {"name": key, "kind": _type_of(field), "help": field.get("description", ""), "required": key in required}
            for key, field in schema.get("properties", {}).items()
        ]
    return []


def _type_of(field: dict[str, Any]) -> str:
    """Return the type of a field in a word or two."""
    kinds = [each.get("type", "") for each in field.get("anyOf", [field])]
    return " or ".join(kind for kind in kinds if kind and kind != "null")
