"""Figures 2 to 6 from the runs, each with its numbers, and all runs in a table."""

from collections.abc import Callable, Sequence

from queryveil.experiments.zhu import printed
from queryveil.experiments.zhu.grid import GROUP_SIZE, LINKING, OURS_SET, PAPERS, SETTINGS, WORST, Cell, Grid
from queryveil.report.charts import Point
from queryveil.report.reproduction import PaperFigure, PaperTable
from queryveil.search.evaluation.metrics import AP_ALL, AP_TOP, METRICS, Estimate
from queryveil.search.evaluation.variants import (
    EVERYBODY,
    GROUPS,
    GROUPS_WITHOUT_SELF,
    RANDOM_GROUPS,
    RANDOM_WITHOUT_SELF,
    UNPERSONALISED,
)

USUAL: dict[str, Cell] = {settings: (settings, printed.USUAL_P, printed.USUAL_A) for settings in SETTINGS}
_SHOWN = {  # line of figures 3 and 4 → settings and variant
    f"{GROUPS}, {PAPERS}": (PAPERS, GROUPS),
    f"{GROUPS_WITHOUT_SELF}, {PAPERS}": (PAPERS, GROUPS_WITHOUT_SELF),
    f"{GROUPS}, {OURS_SET}": (OURS_SET, GROUPS),
    f"{GROUPS_WITHOUT_SELF}, {OURS_SET}": (OURS_SET, GROUPS_WITHOUT_SELF),
    RANDOM_GROUPS: (PAPERS, RANDOM_GROUPS),
    RANDOM_WITHOUT_SELF: (PAPERS, RANDOM_WITHOUT_SELF),
}
_BOUND = "the bound p"
_PICTURE = "The paper prints only the picture."

Drawn = tuple[PaperFigure, PaperTable]


def estimate(grid: Grid, cell: Cell, variant: str, metric: str) -> Estimate:
    """Return a metric of a variant of a run with its interval."""
    figures = grid.common[variant] if variant in grid.common else grid.runs[cell].figures[variant]
    return grid.resamples.mean(figures[metric])


def written(found: Estimate) -> str:
    """Write a share with its interval in percent."""
    return f"{100 * found.value:.1f} ({100 * found.low:.1f}–{100 * found.high:.1f})"


def figure_2(grid: Grid) -> list[PaperTable]:
    """Show every metric of every variant at the usual p and a, by the paper's settings and by ours."""
    variants = (GROUPS, RANDOM_GROUPS, EVERYBODY, UNPERSONALISED, GROUPS_WITHOUT_SELF, RANDOM_WITHOUT_SELF)
    tables = []
    for settings, cell in USUAL.items():
        rows = [(v, *(written(estimate(grid, cell, v, metric)) for metric in METRICS)) for v in variants]
        notes = (
            f"{grid.runs[cell].method}; {grid.people:,} people, {grid.queries:,} queries; 95 % intervals over people.",
            f"The paper prints {printed.AP} % for the groups, without a formula, and a picture for no personalisation; "
            "the other rows are ours.",
        )
        name = "Figure 2" if settings == PAPERS else f"Figure 2, {settings}"
        caption = (
            f"Search precision using anonymized profiles, %, p = {printed.USUAL_P}, a = {printed.USUAL_A}, {settings}"
        )
        tables.append(PaperTable(name, caption, ("profile that ranks", *METRICS), tuple(rows), notes=notes))
    return tables


def figure_3(grid: Grid) -> Drawn:
    """Show the precision over the level of augmentation."""
    caption = f"Impact of augmentation level on search precision ({AP_TOP}, %), p = {printed.USUAL_P}"
    cells = {float(a): {settings: (settings, printed.USUAL_P, a) for settings in SETTINGS} for a in printed.LEVELS}
    return _precision(grid, "Figure 3", caption, "a", cells)


