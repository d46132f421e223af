"""The evaluation of Liu and Wang 2010: the running example, Table I, and SSC against LG and suppression over k.

The paper prints no results of its experiments; they are in a technical report that is not public. So the runs it names
are made on another log: bLM, Recall and sDist for k = 2, 5, 10, 20 and ε = 4, 6, 8. LM is shown next to bLM to
demonstrate that it understates the loss. Where we read the paper differently, and why:
docs/explanation/papers/liu-wang.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import NamedTuple

from queryveil.core.errors import InputError
from queryveil.experiments.liu import examples, grid
from queryveil.experiments.paper import (
    BY_CONSTRUCTION,
    NOT_COMPARABLE,
    Found,
    Lines,
    Paper,
    PaperEvaluation,
    PaperInputs,
    PaperOptions,
    judge,
)
from queryveil.report.reproduction import PaperFigure, PaperTable
from queryveil.semantics.network import wordnet

CITATION = "Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010"
SESSION = "session"
PATTERNS = 1_000  # most frequent patterns that are compared

Cells = Mapping[tuple[str, int], grid.VocabularyRun]  # by series and k


def evaluate(inputs: PaperInputs) -> PaperEvaluation:
    """Compute the paper's example, Table I and its comparison on a log; every release is verified beforehand."""
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
    fourth, as_published = examples.figure_4(example)
    first = (examples.figure_1a(), examples.figure_2a(), examples.figures_1_and_2(example), examples.figure_3(example))
    person = examples.table_1(setup, progress)
    runs = grid.run_grid(setup, progress)
    cells = {(run.series, run.k): run for run in runs}
    figures: list[PaperFigure] = []
    tables: list[PaperTable] = []
    for name, caption, field, form, scale in MEASURES:
        values = {series: [getattr(cells[series, k], field) for k in grid.KS] for series in grid.SERIES}
        lines = Lines.formatted("k", grid.KS, values, form)
        tables.append(lines.table(name, caption, (*NOTES.get(name, ()), *_empty_notes(runs))))
        if scale is not None:
            figures.append(lines.figure(name, f"{caption}.", name, scale))
    if SESSION in inputs.cut:
        tables.append(_granularity(replace(setup, profiles=inputs.cut[SESSION]), cells))
    record = {"runs": [asdict(run) for run in runs], "patterns": PATTERNS}
    found = _check_example(example, as_published) | _check_runs(cells)
    all_tables = (*first, fourth, person, *tables)
    return PaperEvaluation(
        judge(examples.CLAIMS, found), all_tables, tuple(figures), record, profiles.n_people, setup.tally
    )


def _empty_notes(runs: Sequence[grid.VocabularyRun]) -> list[str]:
    """Name the runs of which nothing was released: their figures are those of an empty release."""
    empty = "; ".join(f"{run.series}, k = {run.k}" for run in runs if run.nothing_left)
    return [f"Nothing was released, and nothing verified, of: {empty}."] if empty else []


def _granularity(setup: grid.VocabularySetup, by_user: Cells) -> PaperTable:
    """Compare vocabularies of people to those of sessions, at the k of Table I."""
    k, names = examples.TABLE_K, grid.methods(examples.TABLE_K)
    rows = []
    for series in (grid.SSC[8], grid.LG_BAG, grid.SUPPRESSION):
        run = grid.run_once(setup, series, names[series], k)
        rows += [
            (series, what, f"{each.blm:.3f}", f"{each.published:.1f}")
            for what, each in (("user", by_user[series, k]), ("session", run))
        ]
    heads = ("", "a vocabulary is of a", "bLM", "occurrences published, %")
    n = setup.profiles
    note = f"{n.n_histories:,} sessions of {n.n_people:,} people; k counts people, not sessions."
    return PaperTable("Granularity", f"User and session level, k = {k}", heads, tuple(rows), (0, 1), (note,))


def _check_example(example: grid.VocabularySetup, as_published: Sequence[str]) -> Found:
    """Check the statements about the running example."""
    steps = [int(row[2]) for row in examples.figure_3(example).rows]
    both = examples.distances_by_model(example.network, 2, examples.LARGE_OMEGA)
    return {
        "example": ("so, with the model, ω and seed rule chosen for it", BY_CONSTRUCTION),
        **{
            claim: (clusters, clusters == examples.CLUSTERS)
            for claim, clusters in zip(("first_letter", "second_letter"), as_published, strict=True)
        },
        "distances": (f"{steps[0]}, {steps[1]} and {steps[2]}", steps[:3] == [2, 6, examples.FIRST_TWO]),
        "models": (f"t1–t3: {both[0]} and {both[1]} at ω = {examples.LARGE_OMEGA}", both[0] == both[1]),
    }


def _check_runs(cells: Cells) -> Found:
    """Check the statements about what the methods lose."""
    sets, suppressed = cells[grid.LG_SET, examples.TABLE_K], cells[grid.SUPPRESSION, examples.TABLE_K]
    found: Found = {
        "lm": (f"{100 * sets.lm:.0f} %", NOT_COMPARABLE),
        "bags": (f"LM {100 * sets.lm:.0f} %, bLM {100 * sets.blm:.0f} %", sets.blm > sets.lm),
        "suppression": (f"{100 - suppressed.published:.1f} %", suppressed.published < 10),
        "recall": ("LG publishes inner nodes, which no pattern of the log holds", BY_CONSTRUCTION),
    }
    readings = {"": tuple(grid.SSC.values()), "_first": (grid.FIRST_MODEL,), "_second": (grid.SECOND_MODEL,)}
    for measure, (name, series) in product(("blm", "sdist"), readings.items()):
        lost = [
            f"k = {k}{', ' + each.removeprefix('SSC, ') if not name else ''}"
            for k in grid.KS
            for each in series
            if getattr(cells[each, k], measure) >= getattr(cells[grid.LG_BAG, k], measure)
        ]
        found[measure + name] = (f"not at {'; '.join(lost)}" if lost else "at every setting", not lost)
    return found


class ReportedMeasure(NamedTuple):
    """A measure over k, which is a field of the runs."""

    name: str
    caption: str
    field: str
    form: str  # format of its figures
    scale: float | None  # to percent; None: it is not a share and not drawn


MEASURES = (
    ReportedMeasure("bLM", "Information lost, bags: 0 is nothing, 1 as bad as suppressing all", "blm", ".3f", 100.0),
    ReportedMeasure("LM", "Information lost as if vocabularies were sets", "lm", ".3f", 100.0),
    ReportedMeasure("Recall", "Frequent patterns that are still there, % of their terms", "recall", ".1f", 1.0),
    ReportedMeasure("sDist", "Distance of frequent patterns from the nearest one left, per term", "sdist", ".2f", None),
    ReportedMeasure("Published", "Occurrences that a published one stands for, %", "published", ".1f", 1.0),
    ReportedMeasure("Time", "Seconds of the method alone", "seconds", ".2f", None),
)
NOTES = {  # by measure
    "LM": ("It flatters: of LG (set) it does not count the occurrences that are gone.",),
    "Recall": ("LG publishes inner nodes, so its Recall is low by construction; judge it by sDist and bLM.",),
    "sDist": ("By the second model, in which a term without a like costs 9 (ε = 8, ω = 9).",),
}

# the paper does not say how many people it had; of fewer than a hundred times the largest k hardly any are alike
ENOUGH_PEOPLE = 100 * max(grid.KS)
PAPER = Paper(CITATION, "demo", evaluate, PaperOptions.refuse_generator_options, ENOUGH_PEOPLE, histories=(SESSION,))
