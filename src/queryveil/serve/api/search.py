"""Search by REST: the search service's request and answer, with the release that the group belongs to."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import Field
from starlette.responses import Response

from queryveil.search.answers import Answer
from queryveil.serve.api.models import PROBLEMS
from queryveil.serve.context import ContextDep
from queryveil.serve.search import RULES, SearchQuery, invalid_request

_RULES = {**RULES, "release": "the id of a run that made groups, or left out for the newest"}


class SearchIn(SearchQuery):
    """A query, the group for which it is answered, and the release it is a group of; never a person."""

    release: Annotated[
        str | None, Field(max_length=100, description="the run that made the groups; the newest if left out")
    ] = None


class SearchRoute(APIRoute):
    """A route that describes an invalid request in the sentences of the search service."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with its validation errors translated."""
        handle = super().get_route_handler()

        async def handle_with_sentences(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                location = error.errors()[0]["loc"][1:]
                raise invalid_request(location if location and isinstance(location[0], str) else (), _RULES) from None

        return handle_with_sentences


router = APIRouter(tags=["search"], responses=PROBLEMS, route_class=SearchRoute)


@router.post("/search")
def search(context: ContextDep, asked: SearchIn) -> Answer:
    """Search as a group of a release, or as nobody; who asks is never said."""
    searchers = context.searchers
    release = asked.release or (None if asked.group is None else next(iter(searchers.releases()), None))
    return asked.answer(searchers.searcher(release))
