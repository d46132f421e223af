"""The application: state, guard, routes, and one answer for every kind of error."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from queryveil._version import __version__
from queryveil.core.errors import QueryveilError
from queryveil.serve import api, pages
from queryveil.serve.desk import Desk
from queryveil.serve.guard import Guard, check_form, load_secret
from queryveil.serve.jobs import Jobs
from queryveil.serve.logs import Logs
from queryveil.serve.rendering import STATIC, make_templates, problem
from queryveil.serve.settings import Settings
from queryveil.serve.store import ConflictError, Store, UnknownIdError

_STATUS: dict[type[QueryveilError], int] = {UnknownIdError: 404, ConflictError: 409}
_SENTENCES = {
    400: "the request could not be read; send it again.",
    404: "there is nothing at this address; check it, or begin at the start page.",
    405: "this address does not take requests of that method; see /api/v1/docs.",
}


def create_app(settings: Settings) -> FastAPI:
    """Return the application with its state opened; whoever runs it closes it by the end of its lifespan."""
    settings.check()
    store = Store(settings.home)
    app = FastAPI(
        title="queryveil",
        version=__version__,
        summary="Anonymise search logs, verify, measure and attack releases, and search by group.",
        openapi_url=f"{api.PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.settings, app.state.store, app.state.templates = settings, store, make_templates()
    app.state.jobs = Jobs(settings, store)
    app.state.logs = Logs(settings, store, app.state.jobs)
    app.state.desk = Desk(settings, store, app.state.jobs)
    app.state.secret = load_secret(settings.home)
    app.add_middleware(Guard, settings=settings, secret=app.state.secret)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for router in api.routes:
        app.include_router(router, prefix=api.PREFIX)
    for router in pages.routes:
        app.include_router(router, include_in_schema=False, dependencies=[Depends(check_form)])
    _answer_errors(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    close(app)


def close(app: FastAPI) -> None:
    """Stop what is under way and give the state up; a second time nothing happens."""
    app.state.jobs.close()
    app.state.store.close()


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(QueryveilError)
    async def ours(request: Request, error: QueryveilError) -> Response:
        return problem(request, _STATUS.get(type(error), 422), str(error), error.field)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        field, sentence = _first(error.errors())
        return problem(request, 422, sentence, field)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        return problem(request, error.status_code, _SENTENCES.get(error.status_code, str(error.detail)))


def _first(errors: Any) -> tuple[str, str]:
    """Return the field and a sentence of the first thing that is wrong with a request; never what was sent."""
    found = errors[0]
    if found["type"] == "json_invalid":
        return "", "the request is not JSON that can be read; mend it."
    field = ".".join(str(part) for part in found["loc"][1:])
    return field, f"{field or 'the request'}: {found['msg'][0].lower()}{found['msg'][1:]}; mend it."
