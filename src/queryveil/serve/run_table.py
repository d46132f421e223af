"""The table of all runs: filters, sorting, its export as CSV, and every figure of releases; pages and REST share it."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from queryveil.kinds.base import PLURALS, kind_of
from queryveil.serve.jobs import RunManager
from queryveil.serve.store import RunRow, Store

SORTS: Mapping[str, str] = {  # key → heading
    "created": "added",
    "name": "name",
    "log": "log",
    "kind": "what it makes",
    "state": "state",
    "seconds": "duration",
}
_COLUMNS = ("id", "name", "kind", "method", "guarantee", "verdict", "log", "state", "tags", "notes")
_TIMES = ("created", "started", "ended", "seconds")
SCORE_COLUMNS = (
    "run", "name", "method", "measure", "label", "unit", "counted_in", "original", "value", "low", "high",
)  # fmt: skip


@dataclass(frozen=True)
class RunFilter:
    """Which runs a table shows, and in which order; an empty text matches everything."""

    q: str = ""  # in the name, the method, a tag or the notes
    log: str = ""
    kind: str = ""
    state: str = ""
    tag: str = ""
    sort: str = "created"
    order: str = ""  # asc or desc; empty for what suits the column

    @classmethod
    def read(cls, texts: Mapping[str, str]) -> "RunFilter":
        """Return the filter that an address holds; what is unknown is ignored."""
        given = {each.name: texts.get(each.name, "").strip() for each in fields(cls)}
        if given["sort"] not in SORTS:
            given["sort"] = "created"
        if given["order"] not in ("asc", "desc"):
            given["order"] = "desc" if given["sort"] in ("created", "seconds") else "asc"
        return cls(**given)

    def query(self, **changes: str) -> dict[str, str]:
        """Return the filter as the values of an address, some of them changed."""
        values = {**vars(self), **changes}
        return {name: value for name, value in values.items() if value}

    def matches(self, run: RunRow) -> bool:
        """Return whether the table shows a run."""
        wanted = (("log", run.log or ""), ("kind", run.kind), ("state", run.state))
        texts = (run.name, str(run.spec.get("method", "")), run.notes, *run.tags)
        return (
            all(getattr(self, name) in ("", value) for name, value in wanted)
            and (not self.tag or self.tag in run.tags)
            and any(self.q.casefold() in text.casefold() for text in texts)
        )


def find_runs(store: Store, wanted: RunFilter) -> list[RunRow]:
    """Return the runs of a filter in its order; equal ones stay the newest first."""
    names = {log.id: log.name for log in store.logs()}
    keys: Mapping[str, Any] = {
        "created": lambda run: run.created,
        "name": lambda run: run.name.casefold(),
        "log": lambda run: names.get(run.log or "", "").casefold(),
        "kind": lambda run: run.kind,
        "state": lambda run: run.state,
        "seconds": lambda run: run.seconds or 0.0,
    }
    rows = [run for run in store.runs() if wanted.matches(run)]
    return sorted(rows, key=keys[wanted.sort], reverse=wanted.order == "desc")


def runs_as_csv(rows: Sequence[RunRow], store: Store, jobs: RunManager) -> str:
    """Return the runs as CSV, a line each; lists are joined by semicolons."""
    names = {log.id: log.name for log in store.logs()}
    lines = []
    for run in rows:
        result = (jobs.result(run.id) or {}) if run.kind in ("anonymize", "verify") else {}
        verdict = result.get("verdict", {})
        found = {"guarantee": verdict.get("claim"), "verdict": verdict.get("state")}
        found |= {"method": run.spec.get("method"), "log": names.get(run.log or "", "deleted" if run.log else None)}
        found |= {"tags": "; ".join(run.tags)}
        lines.append([found.get(name, getattr(run, name, None)) for name in (*_COLUMNS, *_TIMES)])
    return as_csv((*_COLUMNS, *_TIMES), lines)


def as_csv(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as CSV; a text that a spreadsheet would take for a formula gets an apostrophe before it."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(headings)
    writer.writerows([[_cell(value) for value in row] for row in rows])
    return out.getvalue()


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


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
