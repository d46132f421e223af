"""Charts show their figures, leave out what is unknown, escape labels, and are rendered once."""

import re
from xml.etree import ElementTree

import pytest

from queryveil.report.charts import (
    BAR_WIDTH,
    PLOT_WIDTH,
    Axis,
    Point,
    axis_end,
    bar_chart,
    crowd_chart,
    grouped_bar_chart,
    growth_chart,
    line_chart,
    range_chart,
    scatter_chart,
    share_chart,
)
from tests.report.pages import HOSTILE

COLOURS = {"log": "var(--before)", "release": "var(--after)"}


def texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter("text")]


def label(svg: str) -> str:
    return ElementTree.fromstring(svg).get("aria-label", "")


def test_bars_carry_their_figures() -> None:
    svg = bar_chart([("users", 97.42), ("terms", 0.01)], "Two bars.", end=100.0)
    assert texts(svg) == ["users", "terms", "97.4%", "<0.1%"]
    assert label(svg) == "Two bars."
    assert "var(--track)" not in svg
    assert "var(--track)" in bar_chart([("users", 97.42)], "", end=100.0, on_track=True)


def test_shares_are_described_row_by_row() -> None:
    svg = share_chart("Bar chart of holders", [("1", 60.0), ("2 to 9", 40.0)])
    assert label(svg) == "Bar chart of holders. 1: 60.0%, 2 to 9: 40.0%."


def test_crowds_are_described_by_smallest_median_and_largest() -> None:
    assert label(crowd_chart([("first", 5, 12.5, 1200)])) == (
        "Chart of how many people stand behind what is published. first: at least 5, in the median 12, at most 1,200."
    )


def test_grouped_bars_leave_out_unknown_figures() -> None:
    svg = grouped_bar_chart([("1 term", (2.5, 1.0)), ("2 terms", (None, 3.0))], COLOURS, "Shares")
    assert [text for text in texts(svg) if text.endswith("%")] == ["2.5%", "1.0%", "3.0%"]
    assert label(svg) == "Shares. 1 term: log 2.5%, release 1.0%; 2 terms: log unknown, release 3.0%."
    assert {"log", "release"} <= set(texts(svg))  # the legend


def test_range_reaches_the_next_power_of_ten() -> None:
    svg = range_chart([("run", 3, 12.5, 101)], "people", "Ranges.")
    assert {"1", "10", "100", "1,000", "run", "people"} == set(texts(svg))


def test_lines_are_described_by_series() -> None:
    points = [Point(2.0, 50.0, "a"), Point(10.0, 12.5, "a"), Point(2.0, 30.0, "b")]
    grown = growth_chart(points, "log size kept", ["a", "b"], 60.0)
    assert label(grown) == "Line chart of log size kept over k. a, k 2: 50.0%; a, k 10: 12.5%; b, k 2: 30.0%."
    assert {"k", "log size kept, %", "2", "10", "a", "b"} <= set(texts(grown))
    plain = line_chart([Point(0.5, 0.1234, "only")], "p", "loss", ["only"])
    assert label(plain) == "Line chart of loss over p. only, p 0.5: 0.123."
    assert "only" not in texts(plain)  # one series needs no legend


@pytest.mark.parametrize("is_wide", [False, True])
def test_every_point_is_labelled_and_no_label_covers_another(is_wide: bool) -> None:
    crowd = [Point(1.0 + x / 50, 50.0 - y / 5, "a", f"k={x}, m={y}") for x in range(4) for y in range(4)]
    svg = scatter_chart([*crowd, Point(90.0, 50.0, "a", "far right")], "x", "y", ["a"], is_wide=is_wide)
    places = {
        text: (float(x), float(y))
        for x, y, text in re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)"[^>]*>([^<]*)</text>', svg)
        if "=" in text or text == "far right"
    }
    assert len(places) == 17
    boxes = [(x, x + 5 * len(text), y - 5, y + 5) for text, (x, y) in places.items()]
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
    assert label(svg).startswith("Scatter plot of y over x. a k=0, m=0: 1.0% and 50.0%; a k=0, m=1: 1.0% and 49.8%")


