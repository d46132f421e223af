"""Figures 2 to 6 with tables of their numbers, a table of all runs, and what they mean in plain words."""

from collections.abc import Mapping

from queryveil.experiments.paper import Lines
from queryveil.experiments.zhu.grid import (
    GROUP_SIZE,
    LEVELS,
    LINKING,
    PAPERS,
    PS,
    SETTINGS,
    USUAL_A,
    USUAL_P,
    WORST,
    Cell,
    GroupGrid,
)
from queryveil.report.reproduction import PaperFigure, PaperTable
from queryveil.search.evaluation.metrics import AP_ALL, AP_TOP, METRICS, Estimate
from queryveil.search.evaluation.variants import (
    EVERYBODY,
    GROUPS,
    GROUPS_WITHOUT_SELF,
    RANDOM_GROUPS,
    RANDOM_WITHOUT_SELF,
    UNPERSONALISED,
    VARIANTS,
)

USUAL: dict[str, Cell] = {settings: (settings, USUAL_P, USUAL_A) for settings in SETTINGS}
_LINES = {  # line of figures 3 and 4 → settings and variant
    **{f"{variant}, {which}": (which, variant) for which in SETTINGS for variant in (GROUPS, GROUPS_WITHOUT_SELF)},
    **{variant: (PAPERS, variant) for variant in (RANDOM_GROUPS, RANDOM_WITHOUT_SELF)},
}
PAPER_AP = 78.86  # % at p = 0.4, a = 1: "average precision at top 10 relevant search results"


def estimate(grid: GroupGrid, cell: Cell, variant: str, metric: str) -> Estimate:
    """Return a metric of a variant in a run with its confidence interval."""
    figures = grid.common[variant] if variant in grid.common else grid.runs[cell].figures[variant]
    return grid.resamples.mean(figures[metric])


def format_percent(found: Estimate) -> str:
    """Format a share and its confidence interval in percent."""
    return f"{100 * found.value:.1f} ({100 * found.low:.1f}–{100 * found.high:.1f})"


def figure_2(grid: GroupGrid) -> list[PaperTable]:
    """Show every metric of every variant at the usual p and a, with the paper's settings and with ours."""
    tables = []
    for settings, cell in USUAL.items():
        rows = [(v, *(format_percent(estimate(grid, cell, v, metric)) for metric in METRICS)) for v in VARIANTS]
        notes = (
            f"{grid.runs[cell].method}; {grid.people:,} people, {grid.queries:,} queries; 95 % intervals over people.",
            f"The paper prints {PAPER_AP} % for the groups, without a formula, and a picture for no personalisation; "
            "the other rows are ours.",
        )
        name = "Figure 2" if settings == PAPERS else f"Figure 2, {settings}"
        caption = f"Search precision using anonymized profiles, %, p = {USUAL_P}, a = {USUAL_A}, {settings}"
        tables.append(PaperTable(name, caption, ("profile that ranks", *METRICS), tuple(rows), notes=notes))
    return tables


def figures_3_to_6(grid: GroupGrid) -> list[tuple[PaperFigure, PaperTable]]:
    """Show precision over the augmentation level a and over p, and group size and linking probability over p.

    The linking probability of the worst term is ours; the paper does not report it.
    """
    by_level = {float(a): (USUAL_P, a) for a in LEVELS}
    by_p = {p: (p, USUAL_A) for p in PS}
    sizes = {settings: _privacy_by_p(grid, settings, GROUP_SIZE) for settings in SETTINGS}
    probabilities = {
        f"{what}, {settings}": _privacy_by_p(grid, settings, label)
        for what, label in (("mean over terms", LINKING), ("worst term", WORST))
        for settings in SETTINGS
    }
    precision = f"search precision ({AP_TOP}, %)"
    captions = {
        f"Impact of augmentation level on {precision}, p = {USUAL_P}": _precision(grid, "a", by_level),
        f"Impact of privacy level on {precision}, a = {USUAL_A}": _precision(grid, "p", by_p),
        f"Impact of privacy level on average group size, people, a = {USUAL_A}": Lines.formatted("p", PS, sizes, ".1f"),
        f"Actual linking probability vs. given privacy level, a = {USUAL_A}": Lines.formatted(
            "p", PS, {"the bound p": PS, **probabilities}, ".3f"
        ),
    }
    axes = ("average precision, %", "average precision, %", "people of a group", "probability")
    notes = ("The paper prints only the picture.",)
    return [
        (lines.figure(f"Figure {n}", f"{caption}.", axis), lines.table(f"Figure {n}", caption, notes))
        for n, ((caption, lines), axis) in enumerate(zip(captions.items(), axes, strict=True), 3)
    ]


def _precision(grid: GroupGrid, over: str, cells: Mapping[float, tuple[float, int]]) -> Lines:
    """Return the precision over a parameter, given as its values with the p and a of the runs."""
    found = {
        line: [estimate(grid, (settings, p, a), variant, AP_TOP) for p, a in cells.values()]
        for line, (settings, variant) in _LINES.items()
    }
    values = {line: [100 * each.value for each in estimates] for line, estimates in found.items()}
    texts = {line: [format_percent(each) for each in estimates] for line, estimates in found.items()}
    return Lines(over, tuple(cells), values, texts)


