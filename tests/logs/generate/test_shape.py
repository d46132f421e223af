import numpy as np
import pytest

from queryveil.logs.generate import DEMO, _combined
from queryveil.logs.generate.shape import LONGEST, PatternTable, Slot

N = 50_000


def drawn_patterns(table: PatternTable) -> dict[str, float]:
    """Return the share of every pattern among many draws."""
    rng = np.random.default_rng(2)
    slots = table.draw_slots(table.draw_lengths(N, rng), rng)
    assert slots.shape == (N, LONGEST)
    found, counts = np.unique([bytes(row).rstrip(b"\0").decode() for row in slots], return_counts=True)
    return dict(zip(found.tolist(), (counts / N).tolist(), strict=True))


def test_without_lengths_patterns_are_drawn_by_their_weights() -> None:
    shares = drawn_patterns(PatternTable({"W": 3, "WC": 1, "B#J": 1}))
    assert shares == {
        "W": pytest.approx(0.6, abs=0.01),
        "WC": pytest.approx(0.2, abs=0.01),
        "B#J": pytest.approx(0.2, abs=0.01),
    }


def test_with_lengths_weights_count_among_the_patterns_of_a_length() -> None:
    shares = drawn_patterns(PatternTable({"W": 1, "S": 3, "WC": 70}, lengths=(0.8, 0.2)))
    assert shares["S"] == pytest.approx(0.6, abs=0.01)
    assert shares["W"] == pytest.approx(0.2, abs=0.01)
    assert shares["WC"] == pytest.approx(0.2, abs=0.01)


def test_a_letter_that_is_no_slot_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a valid Slot"):
        PatternTable({"W?": 1})


def test_every_slot_has_its_own_letter_and_slots_are_collected() -> None:
    assert len({slot.value for slot in Slot}) == len(Slot)
    assert PatternTable({"WC": 1, "S": 1}).slots == {Slot.TOPIC_WORD, Slot.COMPANION, Slot.SITE}


def test_sorts_of_queries_keep_their_weights_when_combined() -> None:
    combined = _combined({"a": (0.75, {"W": 1, "S": 2}), "b": (0.25, {"B": 7})})
    assert combined == {"W": pytest.approx(0.25), "S": pytest.approx(0.5), "B": pytest.approx(0.25)}
    assert Slot.EMAIL in DEMO.patterns.slots
