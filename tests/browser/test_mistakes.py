"""Mistakes and failures: the page says what happened and what to do."""

import re
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.conftest import LINES, DemoReleases
from tests.browser.site import LAPTOP_LIGHT, PHONE_LIGHT, Server, delete_log, opened, until

HOSTILE = "<img src=x onerror=alert(1)>"


def test_file_that_is_no_log_gets_an_error_at_its_field(browser: Browser, server: Server) -> None:
    with opened(browser, server, PHONE_LIGHT) as page:
        page.goto("/logs")
        page.get_by_label("File").first.set_input_files(
            {"name": "letter.txt", "mimeType": "text/plain", "buffer": b"Dear reader,\nthis is not a log.\n"}
        )
        page.get_by_role("button", name="Add this file").first.click()
        error = page.locator("#f-file-error")
        expect(error).to_contain_text("letter.txt")
        expect(page.get_by_label("File").first).to_have_attribute("aria-describedby", re.compile("f-file-error"))
        expect(page.get_by_text("Choose the file again")).to_be_visible()


def test_columns_can_be_mapped_by_hand(browser: Browser, server: Server) -> None:
    with opened(browser, server, LAPTOP_LIGHT) as page:
        page.goto("/logs")
        form = page.locator("form[action='/logs']").filter(has=page.locator("select[name='path']"))
        form.get_by_label("File").select_option("table.csv")
        form.get_by_role("button").click()
        expect(page.locator("#f-path-error")).to_contain_text("the format could not be guessed")
        form.get_by_label("user", exact=True).fill("who")
        form.get_by_label("query", exact=True).fill("what")
        form.get_by_role("button").click()
        expect(page.get_by_role("heading", name="What is in it")).to_be_visible()
        expect(page.get_by_role("row", name="user who")).to_be_visible()
        delete_log(page)
        expect(page.get_by_role("heading", name="Logs")).to_be_visible()


def test_columns_of_a_chosen_file_are_suggested(browser: Browser, server: Server) -> None:
    with opened(browser, server, LAPTOP_LIGHT) as page:
        page.goto("/logs")
        page.locator("#f-file").set_input_files(
            {"name": "t.csv", "mimeType": "text/csv", "buffer": ("who,what\n" + "".join(LINES)).encode()}
        )
        expect(page.locator("#upload-columns option")).to_have_count(2)


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
