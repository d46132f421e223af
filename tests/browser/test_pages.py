"""Every page: no accessibility violation, no horizontal overflow, usable without scripts."""

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DemoReleases
from tests.browser.site import (
    LAPTOP_LIGHT,
    PHONE_LIGHT,
    VIEWPORTS,
    Server,
    Viewport,
    horizontal_overflow,
    opened,
    screenshot,
)

# page → element to scroll to
SCREENSHOTS = {"start": "h1", "log": "#part-1", "try": "#side", "history": "h1", "release": "h1"}


def addresses(demo: DemoReleases) -> dict[str, str]:
    return {
        "start": "/",
        "logs": "/logs",
        "log": f"/logs/{demo.log}",
        "try": f"/try?log={demo.log}",
        "try-groups": f"/try?log={demo.log}&method=linkability",
        "run": f"/runs/{demo.histories}",
        "history": f"/runs/{demo.histories}/history",
        "release": f"/releases/{demo.histories}",
        "release-groups": f"/releases/{demo.groups}",
        "run-groups": f"/runs/{demo.groups}",
        "runs": "/runs",
        "runs-delete": f"/runs/delete?run={demo.histories}",
        "run-delete": f"/runs/{demo.histories}/delete",
        "forget": f"/runs/{demo.histories}/forget",
        "log-delete": f"/logs/{demo.log}/delete",
        "compare": f"/compare?run={demo.histories}&run={demo.groups}",
        "guide": f"/guide?log={demo.log}&goal=publish",
        "check": "/check",
        "audit": "/audit",
        "search": "/search",
        "api": "/api/v1/docs",
        "nothing": "/nothing",
        "login": "/login",
    }


def visited(page: Page, demo: DemoReleases) -> Iterator[str]:
    """Visit every page with all details opened and yield its name; the history page shows a person."""
    for name, address in addresses(demo).items():
        page.goto(address)
        if name == "history":
            page.get_by_role("button", name=re.compile("^Person")).nth(4).click()
        page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
        yield name


@pytest.mark.parametrize("viewport", VIEWPORTS, ids=str)
def test_no_accessibility_violation_on_any_page(
    browser: Browser, server: Server, demo: DemoReleases, viewport: Viewport
) -> None:
    faults = {}
    with opened(browser, server, viewport) as page:
        for name in visited(page, demo):
            found = Axe().run(page).response["violations"]
            violations = [(each["id"], each["nodes"][0]["target"]) for each in found]
            if violations or horizontal_overflow(page):
                faults[name] = (violations, horizontal_overflow(page))
    assert faults == {}


def test_screenshots_of_the_pages(browser: Browser, server: Server, demo: DemoReleases) -> None:
    for viewport, suffix in ((LAPTOP_LIGHT, ""), (VIEWPORTS[-1], "-phone-dark")):
        with opened(browser, server, viewport) as page:
            for name, at in SCREENSHOTS.items():
                page.goto(addresses(demo)[name])
                if name == "history":
                    page.get_by_role("button", name=re.compile("^Person")).nth(4).click()
                expect(page.locator(at).first).to_be_visible()
                if name == "try":
                    expect(page.get_by_role("img", name=re.compile("^Scatter plot of log size kept"))).to_be_visible()
                screenshot(page, f"{name}{suffix}", at=at)


def test_tables_are_shown_without_scripts(browser: Browser, server: Server, demo: DemoReleases) -> None:
    with opened(browser, server, PHONE_LIGHT, scripts=False) as page:
        page.goto(f"/logs/{demo.log}")
        expect(page.get_by_role("table")).not_to_have_count(0)
        page.goto(f"/try?log={demo.log}")
        figures = page.get_by_role("region", name=re.compile("what is kept")).get_by_role("table")
        expect(figures.first).to_be_visible()
        expect(page.locator("noscript p")).to_be_visible()  # says that the list is not updated
        page.get_by_role("link", name=re.compile("^One history in km")).first.click()
        page.get_by_role("button", name=re.compile("^Person")).first.click()
        expect(page.get_by_role("table")).to_have_count(2)


def test_run_page_refreshes_without_scripts(browser: Browser, server: Server, demo: DemoReleases) -> None:
    with opened(browser, server, LAPTOP_LIGHT, scripts=False) as page:
        page.goto(f"/try?log={demo.log}&method=query_k")
        page.get_by_role("button", name="Run query_k").click()
        page.locator(".runs a.name").first.click()
        expect(page.get_by_role("heading", name="The guarantee holds")).to_be_visible()  # by the meta refresh


def test_keyboard_reaches_the_content(browser: Browser, server: Server, demo: DemoReleases) -> None:
    with opened(browser, server, LAPTOP_LIGHT) as page:
        page.goto("/")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Open the demo log")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"/logs/{demo.log}$"))


def test_start_page_loads_quickly(browser: Browser, server: Server) -> None:
    with opened(browser, server, LAPTOP_LIGHT) as page:
        page.goto("/")
        timing = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        assert timing < 10_000  # a second on an idle machine; here other tests may run at the same time
        expect(page.get_by_role("link", name="Logs", exact=True)).to_be_visible()


@pytest.mark.parametrize("viewport", VIEWPORTS, ids=str)
def test_report_has_no_violation_and_fits(
    browser: Browser, server: Server, demo: DemoReleases, viewport: Viewport
) -> None:
    with opened(browser, server, viewport) as page:
        for release in (demo.histories, demo.groups):
            report = page.context.request.get(f"/api/v1/releases/{release}/report").text()
            page.goto("about:blank")
            page.set_content(report)  # served, it is sandboxed, so that axe could not run in it
            found = Axe().run(page).response["violations"]
            assert [(each["id"], each["nodes"][0]["target"]) for each in found] == []
            assert horizontal_overflow(page) == 0
