"""The start page, login and logout, and the documentation page of the REST service."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import HTMLResponse, Response

from queryveil.serve.access import TooManyWrongTokensError
from queryveil.serve.context import ContextDep
from queryveil.serve.guard import end_login, log_in
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
