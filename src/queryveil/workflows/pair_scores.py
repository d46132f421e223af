"""The scores of a pair of logs, and the figures of every person in it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from queryveil.core.errors import InputError
from queryveil.core.evidence import LogPair
from queryveil.core.files import write_new_file
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress
from queryveil.core.results import Score
from queryveil.measures import Measure

USUAL = ("impressions", "jsd", "spi", "exposed", "worst")  # of somebody's pair of logs, unless something is asked for


def is_paired(bound: ResolvedName) -> bool:
    """Say whether a measure is of a pair of logs."""
    return isinstance(bound.declaration, Measure) and bound.declaration.of_pair


def _declared(bound: ResolvedName) -> Measure:
    if not isinstance(bound.declaration, Measure):
        raise TypeError(f"{bound.declaration.name} is declared as a measure but is none")
    return bound.declaration


def needs_model(bounds: Sequence[ResolvedName]) -> bool:
    """Say whether one of the measures must know how sensitive queries are."""
    return any(_declared(bound).needs_model for bound in bounds)


def score_pair(
    pair: LogPair, bounds: Sequence[ResolvedName], rng: np.random.Generator, progress: Progress
) -> list[Score]:
    """Compute every measure asked for of a pair of logs."""
    scores: list[Score] = []
    for number, bound in enumerate(bounds):
        progress("measuring", number, len(bounds))
        scores += bound.declaration.load()(pair, bound, rng=rng, progress=progress)
    progress("measuring", len(bounds), len(bounds))
    return scores


def check_people(bounds: Sequence[ResolvedName]) -> None:
    """Refuse to write the figures of every person where no measure has one."""
    if not any(is_paired(bound) and _declared(bound).by_person for bound in bounds):
        raise InputError("--people: none of the measures has a figure for every person; ask for spi or jsd, say.")


def write_people(path: Path, pair: LogPair, bounds: Sequence[ResolvedName], *, force: bool) -> None:
    """Write the figures of every person as CSV; the file names people, so that only its owner can read it."""
    columns: dict[str, Any] = {"person": pair.persons, "queries": pair.n_before, "released": pair.n_after}
    for bound in bounds:
        if _declared(bound).by_person:
            figures = _declared(bound).load_by_person()(pair, bound)
            columns[str(bound)] = pa.array(figures, mask=np.isnan(figures))
    sink = pa.BufferOutputStream()
    csv.write_csv(pa.table(columns), sink, csv.WriteOptions(quoting_style="needed"))
    write_new_file(path, sink.getvalue().to_pybytes(), overwrite=force, mode=0o600)
