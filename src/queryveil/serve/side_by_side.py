"""Every figure of releases as rows, for programs and spreadsheets that put them side by side."""

from collections.abc import Sequence
from typing import Any

from queryveil.kinds.base import PLURALS, kind_of
from queryveil.serve.jobs import RunManager

SCORE_COLUMNS = (
    "run", "name", "method", "measure", "label", "unit", "counted_in", "original", "value", "low", "high",
)  # fmt: skip


def score_rows(runs: Sequence[str], jobs: RunManager) -> list[list[Any]]:
    """Return a row for each score of each run, or raise if one has made no release."""
    rows = []
    for run in runs:
        row, manifest = jobs.run_that_made(run), jobs.manifest(run)
        counted_in = PLURALS[kind_of(manifest.kind).unit]
        for score in (jobs.result(run) or {}).get("scores", ()):
            figures = (score["original"], score["value"], *(score["interval"] or (None, None)))
            labels = (score["measure"], score["label"], score["unit"], counted_in)
            rows.append([run, row.name, manifest.method, *labels, *figures])
    return rows
