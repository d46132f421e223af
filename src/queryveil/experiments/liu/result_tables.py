"""What was lost and what survived, over k, for every method: tables and figures from the runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from queryveil.experiments.liu.grid import LG_BAG, SERIES, SSC, SUPPRESSION, Outcome
from queryveil.experiments.liu.printed import KS
from queryveil.report.charts import Point
from queryveil.report.reproduction import PaperFigure, PaperTable

Cells = Mapping[tuple[str, int], Outcome]  # (series, k) → outcome


@dataclass(frozen=True)
class Shown:
    """One measure over k: how it is called, taken and written, and which way is better."""

    name: str
    caption: str
    value: Callable[[Outcome], float]
    form: str
    is_loss: bool
    share: bool  # of 100 %, so that it can be drawn


MEASURES = (
    Shown(
        "bLM", "Information lost, bags: 0 is nothing, 1 as bad as suppressing all", lambda o: o.blm, ".3f", True, True
    ),
    Shown("LM", "Information lost as if vocabularies were sets", lambda o: o.lm, ".3f", True, True),
    Shown("Recall", "Frequent patterns that are still there, % of their terms", lambda o: o.recall, ".1f", False, True),
    Shown(
        "sDist",
        "Distance of frequent patterns from the nearest one left, per term",
        lambda o: o.sdist,
        ".2f",
        True,
        False,
    ),
    Shown("Published", "Occurrences that a published one stands for, %", lambda o: o.published, ".1f", False, True),
    Shown("Time", "Seconds of the method alone", lambda o: o.seconds, ".2f", True, False),
)


def by_cell(outcomes: Sequence[Outcome]) -> Cells:
    """Return the outcomes by series and k."""
    return {(outcome.series, outcome.k): outcome for outcome in outcomes}


def tables(cells: Cells) -> list[PaperTable]:
    """Return a table for each measure."""
    return [_table(shown, cells) for shown in MEASURES]


def figures(cells: Cells) -> list[PaperFigure]:
    """Return a chart for each measure that is a share."""
    found = []
    for shown in MEASURES:
        if shown.share:
            scale = 1.0 if shown.form == ".1f" else 100.0
            points = tuple(Point(float(k), scale * shown.value(cells[s, k]), s) for s in SERIES for k in KS)
            found.append(PaperFigure(shown.name, f"{shown.caption}.", shown.name, points, SERIES))
    return found


def _table(shown: Shown, cells: Cells) -> PaperTable:
    rows = [(series, *(format(shown.value(cells[series, k]), shown.form) for k in KS)) for series in SERIES]
    notes = {"bLM": _blm_notes, "LM": _lm_notes, "Recall": _recall_notes, "sDist": _sdist_notes}
    made = notes[shown.name](cells) if shown.name in notes else ()
    return PaperTable(shown.name, shown.caption, ("", *(f"k = {k}" for k in KS)), tuple(rows), notes=tuple(made))


def _blm_notes(cells: Cells) -> list[str]:
    """Say where clusters lose less than LG(bag), and where LG(bag) wins."""
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
    wins = [f"k = {k}, ε = {eps}" for k in KS for eps, name in SSC.items() if cells[name, k].blm > cells[LG_BAG, k].blm]
    notes.append(f"LG (bag) wins against single ε at: {'; '.join(wins)}." if wins else "LG (bag) wins nowhere.")
    return notes


def _lm_notes(cells: Cells) -> list[str]:
    """Say how much LM flatters what is published as sets."""
    set_name = "LG (set)"
    shown = "; ".join(f"k = {k}: {cells[set_name, k].lm:.3f} for a bLM of {cells[set_name, k].blm:.3f}" for k in KS)
    return [f"It flatters: of LG (set) it does not count the occurrences that are gone ({shown})."]


def _recall_notes(cells: Cells) -> list[str]:
    """Say where clusters keep more patterns than suppression."""
    notes = ["LG publishes inner nodes, so its Recall is low by construction; judge it by sDist and bLM."]
    worse = [
        f"k = {k}, ε = {eps}"
        for k in KS
        for eps, name in SSC.items()
        if cells[name, k].recall <= cells[SUPPRESSION, k].recall
    ]
    notes.append(
        f"Suppression keeps as much or more than SSC at: {'; '.join(worse)}."
        if worse
        else "SSC keeps more than suppression everywhere."
    )
    return notes


def _sdist_notes(cells: Cells) -> list[str]:
    """Say where LG(bag) stays nearer to the patterns."""
    worse = [
        f"k = {k}, ε = {eps}" for k in KS for eps, name in SSC.items() if cells[name, k].sdist >= cells[LG_BAG, k].sdist
    ]
    return [
        "By the second model, in which a term without a like costs 9 (ε = 8, ω = 9).",
        f"LG (bag) is as near or nearer at: {'; '.join(worse)}."
        if worse
        else "SSC is nearer than LG (bag) everywhere.",
    ]
