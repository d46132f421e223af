"""The utility of each term under a target function.

The utility of a release is the sum over kept (history, term) of value · occurrences; so a term is ranked by its value
times its occurrences in the original log, fixed from the start. The paper has no target for distinct terms; ours
lets the commoner term go, since that one survives elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.errors import InputError
from queryveil.kernels.histories import count_people
from queryveil.types import Profiles


@dataclass(frozen=True)
class Worth:
    """What terms are worth besides being there, from the files that a run was given."""

    values: Mapping[str, float] | None = None  # --values: term → value


def logsize(profiles: Profiles, worth: Worth) -> NDArray[np.float64]:
    """Rank a term by its occurrences."""
    n_terms = len(profiles.vocabulary)
    return np.bincount(profiles.ids, weights=profiles.counts, minlength=n_terms).astype(np.float64)


def users(profiles: Profiles, worth: Worth) -> NDArray[np.float64]:
    """Rank a term by the number of people who used it."""
    n_terms = len(profiles.vocabulary)
    return count_people(profiles.indptr, profiles.ids, profiles.owner, n_terms).astype(np.float64)


def distinct(profiles: Profiles, worth: Worth) -> NDArray[np.float64]:
    """Rank a rare term above a common one."""
    return -users(profiles, worth)


def file(profiles: Profiles, worth: Worth) -> NDArray[np.float64]:
    """Rank a term by its value in the file times its occurrences; a term without a value counts 0."""
    if worth.values is None:
        raise InputError("target=file needs the values of terms; give a file with the columns term, value by --values.")
    value = np.array([worth.values.get(term, 0.0) for term in profiles.vocabulary.entries])
    return value * logsize(profiles, worth)
