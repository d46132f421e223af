"""The tables and charts of the evaluation, and what they mean in plain words.

What the paper says of its figures, which it shows as pictures only, is from its section 3.
"""

import tomllib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from queryveil.experiments.carpineto.runs import HEAVY_PEOPLE, BySize, QueryRun, QuerySetup
from queryveil.experiments.paper import BY_CONSTRUCTION, NO_VALUE, NOT_COMPARABLE, Finding, Lines, judge
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
STRONG, WEAK = 0.85, 0.5  # their correlations in the paper are larger in absolute value; SPI's are weak
STABLE = 0.8  # of the highest: a measure that never falls lower is nearly stable
SETTLED = 0.01  # of SPI: a sample twice as large changes it by less
ABOUT_HALF = (40.0, 60.0)  # %
# of 40,454 definitions, printed by scripts/build_sensitivity.py, and of 400 queries labelled by hand
ACCURACY = "94.1 % of definitions in WordNet, 88.7 % of 400 queries of another log"
STRATEGIES = ("no-PPP", "k-anonymity", "random", "only-PPP")  # of Figure 2
CLAIMS: dict[str, tuple[str, str]] = {
    name: tuple(claim)
    for name, claim in tomllib.loads(Path(__file__).with_name("printed.toml").read_text("utf-8"))["claims"].items()
}


def the_log(profiles: Profiles, setup: QuerySetup, ppp: float) -> tuple[PaperTable, float]:
    """Compare the log to that of the paper; return also the share (%) of sensitive queries."""
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
    return PaperTable("Section 3", "The log and its heavy users", ("", "ours", "paper"), rows), sensitive


def samples_table(samples: Mapping[int, QueryRun], k: int) -> PaperTable:
    """Show how the measures change as the sample of people grows."""
    note = (
        "Smaller samples are parts of the larger ones; k counts people of the sample, so a query needs more luck there."
    )
    return _runs_table(
        "Samples",
        f"Ever larger samples of the heavy users, query k-anonymity with k = {k}",
        "people",
        {f"{n:,}": run for n, run in samples.items()},
        (note,),
    )


def figure_1_steady(steady: tuple[int, Sequence[QueryRun]], n_people: int) -> PaperTable:
    """Tabulate the measures over k, of people with something released at every k at which anything is."""
    note = (
        f"{steady[0]:,} of {n_people:,} people. Who has nothing left would pull PEL down, whatever it says of others."
    )
    return _runs_table(
        "Figure 1, something released at every k",
        "Query k-anonymity: the people of whom something is released at every k",
        "k",
        {f"{run.k:,}": run for run in steady[1]},
        (note,),
    )


def others_table(runs: Sequence[QueryRun]) -> PaperTable:
    """Show the measures of methods that change terms, compared by words."""
    notes = (
        "The paper leaves methods that change documents to exact matching at the word level (section 4): a document is "
        "a word here. A word that the person never typed is a document of its own.",
        "Of a group every member counts as having published all its terms, by their weights. The releases differ in "
        "size, so SPI does not rank them.",
    )
    rows = {run.strategy: run for run in runs}
    return _runs_table("Section 4", "Other methods, compared by words", "method", rows, notes, of_words=True)


def _runs_table(
    name: str, caption: str, over: str, runs: Mapping[str, QueryRun], notes: tuple[str, ...], *, of_words: bool = False
) -> PaperTable:
    """Tabulate the measures of runs; of words, without those that count queries."""
    queries = {} if of_words else {"impressions": (SIZE, ".1f")}
    shown = {
        **queries,
        **{"spi": ("SPI", ".4f"), "jsd": ("JSD", ".4f"), "pel": ("PEL, %", ".1f")},
        **({} if of_words else {"pel(estimate=joint)": ("PEL joint, %", ".1f")}),
        "exposed": ("exposed, %", ".2f"),
    }
    rows = tuple(
        (label, f"{run.nothing:.1f}", *(format(run.figures[measure], form) for measure, (_, form) in shown.items()))
        for label, run in runs.items()
    )
    heads = (over, "people with nothing, %", *(head for head, _ in shown.values()))
    return PaperTable(name, caption, heads, rows, (0,) if of_words else (), notes)


def figure_1(runs: Sequence[QueryRun]) -> PaperTable:
    """Tabulate the measures over k."""
    empty = next((f" From k = {run.k:,} on nothing is released at all." for run in runs if run.nothing == 100.0), "")
    notes = (
        f"Here, from one k to the next JSD falls {_count_decreases(runs, 'jsd')} times, SPI "
        f"{_count_decreases(runs, 'spi')} and PEL {_count_decreases(runs, 'pel')} of {len(runs) - 1}.",
        "Where nothing is released of a person: one nil document of weight 1 counts in its place, so JSD is 1 and SPI "
        f"½ plus half the weight of what was searched for; impressions, PEL and exposed are 0.{empty}",
        "PEL joint is the other reading of PEL.",
    )
    caption = "Query k-anonymity: what each measure says as k grows"
    return _runs_table("Figure 1", caption, "k", {f"{run.k:,}": run for run in runs}, notes)


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
    figures, tables = [], []
    for measure, (name, axis, form) in SHOWN.items():
        title, caption = f"Figure 2, {name}", f"{axis}: equally many queries released, chosen in four ways"
        points = [Point(size, run.figures[measure], run.strategy) for size, runs in by_size.items() for run in runs]
        texts = {
            size: {run.strategy: format(run.figures[measure], form) for run in runs} for size, runs in by_size.items()
        }
        rows = tuple(
            (f"{size:.1f}", *(cells.get(name, NO_VALUE) for name in STRATEGIES)) for size, cells in texts.items()
        )
        notes = _notes(by_size, draws, measure)
        figures.append(PaperFigure(title, caption, axis, tuple(points), STRATEGIES, SIZE))
        tables.append(PaperTable(title, caption, (SIZE, *STRATEGIES), rows, (), notes))
    return figures, tables


