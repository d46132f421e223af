"""Mistakes and failures: the page says what happened and what to do."""

from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DemoReleases
from tests.browser.site import LAPTOP_LIGHT, LONG, PHONE_LIGHT, Server, delete_log, opened, until

HOSTILE = "<img src=x onerror=alert(1)>"


def send(page: Page, name: str, data: bytes) -> None:
    """Send a file on the page of logs."""
    page.goto("/logs")
    page.get_by_label("File").first.set_input_files({"name": name, "mimeType": "text/plain", "buffer": data})
    page.get_by_role("button", name="Send and look at it").click()


def test_archive_gets_an_error_at_its_field(browser: Browser, server: Server) -> None:
    with opened(browser, server, PHONE_LIGHT) as page:
        send(page, "letter.zip", b"PK\x03\x04 Dear reader")
        error = page.locator("#f-file-error")
        expect(error).to_contain_text("letter.zip is a zip archive")
        expect(page.locator("#f-file")).to_have_attribute("aria-invalid", "true")


def test_letter_is_shown_as_it_is_and_discarded(browser: Browser, server: Server) -> None:
    with opened(browser, server, PHONE_LIGHT) as page:
        send(page, "letter.txt", f"Dear reader, {HOSTILE}\nthis is not a log.\n".encode())
        expect(page.get_by_role("alert")).to_contain_text("letter.txt: the format could not be guessed")
        expect(page.get_by_text("this is not a log.")).to_be_visible()
        expect(page.locator("img[src='x']")).to_have_count(0)
        page.get_by_role("button", name="Add this log").click()
        expect(page.get_by_role("alert")).to_contain_text("letter.txt: the format could not be guessed")
        page.get_by_role("button", name="Discard it").click()
        expect(page.get_by_role("heading", name="Logs", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="letter.txt")).to_have_count(0)


def test_columns_are_corrected_before_and_after_a_log_is_added(browser: Browser, server: Server) -> None:
    with opened(browser, server, PHONE_LIGHT) as page:
        page.goto("/logs")
        form = page.locator("form[action='/logs']").filter(has=page.locator("select[name='path']"))
        form.get_by_label("File").select_option("table.csv")
        form.get_by_role("button").click()
        expect(page.get_by_role("alert")).to_contain_text("table.csv: the format could not be guessed")
        expect(page.locator("#columns option")).to_have_count(2)
        page.get_by_label("user", exact=True).fill("who")
        page.get_by_label("query", exact=True).fill("what")
        page.get_by_role("button", name="Look again").click()
        rows = page.get_by_role("region", name="The first rows").get_by_role("row")
        expect(rows.nth(1)).to_contain_text("cheap cars today")
        expect(page.get_by_text("72 rows read")).to_be_visible()
        page.get_by_label("Name").fill("by hand")
        page.get_by_role("button", name="Add this log").click()
        expect(page.get_by_role("heading", name="What is in it")).to_be_visible(timeout=LONG)
        expect(page.get_by_role("row", name="user who")).to_be_visible()
        page.get_by_role("button", name="Read it differently").click()
        expect(page.get_by_label("user", exact=True)).to_have_value("who")
        page.get_by_role("button", name="Add this log").click()
        expect(page.get_by_role("heading", name="What is in it")).to_be_visible(timeout=LONG)
        delete_log(page)
        expect(page.get_by_role("heading", name="Logs", exact=True)).to_be_visible()


def test_impossible_parameter_gets_the_error_of_the_command(
    browser: Browser, server: Server, demo: DemoReleases
) -> None:
    with opened(browser, server, LAPTOP_LIGHT) as page:
        page.goto(f"/try?log={demo.log}&method=km")
        page.locator("#f-k").fill("1")
        page.get_by_role("button", name="Run km").click()
        sentence = "km(k=1, m=2): k must be a whole number of at least 2, not 1; give another value."
        expect(page.locator("#f-k-error")).to_have_text(sentence)  # the same sentence as the command line's
        expect(page.locator("#f-k")).to_have_attribute("aria-invalid", "true")
        expect(page.locator("#f-k")).to_have_value("1")
        page.locator("#f-k").fill(HOSTILE)
        page.get_by_role("button", name="Run km").click()
        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.locator("img[src='x']")).to_have_count(0)


def test_taken_run_name_is_refused(browser: Browser, server: Server, demo: DemoReleases) -> None:
    with opened(browser, server, LAPTOP_LIGHT) as page:
        page.goto(f"/try?log={demo.log}&method=query_k")
        name = "km(k=5, m=1, algorithm=paper)"
        page.get_by_text("More options").click()
        page.get_by_label("name of the run").fill(name)
        page.get_by_role("button", name="Run query_k").click()
        expect(page.locator("#f-name-error")).to_contain_text(f"there is a run named {name} already")
        expect(page.get_by_label("name of the run")).to_have_value(name)


def test_log_that_was_deleted_meanwhile_gets_an_error(browser: Browser, server: Server) -> None:
    log = server.post("/logs", {"name": "short-lived", "path": "table.csv", "columns": "user=who,query=what"})["id"]
    with opened(browser, server, LAPTOP_LIGHT) as page:
        page.goto(f"/try?log={log}&method=suppress")
        with opened(browser, server, LAPTOP_LIGHT) as other:
            other.goto(f"/logs/{log}")
            delete_log(other)
            expect(other.get_by_role("heading", name="Logs")).to_be_visible()
        page.get_by_role("button", name="Run suppress").click()
        expect(page.get_by_role("alert")).to_contain_text("There is no such log, or it was deleted")


def test_unknown_user_gets_an_error(browser: Browser, server: Server, demo: DemoReleases) -> None:
    with opened(browser, server, PHONE_LIGHT) as page:
        page.goto(f"/runs/{demo.histories}/history")
        page.get_by_label("User, as in the log").fill(HOSTILE)
        page.get_by_role("button", name="Show this history").click()
        expect(page.locator("#f-person-error")).to_contain_text("the log has nobody by that name")
        expect(page.locator("img[src='x']")).to_have_count(0)


def test_run_interrupted_by_a_stop_can_be_started_again(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    server = Server(tmp_path / "home", tmp_path / "files")
    server.start()
    try:
        log = server.post("/logs", {"name": "Demo log", "demo": True})["id"]
        method = "generalize(k=5)"
        run = server.post("/runs", {"name": "cut short", "log": log, "method": method})["id"]
        until(lambda: server.get(f"/runs/{run}")["state"] == "running")
    finally:
        server.stop()
    server.start()
    try:
        with opened(browser, server, PHONE_LIGHT) as page:
            page.goto(f"/runs/{run}")
            expect(page.get_by_role("alert")).to_contain_text("The server was stopped while the run was under way")
            page.get_by_role("button", name="Run again").click()
            page.get_by_role("button", name="Cancel").click()
            expect(page.get_by_text("The run was cancelled")).to_be_visible()
    finally:
        server.stop()
