"""The tables and charts of the evaluation, and what they mean in plain words.

What the paper says of its figures, which it shows as pictures only, is from its section 3.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from queryveil.experiments.carpineto.runs import HEAVY_PEOPLE, BySize, QueryRun, QuerySetup
from queryveil.experiments.paper import Lines
from queryveil.histories.profiles import Profiles
from queryveil.measures.utility.market import Correlation, correlations
from queryveil.report.charts import Point
from queryveil.report.reproduction import PaperFigure, PaperTable

SHOWN = {  # measure of Figure 2 → name, title of the axis, format
    "spi": ("SPI", "SPI", ".4f"),
    "exposed": ("exposed", "sensitive and released, % of what a person searched for", ".2f"),
    "pel": ("PEL", "PEL, %", ".2f"),
}
SIZE = "queries released, %"
PAPER_MEAN_QUERIES = 44  # of AOL's people
PAPER_SENSITIVE, PAPER_PPP = "about half", "about 50 %"  # of the queries of heavy users
PAPER_ORDER = ("no-PPP", "k-anonymity", "only-PPP")  # by SPI, the most private first
STRONGLY_CORRELATED = {"k", "impressions", "JSD"}  # according to the paper
STRONG = 0.85  # their correlations in the paper are larger than this in absolute value


def the_log(profiles: Profiles, setup: QuerySetup, ppp: float) -> PaperTable:
    """Compare the log to that of the paper."""
    heavy = setup.profiles
    sensitive = 100.0 * float(heavy.counts[setup.sensitivity[heavy.ids] > 0.5].sum()) / setup.n_issued
    mean = float(profiles.counts.sum(dtype=np.int64)) / profiles.n_people
    rows = (
        ("queries of a person, mean", f"{mean:.1f}", f"{PAPER_MEAN_QUERIES}"),
        ("people with more queries than that, as used", f"{heavy.n_people:,}", f"{HEAVY_PEOPLE:,}"),
        ("their queries", f"{setup.n_issued:,}", "–"),
        ("of these classified as sensitive", f"{sensitive:.1f} %", PAPER_SENSITIVE),
        ("of these with a name, place or private word (PPP)", f"{ppp:.1f} %", PAPER_PPP),
    )
    return PaperTable("Section 3", "The log and its heavy users", ("", "ours", "paper"), rows)


def figure_1(runs: Sequence[QueryRun]) -> PaperTable:
    """Tabulate the measures over k."""
    headings = ("k", SIZE, "people with nothing, %", "SPI", "JSD", "PEL, %", "PEL joint, %", "exposed, %")
    forms = {"spi": ".4f", "jsd": ".4f", "pel": ".1f", "pel(estimate=joint)": ".1f", "exposed": ".2f"}
    rows = tuple(
        (
            *(f"{run.k:,}", f"{run.figures['impressions']:.1f}", f"{run.nothing:.1f}"),
            *(format(run.figures[measure], form) for measure, form in forms.items()),
        )
        for run in runs
    )
    notes = (
        "The paper shows this as a picture: JSD grows with k, SPI does too but goes up and down, PEL stays nearly "
        "stable.",
        f"Here, from one k to the next JSD falls {_count_decreases(runs, 'jsd')} times, SPI "
        f"{_count_decreases(runs, 'spi')} and PEL {_count_decreases(runs, 'pel')} of {len(runs) - 1}.",
        "People with nothing released count as one nil document of weight 1; PEL joint is the other reading of PEL.",
    )
    return PaperTable("Figure 1", "Query k-anonymity: what each measure says as k grows", headings, rows, (), notes)


def _count_decreases(runs: Sequence[QueryRun], measure: str) -> int:
    return sum(after.figures[measure] < before.figures[measure] for before, after in pairwise(runs))


def correlations_of(runs: Sequence[QueryRun]) -> list[Correlation]:
    """Return Pearson's correlation of each pair of figures over the values of k."""
    names = {"impressions": "impressions", "jsd": "JSD", "spi": "SPI", "pel": "PEL"}
    columns = {name: np.array([run.figures[measure] for run in runs]) for measure, name in names.items()}
    return correlations({"k": np.array([float(run.k or 0) for run in runs]), **columns})


def correlation_table(runs: Sequence[QueryRun]) -> PaperTable:
    """Compare the correlations to those that the paper quotes."""
    rows = tuple(
        (f"{each.first} – {each.second}", "–" if each.value is None else f"{each.value:.3f}", _in_the_paper(each))
        for each in correlations_of(runs)
    )
    note = (
        f"Over {len(runs)} values of k, unevenly spread; the paper does not say which it took, and the correlation "
        "with k depends on them."
    )
    return PaperTable(
        "Section 3.2", "Pearson's correlations over the values of k", ("", "ours", "paper"), rows, (0, 2), (note,)
    )


