"""What terms are worth in a run: the files it was given, checked before the log is read and against it afterwards."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from queryveil.core.errors import InputError
from queryveil.histories.profiles import Profiles
from queryveil.market.table import FIGURES, read_market, read_values
from queryveil.measures.utility.market import Coverage, coverage
from queryveil.methods.utilities import Worth, check_worth


def read_worth(target: Any, values: Path | None, market: Path | None, charset: str) -> Worth:
    """Read the files that say what terms are worth; a target that needs one that is not given is refused."""
    check_worth(target, values=values is not None, market=market is not None)
    return Worth(
        None if values is None else read_values(values, charset),
        None if market is None else read_market(market, charset),
    )


def check_coverage(target: Any, worth: Worth, profiles: Profiles) -> Mapping[str, Coverage]:
    """Return how much of the log each figure of the market covers; refuse one that cannot serve the target."""
    if worth.market is None:
        return {}
    found = coverage(profiles, worth.market)
    if target in FIGURES and not found[target].n_terms:
        raise InputError(
            f"{worth.market.name} gives no {target} for any of the {len(profiles.vocabulary):,} terms of the log, so "
            f"target={target} has nothing to keep; fill in the column, or choose another target."
        )
    return found
