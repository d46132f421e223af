"""A `queryveil serve` process for the browser tests, and the viewports in which pages are opened."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx
from playwright.sync_api import Browser, Page

LONG = 240_000  # milliseconds: kernels may have to be compiled first
SHORT = 60_000  # other tests may run at the same time
SCREENSHOTS = os.environ.get("QUERYVEIL_SCREENSHOTS")  # the folder for the screenshots of README and docs


@dataclass(frozen=True)
class Viewport:
    """The size and the colour scheme of a reader's window."""

    width: int
    height: int
    scheme: Literal["light", "dark"]

    def __str__(self) -> str:
        return f"{'phone' if self.width < 500 else 'laptop'}-{self.scheme}"


LAPTOP_LIGHT, LAPTOP_DARK = Viewport(1280, 800, "light"), Viewport(1280, 800, "dark")
PHONE_LIGHT, PHONE_DARK = Viewport(320, 740, "light"), Viewport(320, 740, "dark")
VIEWPORTS = (LAPTOP_LIGHT, LAPTOP_DARK, PHONE_LIGHT, PHONE_DARK)


@dataclass
class Server:
    """A server process with its own home."""

    home: Path
    folder: Path
    address: str = ""
    token: str = ""
    process: subprocess.Popen[str] | None = None
    client: httpx.Client | None = None  # one for all requests, since making one takes 30 ms

    def start(self, port: int = 0) -> None:
        """Start the process, and wait until it prints its address."""
        arguments = ["serve", "--port", str(port), "--home", str(self.home), "--folder", str(self.folder)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "queryveil", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = re.search(r"(http://[\w.:]+)/\?token=([\w-]+)", line)
            if found:
                self.address, self.token = found.groups()
                headers = {"authorization": f"Bearer {self.token}"}  # by which a program presents the token
                self.client = httpx.Client(base_url=f"{self.address}/api/v1", headers=headers, timeout=60)
                return
        raise AssertionError("the server ended before it printed its address")

    def stop(self) -> None:
        """Stop the process with SIGINT, as Ctrl-C does."""
        assert self.process is not None and self.process.stdout is not None and self.client is not None
        self.client.close()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self.process.stdout.close()

    def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        """Send a request to the REST service."""
        assert self.client is not None
        return self.client.request(method, path, json=body)

    def get(self, path: str) -> Any:
        """Send a GET request to the REST service and return the JSON."""
        return self.send("GET", path).raise_for_status().json()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send a POST request to the REST service and return the JSON."""
        return self.send("POST", path, body).raise_for_status().json()

    def delete(self, path: str) -> None:
        """Send a DELETE request to the REST service."""
        self.send("DELETE", path).raise_for_status()

    def cancel(self, run: str) -> None:
        """Cancel a run unless it is over."""
        self.send("POST", f"/runs/{run}/cancel")

    def wait_for_end(self, run: str) -> Any:
        """Wait for a run to end, and return it."""
        until(lambda: self.get(f"/runs/{run}")["ended"])
        return self.get(f"/runs/{run}")


def until(condition: Callable[[], Any]) -> None:
    """Poll a condition until it is true."""
    end = time.monotonic() + LONG / 1000
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


@contextmanager
def opened(browser: Browser, server: Server, viewport: Viewport, *, scripts: bool = True) -> Iterator[Page]:
    """Open a page in a new browser context; a script error or a policy violation fails the test."""
    context = browser.new_context(
        base_url=server.address,
        viewport={"width": viewport.width, "height": viewport.height},
        color_scheme=viewport.scheme,
        java_script_enabled=scripts,
    )
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if "Content Security" in message.text else None)
    page.set_default_timeout(SHORT)
    page.goto(f"/?token={server.token}")  # as the printed address does
    try:
        yield page
    finally:
        context.close()
    assert faults == []


def delete_log(page: Page) -> None:
    """Delete the log that a page shows, and keep the releases that were made of it."""
    page.get_by_role("link", name="Delete this log").click()
    page.get_by_label("Only the log").check()
    page.get_by_role("button", name="Delete", exact=True).click()


def horizontal_overflow(page: Page) -> int:
    """Return by how many pixels a page is wider than the window."""
    wider: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wider


def screenshot(page: Page, name: str, *, at: str = "") -> None:
    """Take a screenshot for the docs if they are wanted, scrolled to the element `at`."""
    if SCREENSHOTS:
        if at:
            page.locator(at).first.evaluate(
                "element => window.scrollTo(0, element.getBoundingClientRect().top + window.scrollY - 24)"
            )
        page.screenshot(path=str(Path(SCREENSHOTS) / f"page-{name}.png"))
