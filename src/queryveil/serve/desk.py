"""What pages and REST service search: which index, which releases of groups and, for the owner, whose profiles."""

from collections.abc import Callable, Hashable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from queryveil.kinds.base import kind_of
from queryveil.serve.jobs import Jobs
from queryveil.serve.settings import Settings
from queryveil.serve.store import ConflictError, RunRow, Store, UnknownIdError
from queryveil.serve.work import BUNDLED

if TYPE_CHECKING:
    from queryveil.workflows.people import People
    from queryveil.workflows.search import Searcher

GIVEN = "given"  # stands for the release that the server was started with
NO_INDEX = "there is no index to search yet; make one of the bundled corpus on the search page, or give --index."
_CORPUS = "bundled corpus"  # the name of the run that makes it searchable
_MOST_OPEN = 4  # searchers, and releases whose people are known
Found = TypeVar("Found")


class Desk:
    """Opens what is searched, when it is first wanted, and keeps the last few open."""

    def __init__(self, settings: Settings, store: Store, jobs: Jobs) -> None:
        self._settings, self._store, self._jobs = settings, store, jobs
        self._open: dict[Hashable, Any] = {}
        self._lock = Lock()

    def indexing(self) -> RunRow | None:
        """Return the run that makes the bundled corpus searchable, or has."""
        return next((run for run in self._store.runs(kind="index") if run.name == _CORPUS), None)

    def make_index(self) -> None:
        """Have the bundled corpus made searchable, unless it is, or is being made so."""
        run = self.indexing()
        if run is None:
            self._jobs.start("index", _CORPUS, spec={"corpus": BUNDLED})
        elif run.is_over and run.state != "done":
            self._jobs.again(run.id)

    def releases(self) -> dict[str, str]:
        """Return the releases of groups by id, each with its name: the one that was given, then the newest first."""
        given = {} if self._settings.groups is None else {GIVEN: f"{self._settings.groups.name} (given by --groups)"}
        made = (run for run in self._store.runs(kind="anonymize") if run.state == "done")
        return {**given, **{run.id: run.name for run in made if self._is_of_groups(run.id)}}

    def searcher(self, release: str | None) -> "Searcher":
        """Return what searches as nobody or as a group of a release."""
        from queryveil.workflows.search import Searcher

        index = self._jobs.index()
        if index is None:
            raise ConflictError(NO_INDEX)
        groups = None if release is None else self._release(release)
        return self._kept(("searcher", index, groups), lambda: Searcher(index, groups))

    def people(self, release: str) -> "People | None":
        """Return the people behind a release that was made here; of a given one they are not known."""
        from queryveil.workflows.people import People

        if release == GIVEN:
            return None
        folder, private = self._release(release), self._jobs.private_of(release)
        return self._kept(("people", folder), lambda: People(folder, private))

    def _release(self, release: str) -> Path:
        """Return the folder of a release of groups."""
        if release == GIVEN and self._settings.groups is not None:
            return self._settings.groups
        path = self._jobs.release_of(release)
        if not self._is_of_groups(release):
            raise UnknownIdError("that release has no groups; choose one that linkability made.", field="release")
        return path

    def _is_of_groups(self, run: str) -> bool:
        result = self._jobs.result(run)
        return result is not None and kind_of(result["manifest"]["kind"]).answers_searches

    def _kept(self, key: Hashable, open_: Callable[[], Found]) -> Found:
        """Return what is open under a key, opening it first where it is not; the one unused longest goes."""
        with self._lock:
            found: Found = self._open.pop(key) if key in self._open else open_()
            self._open[key] = found
            while len(self._open) > 2 * _MOST_OPEN:
                del self._open[next(iter(self._open))]
            return found
