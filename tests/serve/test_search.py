"""The cache of searchers, and errors of search requests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queryveil.serve.jobs import RunManager
from queryveil.serve.search import _CACHE_SIZE, SearcherCache, SearchQuery, invalid_request
from queryveil.serve.settings import Settings
from queryveil.serve.store import ConflictError, Store
from queryveil.workflows import search as workflow


class FakeJobs:
    """Runs of a server that has an index and no release."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.forget: list[Callable[[], None]] = []

    def on_deletion(self, listener: Callable[[], None]) -> None:
        self.forget.append(listener)

    def index(self) -> Path | None:
        return self.folder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Record which indexes are opened."""
    found: list[Path] = []

    def open_searcher(index: Path, groups: Path | None) -> object:
        found.append(index)
        return object()

    monkeypatch.setattr(workflow, "Searcher", open_searcher)
    return found


def cache(tmp_path: Path, jobs: Any) -> SearcherCache:
    store: Any = None
    typed: RunManager = jobs
    typed_store: Store = store
    return SearcherCache(Settings(home=tmp_path), typed_store, typed)


def test_searchers_are_cached_and_the_least_recently_used_is_evicted(tmp_path: Path, opened: list[Path]) -> None:
    jobs = FakeJobs(None)
    searchers = cache(tmp_path, jobs)
    indexes = [tmp_path / str(number) for number in range(_CACHE_SIZE + 1)]
    for index in (*indexes[:-1], indexes[0], indexes[-1], indexes[0]):  # the first is used again before the last comes
        jobs.folder = index
        searchers.searcher(None)
    assert opened == indexes
    jobs.folder = indexes[1]
    searchers.searcher(None)
    assert opened == [*indexes, indexes[1]]
    for forget in jobs.forget:  # as when something was deleted
        forget()
    searchers.searcher(None)
    assert opened == [*indexes, indexes[1], indexes[1]]


def test_search_without_an_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConflictError, match="there is no index to search yet"):
        cache(tmp_path, FakeJobs(None)).searcher(None)


@pytest.mark.parametrize(
    ("location", "sentence", "field"),
    [
        (("blend",), "blend must be a number from 0 to 1; change it.", "blend"),
        (("user",), "leave user out.", "user"),
        (("a b",), "leave every other field out.", ""),
        (("x" * 41,), "leave every other field out.", ""),
        ((), "a search is a JSON object such as", ""),
    ],
)
def test_invalid_requests_name_the_field(location: tuple[str, ...], sentence: str, field: str) -> None:
    error = invalid_request(location)
    assert sentence in str(error)
    assert error.field == field


def test_long_or_deep_queries_are_not_quick() -> None:
    assert SearchQuery(query="java").is_quick
    assert not SearchQuery(query="j" * 201).is_quick
    assert not SearchQuery(query="java", depth=201).is_quick
