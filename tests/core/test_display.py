"""How counts are shown."""

import pytest

from queryveil.core.display import counted, percent


@pytest.mark.parametrize(
    ("count", "things", "text"),
    [
        (1, "users left out as bots", "1 user left out as bots"),
        (2_000, "users left out as bots", "2,000 users left out as bots"),
        (1, "histories", "1 history"),
        (1, "unreadable lines left out", "1 unreadable line left out"),
        (0, "rows read", "0 rows read"),
        (1, "people", "1 person"),
        (1, "more combinations of that size", "1 more combination of that size"),
    ],
)
def test_one_thing_is_singular(count: int, things: str, text: str) -> None:
    assert counted(count, things) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.0 %"), (0.01, "<0.1 %"), (0.06, "0.1 %"), (99.94, "99.9 %"), (99.97, ">99.9 %"), (100.0, "100.0 %")],
)
def test_a_percentage_rounds_to_nothing_or_all_only_if_it_is(value: float, text: str) -> None:
    assert percent(value) == text
    assert percent(value, gap="") == text.replace(" ", "")
