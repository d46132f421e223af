"""The results of attacks as pages and REST show them: a sentence per risk, every attack, and what the columns mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from queryveil.report.attacks import COLUMNS, describe_risks, level_bounds, read_attacks


@dataclass(frozen=True)
class AttackView:
    """The results of attacks, explained."""

    risks: list[dict[str, Any]]
    columns: Mapping[str, str]  # heading → what it says
    levels: str  # what the words for risks mean
    skipped: Mapping[str, str]  # attack → why it was not run


def attack_view(result: Mapping[str, Any] | None) -> AttackView | None:
    """Return the explained results of a run of attacks; None for the result of any other run."""
    if result is None or "threats" not in result:
        return None
    report = read_attacks({name: value for name, value in result.items() if name != "table"})
    return AttackView(describe_risks(report), COLUMNS, level_bounds(), report.skipped)
