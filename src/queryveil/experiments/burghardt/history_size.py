"""Section 5.6: shorter histories, by cutting the log by time or by publishing histories in pieces (`split`).

The paper does not measure it. It argues that a history of a, b, c and d of which only {a, b} or {c, d} can be kept
could keep both if it were cut in two, and that shorter histories also have fewer frequent combinations.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from queryveil.core.names import resolve
from queryveil.core.progress import Progress, nested_progress
from queryveil.experiments.burghardt.grid import KmSetup
from queryveil.experiments.paper import confirm_kept, run_method
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.pieces import PersonRows, count_person_pairs, cut_into_pieces
from queryveil.histories.profiles import Profiles
from queryveil.report.reproduction import PaperTable

UNITS = ("session", "day", "window:1h")  # besides all of a user's queries
SPLITS = ("none", "all")
K, M = 10, 2


@dataclass(frozen=True)
class HistorySizeRun:
    """What one verified run kept of a log whose histories were cut in one way."""

    history: str
    split: str
    histories: int
    released: int  # histories
    users: float  # % of the people
    log_size: float  # % of the occurrences
    together: float  # % of the pairs of terms of a person


def run_history_sizes(setup: KmSetup, cut: Mapping[str, Profiles], progress: Progress) -> list[HistorySizeRun]:
    """Anonymise the log and its cut forms, each without and with splitting; every result is verified."""
    logs = {"user": setup.profiles, **cut}
    total = count_person_pairs(PersonRows.of_profiles(setup.profiles), len(setup.profiles.vocabulary), progress)
    return [
        _run(setup, name, log, split, total, nested_progress(f"histories by {name}, split={split}", progress))
        for name, log in logs.items()
        for split in SPLITS
    ]


def _run(setup: KmSetup, name: str, log: Profiles, split: str, n_pairs: int, progress: Progress) -> HistorySizeRun:
    """Make one run."""
    method = resolve("method", f"km(k={K}, m={M}, algorithm={setup.algorithm}, split={split})")
    kept: KeptPairs = run_method(method, log, setup.rng, setup.term_values, progress=progress)
    released = log.select(kept.mask) if kept.piece is None else cut_into_pieces(log, kept.piece).profiles
    confirm_kept(method, released, np.ones(len(released.ids), np.bool_), setup.tally, progress=progress)
    is_filled = np.diff(released.indptr) > 0
    together = count_person_pairs(PersonRows.of_profiles(released), len(log.vocabulary), progress)
    return HistorySizeRun(
        name,
        split,
        log.n_histories,
        int(np.count_nonzero(is_filled)),
        100.0 * len(np.unique(released.owner[is_filled])) / setup.profiles.n_people,
        100.0 * float(released.counts.sum()) / float(setup.profiles.counts.sum()),
        100.0 * together / n_pairs if n_pairs else 0.0,
    )


def history_size_table(runs: list[HistorySizeRun]) -> PaperTable:
    """Show cutting by time and splitting side by side."""
    heads = ("histories by", "split", "in the log", "released", "users %", "logsize %", "together %")
    rows = tuple(
        (
            run.history,
            run.split,
            f"{run.histories:,}",
            f"{run.released:,}",
            *(f"{figure:.1f}" for figure in (run.users, run.log_size)),
            f"{run.together:.2f}",
        )
        for run in runs
    )
    notes = (
        "The paper expects that a history cut in two could keep more, and that more could be deleted as well, since "
        "shorter histories have fewer frequent combinations; it prints no figure.",
        "together: the pairs of terms that a person searched for and that are still in one history of the person's.",
    )
    caption = f"Cutting histories by time, and publishing them in pieces, km(k={K}, m={M})"
    return PaperTable("Section 5.6", caption, heads, rows, words=(0, 1), notes=notes)
