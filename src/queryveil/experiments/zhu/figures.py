"""Figures 2 to 6 with tables of their numbers, and a table of all runs."""

from collections.abc import Mapping

from queryveil.experiments.paper import Lines
from queryveil.experiments.zhu.grid import (
    DEFAULTS,
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
    GROUPS,
    GROUPS_WITHOUT_SELF,
    RANDOM_GROUPS,
    RANDOM_WITHOUT_SELF,
    VARIANTS,
)

USUAL: dict[str, Cell] = {settings: (settings, USUAL_P, USUAL_A) for settings in SETTINGS}
_LINES = {  # line of figures 3 and 4 → settings and variant
    f"{GROUPS}, {PAPERS}": (PAPERS, GROUPS),
    f"{GROUPS_WITHOUT_SELF}, {PAPERS}": (PAPERS, GROUPS_WITHOUT_SELF),
    f"{GROUPS}, {DEFAULTS}": (DEFAULTS, GROUPS),
    f"{GROUPS_WITHOUT_SELF}, {DEFAULTS}": (DEFAULTS, GROUPS_WITHOUT_SELF),
    RANDOM_GROUPS: (PAPERS, RANDOM_GROUPS),
    RANDOM_WITHOUT_SELF: (PAPERS, RANDOM_WITHOUT_SELF),
}
PAPER_AP = 78.86  # % at p = 0.4, a = 1: "average precision at top 10 relevant search results"

FigureAndTable = tuple[PaperFigure, PaperTable]


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


def figure_3(grid: GroupGrid) -> FigureAndTable:
    """Show the precision over the augmentation level a."""
    caption = f"Impact of augmentation level on search precision ({AP_TOP}, %), p = {USUAL_P}"
    return _precision(grid, "Figure 3", caption, "a", {float(a): (USUAL_P, a) for a in LEVELS})


def figure_4(grid: GroupGrid) -> FigureAndTable:
    """Show the precision over p."""
    caption = f"Impact of privacy level on search precision ({AP_TOP}, %), a = {USUAL_A}"
    return _precision(grid, "Figure 4", caption, "p", {p: (p, USUAL_A) for p in PS})


def _precision(
    grid: GroupGrid, name: str, caption: str, over: str, cells: Mapping[float, tuple[float, int]]
) -> FigureAndTable:
    """Show the precision over a parameter, given as its values with the p and a of the runs."""
    found = {
        line: [estimate(grid, (settings, p, a), variant, AP_TOP) for p, a in cells.values()]
        for line, (settings, variant) in _LINES.items()
    }
    values = {line: [100 * each.value for each in estimates] for line, estimates in found.items()}
    texts = {line: [format_percent(each) for each in estimates] for line, estimates in found.items()}
    return _figure_and_table(Lines(over, tuple(cells), values, texts), name, caption, "average precision, %")


def figure_5(grid: GroupGrid) -> FigureAndTable:
    """Show the mean group size over p."""
    sizes = {settings: _privacy(grid, settings, GROUP_SIZE) for settings in SETTINGS}
    caption = f"Impact of privacy level on average group size, people, a = {USUAL_A}"
    return _figure_and_table(Lines.formatted("p", PS, sizes, ".1f"), "Figure 5", caption, "people of a group")


def figure_6(grid: GroupGrid) -> FigureAndTable:
    """Show the linking probability over p, and that of the worst term, which the paper does not report."""
    probabilities = {
        f"{what}, {settings}": _privacy(grid, settings, label)
        for what, label in (("mean over terms", LINKING), ("worst term", WORST))
        for settings in SETTINGS
    }
    lines = Lines.formatted("p", PS, {"the bound p": PS, **probabilities}, ".3f")
    caption = f"Actual linking probability vs. given privacy level, a = {USUAL_A}"
    return _figure_and_table(lines, "Figure 6", caption, "probability")


def _privacy(grid: GroupGrid, settings: str, label: str) -> list[float]:
    """Return a privacy figure for every p."""
    return [grid.runs[settings, p, USUAL_A].privacy[label] for p in PS]


def _figure_and_table(lines: Lines, name: str, caption: str, what: str) -> FigureAndTable:
    notes = ("The paper prints only the picture.",)
    return lines.figure(name, f"{caption}.", what), lines.table(name, caption, notes)


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
