"""A release set beside the log it was made from."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.names import resolve
from queryveil.core.progress import Progress
from queryveil.core.rows import row_numbers, row_numbers_of
from queryveil.histories.assembly import assemble
from queryveil.histories.profiles import Profiles
from queryveil.market.table import Market
from queryveil.measures.base import Comparison
from queryveil.measures.vocabularies import Vocabularies
from queryveil.release.reader import Release, histories_of
from queryveil.release.vocabularies import vocabularies_of
from queryveil.semantics.options import SemanticOptions
from queryveil.workflows.meaning import known_terms, open_network


def set_beside(
    original: Profiles,
    release: Release,
    people: NDArray[np.int32] | None,
    history_of: NDArray[np.int64] | None,
    *,
    market: Market | None = None,
) -> Comparison:
    """Set a release beside its original; without `people` each released history is a person of its own."""
    released = histories_of(release.rows)
    history = row_numbers(released.indptr, dtype=np.int32)
    owner = np.arange(len(released.users), dtype=np.int32) if people is None else people
    occurrences = row_numbers_of(released.counts)
    profiles = assemble(
        history[occurrences],
        released.ids[occurrences],
        pa.array(released.terms, pa.large_string()),
        owner,
        tuple(map(str, range(int(owner.max(initial=-1)) + 1))),
    )
    behind = None if history_of is None else history_of[profiles.log_history]
    return Comparison(release.kind, original, profiles, behind, market)


def vocabularies_beside(
    original: Profiles,
    release: Release,
    history_of: NDArray[np.int64] | None,
    taxonomy: Path | None,
    progress: Progress,
) -> Vocabularies:
    """Set released vocabularies beside their original, by the network of meaning that the manifest names."""
    meaning = SemanticOptions(**release.manifest["cleaning"]["meaning"], taxonomy=taxonomy)
    network = open_network(original, meaning, progress)
    eps = resolve("method", release.manifest["method"]).values.get("eps", 0)
    known = known_terms(original, network, meaning)
    return Vocabularies(known, vocabularies_of(release.rows), history_of, network, int(eps))
