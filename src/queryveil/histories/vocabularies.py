"""Published vocabularies: the outcome of methods that publish one bag of names for every history."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.histories.outcomes import Outcome


@dataclass(frozen=True, eq=False)
class PublishedVocabularies(Outcome):
    """The outcome of a method of vocabularies: the bag of names published of every history.

    A name is a term of the log (level 0) or generalises several of them. Which terms of a history it stands for is not
    recorded: a measure derives that from the original and the released bag, so that it applies to any such release.
    """

    terms: tuple[str, ...]  # names: terms of the log, or what they were generalised to
    indptr: NDArray[np.int64]  # (histories + 1,): row h is what is published of history h, empty if suppressed
    ids: NDArray[np.int32]  # (rows,): positions in `terms`, ascending within a history; repeated for several levels
    counts: NDArray[np.int32]  # (rows,): occurrences, at least 1
    levels: NDArray[np.int32]  # (rows,): 0 as typed, else the largest number of steps by which a term was generalised
