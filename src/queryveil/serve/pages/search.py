"""Searching side by side: as nobody, as a person by their own profile, and as the group the person is in.

Query and person come by POST and stand in no address. A person is a number in the private folder, known to the owner.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import InputError
from queryveil.serve.desk import Desk
from queryveil.serve.pages.here import Fields, go
from queryveil.serve.rendering import page
from queryveil.serve.searching import LARGEST_GROUP, LONGEST_QUERY, RULES, check_group

if TYPE_CHECKING:
    from queryveil.search.answers import Answer, Hit, SearchOptions
    from queryveil.workflows.people import People
    from queryveil.workflows.search import Searcher

router = APIRouter()
_LISTED = 12  # people
_DEPTH = 100
_NOBODY = "the engine's own order; nothing is known of who asks"


@dataclass(frozen=True)
class Column:
    """One of the three answers."""

    name: str
    lead: str  # whose order it is
    answer: "Answer | None"  # None where there is no such answer, and the lead says why
    is_moved: bool = False  # whether a profile put it in order
    is_private: bool = False

    @property
    def summary(self) -> str:
        """Say how much the profile moved."""
        hits = () if self.answer is None else self.answer.hits
        up, down = (sum(sign * (hit.engine_rank - hit.rank) > 0 for hit in hits) for sign in (1, -1))
        new = sum(hit.engine_rank > len(hits) for hit in hits)
        return (
            f"Of {len(hits)} documents {up} moved up, {down} moved down and {len(hits) - up - down} stayed; "
            f"{new} were not among the engine's first {len(hits)}."
        )


@dataclass(frozen=True)
class Choice:
    """What stands in the form."""

    query: str = ""
    release: str = ""
    person: int | None = None
    group: str = ""  # as typed; empty for the group of the person
    blend: str = "0"


@router.get("/search")
def ask(request: Request, release: str = "") -> HTMLResponse:
    """Show the form, or how to get something to search."""
    return _page(request, _settled(request.app.state.desk, {"release": release}))


@router.post("/search")
def find(request: Request, fields: Fields) -> HTMLResponse:
    """Show the three answers beside each other, or what is wrong beside its field."""
    desk: Desk = request.app.state.desk
    choice = _settled(desk, fields)
    if fields.get("action") == "choose":
        return _page(request, choice)
    try:
        return _page(request, choice, columns=_columns(desk, choice))
    except InputError as error:
        return _page(request, choice, status=422, errors={error.field or "query": str(error)})


@router.post("/search/index")
def make_index(request: Request) -> Response:
    """Have the bundled corpus made searchable."""
    desk: Desk = request.app.state.desk
    desk.make_index()
    return go("/search")


def _settled(desk: Desk, fields: dict[str, str]) -> Choice:
    """Return the choice of a form; a release that is gone gives way, and a person belongs to one release only."""
    releases = desk.releases()
    release = fields.get("release", "")
    if release not in releases:
        release = next(iter(releases), "")
    people = desk.people(release) if release else None
    listed = [] if people is None else people.longest(_LISTED)
    person: int | None = listed[0] if listed else None
    if fields.get("people_of") == release and "person" in fields and people is not None:
        person = _number(fields["person"], len(people) - 1)
    group = fields.get("group", "").strip() if fields.get("people_of", release) == release else ""
    return Choice(fields.get("query", ""), release, person, group, fields.get("blend", "0").strip() or "0")


def _columns(desk: Desk, choice: Choice) -> list[Column]:
    """Answer the query three times."""
    from queryveil.search.answers import SearchOptions

    query = choice.query.strip()
    if not query or len(query) > LONGEST_QUERY:
        raise InputError(f"query must be {RULES['query']}, and not empty; change it.", field="query")
    asking = SearchOptions(depth=_DEPTH, blend=_blend(choice.blend), explain=True)
    searcher = desk.searcher(choice.release or None)
    people = desk.people(choice.release) if choice.release else None
    return [
        Column("Plain", _NOBODY, searcher.search(query)),
        _own(searcher, people, choice.person, query, asking),
        _as_group(searcher, _group(choice, people), query, asking),
    ]


def _own(
    searcher: "Searcher", people: "People | None", person: int | None, query: str, asking: "SearchOptions"
) -> Column:
    from queryveil.search.answers import answer

    name = "Original profile"
    if people is None:
        return Column(name, "there is no private folder here that says what a person searched for", None)
    if person is None:
        return Column(name, "no person was chosen", None)
    found = answer(searcher.index, query, people.profile(person, searcher.index), asking)
    lead = f"by what person {person + 1} searched for; only the owner of the private folder can do this"
    return Column(name, lead, found, is_moved=True, is_private=True)


def _as_group(searcher: "Searcher", group: int | None, query: str, asking: "SearchOptions") -> Column:
    if not searcher.groups:
        return Column("Group profile", "there is no release of groups yet", None)
    if group is None:
        return Column("Group profile", "the person is in no published group, so the order is the engine's own", None)
    check_group(searcher, group)
    found = searcher.search(query, group, depth=asking.depth, blend=asking.blend, explain=True)
    return Column("Group profile", f"by what is published of group {group}; who is in it is not", found, is_moved=True)


def _group(choice: Choice, people: "People | None") -> int | None:
    """Return the group that was typed, else that of the person, else the first."""
    if choice.group:
        number = _number(choice.group, LARGEST_GROUP)
        if number is None:
            raise InputError(f"group must be {RULES['group']}; change it.", field="group")
        return number
    if people is None or choice.person is None:
        return 0
    return people.group(choice.person)


def _blend(text: str) -> float:
    try:
        blend = float(text)
    except ValueError:
        blend = -1.0
    if not 0 <= blend <= 1:
        raise InputError(f"blend must be {RULES['blend']}; change it.", field="blend")
    return blend


def _number(text: str, largest: int) -> int | None:
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(largest))
    return int(text) if is_number and int(text) <= largest else None


def _page(
    request: Request,
    choice: Choice,
    *,
    status: int = 200,
    columns: list[Column] | None = None,
    errors: dict[str, str] | None = None,
) -> HTMLResponse:
    desk: Desk = request.app.state.desk
    context: dict[str, Any] = {
        "choice": choice,
        "has_index": request.app.state.jobs.index() is not None,
        "indexing": desk.indexing(),
        "releases": desk.releases(),
        "people": _listed(desk, choice),
        "longest_query": LONGEST_QUERY,
        "columns": columns,
        "errors": errors or {},
        "moved": moved,
    }
    return page(request, "search.html", status=status, **context)


def _listed(desk: Desk, choice: Choice) -> list[tuple[int, str]]:
    """Return a few people to choose from, each with what the owner may know at a glance."""
    people = desk.people(choice.release) if choice.release else None
    if people is None:
        return []
    numbers = people.longest(_LISTED)
    if choice.person is not None and choice.person not in numbers:
        numbers = [choice.person, *numbers]
    return [(number, _described(people, number)) for number in numbers]


def _described(people: "People", number: int) -> str:
    group = people.group(number)
    place = "in no group" if group is None else f"in group {group}"
    return f"person {number + 1}, {int(people.n_terms[number]):,} terms, {place}"


def moved(hit: "Hit") -> str:
    """Say in words how a profile moved a document."""
    if hit.engine_rank == hit.rank:
        return f"stays at place {hit.rank}"
    places = abs(hit.engine_rank - hit.rank)
    way = "up" if hit.rank < hit.engine_rank else "down"
    return f"{way} {places} {'place' if places == 1 else 'places'}, from {hit.engine_rank} to {hit.rank}"
