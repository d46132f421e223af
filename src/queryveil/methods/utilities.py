"""The utility of each term under a target function.

The utility of a release is the sum over kept (history, term) of value · occurrences; so a term is ranked by its value
times its occurrences in the original log, fixed from the start. A term without a value counts 0. The paper has no
target for distinct terms; ours lets the commoner term go, since that one survives elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import count_people
from queryveil.market.table import COLUMNS, FIGURES, Market

NEEDS_VALUES = "target=file needs the values of terms; give a file with the columns term, value by --values."
NEEDS_MARKET = f"target={{}} needs a market table; give a file with the columns term, {', '.join(COLUMNS)} by --market."


@dataclass(frozen=True)
class Worth:
    """What terms are worth besides being there, from the files that a run was given."""

    values: Mapping[str, float] | None = None  # --values: term → value
    market: Market | None = None  # --market


def check_worth(target: object, *, values: bool, market: bool) -> None:
    """Say what is missing where a target needs a file that was not given."""
    if target == "file" and not values:
        raise InputError(NEEDS_VALUES, field="target")
    if target in FIGURES and not market:
        raise InputError(NEEDS_MARKET.format(target), field="target")


def value_of_terms(target: str, profiles: Profiles, worth: Worth) -> NDArray[np.float64] | None:
    """Return what one occurrence of each term is worth; None where a target is no sum of value · occurrences."""
    check_worth(target, values=worth.values is not None, market=worth.market is not None)
    entries = profiles.vocabulary.entries
    if target == "logsize":
        return np.ones(len(entries))
    if target == "file" and worth.values is not None:
        return np.array([worth.values.get(term, 0.0) for term in entries])
    if target in FIGURES and worth.market is not None:
        return np.nan_to_num(worth.market.of(target, entries))
    return None


def _ranked(target: str, profiles: Profiles, worth: Worth) -> NDArray[np.float64]:
    """Rank a term by its value times its occurrences."""
    value = value_of_terms(target, profiles, worth)
    if value is None:
        raise TypeError(f"the target {target} gives no value to an occurrence")
    return value * np.bincount(profiles.ids, weights=profiles.counts, minlength=len(profiles.vocabulary))


def logsize(profiles: Profiles, worth: Worth) -> NDArray[np.float64]:
    """Rank a term by its occurrences."""
    return _ranked("logsize", profiles, worth)


def users(profiles: Profiles, worth: Worth) -> NDArray[np.float64]:
    """Rank a term by the number of people who used it."""
    n_terms = len(profiles.vocabulary)
    return count_people(profiles.indptr, profiles.ids, profiles.owner, n_terms).astype(np.float64)


def distinct(profiles: Profiles, worth: Worth) -> NDArray[np.float64]:
    """Rank a rare term above a common one."""
    return -users(profiles, worth)


def file(profiles: Profiles, worth: Worth) -> NDArray[np.float64]:
    """Rank a term by its value in the file times its occurrences."""
    return _ranked("file", profiles, worth)


def bid(profiles: Profiles, worth: Worth) -> NDArray[np.float64]:
    """Rank a term by what advertisers bid for it times its occurrences."""
    return _ranked("bid", profiles, worth)


def clicks(profiles: Profiles, worth: Worth) -> NDArray[np.float64]:
    """Rank a term by the clicks its ads get times its occurrences."""
    return _ranked("clicks", profiles, worth)


def impressions(profiles: Profiles, worth: Worth) -> NDArray[np.float64]:
    """Rank a term by how often its ads are shown times its occurrences."""
    return _ranked("impressions", profiles, worth)


def revenue(profiles: Profiles, worth: Worth) -> NDArray[np.float64]:
    """Rank a term by clicks · bid times its occurrences."""
    return _ranked("revenue", profiles, worth)
