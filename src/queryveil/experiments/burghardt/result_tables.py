"""Tables 5 to 7, figures 1 and 2, and the run times of section 5.2, from the runs."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from queryveil.experiments.burghardt import printed
from queryveil.experiments.burghardt.grid import LOG_SIZE, OWN_TARGET, TARGETS, KmRun, TimedRuns
from queryveil.experiments.burghardt.input_tables import NO_VALUE, OURS_AND_THEIRS
from queryveil.experiments.paper import Lines
from queryveil.report.reproduction import PaperFigure, PaperTable

RANDOM, FIS = "random", "fis"
TOLERANCE = 0.5  # percentage points: a target this close to the best one counts as best
_SHORT = {"distinct terms": "dist. terms", LOG_SIZE: "logsize"}

Cell = tuple[int, int]  # m, k
Grid = Mapping[Cell, Mapping[str, KmRun]]  # → target → run


def by_cell(runs: Sequence[KmRun]) -> Grid:
    """Return the runs by m and k, then by target."""
    cells: dict[Cell, dict[str, KmRun]] = {}
    for run in runs:
        cells.setdefault((run.m, run.k), {})[run.target] = run
    return cells


def quality(cell: Mapping[str, KmRun], measure: str) -> float:
    """Return how much the target that aims at a measure keeps of it; if none aims at it, the most of any target."""
    target = OWN_TARGET.get(measure)
    return best(cell, measure) if target is None else cell[target].kept[measure]


def best(cell: Mapping[str, KmRun], measure: str) -> float:
    """Return how much the best target keeps of a measure."""
    return max(run.kept[measure] for run in cell.values())


def differences(cell: Mapping[str, KmRun], measure: str) -> tuple[float, float, float]:
    """Return how far random, the worst other target, and fis fall behind the best target."""
    most = best(cell, measure)
    worst = min(run.kept[measure] for target, run in cell.items() if target != RANDOM)
    return most - cell[RANDOM].kept[measure], most - worst, most - cell[FIS].kept[measure]


def table_5(grid: Grid) -> PaperTable:
    """Show how much each target keeps of what it aims at."""
    rows = [
        (*_cell_heads(cell), *map(_both, (quality(grid[cell], name) for name in printed.COLUMNS_5), theirs))
        for cell, theirs in printed.TABLE_5.items()
    ]
    beaten = [
        f"{measure} at m = {m}, k = {k} ({_leader(cell, measure)} keeps {best(cell, measure):.1f} %)"
        for (m, k), cell in grid.items()
        for measure in OWN_TARGET
        if best(cell, measure) - quality(cell, measure) > TOLERANCE
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


def _leader(cell: Mapping[str, KmRun], measure: str) -> str:
    return max(cell.values(), key=lambda run: run.kept[measure]).target


def table_6(grid: Grid) -> PaperTable:
    """Show how the choice of target affects the generic measures."""
    note = (
        "The paper's users and logsize are likely exchanged: at m = 3, k = 100 its best log size of 18 % would be 28 "
        "points above random's."
    )
    return _impact("Table 6", "Impact of generic target functions", grid, printed.GENERIC, printed.TABLE_6, note)


def table_7(grid: Grid) -> PaperTable:
    """Show how the choice of target affects the advertising measures."""
    return _impact("Table 7", "Impact of specific target functions", grid, printed.SPECIFIC, printed.TABLE_7)


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
        ours = [difference for measure in measures for difference in differences(grid[cell], measure)]
        flat = [figure for triple in figures for figure in triple]
        rows.append((*_cell_heads(cell), *map(_both, ours, flat)))
    notes = (
        "The best result minus: random, the mean of two runs (R); the worst target but random (W); fis.",
        *more_notes,
    )
    return PaperTable(name, f"{caption}, points ({OURS_AND_THEIRS})", ("m", "k", *heads), tuple(rows), notes=notes)


def _cell_heads(cell: Cell) -> tuple[str, str]:
    return str(cell[0]), str(cell[1])


def _both(ours: float, theirs: float) -> str:
    """Format our figure and the paper's with as many decimals as the paper has, ours with at least one."""
    decimals = 2 if isinstance(theirs, float) else 1
    return f"{ours:.{decimals}f} | {theirs:.{decimals if decimals == 2 else 0}f}"


