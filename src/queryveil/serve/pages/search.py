"""The search page: one query answered without a profile, by a person's own profile, and by the person's group's.

Query and person are sent by POST and never appear in an address. A person is a number in the private folder.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from pydantic import ValidationError
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import InputError, QueryveilError
from queryveil.report.rendering import plural
from queryveil.serve.access import GONE, RememberedForms, is_by_owner
from queryveil.serve.audit import note
from queryveil.serve.context import ContextDep, FormDep, ServerContext, check_files
from queryveil.serve.fields import form_field, read_options
from queryveil.serve.rendering import page, redirect, status_of
from queryveil.serve.run_specs import IndexSpec
from queryveil.serve.search import MAX_QUERY_LENGTH, RANKING_FIELDS, RULES, SearcherCache, SearchQuery, invalid_request

if TYPE_CHECKING:
    from queryveil.search.answers import Answer, Hit
    from queryveil.workflows.search import People, Searcher

router = APIRouter()
_LISTED_PEOPLE = 12


@dataclass(frozen=True)
class AnswerColumn:
    """One of the three answers."""

    name: str
    lead: str  # whose order it is, or why there is no answer
    answer: "Answer | None"
    is_moved: bool = False  # whether a profile determined the order
    is_private: bool = False

    @property
    def summary(self) -> str:
        """Return how many documents the profile moved."""
        hits = () if self.answer is None else self.answer.hits
        up, down = (sum(sign * (hit.engine_rank - hit.rank) > 0 for hit in hits) for sign in (1, -1))
        new = sum(hit.engine_rank > len(hits) for hit in hits)
        return (
            f"Of {len(hits)} documents {up} moved up, {down} moved down and {len(hits) - up - down} stayed; "
            f"{new} were not among the engine's first {len(hits)}."
        )


@dataclass(frozen=True)
class SearchForm:
    """The values of the form."""

    query: str = ""
    release: str = ""
    person: int | None = None
    user: str = ""  # as it stands in the log, in place of the person's number
    group: str = ""  # as typed; empty for the group of the person
    ranking: Mapping[str, str] = field(default_factory=dict)  # weights as typed; the empty ones have their defaults

    def request(self, people: "People | None") -> SearchQuery:
        """Return the search in the group that was typed, else in that of the person, else in the first."""
        query = self.query.strip()
        if not query or len(query) > MAX_QUERY_LENGTH:
            raise InputError(f"query must be {RULES['query']}, and not empty; change it.", field="query")
        own_group = people.group(self.person) if people is not None and self.person is not None else 0
        typed = read_options(SearchQuery.declared, {"group": self.group, **self.ranking})
        try:
            return SearchQuery.model_validate({"query": query, "group": own_group, "explain": True, **typed})
        except ValidationError as error:
            raise invalid_request(error.errors()[0]["loc"]) from None


_ASKED: RememberedForms[SearchForm] = RememberedForms()


@router.get("/search")
def show_form(request: Request, context: ContextDep, release: str = "", answer: str = "") -> HTMLResponse:
    """Show the form, or how to make something searchable, and the answers that a form asked for."""
    values, is_owner = _ASKED.find(request, answer), is_by_owner(request)
    if values is None:
        values = _read_form(context.searchers, {"release": release}, is_owner)
        if not answer and values.release and context.jobs.index() is not None:
            group = _own_group(context.searchers, values, is_owner)
            values = replace(values, query="" if group is None else context.searchers.example(values.release, group))
        return _page(request, context, values, errors={"query": GONE} if answer else None)
    if values.person is not None:
        note(request, runs=[values.release], person=values.person)
    try:
        return _page(request, context, values, columns=_columns(context.searchers, values, is_owner))
    except InputError as error:  # the release was deleted since
        return _page(request, context, values, status=422, errors={error.field or "query": str(error)})


@router.post("/search")
def search(request: Request, context: ContextDep, form: FormDep) -> Response:
    """Lead to the three answers side by side, or show the error at its field."""
    values = _read_form(context.searchers, form, is_by_owner(request))
    if form.get("action") == "choose":
        return redirect(f"/search?{urlencode({'release': values.release})}")
    try:
        people = _people(context.searchers, values.release, is_owner=is_by_owner(request))
        if values.user and people is not None:
            values = replace(values, person=people.number(values.user))
        if values.person is not None:
            note(request, runs=[values.release], person=values.person)
        _columns(context.searchers, values, is_by_owner(request))
    except InputError as error:
        return _page(request, context, values, status=422, errors={error.field or "query": str(error)})
    return redirect(f"/search?answer={_ASKED.keep(request, values)}")


@router.post("/search/index")
def start_indexing(request: Request, context: ContextDep, form: FormDep) -> Response:
    """Start indexing documents of the server's folder, which only the owner may, or the bundled corpus."""
    check_files(request, IndexSpec(path=form.get("path", "")))
    try:
        context.searchers.start_indexing(form.get("path", ""))
    except QueryveilError as error:
        values = _read_form(context.searchers, {}, is_by_owner(request))
        return _page(request, context, values, status=status_of(error), errors={"path": str(error)})
    return redirect("/search")


def _people(searchers: SearcherCache, release: str, *, is_owner: bool) -> "People | None":
    """Return the people behind a release, to the owner."""
    return searchers.people(release) if release and is_owner else None


