"""How the pages write figures, times and states: filters of the templates."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from queryveil.report.rendering import amount as _amount
from queryveil.report.rendering import number, percent
from queryveil.serve.store import RunRow

_UNITS = ("B", "kB", "MB", "GB", "TB")
_KINDS = {
    "statistics": "statistics",
    "anonymize": "release",
    "verify": "verification",
    "measure": "measures",
    "attack": "attacks",
    "index": "index",
}


def when(moment: str) -> str:
    """Return a stored time as people of the server's place write it."""
    return datetime.fromisoformat(moment).astimezone().strftime("%-d %b %Y, %H:%M")


def size(n_bytes: int | None) -> str:
    """Return a number of bytes in a unit that fits it."""
    if n_bytes is None:
        return "–"
    left, unit = float(n_bytes), 0
    while left >= 1000 and unit < len(_UNITS) - 1:
        left, unit = left / 1000, unit + 1
    return f"{left:.0f} {_UNITS[unit]}" if unit < 2 else f"{left:.1f} {_UNITS[unit]}"


def took(run: RunRow) -> str:
    """Say how long a run has taken, or takes so far."""
    if run.started is None:
        return ""
    end = datetime.fromisoformat(run.ended) if run.ended else datetime.now(UTC)
    seconds = max(0.0, (end - datetime.fromisoformat(run.started)).total_seconds())
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def stage(run: RunRow) -> str:
    """Say what a run does now; the script that follows it says the same."""
    if run.state == "queued":
        return "waits for its turn"
    if run.state != "running":
        return took(run)
    share = f", {100 * run.done // run.total} %" if run.total else ""
    return f"{run.stage}{share}"


def opening(words: str) -> str:
    """Return words with a capital at their beginning."""
    return f"{words[:1].upper()}{words[1:]}"


def amount(value: float | None, unit: str = "%") -> str:
    """Return a figure of any unit, or a dash where there is none."""
    return "–" if value is None else _amount(value, unit)


def kind(run: RunRow) -> str:
    """Return what a run makes."""
    return _KINDS[run.kind]


FILTERS: Mapping[str, Callable[..., Any]] = {
    "when": when,
    "size": size,
    "took": took,
    "stage": stage,
    "opening": opening,
    "amount": amount,
    "kind": kind,
    "number": number,
    "percent": percent,
}
