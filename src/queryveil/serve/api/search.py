"""Searching by REST: the lean service's request and answer, and which release the group is of."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.responses import Response

from queryveil.serve.api.models import PROBLEMS
from queryveil.serve.desk import Desk
from queryveil.serve.searching import RULES, SearchRequest, find, refusal

_RULES = {**RULES, "release": "the id of a run that made groups, or left out for the newest"}


class SearchIn(SearchRequest):
    """A query, the group for which it is answered, and the release it is a group of; never a person."""

    release: Annotated[
        str | None, Field(max_length=100, description="the run that made the groups; the newest if left out")
    ] = None


class HitOut(BaseModel):
    """A document that was found."""

    rank: int
    engine_rank: Annotated[int, Field(description="where the engine had it")]
    score: float
    id: str
    title: str
    text: str
    terms: Annotated[list[tuple[str, float]], Field(description="what moved it, the most first; if asked for")]


class SearchOut(BaseModel):
    """The documents that were found, the best first."""

    query: str
    hits: list[HitOut]
    note: str


class SearchRoute(APIRoute):
    """Says what is wrong with a request in the sentences of the lean service."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with those sentences."""
        handle = super().get_route_handler()

        async def handle_with_sentences(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                place = error.errors()[0]["loc"][1:]
                raise refusal(place if place and isinstance(place[0], str) else (), _RULES) from None

        return handle_with_sentences


router = APIRouter(tags=["search"], responses=PROBLEMS, route_class=SearchRoute)


@router.post("/search")
def search(request: Request, asked: SearchIn) -> SearchOut:
    """Search as a group of a release, or as nobody; who asks is never said."""
    desk: Desk = request.app.state.desk
    release = asked.release or (None if asked.group is None else next(iter(desk.releases()), None))
    return SearchOut(**find(desk.searcher(release), asked))
