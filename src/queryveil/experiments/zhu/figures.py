"""Figures 2 to 6 with tables of their numbers, a table of all runs, and what they mean in plain words."""

from collections.abc import Mapping
from math import isnan, nan
from operator import le

from queryveil.core.rows import FloatArray
from queryveil.experiments.paper import BY_CONSTRUCTION, NO_VALUE, NOT_COMPARABLE, JudgedStatement, Lines, judge
from queryveil.experiments.zhu.examples import CLAIMS, SIMILARITY, java_path, similarity
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
    VARIANTS,
)

USUAL: dict[str, Cell] = {settings: (settings, USUAL_P, USUAL_A) for settings in SETTINGS}
_LINES = {  # line of figures 3 and 4 → settings and variant
    **{f"{variant}, {which}": (which, variant) for which in SETTINGS for variant in (GROUPS, GROUPS_WITHOUT_SELF)},
    **{variant: (PAPERS, variant) for variant in (RANDOM_GROUPS, RANDOM_WITHOUT_SELF)},
}
PAPER_AP = 78.86  # % at p = 0.4, a = 1: "average precision at top 10 relevant search results"
JUDGED_BY = (AP_TOP, AP_ALL)  # the paper's wording fits either, and they need not agree
_COMPARED = {  # claim → the rankings of which the first is said to be better: p, a, variant
    "improved": ((USUAL_P, USUAL_A, GROUPS), (USUAL_P, USUAL_A, UNPERSONALISED)),
    "alike": ((USUAL_P, USUAL_A, GROUPS), (USUAL_P, USUAL_A, RANDOM_GROUPS)),
    "others": ((USUAL_P, USUAL_A, GROUPS_WITHOUT_SELF), (USUAL_P, USUAL_A, UNPERSONALISED)),
    "others_alike": ((USUAL_P, USUAL_A, GROUPS_WITHOUT_SELF), (USUAL_P, USUAL_A, RANDOM_WITHOUT_SELF)),
    "level": ((USUAL_P, LEVELS[-1], GROUPS), (USUAL_P, LEVELS[0], GROUPS)),
    "privacy": ((PS[-1], USUAL_A, GROUPS), (PS[0], USUAL_A, GROUPS)),
}


def values_of(grid: GroupGrid, cell: Cell, variant: str, metric: str) -> FloatArray | None:
    """Return a metric of a variant in a run for every query; None if the run has no legal group."""
    figures = {**grid.common, **grid.runs[cell].figures}
    return figures[variant][metric] if variant in figures else None


def estimate(grid: GroupGrid, cell: Cell, variant: str, metric: str) -> Estimate:
    """Return a metric of a variant in a run with its confidence interval."""
    values = values_of(grid, cell, variant, metric)
    return Estimate(nan, nan, nan) if values is None else grid.resamples.mean(values)


def check_claims(grid: GroupGrid) -> tuple[JudgedStatement, ...]:
    """Return what the examples and the runs with the paper's settings say about the paper's statements."""
    claims: dict[str, tuple[str, str]] = {}
    paths = {person: java_path(person)[1][0] for person in ("UP_3", "UP_4")}
    for name, (where, statement) in CLAIMS.items():
        metrics = JUDGED_BY if name in _COMPARED else ("",)
        claims |= {f"{name} {metric}".strip(): (where, statement.format(metric=metric)) for metric in metrics}
    at_10 = {v: format_percent(estimate(grid, USUAL[PAPERS], v, AP_TOP)) for v in (GROUPS, RANDOM_GROUPS)}
    sizes, means, worst = (_privacy_by_p(grid, PAPERS, label) for label in (GROUP_SIZE, LINKING, WORST))
    similarities = {a: round(similarity(a), 3) for a in SIMILARITY}
    return judge(
        claims,
        {
            "java": (", ".join(f"{p}: {name}" for p, name in paths.items()), len(set(paths.values())) == 2),
            "table_3": (f"{similarities[0]}", similarities[0] == SIMILARITY[0]),
            "table_4": (f"{similarities[1]}", similarities[1] == SIMILARITY[1]),
            "table_5": ("so, with p and the first seed chosen for it", BY_CONSTRUCTION),
            "headline": (f"{at_10[GROUPS]} %; random groups {at_10[RANDOM_GROUPS]} %", NOT_COMPARABLE),
            **{f"{name} {m}": _compare(grid, *_COMPARED[name], m) for name in _COMPARED for m in JUDGED_BY},
            "size": (f"{sizes[0]:.1f} at p = {PS[0]} to {sizes[-1]:.1f} at p = {PS[-1]}", BY_CONSTRUCTION),
            "linking": (_list_by_p(means), BY_CONSTRUCTION),
            "worst": (f"the worst term of a group: {_list_by_p(worst)}", all(map(le, worst, PS))),
        },
    )


