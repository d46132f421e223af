"""Which terms are sensitive, as a guarantee about inference, its method and its verifier see it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from queryveil.core.rows import BoolArray


@dataclass(frozen=True, eq=False)
class SensitiveTerms:
    """Which terms are sensitive: those that a model scores at a threshold or above, or those of a list."""

    mark: Callable[[Sequence[str]], BoolArray]  # whether each of some terms is sensitive
    digest: str  # SHA-256 of the file of the model or of the list
    threshold: float | None = None  # of the model; None for a list
