"""How counts are shown."""

import pytest

from queryveil.core.display import counted


@pytest.mark.parametrize(
    ("count", "things", "text"),
    [
        (1, "users left out as bots", "1 user left out as bots"),
        (2_000, "users left out as bots", "2,000 users left out as bots"),
        (1, "histories", "1 history"),
        (1, "unreadable lines left out", "1 unreadable line left out"),
        (0, "rows read", "0 rows read"),
    ],
)
def test_one_thing_is_singular(count: int, things: str, text: str) -> None:
    assert counted(count, things) == text
