"""The OpenAPI document: what FastAPI makes of the routes, with who may call each."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from queryveil.serve.access import OWNER_ONLY

_SCHEME = "token"
_DESCRIPTION = (
    "The owner's token may do everything; the analysts' token everything but what is marked `x-role: owner`. Without "
    "a token file the owner's is in the address that `queryveil serve` prints."
)


def openapi_document(
    app: FastAPI, routers: Sequence[APIRouter], *, prefix: str, open_paths: Sequence[str]
) -> dict[str, Any]:
    """Return the document; `open_paths` are the addresses that take no token."""
    document: dict[str, Any] = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    scheme = {"type": "http", "scheme": "bearer", "description": _DESCRIPTION}
    document["components"]["securitySchemes"] = {_SCHEME: scheme}
    document["security"] = [{_SCHEME: []}]
    for path in open_paths:
        for operation in document["paths"][path].values():
            operation["security"] = []
    for route in (route for router in routers for route in router.routes if isinstance(route, APIRoute)):
        for method in (route.methods or ()) if OWNER_ONLY in route.dependencies else ():
            operation = document["paths"][f"{prefix}{route.path}"][method.lower()]
            operation["x-role"] = "owner"
            operation["description"] = f"{operation.get('description', '')} Takes the owner's token."
    return document
