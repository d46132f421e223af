"""The web server: builds and documents the application of pages and REST routes, and runs it until it is stopped."""

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from types import FrameType
from typing import Any

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from queryveil._version import __version__
from queryveil.core.errors import QueryveilError
from queryveil.serve import api, pages
from queryveil.serve.access import OWNER_ONLY
from queryveil.serve.context import ServerContext
from queryveil.serve.guard import HEALTH, Guard, check_form
from queryveil.serve.rendering import STATIC, make_templates, problem, status_of
from queryveil.serve.run_files import TEMPORARY
from queryveil.serve.settings import UVICORN_OPTIONS, Settings, address_of, bind

_SENTENCES = {
    400: "the request could not be read; send it again.",
    404: "there is nothing at this address; check it, or begin at the start page.",
    405: "this address does not take requests of that method; see /api/v1/docs.",
}
HEADER_TIMEOUT = 30.0  # seconds; whoever may connect could else use up all connections without a token
_SCHEME = "token"
_DESCRIPTION = (
    "The owner's token may do everything; the analysts' token everything but what is marked `x-role: owner`. Without "
    "a token file the owner's is in the address that `queryveil serve` prints."
)


def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve pages and the REST service until stopped; `announce` is called with the address.

    The address has the token that was made for this start, unless the owner gave one, which need not be shown.
    """
    settings.check()
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # its warnings are answered with a sentence
    with bind(settings.host, settings.port) as listening:
        app = create_app(settings)
        temporary = settings.state_folder / TEMPORARY  # private, unlike the system's: uploads are spooled there
        temporary.mkdir(mode=0o700, exist_ok=True)
        tempfile.tempdir = str(temporary)
        token = app.state.context.access.start_token
        announce(address_of(listening) + (f"/?token={token}" if token else ""))
        try:
            config = uvicorn.Config(app, http=ImpatientProtocol, **UVICORN_OPTIONS)
            _Server(config, app.state.context).run([listening])
        except KeyboardInterrupt:  # the usual way to stop a server
            pass
        finally:
            app.state.context.close()


class _Server(uvicorn.Server):
    """A server that ends the event streams of followed runs when it stops, instead of waiting for them."""

    def __init__(self, config: uvicorn.Config, context: ServerContext) -> None:
        super().__init__(config)
        self._context = context

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop."""
        self._context.jobs.closing.set()
        super().handle_exit(sig, frame)


def create_app(settings: Settings) -> FastAPI:
    """Return the application with its state opened; the end of its lifespan closes the state."""
    context = ServerContext.open(settings)
    app = FastAPI(
        title="queryveil",
        version=__version__,
        summary="Anonymise search logs, verify, measure and attack releases, and search by group.",
        openapi_url=f"{api.PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.context, app.state.templates = context, make_templates()
    app.add_middleware(Guard, context=context)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_api_route(HEALTH, check_health, tags=["health"])
    for router in api.routers:
        app.include_router(router, prefix=api.PREFIX)
    for router in pages.routers:
        app.include_router(router, include_in_schema=False, dependencies=[Depends(check_form)])
    _add_error_handlers(app)
    document = partial(openapi_document, app, api.routers, prefix=api.PREFIX, open_paths=(HEALTH,))
    app.openapi = cache(document)  # type: ignore[method-assign]
    return app


def check_health() -> dict[str, str]:
    """Say that the server is up; takes no token."""
    return {"status": "ok"}


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.context.close()


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(QueryveilError)
    async def handle_queryveil_error(request: Request, error: QueryveilError) -> Response:
        return problem(request, status_of(error), str(error), error.field)

    @app.exception_handler(RequestValidationError)
    @app.exception_handler(ValidationError)
    async def handle_invalid_fields(request: Request, error: RequestValidationError | ValidationError) -> Response:
        """Describe the first fault without the value that was sent."""
        fault: Mapping[str, Any] = error.errors()[0]
        if fault["type"] == "json_invalid":
            return problem(request, 422, "the request is not JSON that can be read; correct it.")
        is_body = isinstance(error, RequestValidationError)  # its locations begin with "body"
        field, message = ".".join(map(str, fault["loc"][is_body:])), fault["msg"].removeprefix("Value error, ")
        return problem(request, 422, f"{field or 'the request'}: {message[0].lower()}{message[1:]}; correct it.", field)

    @app.exception_handler(HTTPException)
    async def handle_http_error(request: Request, error: HTTPException) -> Response:
        return problem(request, error.status_code, _SENTENCES.get(error.status_code, str(error.detail)))


class ImpatientProtocol(HttpToolsProtocol):
    """HTTP with a limit on the time until the headers of a request are there, which uvicorn lacks."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._await_headers()

    def on_message_begin(self) -> None:
        """Begin to wait for the headers of a request whose first byte has come."""
        super().on_message_begin()
        self._await_headers()

    def on_headers_complete(self) -> None:
        """Stop waiting: what follows has limits of its own."""
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_headers(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(HEADER_TIMEOUT, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


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
