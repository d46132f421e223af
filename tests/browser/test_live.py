"""Pages follow runs: their states are those of the REST service in every tab, and a server that is gone is noticed."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DemoReleases
from tests.browser.site import LAPTOP_LIGHT, LONG, Server, opened, until

N_RUNS, N_ENDED = 30, 4  # queued; awaited before the others are cancelled
LONGEST_LAG = 1.0  # seconds
ORDER = ("queued", "running", "done", "cancelled")  # a state never goes back


def states_on(page: Page) -> dict[str, str]:
    """Return the states that a page shows, by run."""
    found: dict[str, str] = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('[data-run]')].map("
        "place => [place.dataset.run, place.querySelector('[data-state]').textContent]))"
    )
    return found


def is_as_new(shown: dict[str, str], known: dict[str, str]) -> bool:
    """Return whether a page shows every run at least as far as it is known to be."""
    return all(run in shown and ORDER.index(shown[run]) >= ORDER.index(state) for run, state in known.items())


def lag(server: Server, log: str, runs: list[str], pages: list[Page]) -> float:
    """Return how long it takes until all tabs show what the REST service said, in seconds."""
    known = {run["id"]: run["state"] for run in server.get(f"/runs?log={log}&kind=anonymize") if run["id"] in runs}
    began = time.monotonic()
    until(lambda: all(is_as_new(states_on(page), known) for page in pages))
    return time.monotonic() - began


@contextmanager
def queued_runs(server: Server, log: str) -> Iterator[list[str]]:
    """Queue many runs and delete them in the end, since other tests read the pages of the same log."""
    bodies = ({"name": f"sweep {i}", "log": log, "method": f"query_k(k={5 + i})"} for i in range(N_RUNS))
    runs = [server.post("/runs", body)["id"] for body in bodies]
    try:
        yield runs
    finally:
        for run in runs:
            server.delete(f"/runs/{run}")


def test_states_of_many_runs_in_many_tabs_are_those_of_the_service(
    browser: Browser, server: Server, demo: DemoReleases
) -> None:
    with opened(browser, server, LAPTOP_LIGHT) as page:
        pages = [page, *(page.context.new_page() for _ in range(2))]
        for each in pages:
            each.goto(f"/try?log={demo.log}&method=query_k")
        with queued_runs(server, demo.log) as runs:
            lags = []
            while sum(run["ended"] is not None for run in map(server.get, (f"/runs/{run}" for run in runs))) < N_ENDED:
                lags.append(lag(server, demo.log, runs, pages))
            for run in runs[N_ENDED:]:
                server.cancel(run)
            lags.append(lag(server, demo.log, runs, pages))
            assert median(lags) < LONGEST_LAG  # a busy machine stops everything for longer now and then
            page.goto("/")
            page.go_back()
            until(lambda: states_on(page).items() >= {run: server.get(f"/runs/{run}")["state"] for run in runs}.items())


def test_run_that_ended_is_announced_on_any_page(browser: Browser, server: Server, demo: DemoReleases) -> None:
    with opened(browser, server, LAPTOP_LIGHT) as page:
        page.goto("/")
        expect(page.get_by_role("link", name="Logs", exact=True)).to_be_visible()
        body = {"name": "announced", "log": demo.log, "method": "query_k(k=4)"}
        run = server.post("/runs", body)["id"]
        expect(page.locator("#notice")).to_contain_text("announced is over: done", timeout=LONG)
        expect(page.locator(f"[data-run='{run}'] .state")).to_have_text("done")  # in the table, which is live
        server.delete(f"/runs/{run}")


@contextmanager
def own_server(folder: Path) -> Iterator[Server]:
    """Start a server that a test may stop."""
    (folder / "files").mkdir()
    server = Server(folder / "home", folder / "files")
    server.start()
    yield server
    server.stop()


def test_page_says_that_the_server_is_gone_and_goes_on_when_it_is_back(browser: Browser, tmp_path: Path) -> None:
    with own_server(tmp_path) as server, opened(browser, server, LAPTOP_LIGHT) as page:
        other = page.context.new_page()
        for each in (page, other):
            each.goto("/logs")
            expect(each.get_by_role("heading", name="Logs")).to_be_visible()
            expect(each.locator("#offline")).to_be_hidden()
        server.post("/logs", {"name": "Demo log", "demo": True})
        expect(page.locator("td .state")).to_have_text(re.compile("running|done"))  # the new log, without a reload
        port = int(server.address.rpartition(":")[2])
        server.stop()
        for each in (page, other):
            expect(each.locator("#offline")).to_be_visible()
            expect(each.locator("#offline")).to_contain_text("Not connected")
        server.start(port=port)
        for each in (page, other):
            expect(each.locator("#offline")).to_be_hidden()
            expect(each.locator("td .state")).to_have_text(re.compile("done|interrupted"), timeout=LONG)


@pytest.mark.parametrize("is_supported", [True, False])
def test_state_is_followed_with_and_without_shared_workers(
    browser: Browser, server: Server, demo: DemoReleases, is_supported: Any
) -> None:
    with opened(browser, server, LAPTOP_LIGHT) as page:
        if not is_supported:
            page.add_init_script("delete window.SharedWorker")
        page.goto(f"/try?log={demo.log}&method=query_k")
        page.get_by_role("button", name="Run query_k").click()
        until(lambda: server.get(f"/runs?log={demo.log}")[0]["ended"])
        run = server.get(f"/runs?log={demo.log}")[0]["id"]
        expect(page.locator(f"[data-run='{run}'] .state")).to_have_text("done")
        server.delete(f"/runs/{run}")
