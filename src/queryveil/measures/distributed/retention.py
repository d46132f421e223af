"""Retention on a cluster; see `measures.utility.retention`."""

import numpy as np

from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.measures.distributed.base import DistributedComparison
from queryveil.measures.utility.retention import scores_of


def compute(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return distinct terms, log size, users and pairs of the release in percent of the original's."""
    comparison = evidence.get(DistributedComparison)
    progress("measuring retention", 0, 1)
    before, after = comparison.before, comparison.after
    users = (after.people, before.people) if comparison.is_linked else (after.histories, before.histories)
    scores = scores_of(
        measure,
        comparison.kind.items,
        terms=(after.entries, before.entries),
        log_size=(comparison.released_occurrences(), before.occurrences),
        users=users,
        pairs=(after.pairs, before.pairs),
        counts_people=comparison.counts_people,
    )
    progress("measuring retention", 1, 1)
    return scores
