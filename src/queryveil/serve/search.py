"""Search as pages, REST and the search service share it: the request, its answer, and a cache of open searchers."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePath
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict

from queryveil.core.errors import InputError
from queryveil.core.names import Integer
from queryveil.core.options import Option
from queryveil.kinds.base import kind_of
from queryveil.search.ranking_settings import RankingOptions, RankingSettings
from queryveil.serve.fields import with_options
from queryveil.serve.run_specs import IndexSpec
from queryveil.serve.settings import Settings
from queryveil.serve.store import ConflictError, RunRow, Store, UnknownIdError, free_name
from queryveil.workflows.requests import SearchBodyRequest, SearchRequest

if TYPE_CHECKING:
    from queryveil.search.answers import Answer
    from queryveil.serve.jobs import RunManager
    from queryveil.workflows.search import People, Searcher

MAX_QUERY_LENGTH, MAX_HITS, MAX_DEPTH = 1_000, 100, 1_000  # characters, documents, documents
MAX_GROUP = 2**31 - 1
_QUICK_QUERY, _QUICK_DEPTH = 200, 200  # up to these a search takes about a millisecond
_LONGEST_FIELD_NAME = 40  # of an unknown field that is repeated in a sentence
_GROUP = "A group of the release; without one, the engine's own order."
CONFIGURED = "given"  # the id that stands for the release in the server's settings
NO_INDEX = "there is no index to search yet; make one of the bundled corpus on the search page, or give --index."
_BUNDLED_CORPUS_RUN = "bundled corpus"  # the name of the run that indexes it
_EXAMPLES, _EXPANDED = 8, 3  # terms of a group that are tried as an example; those whose documents are looked at
_WORD = re.compile(r"[^\W\d_]{3,}")
_CACHE_SIZE = 8  # searchers, and releases with their people
RANKING_FIELDS = tuple(each.name for each in RankingOptions.options())
Opened = TypeVar("Opened")


@with_options(
    SearchRequest,
    *("query", "group", "everybody", "n", "depth", *RANKING_FIELDS, "explain"),
    changed={
        "group": {"type": Integer(0, MAX_GROUP), "purpose": _GROUP},
        "n": {"type": Integer(1, MAX_HITS)},
        "depth": {"type": Integer(1, MAX_DEPTH)},
    },
)
class SearchQuery(BaseModel):
    """A query, and the group for which it is answered; never a person."""

    model_config = ConfigDict(extra="forbid", strict=True)
    declared: ClassVar[tuple[Option, ...]] = ()
    query: str
    group: int | None = None
    depth: int = SearchRequest.depth

    @property
    def is_quick(self) -> bool:
        """Return whether answering in the event loop costs less than handing the request to a thread."""
        return len(self.query) <= _QUICK_QUERY and self.depth <= _QUICK_DEPTH

    def settings(self) -> RankingSettings:
        """Return the weights that results are re-ranked with."""
        return RankingOptions.from_values({name: getattr(self, name) for name in RANKING_FIELDS}).settings()

    def answer(self, searcher: "Searcher") -> "Answer":
        """Return the documents found for the request, or raise if the release has no such group."""
        check_group(searcher, self.group)
        return searcher.search(**{each.name: getattr(self, each.name) for each in self.declared})

    def answer_record(self, searcher: "Searcher") -> dict[str, Any]:
        """Return the answer as JSON values, as `queryveil search --json` prints it."""
        answer = self.answer(searcher)
        return {"query": answer.query, "hits": [vars(hit) for hit in answer.hits], "note": answer.note}


@with_options(
    SearchBodyRequest,
    *("engine", "query", "depth", "spread", *RANKING_FIELDS),
    changed={"query": {"default": ""}, "depth": {"type": Integer(1, MAX_DEPTH)}},  # a query is not needed
)
class RescoreQuery(BaseModel):
    """A request for the `rescore` part of a group; values come from an address, as texts."""

    model_config = ConfigDict(extra="forbid")
    declared: ClassVar[tuple[Option, ...]] = ()
    engine: str
    query: str = ""
    depth: int = SearchBodyRequest.depth
    spread: float = SearchBodyRequest.spread

    def rescore(self, searcher: "Searcher", group: int) -> dict[str, Any]:
        """Return the part, or raise if the release has no such group or there is no such engine."""
        check_group(searcher, group)
        try:
            SearchBodyRequest(query=self.query, group=group, groups="", engine=self.engine, spread=self.spread)
            settings = RankingOptions.from_values({name: getattr(self, name) for name in RANKING_FIELDS}).settings()
        except InputError as error:  # its sentence is about options of the command
            raise InputError(SearchBodyRequest.with_keywords(str(error)), field=error.field) from None
        depth, spread = self.depth, self.spread
        return {"rescore": searcher.rescore(group, self.engine, settings, query=self.query, depth=depth, spread=spread)}


def check_group(searcher: "Searcher", group: int | None) -> None:
    """Raise if the release has no such group; the sentences do not say where the release is kept."""
    if group is not None and not searcher.groups:
        raise InputError("no release of groups is served here; leave the group out.", field="group")
    if group is not None and not searcher.has_group(group):
        from queryveil.workflows.search import nearest_numbers

        near = nearest_numbers(group, searcher.groups)
        raise UnknownIdError(f"the release has no group {group}; {near}", field="group")


RULES: Mapping[str, str] = {
    **{each.name: each.type.describe() for each in SearchQuery.declared},
    "query": f"a text of at most {MAX_QUERY_LENGTH:,} characters",
    "group": "the number of a group of the release, or left out to search as nobody",
    "depth": f"a whole number from 1 to {MAX_DEPTH:,}",
}
RESCORE_RULES: Mapping[str, str] = {each.name: each.type.describe() for each in RescoreQuery.declared}


def invalid_request(location: Sequence[str | int], rules: Mapping[str, str] = RULES) -> InputError:
    """Return the error for the field at which validation failed; it repeats nothing of the request's values."""
    field = str(location[0]) if location else ""
    if field in rules:
        return InputError(f"{field} must be {rules[field]}; change it.", field=field)
    if not field:
        return InputError('a search is a JSON object such as {"query": "java", "group": 1}; send one.')
    is_harmless = field.isidentifier() and field.isascii() and len(field) <= _LONGEST_FIELD_NAME
    superfluous = field if is_harmless else "every other field"
    sentence = f"a search takes {', '.join(rules)}, and never who searches; leave {superfluous} out."
    return InputError(sentence, field=field if is_harmless else "")


