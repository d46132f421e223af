"""What became of the terms of a person's histories, as a table for their owner."""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from queryveil.core.display import Tabular, html_table

OWNER_ONLY = "For the owner of the log only: this shows what a person searched for. Nothing was written."
COULD_STAY = "it could have stayed: every combination with the kept terms would still be shared widely enough"


@dataclass(frozen=True)
class Fate:
    """What became of one term of one history."""

    history: int  # its number in the private folder
    term: str
    count: int  # queries of the history that hold the term
    kept: bool
    combination: tuple[str, ...] = ()  # if removed: the smallest that would be too rare with the term put back
    people: int | None = None  # who would hold it in the release, this person included
    people_in_log: int | None = None  # who hold it in the log

    def sentence(self, required: int) -> str:
        """Say what became of the term."""
        if self.kept:
            return "kept"
        if self.people is None:
            return COULD_STAY
        others = [term for term in self.combination if term != self.term]
        what = f"together with {', '.join(others)} it" if others else "it"
        holders = "1 person" if self.people == 1 else f"{self.people:,} people"
        return f"{what} would be held by {holders} of the {required:,} needed ({self.people_in_log:,} in the log)"


@dataclass(frozen=True)
class Why(Tabular):
    """What became of every term that was asked about."""

    person: str
    guarantee: str
    required: int  # people who must share every combination
    fates: tuple[Fate, ...]

    def to_arrow(self) -> Any:
        """Return a row per term of a history."""
        import pyarrow as pa

        columns = {name: [getattr(fate, name) for fate in self.fates] for name in Fate.__dataclass_fields__}
        schema = pa.schema(
            {
                "history": pa.int64(),
                "term": pa.string(),
                "count": pa.int64(),
                "kept": pa.bool_(),
                "combination": pa.list_(pa.string()),
                "people": pa.int64(),
                "people_in_log": pa.int64(),
            }
        )
        return pa.table(columns, schema)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows as text; the history is left out where there is one only."""
        several = len({fate.history for fate in self.fates}) > 1
        rows = [[str(fate.history), fate.term, f"{fate.count:,}", fate.sentence(self.required)] for fate in self.fates]
        headings = ["history", "term", "queries", ""]
        return (headings, rows) if several else (headings[1:], [row[1:] for row in rows])

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        fates = [{**asdict(fate), "sentence": fate.sentence(self.required)} for fate in self.fates]
        return {"person": self.person, "guarantee": self.guarantee, "note": OWNER_ONLY, "terms": fates}

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.guarantee)}</b>. {OWNER_ONLY}</p>{html_table(*self.table())}"
