"""Tables 5 to 7, figures 1 and 2, and the run times of section 5.2, from the runs."""

from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import fmean

from queryveil.experiments.burghardt import printed
from queryveil.experiments.burghardt.grid import LOG_SIZE, OWN_TARGET, TARGETS, KmRun
from queryveil.experiments.paper import NO_VALUE, OURS_AND_THEIRS, Lines
from queryveil.report.reproduction import PaperFigure, PaperTable

RANDOM, FIS = "random", "fis"
TOLERANCE = 0.5  # percentage points: a target this close to the best one counts as best
_SHORT = {"distinct terms": "dist. terms", LOG_SIZE: "logsize"}

Cell = tuple[int, int]  # m, k
Grid = Mapping[Cell, Mapping[str, KmRun]]  # → target → run


def grid_of(runs: Sequence[KmRun]) -> Grid:
    """Return the runs by m and k, and by target."""
    grid: dict[Cell, dict[str, KmRun]] = {}
    for run in runs:
        grid.setdefault((run.m, run.k), {})[run.target] = run
    return grid


def figures_and_tables(grid: Grid) -> tuple[tuple[PaperFigure, ...], tuple[PaperTable, ...]]:
    """Return figures 1 and 2, and tables 5 to 7 followed by those of the figures."""
    exchanged = (
        "The paper's users and logsize are likely exchanged: at m = 3, k = 100 its best log size of 18 % would be 28 "
        "points above random's."
    )
    tables = (
        table_5(grid),
        _impact("Table 6", "Impact of generic target functions", grid, printed.GENERIC, printed.TABLE_6, exchanged),
        _impact("Table 7", "Impact of specific target functions", grid, printed.SPECIFIC, printed.TABLE_7),
    )
    generic = {cell: figures[printed.GENERIC.index("users")] for cell, figures in printed.TABLE_6.items()}
    specific = {cell: figures[printed.SPECIFIC.index("clicks")] for cell, figures in printed.TABLE_7.items()}
    note = "those of fis and random as if table 6 had exchanged users and logsize"
    drawn = (
        _figure("Figure 1", LOG_SIZE, "log size", grid, generic, note),
        _figure("Figure 2", "clicks", "estimated clicks", grid, specific, "those of fis and random from table 7"),
    )
    return tuple(figure for figure, _ in drawn), (*tables, *(table for _, table in drawn))


def quality(cell: Mapping[str, KmRun], measure: str) -> float:
    """Return how much the target that aims at a measure keeps of it; if none aims at it, the most of any target."""
    target = OWN_TARGET.get(measure)
    return (best_run(cell, measure) if target is None else cell[target]).kept[measure]


def best_run(cell: Mapping[str, KmRun], measure: str) -> KmRun:
    """Return the run that keeps most of a measure."""
    return max(cell.values(), key=lambda run: run.kept[measure])


def targets_beaten(grid: Grid) -> list[tuple[Cell, str, KmRun]]:
    """Return where another target than the one that aims at a measure keeps more of it: cell, measure and that run."""
    leaders = ((at, measure, best_run(cell, measure)) for at, cell in grid.items() for measure in OWN_TARGET)
    return [
        (at, measure, best)
        for at, measure, best in leaders
        if best.kept[measure] - quality(grid[at], measure) > TOLERANCE
    ]


def differences(cell: Mapping[str, KmRun], measure: str) -> tuple[float, float, float]:
    """Return how far random, the worst other target, and fis fall behind the best target."""
    most = best_run(cell, measure).kept[measure]
    worst = min(run.kept[measure] for target, run in cell.items() if target != RANDOM)
    return most - cell[RANDOM].kept[measure], most - worst, most - cell[FIS].kept[measure]


def table_5(grid: Grid) -> PaperTable:
    """Show how much each target keeps of what it aims at."""
    rows = [
        (*map(str, cell), *map(_both, (quality(grid[cell], name) for name in printed.COLUMNS_5), theirs))
        for cell, theirs in printed.TABLE_5.items()
    ]
    beaten = [
        f"{measure} at m = {m}, k = {k} ({leader.target} keeps {leader.kept[measure]:.1f} %)"
        for (m, k), measure, leader in targets_beaten(grid)
    ]
    notes = (
        "Each figure is that of the target that aims at it; for distinct terms, the best of all targets.",
        f"Another target keeps over {TOLERANCE} points more of: {'; '.join(beaten)}."
        if beaten
        else f"No other target keeps over {TOLERANCE} points more of anything than the target that aims at it.",
    )
    heads = ("m", "k", *(f"{_SHORT.get(name, name)} %" for name in printed.COLUMNS_5))
    caption = f"Quality of the anonymized search log, % of the original ({OURS_AND_THEIRS})"
    return PaperTable("Table 5", caption, heads, tuple(rows), notes=notes)


