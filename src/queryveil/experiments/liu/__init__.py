"""The evaluation of Liu and Wang 2010: the running example, Table I, and SSC against LG and suppression over k.

The paper prints no results of its experiments; they are in a technical report that is not public. So the runs it names
are made on another log: bLM, Recall and sDist for k = 2, 5, 10, 20 and ε = 4, 6, 8. LM is shown next to bLM to
demonstrate that it understates the loss. Where we read the paper differently, and why:
docs/explanation/papers/liu-wang.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import NamedTuple

from queryveil.core.errors import InputError
from queryveil.experiments.liu import examples, grid
from queryveil.experiments.paper import Lines, Paper, PaperEvaluation, PaperInputs, PaperOptions
from queryveil.report.reproduction import PaperFigure, PaperTable
from queryveil.semantics.network import wordnet

CITATION = "Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010"
PATTERNS = 1_000  # most frequent patterns that are compared

Cells = Mapping[tuple[str, int], grid.VocabularyRun]  # by series and k


def evaluate(inputs: PaperInputs) -> PaperEvaluation:
    """Compute the paper's example, Table I and its comparison on a log; every run is verified before it is reported."""
    profiles, rng, progress, largest = inputs.profiles, inputs.rng, inputs.progress, max(grid.KS)
    if profiles.n_people < largest:
        raise InputError(
            f"the log has {profiles.n_people:,} people, but the paper's k goes up to {largest}; give a log of at least "
            f"{largest}."
        )
    setup = grid.VocabularySetup(profiles, wordnet(), PATTERNS, rng)
    example = examples.example(rng)
    for method in grid.methods(examples.EXAMPLE_K).values():
        grid.publish(example, method)  # so that kernels are compiled before times are taken
    first = (examples.figures_1_and_2(example), examples.figure_3(example), examples.table_1(setup, progress))
    runs = grid.run_grid(setup, progress)
    cells = {(run.series, run.k): run for run in runs}
    figures: list[PaperFigure] = []
    tables: list[PaperTable] = []
    for name, caption, field, form, scale, notes in MEASURES:
        values = {series: [getattr(cells[series, k], field) for k in grid.KS] for series in grid.SERIES}
        lines = Lines.formatted("k", grid.KS, values, form)
        tables.append(lines.table(name, caption, tuple(notes(cells))))
        if scale is not None:
            figures.append(lines.figure(name, f"{caption}.", name, scale))
    record = {"runs": [asdict(run) for run in runs], "patterns": PATTERNS}
    return PaperEvaluation((*first, *tables), tuple(figures), record)


def _settings_where(is_worse: Callable[[str, int], bool]) -> str:
    """List the settings of SSC, given as series and k, for which a comparison is lost."""
    return "; ".join(f"k = {k}, ε = {eps}" for k in grid.KS for eps, series in grid.SSC.items() if is_worse(series, k))


def _blm_notes(cells: Cells) -> list[str]:
    """Report where SSC loses less than LG (bag), and where LG (bag) wins."""
    better: list[str] = []
    worse: list[str] = []
    for k in grid.KS:
        eps, ours = min(((eps, cells[name, k].blm) for eps, name in grid.SSC.items()), key=lambda found: found[1])
        theirs = cells[grid.LG_BAG, k].blm
        words = f"k = {k}: {ours:.3f} at ε = {eps} for {theirs:.3f} ({ours / theirs:.2f}×)"
        (better if ours < theirs else worse).append(words)
    notes = [f"SSC with its best ε loses less than LG (bag) at {'; '.join(better)}."] if better else []
    if worse:
        notes.append(f"LG (bag) wins against every ε at {'; '.join(worse)}.")
    wins = _settings_where(lambda series, k: cells[series, k].blm > cells[grid.LG_BAG, k].blm)
    notes.append(f"LG (bag) wins against single ε at: {wins}." if wins else "LG (bag) wins nowhere.")
    return notes


def _lm_notes(cells: Cells) -> list[str]:
    """Report how much LM understates the loss of what is published as sets."""
    sets = [cells[grid.LG_SET, k] for k in grid.KS]
    shown = "; ".join(f"k = {run.k}: {run.lm:.3f} for a bLM of {run.blm:.3f}" for run in sets)
    return [f"It flatters: of LG (set) it does not count the occurrences that are gone ({shown})."]


def _recall_notes(cells: Cells) -> list[str]:
    """Report where SSC keeps more patterns than suppression."""
    worse = _settings_where(lambda series, k: cells[series, k].recall <= cells[grid.SUPPRESSION, k].recall)
    return [
        "LG publishes inner nodes, so its Recall is low by construction; judge it by sDist and bLM.",
        f"Suppression keeps as much or more than SSC at: {worse}."
        if worse
        else "SSC keeps more than suppression everywhere.",
    ]


def _sdist_notes(cells: Cells) -> list[str]:
    """Report where LG (bag) stays nearer to the patterns."""
    worse = _settings_where(lambda series, k: cells[series, k].sdist >= cells[grid.LG_BAG, k].sdist)
    return [
        "By the second model, in which a term without a like costs 9 (ε = 8, ω = 9).",
        f"LG (bag) is as near or nearer at: {worse}." if worse else "SSC is nearer than LG (bag) everywhere.",
    ]


class ReportedMeasure(NamedTuple):
    """A measure over k, which is a field of the runs."""

    name: str
    caption: str
    field: str
    form: str  # format of its figures
    scale: float | None  # to percent; None: it is not a share and not drawn
    notes: Callable[[Cells], list[str]] = lambda cells: []


MEASURES = (
    ReportedMeasure(
        "bLM", "Information lost, bags: 0 is nothing, 1 as bad as suppressing all", "blm", ".3f", 100.0, _blm_notes
    ),
    ReportedMeasure("LM", "Information lost as if vocabularies were sets", "lm", ".3f", 100.0, _lm_notes),
    ReportedMeasure(
        "Recall", "Frequent patterns that are still there, % of their terms", "recall", ".1f", 1.0, _recall_notes
    ),
    ReportedMeasure(
        "sDist", "Distance of frequent patterns from the nearest one left, per term", "sdist", ".2f", None, _sdist_notes
    ),
    ReportedMeasure("Published", "Occurrences that a published one stands for, %", "published", ".1f", 1.0),
    ReportedMeasure("Time", "Seconds of the method alone", "seconds", ".2f", None),
)

PAPER = Paper(CITATION, "demo", evaluate, PaperOptions.refuse_generator_options)