def figure_1(grid: Grid) -> tuple[PaperFigure, PaperTable]:
    """Show the log size that each target leaves, for m = 3."""
    exchanged = {cell: figures[printed.GENERIC.index("users")] for cell, figures in printed.TABLE_6.items()}
    note = "those of fis and random as if table 6 had exchanged users and logsize"
    return _figure("Figure 1", LOG_SIZE, "log size per target function, m = 3", grid, exchanged, note)


def figure_2(grid: Grid) -> tuple[PaperFigure, PaperTable]:
    """Show the clicks that each target leaves, for m = 3."""
    column = printed.SPECIFIC.index("clicks")
    theirs = {cell: figures[column] for cell, figures in printed.TABLE_7.items()}
    caption = "estimated clicks per target function, m = 3"
    return _figure("Figure 2", "clicks", caption, grid, theirs, "those of fis and random from table 7")


def _figure(
    name: str, measure: str, caption: str, grid: Grid, theirs: Mapping[Cell, tuple[float, float, float]], note: str
) -> tuple[PaperFigure, PaperTable]:
    """Return a figure and its numbers; of the paper's lines, three targets can be derived from its tables."""
    m, own = 3, OWN_TARGET[measure]
    most = {k: printed.TABLE_5[m, k][printed.COLUMNS_5.index(measure)] for k in printed.KS}
    published = {
        own: most,
        FIS: {k: most[k] - theirs[m, k][2] for k in printed.KS},
        RANDOM: {k: most[k] - theirs[m, k][0] for k in printed.KS},
    }
    values = {target: [grid[m, k][target].kept[measure] for k in printed.KS] for target in TARGETS}
    texts = {
        target: [
            f"{ours:.1f} | {published[target][k]:.0f}" if target in published else f"{ours:.1f}"
            for k, ours in zip(printed.KS, values[target], strict=True)
        ]
        for target in TARGETS
    }
    lines = Lines("k", printed.KS, values, texts)
    notes = (f"The paper prints only the picture; its figures for {own} are from table 5, {note}.",)
    return (
        lines.figure(name, f"{caption[0].upper()}{caption[1:]}.", f"{measure} kept"),
        lines.table(name, f"{caption}, % ({OURS_AND_THEIRS})", notes, corner="target"),
    )


def times_table(times: TimedRuns, runs: Sequence[KmRun]) -> PaperTable:
    """Show the run times next to those of section 5.2."""
    complete = times.complete
    rows = [
        (f"({k},{m}), target logsize", f"{_clock(seconds)} (first pass)", f"{complete[k, m].seconds:.2f} s (whole run)")
        for (k, m), seconds in printed.FIRST_PASS.items()
    ]
    share = 100.0 * times.started.seconds / complete[2, 3].seconds
    rows.append(("(2,3) from the result of (2,2)", _clock(printed.FROM_2_2), f"{times.started.seconds:.2f} s"))
    rows.append(("… of the time from the log itself", "7 %", f"{share:.0f} %"))
    kept = f"{times.started.kept[LOG_SIZE]:.1f} % for {complete[2, 3].kept[LOG_SIZE]:.1f} %"
    rows.append(("… log size kept, for that from the log itself", NO_VALUE, kept))
    for m, passes in printed.PASSES.items():
        known = [run.passes for run in runs if run.m == m and run.passes is not None]
        ours = f"{fmean(known):.1f}" if known else NO_VALUE
        rows.append((f"passes on average, m = {m}", str(passes), ours))
    slowest = {target: fmean(run.seconds for run in runs if run.target == target) for target in TARGETS}
    target = max(slowest, key=lambda name: slowest[name])
    rows.append(("slowest target", "fis", f"{target} ({slowest[target]:.2f} s on average)"))
    return PaperTable("Section 5.2", "Run times", ("", "paper", "ours"), tuple(rows), words=(0, 1, 2))


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02}h:{seconds // 60 % 60:02}m:{seconds % 60:02}s"