@lru_cache(1_000)  # a release does not change
def _published_terms(release: Path, group: int) -> tuple[str, ...]:
    """Return the heaviest terms that are published of a group."""
    import pyarrow.compute as pc

    from queryveil.release.reader import load_release

    rows = load_release(release, check_rows=False).rows
    own = rows.filter(pc.equal(rows["group"], group)).sort_by([("weight", "descending"), ("term", "ascending")])
    return tuple(own["term"][:_EXAMPLES].to_pylist())


def _count_explained(searcher: "Searcher", term: str, group: int) -> int:
    """Count the documents that another term than the one searched for moves up."""
    hits = searcher.search(term, group, explain=True).hits
    return sum(hit.rank < hit.engine_rank and any(name != term for name, _ in hit.terms) for hit in hits)


class SearcherCache:
    """Opens indexes and releases of groups on first use, and keeps the most recently used ones open."""

    def __init__(self, settings: Settings, store: Store, jobs: "RunManager") -> None:
        self._settings, self._store, self._jobs = settings, store, jobs
        self._open = lru_cache(_CACHE_SIZE)(lambda kind, *folders: kind(*folders))
        self._lock = Lock()  # so that requests that come together open it once
        jobs.on_deletion(self._open.cache_clear)

    def indexing_run(self) -> RunRow | None:
        """Return the run that indexes, or has indexed, the bundled corpus."""
        return next((run for run in self._store.runs(kind="index") if run.name == _BUNDLED_CORPUS_RUN), None)

    def start_indexing(self, path: str = "") -> RunRow:
        """Start indexing documents of the server's folder, or the bundled corpus unless that is done or under way."""
        if path:
            taken = {run.name for run in self._store.runs(kind="index")}
            return self._jobs.start(IndexSpec(path=path), free_name(PurePath(path).name[:90], taken))
        run = self.indexing_run()
        if run is None:
            return self._jobs.start(IndexSpec(), _BUNDLED_CORPUS_RUN)
        return self._jobs.restart(run.id) if run.is_over and run.state != "done" else run

    def releases(self) -> dict[str, str]:
        """Return the names of the releases of groups by id: first the one in the settings, then the newest first."""
        given = (
            {} if self._settings.groups is None else {CONFIGURED: f"{self._settings.groups.name} (given by --groups)"}
        )
        made = (run for run in self._store.runs(kind="anonymize") if run.state == "done")
        return {**given, **{run.id: run.name for run in made if self._has_groups(run.id)}}

    def example(self, release: str, group: int) -> str:
        """Return a query for which a group's profile moves documents for a reason that can be seen.

        The candidates are terms that are published of the group, and words of documents with them, so the query
        reveals nothing.
        """
        searcher, terms = self.searcher(release), _published_terms(self._release_folder(release), group)
        titles = (hit.title for term in terms[:_EXPANDED] for hit in searcher.search(term, n=_EXAMPLES).hits)
        words = dict.fromkeys(word for title in titles for word in _WORD.findall(title.lower()))
        return max((*terms, *words), key=lambda term: _count_explained(searcher, term, group), default="")

    def searcher(self, release: str | None) -> "Searcher":
        """Return a searcher of the index, with the groups of a release if one is given."""
        from queryveil.workflows.search import Searcher

        index = self._jobs.index()
        if index is None:
            raise ConflictError(NO_INDEX)
        groups = None if release is None else self._release_folder(release)
        return self._cached(Searcher, index, groups)

    def people(self, release: str) -> "People | None":
        """Return the people behind a release that was made here; None if they were forgotten, or for the one given."""
        from queryveil.workflows.search import People

        if release == CONFIGURED or self._jobs.run_that_made(release).forgotten is not None:
            return None
        folder, private = self._release_folder(release), self._jobs.private_of(release)
        return self._cached(People, folder, private)

    def _release_folder(self, release: str) -> Path:
        if release == CONFIGURED and self._settings.groups is not None:
            return self._settings.groups
        path = self._jobs.release_of(release)
        if not self._has_groups(release):
            raise UnknownIdError("that release has no groups; choose one that linkability made.", field="release")
        return path

    def _has_groups(self, run: str) -> bool:
        return kind_of(self._jobs.manifest(run).kind).answers_searches

    def _cached(self, kind: Callable[..., Opened], *folders: Path | None) -> Opened:
        """Return the cached object of some folders, opening it on a miss and evicting the least recently used."""
        with self._lock:
            opened: Opened = self._open(kind, *folders)
            return opened