def _impact(
    name: str,
    caption: str,
    grid: Grid,
    measures: Sequence[str],
    theirs: Mapping[Cell, Sequence[tuple[float, float, float]]],
    *more_notes: str,
) -> PaperTable:
    heads = [f"{_SHORT.get(measure, measure)} {which}" for measure in measures for which in printed.DIFFERENCES]
    rows = []
    for cell, figures in theirs.items():
        ours = chain.from_iterable(differences(grid[cell], measure) for measure in measures)
        rows.append((*map(str, cell), *map(_both, ours, chain.from_iterable(figures))))
    note = "The best result minus: random, the mean of two runs (R); the worst target but random (W); fis."
    notes = (note, *more_notes)
    return PaperTable(name, f"{caption}, points ({OURS_AND_THEIRS})", ("m", "k", *heads), tuple(rows), notes=notes)


def _both(ours: float, theirs: float) -> str:
    """Format our figure and the paper's with as many decimals as the paper has, ours with at least one."""
    return f"{ours:.2f} | {theirs:.2f}" if isinstance(theirs, float) else f"{ours:.1f} | {theirs}"


def _figure(
    name: str, measure: str, what: str, grid: Grid, theirs: Mapping[Cell, tuple[float, float, float]], note: str
) -> tuple[PaperFigure, PaperTable]:
    """Return a figure for m = 3 and its numbers; of the paper's lines, three can be derived from its tables."""
    m, own, caption = 3, OWN_TARGET[measure], f"{what} per target function, m = 3"
    most = {k: printed.TABLE_5[m, k][printed.COLUMNS_5.index(measure)] for k in printed.KS}
    published = {
        own: most,
        FIS: {k: most[k] - theirs[m, k][2] for k in printed.KS},
        RANDOM: {k: most[k] - theirs[m, k][0] for k in printed.KS},
    }
    values = {target: [grid[m, k][target].kept[measure] for k in printed.KS] for target in TARGETS}
    texts = {target: [f"{ours:.1f}" for ours in values[target]] for target in TARGETS}
    for target, figures in published.items():
        texts[target] = [f"{ours} | {figures[k]:.0f}" for k, ours in zip(printed.KS, texts[target], strict=True)]
    lines = Lines("k", printed.KS, values, texts)
    notes = (f"The paper prints only the picture; its figures for {own} are from table 5, {note}.",)
    return (
        lines.figure(name, f"{caption[0].upper()}{caption[1:]}.", f"{measure} kept"),
        lines.table(name, f"{caption}, % ({OURS_AND_THEIRS})", notes, corner="target"),
    )


def times_table(complete: Mapping[tuple[int, int], KmRun], started: KmRun, runs: Sequence[KmRun]) -> PaperTable:
    """Show the run times next to those of section 5.2."""
    rows = [
        (f"({k},{m}), target logsize", f"{_clock(seconds)} (first pass)", f"{complete[k, m].seconds:.2f} s (whole run)")
        for (k, m), seconds in printed.FIRST_PASS.items()
    ]
    share = 100.0 * started.seconds / complete[2, 3].seconds
    rows.append(("(2,3) from the result of (2,2)", _clock(printed.FROM_2_2), f"{started.seconds:.2f} s"))
    rows.append(("… of the time from the log itself", "7 %", f"{share:.0f} %"))
    kept = f"{started.kept[LOG_SIZE]:.1f} % for {complete[2, 3].kept[LOG_SIZE]:.1f} %"
    rows.append(("… log size kept, for that from the log itself", NO_VALUE, kept))
    for m, passes in printed.PASSES.items():
        known = [run.passes for run in runs if run.m == m and run.passes is not None]
        ours = f"{fmean(known):.1f}" if known else NO_VALUE
        rows.append((f"passes on average, m = {m}", str(passes), ours))
        spent = sum(run.seconds for run in runs if run.m == m and run.passes is not None)
        ours = f"{spent / sum(known):.3f} s" if known else NO_VALUE
        rows.append((f"time of a pass on average, m = {m}", _clock(printed.SECONDS_PER_PASS[m]), ours))
    rows.append(("slowest target", "fis", "{} ({:.2f} s on average)".format(*slowest_target(runs))))
    return PaperTable("Section 5.2", "Run times", ("", "paper", "ours"), tuple(rows), words=(0, 1, 2))


def slowest_target(runs: Sequence[KmRun]) -> tuple[str, float]:
    """Return the target whose runs take longest, and their mean seconds."""
    seconds = {target: fmean(run.seconds for run in runs if run.target == target) for target in TARGETS}
    return max(seconds.items(), key=lambda item: item[1])


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02}h:{seconds // 60 % 60:02}m:{seconds % 60:02}s"
