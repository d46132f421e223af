"""What attacks on a release reached: one row for each amount of knowledge, as text, as HTML and for JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queryveil.core.display import html_table
from queryveil.core.results import AttackResult, Rate

HEADINGS = (
    "attack",
    "known",
    "success",
    "95 % interval",
    "control",
    "guess",
    "risk",
    "in the log",
    "targets",
    "crowd",
    "least",
)


@dataclass(frozen=True)
class Attacked:
    """The attacks on one release in the order they were asked for."""

    release: str
    kind: str
    guarantee: str
    results: tuple[AttackResult, ...]
    skipped: Mapping[str, str]  # attack → why it was not run
    threats: Mapping[str, str]  # attack → who attacks, knowing what, and what counts as success
    seed: int
    queryveil: str
    seconds: float
    page: Path | None = None

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the headings and the rows as text."""
        return list(HEADINGS), [_row(result) for result in self.results]

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "queryveil": self.queryveil,
            "release": self.release,
            "kind": self.kind,
            "guarantee": self.guarantee,
            "seed": self.seed,
            "results": [result.record() for result in self.results],
            "skipped": dict(self.skipped),
            "threats": dict(self.threats),
            "page": None if self.page is None else str(self.page),
            "seconds": round(self.seconds, 2),
        }

    def _repr_html_(self) -> str:
        return html_table(*self.table())


def interval(rate: Rate) -> str:
    """Write the interval of a rate."""
    return f"{100 * rate.low:.1f} – {100 * rate.high:.1f}"


def _row(result: AttackResult) -> list[str]:
    return [
        result.attack,
        result.knowledge,
        str(result.rate),
        interval(result.rate),
        str(result.control),
        str(result.baseline),
        str(result.risk),
        str(result.original),
        f"{result.targets:,}",
        "–" if result.crowd is None else f"{result.crowd:,.0f}",
        "–" if result.smallest is None else f"{result.smallest:,}",
    ]
