"""Every page: no accessibility violation, no horizontal overflow, usable without scripts."""

import re
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from fastapi.routing import APIRoute
from playwright.sync_api import Browser, Page, expect

from queryveil.serve.pages import routers
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
OPEN_DETAILS = "document.querySelectorAll('details').forEach(details => details.open = true)"
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
        "draft": f"/drafts/{demo.draft}",
        **{f"run-{number}": f"/runs/{run}" for number, run in enumerate(demo.examined)},
        "guide": f"/guide?log={demo.log}&goal=publish",
        "check": "/check",
        "audit": "/audit",
        "search": f"/search?release={demo.groups}",
        "api": "/api/v1/docs",
        "nothing": "/nothing",
        "login": "/login",
    }


def send_search(page: Page) -> None:
    page.locator("#query").fill("java")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_role("heading", name="Group profile")).to_be_visible()


def send_wrong(page: Page, field: str, value: str, button: str) -> None:
    """Send a form with a value that is refused, and wait for the sentence."""
    page.locator(field).fill(value)
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.locator("[role=alert], .error").locator("visible=true").first).to_be_visible()


# page → what makes it show more: a person, answers, or what is wrong with a form
STEPS: dict[str, Callable[[Page], None]] = {
    "history": lambda page: page.get_by_role("button", name=re.compile("^Person")).nth(4).click(),
    "search": send_search,
    "search-wrong": lambda page: send_wrong(page, "#user", "nobody at all", "Search"),
    "history-wrong": lambda page: send_wrong(page, "#f-person", "nobody at all", "Show this history"),
    "try-wrong": lambda page: send_wrong(page, "#f-k", "1", "Run km"),
    "draft-wrong": lambda page: send_wrong(page, "#f-name", "Demo log", "Add this log"),
    "runs-wrong": lambda page: page.get_by_role("button", name="Compare the ticked runs").click(),
}


def visited(page: Page, demo: DemoReleases) -> Iterator[str]:
    """Visit every page with all details opened and yield its name; some as well after a form was sent."""
    found = addresses(demo)
    for name in (*found, *(step for step in STEPS if step not in found)):
        page.goto(found[name.removesuffix("-wrong")])
        page.evaluate(OPEN_DETAILS)
        if name in STEPS:
            STEPS[name](page)
            page.evaluate(OPEN_DETAILS)
        yield name


def test_every_page_is_visited(demo: DemoReleases) -> None:
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    patterns = {route.path: route.path_regex for route in routes if "GET" in (route.methods or ())}
    paths = [address.partition("?")[0] for address in addresses(demo).values()]
    assert [path for path, pattern in patterns.items() if not any(map(pattern.fullmatch, paths))] == []


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
