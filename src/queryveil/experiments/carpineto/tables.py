"""The tables and charts of the evaluation, and what they mean in plain words.

What the paper says of its figures, which it shows as pictures only, is from its section 3.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import nan

import numpy as np

from queryveil.experiments.carpineto.runs import HEAVY_PEOPLE, BySize, QueryResults, QueryRun
from queryveil.experiments.paper import (
    BY_CONSTRUCTION,
    NO_VALUE,
    NOT_COMPARABLE,
    JudgedStatement,
    Lines,
    judge,
    read_printed,
)
from queryveil.histories.profiles import Profiles
from queryveil.measures.utility.market import Correlation, correlations
from queryveil.report.reproduction import PaperFigure, PaperTable

COLUMNS = {  # measure → heading, format
    "impressions": ("queries released, %", ".1f"),
    "spi": ("SPI", ".4f"),
    "jsd": ("JSD", ".4f"),
    "pel": ("PEL, %", ".1f"),
    "pel(estimate=joint)": ("PEL joint, %", ".1f"),
    "exposed": ("exposed, %", ".2f"),
}
OF_WORDS = ("spi", "jsd", "pel", "exposed")
PAPER_MEAN_QUERIES = 44  # of AOL's people
PAPER_SENSITIVE, PAPER_PPP = "about half", "about 50 %"  # of the queries of heavy users
PAPER_ORDER = ["no-PPP", "k-anonymity", "only-PPP"]  # by SPI, the most private first
STRONGLY_CORRELATED = {"k", "impressions", "JSD"}  # according to the paper
STRONG, WEAK = 0.85, 0.5  # their correlations in the paper are larger in absolute value; SPI's are weak
STABLE = 0.8  # of the highest: a measure that never falls lower is nearly stable
SETTLED = 0.01  # of SPI: a sample twice as large changes it by less
# of 40,454 definitions, printed by scripts/build_sensitivity.py, and of 400 queries labelled by hand
ACCURACY = "94.1 % of definitions in WordNet, 88.7 % of 400 queries of another log"
STRATEGIES = ("no-PPP", "k-anonymity", "random", "only-PPP")  # of Figure 2
CLAIMS = read_printed(__file__)["claims"]


def sensitive_share(results: QueryResults) -> float:
    """Return how many of the queries are classified as sensitive, in percent."""
    heavy = results.setup.profiles
    is_sensitive = results.setup.sensitivity[heavy.ids] > 0.5
    return 100.0 * float(heavy.counts[is_sensitive].sum()) / results.setup.n_issued


def the_log(profiles: Profiles, results: QueryResults) -> PaperTable:
    """Compare the log to that of the paper."""
    mean = float(profiles.counts.sum(dtype=np.int64)) / profiles.n_people
    rows = (
        ("queries of a person, mean", f"{mean:.1f}", f"{PAPER_MEAN_QUERIES}"),
        ("people with more queries than that, as used", f"{results.setup.profiles.n_people:,}", f"{HEAVY_PEOPLE:,}"),
        ("their queries", f"{results.setup.n_issued:,}", NO_VALUE),
        ("of these classified as sensitive", f"{sensitive_share(results):.1f} %", PAPER_SENSITIVE),
        ("of these with a name, place or private word (PPP)", f"{results.shares['only-PPP']:.1f} %", PAPER_PPP),
    )
    return PaperTable("Section 3", "The log and its heavy users", ("", "ours", "paper"), rows)


def measure_tables(results: QueryResults) -> list[PaperTable]:
    """Tabulate the measures: of growing samples, over k, and over k for people with something released throughout."""
    first, n_people = results.first, results.setup.profiles.n_people
    empty = next((f" From k = {run.k:,} on nothing is released at all." for run in first if run.nothing == 100.0), "")
    k = next(iter(results.samples.values())).k
    return [
        _runs_table(
            ("Samples", f"Ever larger samples of the heavy users, query k-anonymity with k = {k}"),
            ("people", {f"{n:,}": run for n, run in results.samples.items()}),
            "Smaller samples are parts of the larger ones; k counts people of the sample.",
        ),
        _runs_table(
            ("Figure 1", "Query k-anonymity: what each measure says as k grows"),
            ("k", {f"{run.k:,}": run for run in first}),
            f"Here, from one k to the next JSD falls {_count_decreases(first, 'jsd')} times, SPI "
            f"{_count_decreases(first, 'spi')} and PEL {_count_decreases(first, 'pel')} of {len(first) - 1}.",
            "Where nothing is released of a person, one nil document of weight 1 counts in its place: JSD is 1, SPI "
            f"½ plus half the weight of what was searched for; impressions, PEL and exposed are 0.{empty}",
            "PEL joint is the other reading of PEL.",
        ),
        _runs_table(
            ("Figure 1, something released at every k", "Query k-anonymity: people with something released at every k"),
            ("k", {f"{run.k:,}": run for run in results.steady}),
            f"{results.steady[0].people:,} of {n_people:,} people. Who has nothing left would pull PEL down, whatever "
            "it says of others.",
        ),
    ]


def others_table(runs: Sequence[QueryRun]) -> PaperTable:
    """Show the measures of methods that change terms, compared by words."""
    return _runs_table(
        ("Section 4", "Other methods, compared by words"),
        ("method", {run.strategy: run for run in runs}),
        "The paper leaves methods that change documents to exact matching at the word level (section 4): a document is "
        "a word here. A word that the person never typed is a document of its own.",
        "Of a group every member counts as having published all its terms, by their weights. The releases differ in "
        "size, so SPI does not rank them.",
        measures=OF_WORDS,
    )


def _runs_table(
    title: tuple[str, str],
    labelled: tuple[str, Mapping[str, QueryRun]],
    *notes: str,
    measures: Sequence[str] = tuple(COLUMNS),
) -> PaperTable:
    """Tabulate measures of runs: a name and a caption, and what the labels of the runs are."""
    rows = tuple(
        (label, f"{run.nothing:.1f}", *(format(run.figures[measure], COLUMNS[measure][1]) for measure in measures))
        for label, run in labelled[1].items()
    )
    heads = (labelled[0], "people with nothing, %", *(COLUMNS[measure][0] for measure in measures))
    return PaperTable(*title, heads, rows, notes=notes)


def _count_decreases(runs: Sequence[QueryRun], measure: str) -> int:
    return sum(after.figures[measure] < before.figures[measure] for before, after in pairwise(runs))


def correlations_of(runs: Sequence[QueryRun]) -> list[Correlation]:
    """Return Pearson's correlation of each pair of figures over the values of k."""
    names = {"impressions": "impressions", "jsd": "JSD", "spi": "SPI", "pel": "PEL"}
    columns = {name: np.array([run.figures[measure] for run in runs]) for measure, name in names.items()}
    return correlations({"k": np.array([float(run.k or 0) for run in runs]), **columns})


