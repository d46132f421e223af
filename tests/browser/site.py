"""A real `queryveil serve` for the browser tests, and how the pages are looked at."""

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
SHORT = 60_000  # other tests may run beside
SCREENSHOTS = os.environ.get("QUERYVEIL_SCREENSHOTS")  # the folder for the pictures of README and docs


@dataclass(frozen=True)
class Look:
    """What a reader has before them."""

    width: int
    height: int
    scheme: Literal["light", "dark"]

    def __str__(self) -> str:
        return f"{'phone' if self.width < 500 else 'laptop'}-{self.scheme}"


LAPTOP_LIGHT, LAPTOP_DARK = Look(1280, 800, "light"), Look(1280, 800, "dark")
PHONE_LIGHT, PHONE_DARK = Look(360, 740, "light"), Look(360, 740, "dark")
LOOKS = (LAPTOP_LIGHT, LAPTOP_DARK, PHONE_LIGHT, PHONE_DARK)


@dataclass
class Server:
    """A server process with a home of its own."""

    home: Path
    folder: Path
    address: str = ""
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the process, and wait until it tells where it is."""
        arguments = ["serve", "--port", "0", "--home", str(self.home), "--folder", str(self.folder)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "queryveil", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = re.search(r"http://[\w.:]+", line)
            if found:
                self.address = found[0]
                return
        raise AssertionError("the server ended before it told its address")

    def stop(self) -> None:
        """Stop the process as Ctrl-C does."""
        assert self.process is not None and self.process.stdout is not None
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self.process.stdout.close()

    def get(self, path: str) -> Any:
        """Ask the REST service."""
        return httpx.get(f"{self.address}/api/v1{path}", timeout=60).raise_for_status().json()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Tell the REST service something."""
        return httpx.post(f"{self.address}/api/v1{path}", json=body, timeout=60).raise_for_status().json()

    def ended(self, run: str) -> Any:
        """Wait for a run to be over; return it."""
        until(lambda: self.get(f"/runs/{run}")["ended"])
        return self.get(f"/runs/{run}")


def until(condition: Callable[[], Any]) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + LONG / 1000
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


@contextmanager
def opened(browser: Browser, server: Server, look: Look, *, scripts: bool = True) -> Iterator[Page]:
    """Open a page of a browser without any past; whatever a page complains about is a failure."""
    context = browser.new_context(
        base_url=server.address,
        viewport={"width": look.width, "height": look.height},
        color_scheme=look.scheme,
        java_script_enabled=scripts,
    )
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if "Content Security" in message.text else None)
    page.set_default_timeout(SHORT)
    try:
        yield page
    finally:
        context.close()
    assert faults == []


def sideways(page: Page) -> int:
    """Return by how many pixels a page is wider than the window: it must not be."""
    wider: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wider


def picture(page: Page, name: str, *, at: str = "") -> None:
    """Take a picture for the docs, where they are wanted; `at` is what stands at the top of it."""
    if SCREENSHOTS:
        place = page.locator(at).first if at else None
        if place is not None:
            place.evaluate("element => window.scrollTo(0, element.getBoundingClientRect().top + window.scrollY - 24)")
        page.screenshot(path=str(Path(SCREENSHOTS) / f"page-{name}.png"))
