"""A walk from the demo log to a search, as a first-time user would do it."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.site import LAPTOP_LIGHT, LONG, PHONE_DARK, Server, Viewport, opened, screenshot


@pytest.mark.parametrize("viewport", [LAPTOP_LIGHT, PHONE_DARK], ids=str)
def test_walk_from_demo_log_to_search(browser: Browser, server: Server, viewport: Viewport) -> None:
    with opened(browser, server, viewport) as page:
        load_demo(page)
        run_method(page, "km", {"k": "5", "m": "1"}, {"algorithm": "paper"})
        run_method(page, "linkability", {"p": "0.4"}, {"a": "0"})
        compare(page)
        open_one_history(page)
        verify(page)
        search(page, viewport)


def load_demo(page: Page) -> None:
    """Load the demo log, or open the existing one, and wait for its statistics."""
    page.goto("/")
    first, again = page.get_by_role("button", name="Load the demo log"), page.get_by_role("link", name="Open the demo")
    first.or_(again).click()
    expect(page.get_by_role("heading", name="What is in it")).to_be_visible(timeout=LONG)  # without a reload
    expect(page.get_by_role("row", name=re.compile(r"^3 terms"))).to_be_visible()  # who 3 known terms single out
    page.get_by_role("link", name="Try methods on it").click()


def run_method(page: Page, method: str, fields: dict[str, str], more: dict[str, str]) -> None:
    """Submit the form of a method, and wait until its run is done."""
    page.get_by_role("navigation", name="Methods").get_by_role("link", name=re.compile(rf"^{method}\b")).click()
    for name, value in fields.items():
        page.locator(f"#f-{name}").fill(value)
    page.get_by_text("More options").click()
    for name, value in more.items():
        field = page.locator(f"#f-{name}")
        if field.evaluate("element => element.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    n_done = page.locator(".runs .state.done").count()
    page.get_by_role("button", name=f"Run {method}").click()
    expect(page.locator(".runs .state.done")).to_have_count(n_done + 1, timeout=LONG)  # without a reload


def compare(page: Page) -> None:
    """Check that the runs are compared in a table, and in charts with alternative texts."""
    figures = page.get_by_role("region", name=re.compile("what is kept"))
    expect(figures.get_by_role("link", name=re.compile("^km"))).not_to_have_count(0)
    expect(figures.get_by_role("link", name=re.compile("^linkability"))).not_to_have_count(0)
    expect(page.get_by_role("img", name=re.compile("people stand behind"))).not_to_have_count(0)


def open_one_history(page: Page) -> None:
    """Open one person's history, and check that the address does not reveal the person."""
    page.get_by_role("link", name=re.compile("^One history in km")).first.click()
    address = page.url
    page.get_by_role("button", name=re.compile("^Person")).first.click()
    expect(page.get_by_role("heading", name="Before, and what became of it")).to_be_visible()
    expect(page.get_by_text(re.compile(r"\d (person|people) (of|in) the")).first).to_be_visible()
    expect(page.get_by_text("Kept", exact=True).first).to_be_visible()
    assert page.url.startswith(f"{address}?view=")  # a random key
    history = page.url
    page.goto("/logs")
    page.go_back()
    assert page.url == history
    expect(page.get_by_role("heading", name="Before, and what became of it")).to_be_visible()


def verify(page: Page) -> None:
    """Verify the release."""
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Try").click()
    page.get_by_role("link", name=re.compile("^Release of km")).first.click()
    page.get_by_role("button", name="Verify it now").click()
    expect(page.get_by_text("Verified anew")).to_be_visible(timeout=LONG)
    expect(page.get_by_role("heading", name="The guarantee holds")).to_be_visible()


def search(page: Page, viewport: Viewport) -> None:
    """Search without a profile, as a person and as the person's group."""
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Search").click()
    make = page.get_by_role("button", name="Make the bundled corpus searchable")
    query = page.get_by_label("Query", exact=True)
    if make.or_(query).first.get_attribute("id") != "query":
        make.click()
    query.fill("java")
    page.get_by_role("button", name="Search").click()
    for column in ("Plain", "Original profile", "Group profile"):
        expect(page.get_by_role("heading", name=column)).to_be_visible()
    screenshot(page, "search" if viewport == LAPTOP_LIGHT else f"search-{viewport}", at="#answers")


def test_run_is_cancelled_restarted_and_deleted(browser: Browser, server: Server) -> None:
    with opened(browser, server, PHONE_DARK) as page:
        load_demo(page)
        page.get_by_role("navigation", name="Methods").get_by_role("link", name=re.compile(r"^generalize\b")).click()
        page.get_by_role("button", name="Run generalize").click()
        page.get_by_role("button", name=re.compile("^Cancel")).first.click()
        expect(page.get_by_text("The run was cancelled, and nothing of it was kept.")).to_be_visible()
        page.reload()
        page.get_by_role("link", name=re.compile("^generalize.*k=")).first.click()
        page.get_by_role("button", name="Run again").click()
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("The run was cancelled")).to_be_visible()
        page.get_by_role("link", name="Delete this run").click()
        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.get_by_role("heading", name="Runs on this log")).to_be_visible()
        expect(page.get_by_role("link", name=re.compile("^generalize.*k="))).to_have_count(0)
