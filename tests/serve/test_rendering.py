"""Template filters, and the addresses of static files."""

from dataclasses import replace

import pytest

from queryveil.report.rendering import capitalize_first
from queryveil.serve.progress_text import StageClock, format_duration, progress_text
from queryveil.serve.rendering import (
    code_marks,
    format_amount,
    format_size,
    label_of,
    product_of,
    static_address,
)
from queryveil.serve.run_specs import AttackSpec
from queryveil.serve.store import RunRow, free_name

QUEUED = RunRow.queued("run", AttackSpec(), release="r")
RUNNING = replace(QUEUED, state="running", stage="reading", done=1, total=3, started="2026-01-01T10:00:00.000+00:00")


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(None, "–"), (0, "0 B"), (999, "999 B"), (1_000, "1 kB"), (1_500_000, "1.5 MB"), (2 * 10**15, "2000.0 TB")],
)
def test_sizes_have_a_suitable_unit(n_bytes: int | None, text: str) -> None:
    assert format_size(n_bytes) == text


def test_duration_and_stage_follow_the_state_of_a_run() -> None:
    assert (format_duration(QUEUED), progress_text(QUEUED, None)) == ("", "waiting for its turn")
    assert progress_text(RUNNING, None) == "reading, 33%"
    assert progress_text(RUNNING, 43.0) == "reading, 33%, about 45 s left in this stage"
    assert progress_text(replace(RUNNING, total=0), 150.0) == "reading, about 2 min left in this stage"
    done = replace(RUNNING, state="done", ended="2026-01-01T10:01:05.200+00:00")
    assert progress_text(done, None) == format_duration(done) == "1 min 5 s"
    assert format_duration(replace(done, ended="2026-01-01T10:00:01.250+00:00")) == "1.2 s"


def test_time_left_follows_the_pace_of_the_stage() -> None:
    moment = [0.0]
    clock = StageClock(lambda: moment[0])
    clock.report("reading", 0, 100)
    moment[0] = 1.0
    clock.report("reading", 10, 100)
    assert clock.seconds_left() is None  # too early to tell
    moment[0] = 4.0
    clock.report("reading", 20, 100)
    assert clock.seconds_left() == 16.0  # 5 of 100 a second
    moment[0] = 6.0
    assert clock.seconds_left() == 14.0
    clock.report("counting", 50, 100)
    assert clock.seconds_left() is None  # another stage
    moment[0] = 10.0
    clock.report("counting", 60, 100)
    assert clock.seconds_left() == 16.0  # what was done when the stage began took no time


def test_amounts_products_and_names() -> None:
    assert (format_amount(None), format_amount(12.345)) == ("–", "12.3%")
    assert product_of(QUEUED) == "attacks"
    assert free_name("a", {"a", "a 2"}) == "a 3"
    assert free_name("b", {"a"}) == "b"


def test_labels_sentences_and_marks_of_code() -> None:
    assert [label_of(name) for name in ("k", "bot_session")] == ["k", "Bot session"]
    sentence = "linkability(p=0.4, a=0): nobody is left."
    assert [capitalize_first(text) for text in (sentence, "places is left out.")] == [sentence, "Places is left out."]
    assert code_marks("`<log>` stays") == "<code>&lt;log&gt;</code> stays"


def test_static_addresses_contain_a_digest() -> None:
    assert static_address("style.css").startswith("/static/style.css?v=")
    assert static_address("style.css") != static_address("live.js").replace("live.js", "style.css")
