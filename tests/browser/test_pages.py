"""Every page: no serious fault for those who use it otherwise, no wider than the window, usable without scripts."""

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Made
from tests.browser.site import LAPTOP_LIGHT, LOOKS, PHONE_LIGHT, Look, Server, opened, picture, sideways

SERIOUS = ("serious", "critical")  # in the words of axe
PICTURES = {"start": "h1", "log": "#what", "try": "#side", "history": "h1", "release": "h1"}  # and what they show


def addresses(made: Made) -> dict[str, str]:
    return {
        "start": "/",
        "logs": "/logs",
        "log": f"/logs/{made.log}",
        "try": f"/try?log={made.log}",
        "try-groups": f"/try?log={made.log}&method=linkability",
        "run": f"/runs/{made.histories}",
        "history": f"/runs/{made.histories}/history",
        "release": f"/releases/{made.histories}",
        "release-groups": f"/releases/{made.groups}",
        "search": "/search",
        "api": "/api/v1/docs",
        "nothing": "/nothing",
        "login": "/login",
    }


def visited(page: Page, made: Made) -> Iterator[str]:
    """Go from page to page; the history is that of a person, all that can be opened is open."""
    for name, address in addresses(made).items():
        page.goto(address)
        if name == "history":
            page.get_by_role("button", name=re.compile("^Person")).nth(4).click()
        page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
        yield name


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_no_serious_fault_on_any_page(browser: Browser, server: Server, made: Made, look: Look) -> None:
    faults = {}
    with opened(browser, server, look) as page:
        for name in visited(page, made):
            found = Axe().run(page).response["violations"]
            serious = [(each["id"], each["nodes"][0]["target"]) for each in found if each["impact"] in SERIOUS]
            if serious or sideways(page):
                faults[name] = (serious, sideways(page))
    assert faults == {}


def test_pictures_of_the_pages(browser: Browser, server: Server, made: Made) -> None:
    for look, suffix in ((LAPTOP_LIGHT, ""), (LOOKS[-1], "-phone-dark")):
        with opened(browser, server, look) as page:
            for name, at in PICTURES.items():
                page.goto(addresses(made)[name])
                if name == "history":
                    page.get_by_role("button", name=re.compile("^Person")).nth(4).click()
                expect(page.locator(at).first).to_be_visible()
                if name == "try":
                    expect(page.get_by_role("img", name=re.compile("^Scatter plot of log size kept"))).to_be_visible()
                picture(page, f"{name}{suffix}", at=at)


def test_without_scripts_the_tables_remain(browser: Browser, server: Server, made: Made) -> None:
    with opened(browser, server, PHONE_LIGHT, scripts=False) as page:
        page.goto(f"/logs/{made.log}")
        expect(page.get_by_role("table")).not_to_have_count(0)
        page.goto(f"/try?log={made.log}")
        figures = page.get_by_role("region", name=re.compile("what is kept")).get_by_role("table")
        expect(figures.first).to_be_visible()
        expect(page.locator("noscript p")).to_be_visible()  # says that the list stands still
        page.get_by_role("link", name=re.compile("^One history in km")).first.click()
        page.get_by_role("button", name=re.compile("^Person")).first.click()
        expect(page.get_by_role("table")).to_have_count(2)


def test_without_scripts_a_method_runs_and_the_page_looks_again(browser: Browser, server: Server, made: Made) -> None:
    with opened(browser, server, LAPTOP_LIGHT, scripts=False) as page:
        page.goto(f"/try?log={made.log}&method=query_k")
        page.get_by_role("button", name="Run query_k").click()
        page.locator(".runs a.name").first.click()
        expect(page.get_by_role("heading", name="The guarantee holds")).to_be_visible()  # by the page's own refresh


def test_the_keyboard_alone_leads_to_the_content(browser: Browser, server: Server, made: Made) -> None:
    with opened(browser, server, LAPTOP_LIGHT) as page:
        page.goto("/")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Open the demo log")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"/logs/{made.log}$"))


def test_the_first_page_is_usable_soon(browser: Browser, server: Server) -> None:
    with opened(browser, server, LAPTOP_LIGHT) as page:
        page.goto("/")
        timing = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        assert timing < 10_000  # the bar is a second on a machine that does nothing else; here other tests run beside
        expect(page.get_by_role("link", name="Logs", exact=True)).to_be_visible()