def correlation_table(runs: Sequence[QueryRun]) -> PaperTable:
    """Tabulate the correlations of which the paper speaks."""
    rows = tuple(
        (f"{each.first} – {each.second}", NO_VALUE if each.value is None else f"{each.value:.3f}")
        for each in correlations_of(runs)
    )
    note = (
        f"Over {len(runs)} values of k, unevenly spread; the paper does not say which it took, and the correlation "
        "with k depends on them."
    )
    caption = "Pearson's correlations over the values of k"
    return PaperTable("Section 3.2", caption, ("", "ours"), rows, notes=(note,))


def figure_2(results: QueryResults) -> tuple[list[PaperFigure], list[PaperTable]]:
    """Draw and tabulate each measure over the size of the release, one line per strategy."""
    figures, tables = [], []
    cells = {(run.strategy, size): run.figures for size, runs in results.by_size.items() for run in runs}
    ks = ", ".join(f"{run.k:,}" for runs in results.by_size.values() for run in runs if run.k is not None)
    orders = [" > ".join(_order(runs)) for runs in results.by_size.values()]
    single, n_single = _count_less_exposed(results.draws)
    notes = {
        "spi": (f"Higher is said to be more private; here, by size: {'; '.join(orders)}.",),
        "exposed": (
            f"Lower is more private; means of {len(results.draws)} draws. no-PPP exposes less than only-PPP in "
            f"{single} of {n_single} single releases.",
            f"The k of k-anonymity at these sizes: {ks}; of queries with as many people some are left out by lot.",
        ),
        "pel": (),
    }
    for measure, more in notes.items():
        head, form = COLUMNS[measure]
        title = f"Figure 2, {head.removesuffix(', %')}"
        caption = f"{head}: equally many queries released, chosen in four ways"
        values = {
            name: [cells.get((name, size), {}).get(measure, nan) for size in results.by_size] for name in STRATEGIES
        }
        lines = Lines.formatted("released, %", [*results.by_size], values, form)
        figures.append(lines.figure(title, caption, head))
        tables.append(lines.table(title, caption, (*more, f"{NO_VALUE}: the log has fewer such queries.")))
    return figures, tables


