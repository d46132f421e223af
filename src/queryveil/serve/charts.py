"""The charts of the web pages, which are built like those of the reports (decision 23)."""

from collections.abc import Sequence

from markupsafe import Markup

from queryveil.report.charts import axis_end, bar_chart, range_chart
from queryveil.report.rendering import number, percent, plural


def shares(title: str, rows: Sequence[tuple[str, float]]) -> Markup:
    """Draw one bar of a percentage per row."""
    described = ", ".join(f"{label}: {percent(value)}" for label, value in rows)
    return bar_chart(rows, f"{title}. {described}.", end=axis_end(value for _, value in rows))


def singled_out(rows: Sequence[tuple[int, float]]) -> Markup:
    """Draw which share of people is singled out by a number of their terms."""
    named = [(plural(n_terms, "term", "terms"), value) for n_terms, value in rows]
    return shares("Bar chart of the share of people singled out, by number of known terms", named)


def crowds(rows: Sequence[tuple[str, int, float, int]]) -> Markup:
    """Draw the smallest, the median and the largest number of people behind what each run publishes."""
    described = "; ".join(
        f"{run}: at least {number(low)}, in the median {median:,.0f}, at most {number(high)}"
        for run, low, median, high in rows
    )
    title = "Chart of how many people stand behind what is published"
    return range_chart(rows, "people behind it", f"{title}. {described}.")


def between(low: int, high: int | None) -> str:
    """Return a range of counts in words; `high` is None if it is open."""
    if high is None:
        return f"{low:,} or more"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
