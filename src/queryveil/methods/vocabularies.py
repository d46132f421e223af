"""What all methods that publish vocabularies refuse, and what may be published at all."""

import numpy as np

from queryveil.core.errors import GuaranteeError
from queryveil.core.names import ResolvedName
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles


def floor_of(bound: ResolvedName) -> int:
    """Return how many people must hold a term that is published: k, if not given."""
    return int(bound.values.get("floor", bound["k"]))


def refuse_too_few_people(profiles: Profiles, bound: ResolvedName) -> None:
    """Refuse a log in which fewer than k people have a vocabulary at all."""
    n_people = len(np.unique(profiles.owner[np.diff(profiles.indptr) > 0]))
    if n_people < bound.integer("k"):
        raise GuaranteeError(
            f"{bound}: only {n_people:,} people of the log have a vocabulary, and k={bound['k']} must share each; "
            "lower k, or give a larger log."
        )


def not_empty(published: PublishedVocabularies, bound: ResolvedName) -> PublishedVocabularies:
    """Return what is published if it is anything."""
    if not len(published.ids):
        raise GuaranteeError(
            f"{bound}: nothing would be left to publish; lower k or floor, allow more, or give a larger log."
        )
    return published
