"""What the service can do: its declarations, and a page made from its OpenAPI document."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from queryveil.serve.api.models import PROBLEMS, DeclarationsOut
from queryveil.serve.declared import everything
from queryveil.serve.rendering import page

router = APIRouter(tags=["declarations"], responses=PROBLEMS)


@router.get("/declarations")
def list_declarations() -> DeclarationsOut:
    """List methods, guarantees, targets, measures, attacks, formats, corpora and options, with their parameters."""
    return DeclarationsOut(**everything())


@router.get("/docs", include_in_schema=False)
def show_routes(request: Request) -> HTMLResponse:
    """Show what can be asked for, from the same document that programs read."""
    document = request.app.openapi()
    routes = [
        {"path": path, "method": method.upper(), **operation, "fields": _fields(operation, document)}
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    return page(request, "api.html", section="api", routes=routes, address=request.app.openapi_url)


def _fields(operation: dict[str, Any], document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what may stand in the body of a request."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        name = content["schema"].get("$ref", "").rsplit("/", 1)[-1]
        schema = document["components"]["schemas"].get(name, {})
        required = schema.get("required", ())
        return [
            {"name": key, "kind": _kind(field), "help": field.get("description", ""), "required": key in required}
            for key, field in schema.get("properties", {}).items()
        ]
    return []


def _kind(field: dict[str, Any]) -> str:
    """Say in a word or two what a field holds."""
    kinds = [each.get("type", "") for each in field.get("anyOf", [field])]
    return " or ".join(kind for kind in kinds if kind and kind != "null")
