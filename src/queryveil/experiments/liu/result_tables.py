"""Information loss and surviving patterns over k, for every method: tables and figures from the runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from queryveil.experiments.liu.grid import KS, LG_BAG, LG_SET, SERIES, SSC, SUPPRESSION, VocabularyRun
from queryveil.experiments.paper import Lines
from queryveil.report.reproduction import PaperFigure, PaperTable

Cells = Mapping[tuple[str, int], VocabularyRun]  # by series and k


@dataclass(frozen=True)
class ReportedMeasure:
    """A measure over k: its name, its value, the format of its figures, and whether it is drawn."""

    name: str
    caption: str
    value: Callable[[VocabularyRun], float]
    form: str
    scale: float | None = None  # to percent; None: it is not a share and not drawn


MEASURES = (
    ReportedMeasure(
        "bLM", "Information lost, bags: 0 is nothing, 1 as bad as suppressing all", lambda run: run.blm, ".3f", 100.0
    ),
    ReportedMeasure("LM", "Information lost as if vocabularies were sets", lambda run: run.lm, ".3f", 100.0),
    ReportedMeasure(
        "Recall", "Frequent patterns that are still there, % of their terms", lambda run: run.recall, ".1f", 1.0
    ),
    ReportedMeasure(
        "sDist", "Distance of frequent patterns from the nearest one left, per term", lambda run: run.sdist, ".2f"
    ),
    ReportedMeasure(
        "Published", "Occurrences that a published one stands for, %", lambda run: run.published, ".1f", 1.0
    ),
    ReportedMeasure("Time", "Seconds of the method alone", lambda run: run.seconds, ".2f"),
)


def by_cell(runs: Sequence[VocabularyRun]) -> Cells:
    """Return the runs by series and k."""
    return {(run.series, run.k): run for run in runs}


def tables(cells: Cells) -> list[PaperTable]:
    """Return a table for each measure."""
    notes = {"bLM": _blm_notes, "LM": _lm_notes, "Recall": _recall_notes, "sDist": _sdist_notes}
    return [
        _lines(measure, cells).table(
            measure.name, measure.caption, tuple(notes[measure.name](cells)) if measure.name in notes else ()
        )
        for measure in MEASURES
    ]


def figures(cells: Cells) -> list[PaperFigure]:
    """Return a chart for each measure that is a share."""
    return [
        _lines(measure, cells).figure(measure.name, f"{measure.caption}.", measure.name, measure.scale)
        for measure in MEASURES
        if measure.scale is not None
    ]


def _lines(measure: ReportedMeasure, cells: Cells) -> Lines:
    values = {series: [measure.value(cells[series, k]) for k in KS] for series in SERIES}
    return Lines.formatted("k", KS, values, measure.form)


def _settings_where(is_worse: Callable[[str, int], bool]) -> str:
    """List the settings of SSC, given as series and k, for which a comparison is lost."""
    return "; ".join(f"k = {k}, ε = {eps}" for k in KS for eps, series in SSC.items() if is_worse(series, k))


def _blm_notes(cells: Cells) -> list[str]:
    """Report where SSC loses less than LG (bag), and where LG (bag) wins."""
    better: list[str] = []
    worse: list[str] = []
    for k in KS:
        eps, ours = min(((eps, cells[name, k].blm) for eps, name in SSC.items()), key=lambda found: found[1])
        theirs = cells[LG_BAG, k].blm
        words = f"k = {k}: {ours:.3f} at ε = {eps} for {theirs:.3f} ({ours / theirs:.2f}×)"
        (better if ours < theirs else worse).append(words)
    notes = [f"SSC with its best ε loses less than LG (bag) at {'; '.join(better)}."] if better else []
    if worse:
        notes.append(f"LG (bag) wins against every ε at {'; '.join(worse)}.")
    wins = _settings_where(lambda series, k: cells[series, k].blm > cells[LG_BAG, k].blm)
    notes.append(f"LG (bag) wins against single ε at: {wins}." if wins else "LG (bag) wins nowhere.")
    return notes


def _lm_notes(cells: Cells) -> list[str]:
    """Report how much LM understates the loss of what is published as sets."""
    shown = "; ".join(f"k = {k}: {cells[LG_SET, k].lm:.3f} for a bLM of {cells[LG_SET, k].blm:.3f}" for k in KS)
    return [f"It flatters: of LG (set) it does not count the occurrences that are gone ({shown})."]


def _recall_notes(cells: Cells) -> list[str]:
    """Report where SSC keeps more patterns than suppression."""
    worse = _settings_where(lambda series, k: cells[series, k].recall <= cells[SUPPRESSION, k].recall)
    return [
        "LG publishes inner nodes, so its Recall is low by construction; judge it by sDist and bLM.",
        f"Suppression keeps as much or more than SSC at: {worse}."
        if worse
        else "SSC keeps more than suppression everywhere.",
    ]


def _sdist_notes(cells: Cells) -> list[str]:
    """Report where LG (bag) stays nearer to the patterns."""
    worse = _settings_where(lambda series, k: cells[series, k].sdist >= cells[LG_BAG, k].sdist)
    return [
        "By the second model, in which a term without a like costs 9 (ε = 8, ω = 9).",
        f"LG (bag) is as near or nearer at: {worse}." if worse else "SSC is nearer than LG (bag) everywhere.",
    ]
