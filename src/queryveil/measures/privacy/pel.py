"""PEL, the profile exposure level: the information that the release gives about a person's queries, of all there is.

Erola et al. 2011 and Navarro-Arribas et al. 2012, as in Carpineto, Romano: Sensitive-aware Privacy Index for Sanitized
Text Data, 2018: PEL = 100 · I(X;Y) / H(X). How the joint probabilities are estimated is only cited there; two readings:

- `paper`: a released query is the query it stands for, p(x|y) = [x = y]; p(y) is the share of what is released, p(x)
  that of the person's own log. It hardly moves as queries are left out, as the paper observes, and can exceed 100.
- `joint`: a query of the person is drawn from the original, and Y is what became of it, itself or "suppressed".

A person with one distinct query has nothing to be learnt (H = 0) and is left out.
"""

import numpy as np

from queryveil.core.evidence import Evidence, LogPair
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.measures.privacy.people import Reals, averaged, figures_of, people_note, sum_by_person


def pel(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the mean PEL over the people who have more than one distinct query."""
    pair = evidence.get(LogPair)
    values = pel_by_person(pair, measure)
    known = values[~np.isnan(values)]
    note = people_note(figures_of(pair, (), ()))
    if len(known) < len(values):
        note += f"; {len(values) - len(known):,} people with one distinct query are left out"
    return [averaged(str(measure), "mean of people", known, highest=float("inf"), better="lower", note=note)]


def pel_by_person(pair: LogPair, measure: ResolvedName) -> Reals:
    """Return the PEL of every person in percent; nan where there is nothing to be learnt."""
    entropy = _entropy(pair, pair.share_before)
    information = (_by_identity if measure.word("estimate") == "paper" else _by_fate)(pair)
    level: Reals = np.full(len(entropy), np.nan)
    np.divide(100.0 * information, entropy, out=level, where=entropy > 0)
    return level


def _by_identity(pair: LogPair) -> Reals:
    """Return Σ p(y) log2(1 / p(x = y)); a released document that the person never issued tells nothing."""
    own = np.where(pair.before > 0, pair.share_before, 1.0)
    return sum_by_person(pair, -pair.share_after * np.log2(own))


def _by_fate(pair: LogPair) -> Reals:
    """Return H(X) + H(Y) − H(X,Y), where Y is the query itself or "suppressed"; what is kept stands in both."""
    total = pair.n_before[pair.person]
    lost = np.maximum(0, pair.before - pair.after) / total
    suppressed = _surprise(sum_by_person(pair, lost))
    return np.maximum(0.0, _entropy(pair, pair.share_before) + suppressed - _entropy(pair, lost))


def _entropy(pair: LogPair, share: Reals) -> Reals:
    return sum_by_person(pair, _surprise(share))


def _surprise(share: Reals) -> Reals:
    """Return −p · log2 p, 0 where p is."""
    return -share * np.log2(np.where(share > 0, share, 1.0))
