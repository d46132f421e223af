"""The tables and charts of the evaluation, and what they mean in plain words."""

from collections.abc import Sequence

import numpy as np

from queryveil.experiments.carpineto import printed
from queryveil.experiments.carpineto.runs import By, Outcome, Task
from queryveil.histories.profiles import Profiles
from queryveil.measures.utility.correlations import Correlation, correlations
from queryveil.report.charts import Point
from queryveil.report.reproduction import PaperFigure, PaperTable

JOINT = "pel(estimate=joint)"
SHOWN = {"spi": "SPI", "exposed": "exposed", "pel": "PEL"}
WHAT = {"spi": "SPI", "exposed": "sensitive and released, % of what a person searched for", "pel": "PEL, %"}
SIZE = "queries released, %"
QUOTED = ("k", "impressions", "JSD")  # those that the paper finds strongly correlated


def the_log(profiles: Profiles, task: Task, ppp: float) -> PaperTable:
    """Set what the log is like beside the paper's."""
    heavy = task.profiles
    sensitive = 100.0 * float(heavy.counts[task.sensitivity[heavy.ids] > 0.5].sum()) / task.issued()
    mean = float(profiles.counts.sum(dtype=np.int64)) / profiles.n_people
    rows = (
        ("queries of a person, mean", f"{mean:.1f}", f"{printed.MEAN_QUERIES}"),
        ("people with more queries than that, as used", f"{heavy.n_people:,}", f"{printed.HEAVY_PEOPLE:,}"),
        ("their queries", f"{task.issued():,}", "–"),
        ("of these classified as sensitive", f"{sensitive:.1f} %", printed.SHARE_SENSITIVE),
        ("of these with a name, place or private word (PPP)", f"{ppp:.1f} %", printed.SHARE_PPP),
    )
    return PaperTable("Section 3", "The log and its heavy users", ("", "ours", "paper"), rows)


def figure_1(found: Sequence[Outcome]) -> PaperTable:
    """Lay out the measures over k."""
    headings = ("k", SIZE, "people with nothing, %", "SPI", "JSD", "PEL, %", "PEL joint, %", "exposed, %")
    rows = tuple(
        (
            f"{each.k:,}",
            f"{each.figures['impressions']:.1f}",
            f"{each.nothing:.1f}",
            f"{each.figures['spi']:.4f}",
            f"{each.figures['jsd']:.4f}",
            f"{each.figures['pel']:.1f}",
            f"{each.figures[JOINT]:.1f}",
            f"{each.figures['exposed']:.2f}",
        )
        for each in found
    )
    notes = (
        "The paper shows this as a picture: JSD grows with k, SPI does too but goes up and down, PEL stays nearly "
        "stable.",
        f"Here, from one k to the next JSD falls {_falls(found, 'jsd')} times, SPI {_falls(found, 'spi')} and PEL "
        f"{_falls(found, 'pel')} of {len(found) - 1}.",
        "People with nothing released count as one nil document of weight 1; PEL joint is the other reading of PEL.",
    )
    return PaperTable("Figure 1", "Query k-anonymity: what each measure says as k grows", headings, rows, (), notes)


def _falls(found: Sequence[Outcome], measure: str) -> int:
    values = np.array([each.figures[measure] for each in found])
    return int(np.count_nonzero(np.diff(values) < 0))


def correlations_of(found: Sequence[Outcome]) -> list[Correlation]:
    """Return Pearson's correlation of each two figures over the values of k."""
    columns = {
        "k": [float(each.k or 0) for each in found],
        "impressions": [each.figures["impressions"] for each in found],
        "JSD": [each.figures["jsd"] for each in found],
        "SPI": [each.figures["spi"] for each in found],
        "PEL": [each.figures["pel"] for each in found],
    }
    return correlations({name: np.array(values) for name, values in columns.items()})


def correlation_table(found: Sequence[Outcome]) -> PaperTable:
    """Set the correlations beside those that the paper quotes."""
    rows = tuple(
        (f"{each.first} – {each.second}", "–" if each.value is None else f"{each.value:.3f}", _quoted(each))
        for each in correlations_of(found)
    )
    note = (
        f"Over {len(found)} values of k, unevenly spread; the paper does not say which it took, and the correlation "
        "with k depends on them."
    )
    return PaperTable(
        "Section 3.2", "Pearson's correlations over the values of k", ("", "ours", "paper"), rows, (0, 2), (note,)
    )


def _quoted(each: Correlation) -> str:
    if {each.first, each.second} <= set(QUOTED):
        return f"above {printed.STRONG} (without its sign)"
    return "weak" if "SPI" in (each.first, each.second) and "PEL" not in (each.first, each.second) else "–"


