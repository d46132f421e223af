"""The charts of the web pages say their figures in words, too."""

from xml.etree import ElementTree

from queryveil.serve.charts import between, crowds, shares, singled_out


def label(svg: str) -> str:
    return ElementTree.fromstring(svg).get("aria-label", "")


def test_shares_are_described_row_by_row() -> None:
    svg = shares("Bar chart of holders", [("1", 60.0), ("2 to 9", 40.0)])
    assert label(svg) == "Bar chart of holders. 1: 60.0%, 2 to 9: 40.0%."
    assert label(singled_out([(1, 5.0), (2, 50.0)])) == (
        "Bar chart of the share of people singled out, by number of known terms. 1 term: 5.0%, 2 terms: 50.0%."
    )


def test_crowds_are_described_by_smallest_median_and_largest() -> None:
    assert label(crowds([("first", 5, 12.5, 1200)])) == (
        "Chart of how many people stand behind what is published. first: at least 5, in the median 12, at most 1,200."
    )


def test_ranges_of_counts_are_written_in_words() -> None:
    assert [between(1, 1), between(2, 1000), between(1001, None)] == ["1", "2 to 1,000", "1,001 or more"]