def _notes(by_size: BySize, draws: Sequence[BySize], measure: str) -> tuple[str, ...]:
    ks = ", ".join(f"{run.k:,}" for runs in by_size.values() for run in runs if run.k is not None)
    missing = f"{NO_VALUE}: the log has fewer such queries."
    if measure == "exposed":
        single, n_single = _count_sizes(draws, measure, -1)
        return (
            f"Lower is more private; means of {len(draws)} draws. no-PPP exposes less than only-PPP in {single} of "
            f"{n_single} single releases.",
            f"The k of k-anonymity at these sizes: {ks}; of queries with as many people some are left out by lot.",
            missing,
        )
    if measure == "spi":
        texts = [" > ".join(_order(runs)) for runs in by_size.values()]
        found = texts[0] + " throughout" if len(set(texts)) == 1 else "; ".join(texts)
        return (f"Higher is said to be more private; here, by size: {found}.", missing)
    return (missing,)


def _order(runs: Sequence[QueryRun]) -> list[str]:
    """Return the strategies by falling SPI."""
    return [run.strategy for run in sorted(runs, key=lambda run: -run.figures["spi"])]


def _count_sizes(draws: Sequence[BySize], measure: str, sign: int) -> tuple[int, int]:
    """Count the sizes, over all draws, at which no-PPP is above (sign 1) or below (sign −1) only-PPP, of how many."""
    releases = [{run.strategy: run.figures[measure] for run in runs} for draw in draws for runs in draw.values()]
    both = [figures for figures in releases if {"no-PPP", "only-PPP"} <= figures.keys()]
    return sum(sign * (figures["no-PPP"] - figures["only-PPP"]) > 0 for figures in both), len(both)


def check_claims(
    first: Sequence[QueryRun],
    steady: Sequence[QueryRun],
    by_size: BySize,
    samples: Mapping[int, QueryRun],
    sensitive: float,
    ppp: float,
) -> tuple[Finding, ...]:
    """Return what the figures say about the paper's statements."""
    spi = [run.figures["spi"] for run in samples.values()]
    change = abs(spi[-1] - spi[-2]) if len(spi) > 1 else 1.0
    values = {frozenset((each.first, each.second)): abs(each.value or 0.0) for each in correlations_of(first)}
    strong = {tuple(sorted(pair)): value for pair, value in values.items() if pair <= STRONGLY_CORRELATED}
    weak = [value for pair, value in values.items() if "SPI" in pair and "PEL" not in pair]
    ordered = [[name for name in _order(runs) if name in PAPER_ORDER] for runs in by_size.values()]
    complete = [order for order in ordered if len(order) == len(PAPER_ORDER)]
    as_paper = sum(order == list(PAPER_ORDER) for order in complete)
    less, n_sizes = _count_sizes([by_size], "exposed", -1)
    lowest, n_falls = min(strong.values()), _count_decreases(first, "spi")
    low, high = ABOUT_HALF
    return judge(
        CLAIMS,
        {
            "accuracy": (ACCURACY, NOT_COMPARABLE),
            "sensitive": (f"{sensitive:.1f} %", low <= sensitive <= high),
            "sample": (f"SPI changes by {change:.3f} from half of the people to all", change < SETTLED),
            "jsd": ("so, as it depends on nothing but the share that is released", BY_CONSTRUCTION),
            "correlated": (", ".join(f"{a}–{b} {v:.2f}" for (a, b), v in strong.items()), lowest > STRONG),
            "weak": (", ".join(f"{value:.2f}" for value in weak), max(weak) < WEAK),
            "falls": (f"it goes down {n_falls} of {len(first) - 1} times", n_falls > 0),
            "pel": _stability(first),
            "pel_steady": _stability(steady),
            "ppp": (f"{ppp:.1f} %", low <= ppp <= high),
            "order": (f"at {as_paper} of {len(complete)} sizes", as_paper == len(complete)),
            "exposed": (f"at {less} of {n_sizes} sizes", less == n_sizes),
            "pel_size": _stability([run for runs in by_size.values() for run in runs]),
        },
    )


def _stability(runs: Sequence[QueryRun]) -> tuple[str, bool]:
    """Return the range of PEL over runs, and whether it is narrow."""
    levels = [run.figures["pel"] for run in runs]
    return f"from {min(levels):.1f} to {max(levels):.1f} %", min(levels) >= STABLE * max(levels)


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
    (higher, n), (lower, _) = _count_sizes([by_size], "spi", 1), _count_sizes([by_size], "exposed", -1)
    single, n_single = _count_sizes(draws, "exposed", -1)
    return (
        "SPI says how far what is released of a person is from what the person searched for, a query counting the "
        "less the more sensitive it is. That weight is the same whether the query was released or taken out: a query "
        "that is surely sensitive has none, so SPI does not see whether it was published.",
        "So a release of sensitive queries only can have a higher SPI than one of harmless queries only, for what is "
        "missing from it is harmless and counts in full, while what it shows counts for little. SPI compares releases "
        "of equal size, and even there its order depends on which of the two effects is larger.",
        f"Here SPI puts no-PPP above only-PPP at {higher} of {n} sizes, and no-PPP exposes less of what is sensitive "
        f"at {lower} of {n}; of {n_single} single releases it does in {single}. Read "
        "`exposed`, and `worst` for single people, together with any SPI.",
    )