def figure_4(grid: Grid) -> Drawn:
    """Show the precision over p."""
    caption = f"Impact of privacy level on search precision ({AP_TOP}, %), a = {printed.USUAL_A}"
    cells = {p: {settings: (settings, p, printed.USUAL_A) for settings in SETTINGS} for p in printed.PS}
    return _precision(grid, "Figure 4", caption, "p", cells)


def _precision(grid: Grid, name: str, caption: str, over: str, cells: dict[float, dict[str, Cell]]) -> Drawn:
    def figure(x: float, line: str) -> Estimate:
        settings, variant = _SHOWN[line]
        return estimate(grid, cells[x][settings], variant, AP_TOP)

    return _drawn(
        name,
        caption,
        over,
        "average precision, %",
        tuple(cells),
        tuple(_SHOWN),
        lambda x, line: 100 * figure(x, line).value,
        lambda x, line: written(figure(x, line)),
    )


def figure_5(grid: Grid) -> Drawn:
    """Show the mean group size over p."""

    def size(p: float, line: str) -> float:
        return grid.runs[line, p, printed.USUAL_A].privacy[GROUP_SIZE]

    caption = f"Impact of privacy level on average group size, people, a = {printed.USUAL_A}"
    return _drawn("Figure 5", caption, "p", "people of a group", printed.PS, tuple(SETTINGS), size, _with(size, 1))


def figure_6(grid: Grid) -> Drawn:
    """Show the linking probability over p, with that of the worst term, which the paper does not look at."""
    lines: dict[str, tuple[str, str]] = {
        f"{what}, {settings}": (settings, label)
        for what, label in (("mean over terms", LINKING), ("worst term", WORST))
        for settings in SETTINGS
    }

    def probability(p: float, line: str) -> float:
        if line == _BOUND:
            return p
        settings, label = lines[line]
        return grid.runs[settings, p, printed.USUAL_A].privacy[label]

    caption = f"Actual linking probability vs. given privacy level, a = {printed.USUAL_A}"
    return _drawn(
        "Figure 6", caption, "p", "probability", printed.PS, (_BOUND, *lines), probability, _with(probability, 3)
    )


def _with(value: Callable[[float, str], float], decimals: int) -> Callable[[float, str], str]:
    return lambda x, line: f"{value(x, line):.{decimals}f}"


def _drawn(
    name: str,
    caption: str,
    over: str,
    what: str,
    xs: Sequence[float],
    lines: tuple[str, ...],
    value: Callable[[float, str], float],
    text: Callable[[float, str], str],
) -> Drawn:
    """Return a figure of lines and the table of its numbers."""
    points = tuple(Point(x, value(x, line), line) for line in lines for x in xs)
    rows = tuple((line, *(text(x, line) for x in xs)) for line in lines)
    heads = ("", *(f"{over} = {x:g}" for x in xs))
    return (
        PaperFigure(name, f"{caption}.", what, points, lines, over=over),
        PaperTable(name, caption, heads, rows, notes=(_PICTURE,)),
    )


def all_runs(grid: Grid) -> PaperTable:
    """Show the left-out precision of every p and a."""
    rows = [
        (
            settings,
            f"{a}",
            *(written(estimate(grid, (settings, p, a), GROUPS_WITHOUT_SELF, AP_ALL)) for p in printed.PS),
        )
        for settings in SETTINGS
        for a in printed.LEVELS
    ]
    caption = f"{AP_ALL} of the groups with the own profile left out, %"
    note = f"Random groups of the same sizes, left out likewise: {_random(grid)}."
    heads = ("settings", "a", *(f"p = {p:g}" for p in printed.PS))
    return PaperTable("All runs", caption, heads, tuple(rows), words=(0, 1), notes=(note,))


def _random(grid: Grid) -> str:
    cells = {p: (PAPERS, p, printed.USUAL_A) for p in printed.PS}
    return ", ".join(
        f"{written(estimate(grid, cell, RANDOM_WITHOUT_SELF, AP_ALL))} at p = {p:g}" for p, cell in cells.items()
    )