def _privacy_by_p(grid: GroupGrid, settings: str, label: str) -> list[float]:
    """Return a privacy figure for every p."""
    return [grid.runs[settings, p, USUAL_A].privacy[label] for p in PS]


def all_runs(grid: GroupGrid) -> PaperTable:
    """Show the precision with the own profile left out, for every p and a."""

    def precision(settings: str, a: int, variant: str) -> list[str]:
        return [format_percent(estimate(grid, (settings, p, a), variant, AP_ALL)) for p in PS]

    rows = [(s, f"{a}", *precision(s, a, GROUPS_WITHOUT_SELF)) for s in SETTINGS for a in LEVELS]
    caption = f"{AP_ALL} of the groups with the own profile left out, %"
    random = zip(precision(PAPERS, USUAL_A, RANDOM_WITHOUT_SELF), PS, strict=True)
    listed = ", ".join(f"{text} at p = {p:g}" for text, p in random)
    note = f"Random groups of the same sizes, left out likewise: {listed}."
    heads = ("settings", "a", *(f"p = {p:g}" for p in PS))
    return PaperTable("All runs", caption, heads, tuple(rows), words=(0, 1), notes=(note,))


def interpret(grid: GroupGrid) -> tuple[str, ...]:
    """Return one paragraph per question that the figures answer or leave open."""
    cell = USUAL[PAPERS]
    at_10 = {v: format_percent(estimate(grid, cell, v, AP_TOP)) for v in (GROUPS, RANDOM_GROUPS)}
    ap = {v: format_percent(estimate(grid, cell, v, AP_ALL)) for v in (EVERYBODY, UNPERSONALISED, GROUPS_WITHOUT_SELF)}
    return (
        f"What a member gets: groups rank as one's own profile would by {AP_TOP} of {at_10[GROUPS]} % (the paper: "
        f"{PAPER_AP} %). Random groups of the same sizes reach {at_10[RANDOM_GROUPS]} %. Most of the headline is that "
        "a person is a large part of their own group, not that the group is alike.",
        f"What the others contribute: with the person's own profile left out, the groups reach an {AP_ALL} of "
        f"{_precision_without_self(grid)}. The second figure of each is that of random groups, left out likewise; what "
        "lies above it is what likeness is worth.",
        f"The simple alternatives at p = {USUAL_P}: one group of everybody has an {AP_ALL} of "
        f"{ap[EVERYBODY]} %, no personalisation {ap[UNPERSONALISED]} %, the groups without oneself "
        f"{ap[GROUPS_WITHOUT_SELF]} %. "
        "Few other people may say less about a person than all people together do.",
        f"Augmentation: from a = {LEVELS[0]} to a = {LEVELS[-1]} the left-out {AP_ALL} changes by "
        f"{_change_by_level(grid)}. The paper reads its figure 3 as the higher a the better; an interval that holds 0 "
        "bears neither that nor the opposite out.",
        f"Privacy: the linking probability of figure 6 is a mean over a group's terms. The worst term of a group is "
        f"held by {100 * grid.runs[cell].privacy[WORST]:.0f} % of its members on average, whatever p says; "
        "principle=posterior bounds each term.",
        "What the figures do not mean: nobody judged a document. What counts as relevant is what the person's own "
        "profile ranks first among the engine's results, so a perfect figure would mean no loss against that profile, "
        "not good search; and a query is made of terms of that profile, which favours whatever knows these terms.",
    )


def _precision_without_self(grid: GroupGrid) -> str:
    """Compare the groups to random ones, both with the own profile left out, at the usual and at the smallest p."""
    parts = []
    for p in (USUAL_P, PS[0]):
        ours, random = (
            grid.runs[PAPERS, p, USUAL_A].figures[variant][AP_ALL]
            for variant in (GROUPS_WITHOUT_SELF, RANDOM_WITHOUT_SELF)
        )
        ratio = grid.resamples.ratio(ours, random)
        share = "" if ratio is None else f", {ratio.value:.2f} times as much ({ratio.low:.2f}–{ratio.high:.2f})"
        parts.append(f"{100 * ours.mean():.1f} % against {100 * random.mean():.1f} % at p = {p:g}{share}")
    return "; ".join(parts)


def _change_by_level(grid: GroupGrid) -> str:
    """Return how the precision without the own profile changes from the lowest to the highest augmentation level."""
    parts = []
    for settings in SETTINGS:
        low, high = (
            grid.runs[settings, USUAL_P, a].figures[GROUPS_WITHOUT_SELF][AP_ALL] for a in (LEVELS[0], LEVELS[-1])
        )
        value, least, most = (100 * figure for figure in grid.resamples.mean(high - low))
        parts.append(f"{value:+.1f} points ({least:+.1f} to {most:+.1f}) by {settings}")
    return " and ".join(parts)