def _in_the_paper(each: Correlation) -> str:
    if {each.first, each.second} <= STRONGLY_CORRELATED:
        return f"above {STRONG} (without its sign)"
    return "weak" if "SPI" in (each.first, each.second) and "PEL" not in (each.first, each.second) else "–"


def figure_2(by_size: BySize, draws: Sequence[BySize]) -> tuple[list[PaperFigure], list[PaperTable]]:
    """Draw and tabulate each measure over the size of the release, one line per strategy."""
    strategies = tuple(run.strategy for run in next(iter(by_size.values())))
    figures, tables = [], []
    for measure, (name, axis, form) in SHOWN.items():
        title, caption = f"Figure 2, {name}", f"{axis}: equally many queries released, chosen in four ways"
        points = [Point(size, run.figures[measure], run.strategy) for size, runs in by_size.items() for run in runs]
        texts = {size: [format(run.figures[measure], form) for run in runs] for size, runs in by_size.items()}
        rows = tuple((f"{size:.1f}", *cells) for size, cells in texts.items())
        notes = _notes(by_size, draws, measure)
        figures.append(PaperFigure(title, caption, axis, tuple(points), strategies, SIZE))
        tables.append(PaperTable(title, caption, (SIZE, *strategies), rows, (), notes))
    return figures, tables


def _notes(by_size: BySize, draws: Sequence[BySize], measure: str) -> tuple[str, ...]:
    ks = ", ".join(f"{run.k:,}" for runs in by_size.values() for run in runs if run.k is not None)
    if measure == "exposed":
        return (
            f"Lower is more private. no-PPP exposes less than only-PPP at {_count_sizes([by_size], measure, -1)} of "
            f"{len(by_size)} sizes on average of {len(draws)} draws, and in {_count_sizes(draws, measure, -1)} of "
            f"{len(draws) * len(by_size)} single releases.",
            f"The k of k-anonymity at these sizes: {ks}; of queries with as many people some are left out by lot.",
        )
    if measure == "spi":
        ordered = [sorted(runs, key=lambda run: -run.figures["spi"]) for runs in by_size.values()]
        texts = [" > ".join(run.strategy for run in runs) for runs in ordered]
        found = texts[0] + " throughout" if len(set(texts)) == 1 else "; ".join(texts)
        expected = " > ".join(PAPER_ORDER)
        return (f"Higher is said to be more private. The paper's order is {expected}; here, by size: {found}.",)
    return ("The paper finds PEL affected neither by the size nor by the strategy.",)


def _count_sizes(draws: Sequence[BySize], measure: str, sign: int) -> int:
    """Count the sizes, over all draws, at which no-PPP is above (sign 1) or below (sign −1) only-PPP."""
    releases = [{run.strategy: run.figures[measure] for run in runs} for draw in draws for runs in draw.values()]
    return sum(sign * (figures["no-PPP"] - figures["only-PPP"]) > 0 for figures in releases)


def figure_1_chart(runs: Sequence[QueryRun]) -> PaperFigure:
    """Draw all measures over k, scaled to percent."""
    scaled = {"SPI · 100": ("spi", 100.0), "JSD · 100": ("jsd", 100.0), "impressions": ("impressions", 1.0)}
    values = {
        name: [factor * run.figures[measure] for run in runs]
        for name, (measure, factor) in {**scaled, "PEL": ("pel", 1.0)}.items()
    }
    caption = "SPI, JSD, impressions and PEL under query k-anonymity (the paper's Figure 1)"
    return Lines("k", [float(run.k or 0) for run in runs], values, {}).figure("Figure 1", caption, "measure")


def reading(by_size: BySize, draws: Sequence[BySize]) -> tuple[str, ...]:
    """Return in plain words what the figures mean and what SPI misses."""
    n, higher, lower = len(by_size), _count_sizes([by_size], "spi", 1), _count_sizes([by_size], "exposed", -1)
    return (
        "SPI says how far what is released of a person is from what the person searched for, a query counting the "
        "less the more sensitive it is. That weight is the same whether the query was released or taken out: a query "
        "that is surely sensitive has none, so SPI does not see whether it was published.",
        "So a release of sensitive queries only can have a higher SPI than one of harmless queries only, for what is "
        "missing from it is harmless and counts in full, while what it shows counts for little. SPI compares releases "
        "of equal size, and even there its order depends on which of the two effects is larger.",
        f"Here SPI puts no-PPP above only-PPP at {higher} of {n} sizes, and no-PPP exposes less of what is sensitive "
        f"at {lower} of {n}; of {n * len(draws)} single releases it does in {_count_sizes(draws, 'exposed', -1)}. Read "
        "`exposed`, and `worst` for single people, together with any SPI.",
    )