def _order(runs: Sequence[QueryRun]) -> list[str]:
    """Return the strategies by falling SPI."""
    return [run.strategy for run in sorted(runs, key=lambda run: -run.figures["spi"])]


def _count_less_exposed(draws: Sequence[BySize]) -> tuple[int, int]:
    """Count the sizes, over all draws, at which no-PPP exposes less than only-PPP, and all at which there are both."""
    releases = [{run.strategy: run.figures["exposed"] for run in runs} for draw in draws for runs in draw.values()]
    both = [exposed for exposed in releases if {"no-PPP", "only-PPP"} <= exposed.keys()]
    return sum(exposed["no-PPP"] < exposed["only-PPP"] for exposed in both), len(both)


def check_claims(results: QueryResults) -> tuple[JudgedStatement, ...]:
    """Return what the figures say about the paper's statements."""
    first, by_size = results.first, results.by_size
    sensitive, ppp = sensitive_share(results), results.shares["only-PPP"]
    spi = [run.figures["spi"] for run in results.samples.values()]
    change = abs(spi[-1] - spi[-2]) if len(spi) > 1 else 1.0
    values = {frozenset((each.first, each.second)): abs(each.value or 0.0) for each in correlations_of(first)}
    strong = {"–".join(sorted(pair)): value for pair, value in values.items() if pair <= STRONGLY_CORRELATED}
    weak = [value for pair, value in values.items() if "SPI" in pair and "PEL" not in pair]
    ordered = [[name for name in _order(runs) if name in PAPER_ORDER] for runs in by_size.values()]
    complete = [order for order in ordered if len(order) == len(PAPER_ORDER)]
    as_paper, n_falls = complete.count(PAPER_ORDER), _count_decreases(first, "spi")
    (less, n_sizes), lowest = _count_less_exposed([by_size]), min(strong.values())
    return judge(
        CLAIMS,
        {
            "accuracy": (ACCURACY, NOT_COMPARABLE),
            "sensitive": (f"{sensitive:.1f} %", 40 <= sensitive <= 60),
            "sample": (f"SPI changes by {change:.3f} from half of the people to all", change < SETTLED),
            "jsd": ("so, as it depends on nothing but the share that is released", BY_CONSTRUCTION),
            "correlated": (
                ", ".join(f"{pair} {value:.2f}" for pair, value in strong.items()),
                lowest > STRONG,
            ),
            "weak": (", ".join(f"{value:.2f}" for value in weak), max(weak) < WEAK),
            "falls": (f"it goes down {n_falls} of {len(first) - 1} times", n_falls > 0),
            "pel": _stability(first),
            "pel_steady": _stability(results.steady),
            "ppp": (f"{ppp:.1f} %", 40 <= ppp <= 60),
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


READING = (  # in plain words what the figures mean and what SPI misses
    "SPI says how far what is released of a person is from what the person searched for, a query counting the "
    "less the more sensitive it is. That weight is the same whether the query was released or taken out: a query "
    "that is surely sensitive has none, so SPI does not see whether it was published.",
    "So a release of sensitive queries only can have a higher SPI than one of harmless queries only, for what is "
    "missing from it is harmless and counts in full, while what it shows counts for little. SPI compares releases "
    "of equal size, and even there its order depends on which of the two effects is larger. Read `exposed`, and "
    "`worst` for single people, together with any SPI.",
)