def _own_group(searchers: SearcherCache, form: SearchForm, is_owner: bool) -> int | None:
    """Return the group of the person of a form, else the first of the release."""
    people = _people(searchers, form.release, is_owner=is_owner)
    if people is not None and form.person is not None:
        return people.group(form.person)
    return next(iter(searchers.searcher(form.release).groups), None)


def _read_form(searchers: SearcherCache, form: Mapping[str, str], is_owner: bool) -> SearchForm:
    """Return the values of a form; an unknown release is replaced, and a person of another release is dropped."""
    releases = searchers.releases()
    release = form.get("release", "")
    if release not in releases:
        release = next(iter(releases), "")
    people = _people(searchers, release, is_owner=is_owner)
    listed = [] if people is None else people.longest(_LISTED_PEOPLE)
    person: int | None = listed[0] if listed else None
    if form.get("people_of") == release and "person" in form and people is not None:
        text = form["person"]
        is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(len(people) - 1))
        person = int(text) if is_number and int(text) < len(people) else None
    group = form.get("group", "").strip() if form.get("people_of", release) == release else ""
    ranking = {name: form.get(name, "").strip() for name in RANKING_FIELDS}
    user = form.get("user", "").strip() if people is not None else ""
    return SearchForm(form.get("query", ""), release, person, user, group, ranking)


def _columns(searchers: SearcherCache, form: SearchForm, is_owner: bool) -> list[AnswerColumn]:
    """Return the three answers to the query of a form."""
    people = _people(searchers, form.release, is_owner=is_owner)
    search = form.request(people)
    searcher = searchers.searcher(form.release or None)
    plain = search.model_copy(update={"group": None}).answer(searcher)
    return [
        AnswerColumn("Plain", "the engine's own order; nothing is known of who asks", plain),
        _person_column(searcher, people, form.person, search),
        _group_column(searcher, search),
    ]


def _person_column(
    searcher: "Searcher", people: "People | None", person: int | None, search: SearchQuery
) -> AnswerColumn:
    from queryveil.search.answers import SearchOptions, answer

    name = "Original profile"
    if people is None:
        return AnswerColumn(name, "there is no private folder here, or only the owner may look into it", None)
    if person is None:
        return AnswerColumn(name, "no person was chosen", None)
    options = SearchOptions(depth=search.depth, ranking=search.settings(), explain=True)
    found = answer(searcher.index, search.query, people.profile(person, searcher.index), options)
    lead = f"by what person {person + 1} searched for; only the owner of the private folder can do this"
    return AnswerColumn(name, lead, found, is_moved=True, is_private=True)


def _group_column(searcher: "Searcher", search: SearchQuery) -> AnswerColumn:
    name = "Group profile"
    if not searcher.groups:
        return AnswerColumn(name, "there is no release of groups yet", None)
    if search.group is None:
        lead = "the person is in no published group; by the mean of all groups"
        everybody = search.model_copy(update={"everybody": True})
        return AnswerColumn(name, lead, everybody.answer(searcher), is_moved=True)
    lead = f"by what is published of group {search.group}; who is in it is not"
    return AnswerColumn(name, lead, search.answer(searcher), is_moved=True)


def _page(
    request: Request,
    context: ServerContext,
    form: SearchForm,
    *,
    status: int = 200,
    columns: list[AnswerColumn] | None = None,
    errors: Mapping[str, str] | None = None,
) -> HTMLResponse:
    run = next(iter(context.store.runs(id=form.release)), None) if form.release else None
    return page(
        request,
        "search.html",
        status=status,
        choice=form,
        has_index=context.jobs.index() is not None,
        index_run=None if context.settings.index is not None else context.jobs.index_run(),
        indexing=next((run for run in context.store.runs(kind="index") if not run.is_over), None)
        or context.searchers.indexing_run(),
        files=[path for path, _ in context.logs.files()],
        releases=context.searchers.releases(),
        people=_listed_people(context.searchers, form, is_by_owner(request)),
        fields={each.name: form_field(each) for each in SearchQuery.declared},
        columns=columns,
        errors=errors or {},
        moved=describe_move,
        chosen_run=run,
        chosen_log=next(iter(context.store.logs(id=run.log)), None) if run is not None and run.log else None,
    )


def _listed_people(searchers: SearcherCache, form: SearchForm, is_owner: bool) -> list[tuple[int, str]]:
    """Return a few people to choose from, by number and with a description."""
    people = _people(searchers, form.release, is_owner=is_owner)
    if people is None:
        return []
    numbers = people.longest(_LISTED_PEOPLE)
    if form.person is not None and form.person not in numbers:
        numbers = [form.person, *numbers]
    listed = []
    for number in numbers:
        group = people.group(number)
        membership = "no group" if group is None else f"group {group}"
        listed.append((number, f"{number + 1}: {plural(int(people.n_terms[number]), 'term', 'terms')}, {membership}"))
    return listed


def describe_move(hit: "Hit") -> str:
    """Return in words how a profile moved a document."""
    if hit.engine_rank == hit.rank:
        return f"stays at place {hit.rank}"
    places = abs(hit.engine_rank - hit.rank)
    way = "up" if hit.rank < hit.engine_rank else "down"
    return f"{way} {plural(places, 'place', 'places')}, from {hit.engine_rank} to {hit.rank}"
