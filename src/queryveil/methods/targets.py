"""Target functions: what an anonymisation tries to keep (Burghardt et al. 2010, section 4.1).

The utility of a release is the sum over kept (history, term) pairs of value · occurrences, so a term is ranked by its
value times its occurrences in the original log; the ranking never changes during a run. A term without a value counts
0. The paper has no target for distinct terms; ours deletes the commoner term, since that one survives elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.names import Declaration
from queryveil.core.rows import BoolArray, FloatArray, row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.market import COLUMNS, FIGURES, Market

NEEDS_VALUES = "target=file needs the values of terms; give a file with the columns term, value by --values."
NEEDS_MARKET = f"target={{}} needs a market table; give a file with the columns term, {', '.join(COLUMNS)} by --market."


@dataclass(frozen=True)
class TermValues:
    """The values of terms from the files that a run was given."""

    values: Mapping[str, float] | None = None  # --values: term → value
    market: Market | None = None  # --market


@dataclass(frozen=True, eq=False)
class Objective:
    """How much of its target a result keeps; log size breaks ties, and `fis` is judged by log size alone."""

    profiles: Profiles
    target: str
    gain: FloatArray  # (pairs,): what keeping a pair adds to the target, or to the log size
    base: str = ""  # what the kept share is of, if not of the log

    @property
    def favours_rare_terms(self) -> bool:
        """Return whether keeping many different terms matters more than keeping common ones."""
        return self.target in ("users", "distinct")

    @property
    def counts_occurrences(self) -> bool:
        """Return whether the target is the log size."""
        return not self.favours_rare_terms and np.array_equal(self.gain, self.profiles.counts)

    def kept_share(self, mask: BoolArray) -> tuple[float, float]:
        """Return the share of the target that a result keeps, in percent, and its log size."""
        log_size = float(self.profiles.counts[mask].sum())
        if self.target == "users":
            owner = self.profiles.owner[row_numbers(self.profiles.indptr)[mask]]
            n_people = int(np.count_nonzero(np.diff(owner, prepend=-1)))
            return 100 * n_people / self.profiles.n_people, log_size
        if self.target == "distinct":
            return 100 * len(np.unique(self.profiles.ids[mask])) / len(self.profiles.vocabulary), log_size
        total = float(self.gain.sum())
        return 100 * float(self.gain[mask].sum()) / total if total else 0.0, log_size


def objective(target: str, profiles: Profiles, term_values: TermValues, base: str = "") -> Objective:
    """Return the objective by which results under a target are compared."""
    value = value_of_terms(target, profiles, term_values)
    gain = profiles.counts.astype(np.float64)
    return Objective(profiles, target, gain if value is None else gain * value[profiles.ids], base)


def check_term_values(target: object, *, values: bool, market: bool) -> None:
    """Raise an error if a target needs a file that was not given."""
    if target == "file" and not values:
        raise InputError(NEEDS_VALUES, field="target")
    if target in FIGURES and not market:
        raise InputError(NEEDS_MARKET.format(target), field="target")


def value_of_terms(target: str, profiles: Profiles, term_values: TermValues) -> FloatArray | None:
    """Return the value of one occurrence of each term; None if the target is not a sum of value · occurrences."""
    values, market = term_values.values, term_values.market
    check_term_values(target, values=values is not None, market=market is not None)
    entries = profiles.vocabulary
    if target == "logsize":
        return np.ones(len(entries))
    if target == "file" and values is not None:
        return np.array([values.get(term, 0.0) for term in entries])
    if target in FIGURES and market is not None:
        return np.nan_to_num(market.of(target, entries))
    return None


def rank_by_value(target: str, profiles: Profiles, term_values: TermValues) -> FloatArray:
    """Rank a term by its value under the target times its occurrences."""
    value = value_of_terms(target, profiles, term_values)
    if value is None:
        raise TypeError(f"the target {target} gives no value to an occurrence")
    return value * np.bincount(profiles.ids, weights=profiles.counts, minlength=len(profiles.vocabulary))


def rank_by_bare_value(target: str, profiles: Profiles, term_values: TermValues) -> FloatArray:
    """Rank a term by its value under the target, as Example 8 of the paper does."""
    value = value_of_terms(target, profiles, term_values)
    if value is None or target == "logsize":
        names = ", ".join((*FIGURES, "file"))
        raise InputError(
            f"ranking=value needs a target that gives terms a value ({names}), not {target}.", field="ranking"
        )
    return value


def rank_by_people(sign: float, profiles: Profiles, term_values: TermValues) -> FloatArray:
    """Rank a term by the number of people who used it (sign 1), or rare terms above common ones (sign −1)."""
    return sign * profiles.holder_counts().astype(np.float64)


# The function that ranks the terms under the target of the same name; declarations refer to it by its name.
users, distinct = (partial(rank_by_people, sign) for sign in (1.0, -1.0))
logsize, bid, clicks, impressions, revenue, file = (
    partial(rank_by_value, target) for target in ("logsize", "bid", "clicks", "impressions", "revenue", "file")
)

_RANKINGS = {
    "logsize": "occurrences of terms in the log",
    "users": "people with something left",
    "distinct": "distinct terms",
    "bid": "what advertisers bid for terms (--market)",
    "clicks": "clicks on the ads of terms (--market)",
    "impressions": "how often the ads of terms are shown (--market)",
    "revenue": "clicks · bid of terms (--market)",
    "file": "the value of terms in a file (--values: term, value)",
}
DECLARATIONS = (
    *(Declaration(name, purpose, functions={"local": f"{__name__}:{name}"}) for name, purpose in _RANKINGS.items()),
    Declaration("fis", "frequent combinations: deletes the term that is in the fewest of them"),
    Declaration("random", "no objective: deletes a random term of the combination"),
)
