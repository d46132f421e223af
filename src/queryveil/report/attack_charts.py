"""The chart of an attack: what it reaches in the release, in the control, and in the original log."""

from collections.abc import Sequence

from queryveil.core.results import AttackResult
from queryveil.report.charts import BAR, draw
from queryveil.report.figures import percent
from queryveil.report.markup import Markup

_SERIES = {"original log": "var(--before)", "release": "var(--after)", "control": "var(--series-2)"}
_CHARACTER = 7.5  # about as wide as one of a label


def attack_chart(results: Sequence[AttackResult]) -> Markup:
    """Draw, for each amount of knowledge, the success in the log and in the release, and the control."""
    values = [
        {"known": result.knowledge, "where": where, "share": 100 * rate.value, "text": percent(100 * rate.value)}
        for result in results
        for where, rate in zip(_SERIES, (result.original, result.rate, result.control), strict=True)
    ]
    width = 10 + _CHARACTER * max(len(result.knowledge) for result in results)
    colours = {"domain": list(_SERIES), "range": list(_SERIES.values())}
    spec = {
        "height": {"step": BAR},
        "encoding": {
            "y": {
                "field": "known",
                "type": "nominal",
                "sort": None,
                "axis": {"labelPadding": width, "labelLimit": width},
                "scale": {"paddingInner": 0.3},
            },
            "yOffset": {"field": "where", "type": "nominal", "sort": colours["domain"]},
            "x": {
                "field": "share",
                "type": "quantitative",
                "scale": {"domain": [0, 100]},
                "axis": None,
                "stack": None,
            },
        },
        "layer": [
            {
                "mark": {"type": "bar", "height": BAR - 3, "cornerRadius": 2},
                "encoding": {"color": {"field": "where", "type": "nominal", "scale": colours}},
            },
            {"mark": "text", "encoding": {"text": {"field": "text"}}},
        ],
    }
    spoken = "; ".join(
        f"{r.knowledge}: original log {percent(100 * r.original.value)}, release {percent(100 * r.rate.value)}, "
        f"control {percent(100 * r.control.value)}"
        for r in results
    )
    return draw(spec, values, f"Bar chart of the success of an attack. {spoken}.")
