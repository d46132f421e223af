"""One server and one browser for all browser tests, with the demo log and releases of it on the server."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.site import SHORT, Server

COLUMNS = "user=who,query=what"
LINES = [f"u{i % 12},{('cheap cars', 'red shoes', 'old maps')[i % 3]} today\n" for i in range(72)]


@dataclass(frozen=True)
class DemoReleases:
    """The ids of the demo log and of two releases of it."""

    log: str
    histories: str
    groups: str
    examined: tuple[str, ...]  # runs of every other kind, and one that was cancelled
    draft: str


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Start the system's Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail("the browser tests need Chromium; scripts/system_packages installs it, or says how.")
    expect.set_options(timeout=SHORT)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium)
        yield found
        found.close()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve from an empty home; the server's folder holds a table with unusual columns, and a file that is no log."""
    place = tmp_path_factory.mktemp("browser")
    folder = place / "files"
    folder.mkdir()
    (folder / "table.csv").write_text("who,what\n" + "".join(LINES))
    (folder / "letter.txt").write_text("Dear reader,\nthis is not a log.\n")
    found = Server(place / "home", folder)
    found.start()
    yield found
    found.stop()


@pytest.fixture(scope="package")
def demo(server: Server) -> DemoReleases:
    """Add the demo log and three releases to the server unless another test has done so."""
    logs = [log["id"] for log in server.get("/logs") if log["kind"] == "demo"]
    log = logs[-1] if logs else server.post("/logs", {"name": "Demo log", "demo": True})["id"]
    histories = _run(server, log, "km(k=5, m=1, algorithm=paper)")
    groups = _run(server, log, "linkability(p=0.4, a=0)")
    _run(server, log, "km(k=10, m=1, algorithm=paper)")  # so that the chart of histories has two points
    examined = tuple(_examine(server, kind, groups) for kind in ("verify", "attack", "measure", "datasheet"))
    checked = _once(server, "check", "/check", {"path": "table.csv", "claim": "km(k=2, m=1)", "columns": COLUMNS})
    indexed = _once(server, "index", "/index", {}, named="bundled corpus")
    drafts = server.get("/drafts") or [
        server.post("/drafts", {"name": "draft", "path": "table.csv", "columns": COLUMNS})
    ]
    return DemoReleases(log, histories, groups, (*examined, checked, indexed), drafts[0]["id"])


def _examine(server: Server, kind: str, release: str) -> str:
    """Return the id of a finished run that examined a release."""
    more = {"targets": 20} if kind == "attack" else {}
    return _once(server, kind, f"/{kind}", {"release": release, **more})


def _once(server: Server, kind: str, path: str, body: dict[str, Any], named: str = "") -> str:
    """Return the id of a finished run of a kind, starting it unless another test has done so."""
    name = named or f"{kind} for the pages"
    runs = {run["name"]: run["id"] for run in server.get(f"/runs?kind={kind}")}
    run = runs.get(name) or server.post(path, body if named else {"name": name, **body})["id"]
    assert server.wait_for_end(run)["state"] == "done"
    return str(run)


def _run(server: Server, log: str, method: str) -> str:
    """Return the id of a finished run of a method, starting it if there is none."""
    runs = {run["name"]: run["id"] for run in server.get(f"/runs?log={log}&kind=anonymize")}
    run = runs.get(method) or server.post("/runs", {"name": method, "log": log, "method": method, "seed": 1})["id"]
    assert server.wait_for_end(run)["state"] == "done"
    return str(run)
