"""The utility of each term under a target function.

The utility of a release is the sum over kept (history, term) of value · occurrences; so a term is ranked by its value
times its occurrences in the original log, fixed from the start. The paper has no target for distinct terms; ours
lets the commoner term go, since that one survives elsewhere.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from queryveil.errors import InputError
from queryveil.kernels.histories import count_people
from queryveil.types import Profiles

Values = Mapping[str, float]


def logsize(profiles: Profiles, values: Values | None) -> NDArray[np.float64]:
    """Rank a term by its occurrences."""
    n_terms = len(profiles.vocabulary)
    return np.bincount(profiles.ids, weights=profiles.counts, minlength=n_terms).astype(np.float64)


def users(profiles: Profiles, values: Values | None) -> NDArray[np.float64]:
    """Rank a term by the number of people who used it."""
    n_terms = len(profiles.vocabulary)
    return count_people(profiles.indptr, profiles.ids, profiles.owner, n_terms).astype(np.float64)


def distinct(profiles: Profiles, values: Values | None) -> NDArray[np.float64]:
    """Rank a rare term above a common one."""
    return -users(profiles, values)


def file(profiles: Profiles, values: Values | None) -> NDArray[np.float64]:
    """Rank a term by its value in the file times its occurrences; a term without a value counts 0."""
    if values is None:
        raise InputError("target=file needs the values of terms; give a file with the columns term, value by --values.")
    value = np.array([values.get(term, 0.0) for term in profiles.vocabulary.entries])
    return value * logsize(profiles, None)