def figure_2(found: By, draws: Sequence[By]) -> list[PaperTable]:
    """Lay out each measure by size and strategy."""
    strategies = [each.strategy for each in next(iter(found.values()))]
    tables = []
    for measure, name in SHOWN.items():
        decimals = 4 if measure == "spi" else 2
        rows = tuple(
            (f"{size:.1f}", *(f"{each.figures[measure]:.{decimals}f}" for each in outcomes))
            for size, outcomes in found.items()
        )
        tables.append(
            PaperTable(
                f"Figure 2, {name}", _caption(measure), (SIZE, *strategies), rows, (), _notes(found, draws, measure)
            )
        )
    return tables


def _caption(measure: str) -> str:
    return f"{WHAT[measure]}: equally many queries released, chosen in four ways"


def _notes(found: By, draws: Sequence[By], measure: str) -> tuple[str, ...]:
    ks = ", ".join(f"{each.k:,}" for outcomes in found.values() for each in outcomes if each.k is not None)
    if measure == "exposed":
        return (
            f"Lower is more private. no-PPP exposes less than only-PPP at {_count(found, measure, -1)} of {len(found)} "
            f"sizes on average of {len(draws)} draws, and in {_count_all(draws, measure, -1)} of "
            f"{len(draws) * len(found)} single releases.",
            f"The k of k-anonymity at these sizes: {ks}; of queries with as many people some are left out by lot.",
        )
    if measure == "spi":
        expected = " > ".join(printed.ORDER)
        return (
            f"Higher is said to be more private. The paper's order is {expected}; here, by size: {_orders(found)}.",
        )
    return ("The paper finds PEL affected neither by the size nor by the strategy.",)


def _count(found: By, measure: str, sign: int) -> int:
    """Count the sizes at which no-PPP is above (1) or below (−1) only-PPP."""
    by_name = [{each.strategy: each.figures[measure] for each in outcomes} for outcomes in found.values()]
    return sum(sign * (each["no-PPP"] - each["only-PPP"]) > 0 for each in by_name)


def _count_all(draws: Sequence[By], measure: str, sign: int) -> int:
    return sum(_count(draw, measure, sign) for draw in draws)


def _orders(found: By) -> str:
    ordered = [sorted(outcomes, key=lambda each: -each.figures["spi"]) for outcomes in found.values()]
    texts = [" > ".join(each.strategy for each in outcomes) for outcomes in ordered]
    return texts[0] + " throughout" if len(set(texts)) == 1 else "; ".join(texts)


def figure_1_chart(found: Sequence[Outcome]) -> PaperFigure:
    """Draw all measures in percent over k."""
    scale = {"spi": 100.0, "jsd": 100.0, "impressions": 1.0, "pel": 1.0}
    names = {"spi": "SPI · 100", "jsd": "JSD · 100", "impressions": "impressions", "pel": "PEL"}
    points = [
        Point(float(each.k or 0), factor * each.figures[measure], names[measure])
        for measure, factor in scale.items()
        for each in found
    ]
    caption = "SPI, JSD, impressions and PEL under query k-anonymity (the paper's Figure 1)"
    return PaperFigure("Figure 1", caption, "measure", tuple(points), tuple(names.values()))


def figure_2_charts(found: By) -> list[PaperFigure]:
    """Draw each measure over the size, a line for each strategy."""
    strategies = tuple(each.strategy for each in next(iter(found.values())))
    return [
        PaperFigure(
            f"Figure 2, {name}",
            _caption(measure),
            WHAT[measure],
            tuple(
                Point(size, each.figures[measure], each.strategy) for size, each_of in found.items() for each in each_of
            ),
            strategies,
            SIZE,
        )
        for measure, name in SHOWN.items()
    ]


def reading(found: By, draws: Sequence[By]) -> tuple[str, ...]:
    """Say in plain words what the figures mean and what SPI misses."""
    n, higher, lower = len(found), _count(found, "spi", 1), _count(found, "exposed", -1)
    return (
        "SPI says how far what is released of a person is from what the person searched for, a query counting the "
        "less the more sensitive it is. That weight is the same whether the query was released or taken out: a query "
        "that is surely sensitive has none, so SPI does not see whether it was published.",
        "So a release of sensitive queries only can have a higher SPI than one of harmless queries only, for what is "
        "missing from it is harmless and counts in full, while what it shows counts for little. SPI compares releases "
        "of equal size, and even there its order depends on which of the two effects is larger.",
        f"Here SPI puts no-PPP above only-PPP at {higher} of {n} sizes, and no-PPP exposes less of what is sensitive "
        f"at {lower} of {n}; of {n * len(draws)} single releases it does in {_count_all(draws, 'exposed', -1)}. Read "
        "`exposed`, and `worst` for single people, beside any SPI.",
    )