def test_axis_ends_above_the_largest_value_but_at_most_at_100() -> None:
    assert (axis_end([]), axis_end([0.0]), axis_end([99.0])) == (100.0, 1.0, 100.0)


def test_hostile_labels_are_escaped() -> None:
    rows = [(HOSTILE, 50.0)]
    for svg in (
        bar_chart(rows, HOSTILE, end=100.0),
        grouped_bar_chart([(HOSTILE, (1.0,))], {HOSTILE: "var(--after)"}, HOSTILE),
        scatter_chart([Point(1.0, 1.0, HOSTILE, HOSTILE)], HOSTILE, HOSTILE, [HOSTILE, "b"]),
    ):
        assert "<script" not in svg
        assert HOSTILE in label(svg)


def test_same_figures_give_the_same_bytes() -> None:
    first = bar_chart([("once", 12.3)], "First.", end=100.0)
    assert bar_chart([("once", 12.3)], "Second.", end=100.0) == first.replace("First.", "Second.")


def shapes(svg: str, name: str) -> list[dict[str, str]]:
    return [element.attrib for element in ElementTree.fromstring(svg).iter(name)]


def test_bars_are_as_long_as_their_figures_and_stay_within_the_axis() -> None:
    svg = bar_chart([("half", 25.0), ("whole", 50.0), ("more", 80.0)], "", end=50.0)
    assert [float(bar["width"]) for bar in shapes(svg, "rect")] == [BAR_WIDTH / 2, BAR_WIDTH, BAR_WIDTH]
    grouped = grouped_bar_chart([("a", (10.0, 40.0))], COLOURS, "")
    assert [float(bar["width"]) for bar in shapes(grouped, "rect")] == [0.1 * BAR_WIDTH, 0.4 * BAR_WIDTH]
    assert [bar["fill"] for bar in shapes(grouped, "rect")] == list(COLOURS.values())


def test_positions_on_linear_and_logarithmic_axes() -> None:
    assert [Axis("", 0, 50, []).position(value, 200) for value in (0, 25, 50)] == [0, 100, 200]
    on_log = Axis("", 1, 100, [], is_log=True)
    assert [on_log.position(value, 200) for value in (1, 10, 100)] == pytest.approx([0, 100, 200])
    assert Axis("", 5, 5, []).position(5, 200) == 100


@pytest.mark.parametrize(
    ("largest", "ticks"),
    [
        (98.0, ["0", "20", "40", "60", "80", "100"]),
        (0.123, ["0", "0.02", "0.04", "0.06", "0.08", "0.1", "0.12", "0.14"]),
        (0.0, ["0", "0.2"]),
    ],
)
def test_axes_from_zero_have_round_steps(largest: float, ticks: list[str]) -> None:
    svg = line_chart([Point(3.0, largest, "a")], "x", "y", ["a"])
    assert [text for text in texts(svg) if text not in ("x", "y", "3")] == ticks


def test_every_series_has_a_shape_and_a_line_of_its_own() -> None:
    points = [Point(x, y, series) for series, y in (("a", 1.0), ("b", 2.0)) for x in (2.0, 1.0)]
    paths = shapes(line_chart(points, "x", "y", ["a", "b"]), "path")
    markers = [(path["d"], path["fill"]) for path in paths if "transform" in path]
    assert len(set(markers)) == 2
    assert len(markers) == len(points) + 2  # two in the legend
    curves = [path["d"] for path in paths if path.get("fill") == "none"]
    for curve in curves:
        first, second = (float(corner.split(",")[0]) for corner in curve.removeprefix("M").split("L"))
        assert second - first == pytest.approx(PLOT_WIDTH)  # from left to right
    assert len(curves) == 2


def test_labels_of_an_axis_do_not_overlap() -> None:
    points = [Point(float(k), 1.0, "a") for k in (1000, 1001, 1002, 5000)]
    assert [text for text in texts(growth_chart(points, "kept", ["a"], 10.0)) if "," in text][:2] == ["1,000", "5,000"]