def _compare(
    grid: GroupGrid, better: tuple[float, int, str], other: tuple[float, int, str], metric: str
) -> tuple[str, bool | str]:
    """Return by how much one ranking is better than another, and whether that is beyond chance."""
    ours, theirs = (values_of(grid, (PAPERS, p, a), variant, metric) for p, a, variant in (better, other))
    if ours is None or theirs is None:
        return "these people make no legal group", NOT_COMPARABLE
    value, low, high = (100 * figure for figure in grid.resamples.mean(ours - theirs))
    means = f"{100 * ours.mean():.1f} against {100 * theirs.mean():.1f}"
    return f"{means}: {value:+.1f} points ({low:+.1f} to {high:+.1f})", low > 0


def _list_by_p(figures: list[float]) -> str:
    return ", ".join(f"{figure:.3f} at p = {p:g}" for figure, p in zip(figures, PS, strict=True))


def format_percent(found: Estimate) -> str:
    """Format a share and its confidence interval in percent."""
    return NO_VALUE if isnan(found.value) else f"{100 * found.value:.1f} ({100 * found.low:.1f}–{100 * found.high:.1f})"


def figure_2(grid: GroupGrid) -> tuple[PaperFigure, list[PaperTable]]:
    """Show every metric of every variant at the usual p and a, with the paper's settings and with ours."""
    bars = [Point(0.0, 100 * estimate(grid, USUAL[PAPERS], v, AP_TOP).value, v) for v in VARIANTS]
    caption = f"Search precision using anonymized profiles ({AP_TOP}), {PAPERS}."
    figure = PaperFigure("Figure 2", caption, AP_TOP, tuple(bars), VARIANTS, over="")
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
    return figure, tables


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
    return [grid.runs[settings, p, USUAL_A].privacy.get(label, nan) for p in PS]


def all_runs(grid: GroupGrid) -> PaperTable:
    """Show the precision with the own profile left out, for every p and a."""

    def precision(settings: str, a: int, variant: str) -> list[str]:
        return [format_percent(estimate(grid, (settings, p, a), variant, AP_ALL)) for p in PS]

    rows = [(s, f"{a}", *precision(s, a, GROUPS_WITHOUT_SELF)) for s in SETTINGS for a in LEVELS]
    caption = f"{AP_ALL} of the groups with the own profile left out, %"
    random = zip(precision(PAPERS, USUAL_A, RANDOM_WITHOUT_SELF), PS, strict=True)
    listed = ", ".join(f"{text} at p = {p:g}" for text, p in random)
    notes = [f"Random groups of the same sizes, left out likewise: {listed}."]
    illegal = "; ".join(
        f"p = {p:g}, a = {a}" for s, p, a in grid.runs if s == DEFAULTS and not grid.runs[s, p, a].groups
    )
    if illegal:
        notes.append(f"By {DEFAULTS} these people make no legal group, so there is nothing to show, at {illegal}.")
    heads = ("settings", "a", *(f"p = {p:g}" for p in PS))
    return PaperTable("All runs", caption, heads, tuple(rows), words=(0, 1), notes=tuple(notes))


def interpret(grid: GroupGrid) -> tuple[str, ...]:
    """Return one paragraph per question that the figures answer or leave open."""
    simple = {
        metric: ", ".join(
            f"{variant} {format_percent(estimate(grid, USUAL[PAPERS], variant, metric))} %"
            for variant in (GROUPS, GROUPS_WITHOUT_SELF, EVERYBODY, UNPERSONALISED)
        )
        for metric in JUDGED_BY
    }
    return (
        f"Which metric: the headline of {PAPER_AP} % has no formula. {AP_TOP} looks at ten results alone, {AP_ALL} at "
        f"all 30 relevant ones, and they can disagree about whether groups beat no personalisation. By {AP_TOP}: "
        f"{simple[AP_TOP]}. By {AP_ALL}: {simple[AP_ALL]}. Each statement above is judged by both.",
        "What a member gets is mostly that a person is a large part of their own group, not that the group is alike: "
        "compare the groups to random ones, and both to the same with the person's own profile left out.",
        "Privacy: the linking probability of figure 6 is a mean over a group's terms. The worst term of a group is "
        f"held by {100 * _privacy_by_p(grid, PAPERS, WORST)[-1]:.0f} % of its members on average, whatever p says; "
        "principle=posterior bounds each term.",
        "What the figures do not mean: nobody judged a document. What counts as relevant is what the person's own "
        "profile ranks first among the engine's results, so a perfect figure would mean no loss against that profile, "
        "not good search; and a query is made of terms of that profile, which favours whatever knows these terms.",
    )
