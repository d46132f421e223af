"""What methods return: kept pairs, groups (`histories.groups`) or vocabularies (`histories.vocabularies`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """What every outcome has besides its content."""

    summary: Mapping[str, Any] = field(default_factory=dict)  # what the method did, in counts
    found: Mapping[str, int | float] = field(default_factory=dict)  # parameters of the claim that the run determined


@dataclass(frozen=True, eq=False)
class KeptPairs(Outcome):
    """The outcome of a method that deletes: which pairs of its `Profiles` stay."""

    mask: NDArray[np.bool_]  # (pairs,)
    piece: NDArray[np.int32] | None = None
    # (pairs,): the piece of its history that each kept pair is in, from 0 on; None: each history is in one piece
