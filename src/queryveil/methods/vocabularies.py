"""Checks that all methods of vocabularies share, and their floor."""

import numpy as np

from queryveil.core.errors import GuaranteeError
from queryveil.core.names import ResolvedName
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles


def floor_of(method: ResolvedName) -> int:
    """Return how many people must hold a published term: k by default."""
    return int(method.values.get("floor", method["k"]))


def refuse_too_few_people(profiles: Profiles, method: ResolvedName) -> None:
    """Refuse a log in which fewer than k people have a vocabulary."""
    require_people(len(np.unique(profiles.owner[np.diff(profiles.indptr) > 0])), method)


def require_people(n_people: int, method: ResolvedName) -> None:
    """Refuse a log in which fewer than k people, of so many, have a vocabulary."""
    if n_people < method.integer("k"):
        raise GuaranteeError(
            f"{method}: only {n_people:,} people of the log have a vocabulary, and k={method['k']} must share each; "
            "lower k, or give a larger log."
        )


def not_empty(published: PublishedVocabularies, method: ResolvedName) -> PublishedVocabularies:
    """Return the published vocabularies; refuse to publish nothing."""
    refuse_nothing(len(published.ids), method)
    return published


def refuse_nothing(n: int, method: ResolvedName) -> None:
    """Refuse to publish nothing, that is if there are 0 rows or vocabularies."""
    if not n:
        raise GuaranteeError(
            f"{method}: nothing would be left to publish; lower k or floor, allow more, or give a larger log."
        )
