"""What there is in a generated log, counted while it is made, as our own reading and cleaning would count it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of a log with how often they are used: in how many queries, by how many people."""

    texts: list[str]
    frequency: NDArray[np.int64]  # (terms,): queries
    users: NDArray[np.int64]  # (terms,): people


@dataclass(frozen=True, eq=False)
class Tally:
    """The size of a log."""

    people: int
    queries: int
    rows: int  # one per click, or per query without a click
    terms: int  # distinct runs of letters and digits
    occurrences: int  # of terms, each once per query
    pairs: int  # of a person and a term
    largest: int  # terms that one person used
    used: Terms  # without what cleaning takes out
