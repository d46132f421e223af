"""Taking measures: which can be taken, what they look at, and the one loop that takes them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence, Owners, ReleasedHistories, ReleasedVocabularies
from queryveil.core.names import Name, ResolvedName, resolve
from queryveil.core.progress import Progress
from queryveil.core.results import Score
from queryveil.core.rows import IntArray, row_numbers
from queryveil.histories.assembly import assemble
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import FOREIGN_LOG, Kind
from queryveil.market.table import Market
from queryveil.measures import NEEDS_MARKET, measure_of
from queryveil.measures.base import Comparison
from queryveil.measures.utility.market import coverage
from queryveil.measures.vocabularies import Vocabularies
from queryveil.release.manifest import Manifest
from queryveil.semantics.options import SemanticOptions
from queryveil.workflows.inputs import known_terms, open_network


def take_measures(
    measures: Sequence[str | Name | ResolvedName],
    evidence: Evidence,
    rng: np.random.Generator,
    progress: Progress,
    engine: str = "local",
) -> list[Score]:
    """Take every measure, in order."""
    scores: list[Score] = []
    for number, name in enumerate(measures):
        progress("measuring", number, len(measures))
        measure = name if isinstance(name, ResolvedName) else resolve("measure", name)
        scores += measure.declaration.load(engine)(evidence, measure, rng=rng, progress=progress)
    progress("measuring", len(measures), len(measures))
    return scores


def check_measure(measure: ResolvedName, kind: Kind, *, has_market: bool, may_pair: bool = False) -> None:
    """Refuse a measure that cannot be taken of a kind of release, and one of market value without a market table."""
    declared = measure_of(measure)
    if declared.of_pair and not may_pair:
        raise InputError(f"the measure {measure} is of a release beside its log; take it with queryveil measure.")
    if kind.name not in declared.kinds and declared.name not in kind.measures:
        kinds = " or ".join(known for known in declared.kinds if known != FOREIGN_LOG.name)
        found = "somebody else's log" if kind is FOREIGN_LOG else kind.name
        raise InputError(
            f"the measure {measure} is of releases of kind {kinds}, not {found}; queryveil list measures names others."
        )
    if declared.needs_market and not has_market:
        raise InputError(NEEDS_MARKET.format(measure))


def add_comparison(
    evidence: Evidence,
    kind: Kind,
    original: Callable[[], Profiles],
    manifest: Manifest,
    *,
    market: Market | None = None,
    meaning: SemanticOptions | None = None,
    history_of: Callable[[Owners], IntArray] = lambda owners: owners.history,
    progress: Progress = lambda stage, done, total: None,
) -> None:
    """Let measures compare a release with the log it was made from; which comparison is built depends on the measure.

    `history_of` maps the histories of the private folder to those of `original`, which may be in another order.
    """

    def behind() -> IntArray | None:
        owners = evidence.find(Owners)
        return None if owners is None else history_of(owners)

    def comparison() -> Comparison:
        if market is not None:
            coverage(original(), market)
        return compare_to_original(evidence, kind, original(), behind(), market)

    evidence.add(Comparison, comparison)
    if meaning is not None:
        chosen = meaning
        evidence.add(Vocabularies, lambda: _vocabularies(evidence, original(), behind(), manifest, chosen, progress))


def compare_to_original(
    evidence: Evidence, kind: Kind, original: Profiles, history_of: IntArray | None, market: Market | None = None
) -> Comparison:
    """Return a release with its original; without the private side each released history is a person of its own."""
    released, owners = evidence.get(ReleasedHistories), evidence.find(Owners)
    history = row_numbers(released.indptr, np.int32)
    owner = np.arange(len(released.users), dtype=np.int32) if owners is None else owners.person
    occurrences = np.repeat(np.arange(len(history)), released.counts)
    profiles = assemble(
        history[occurrences],
        released.ids[occurrences],
        pa.array(released.terms, pa.large_string()),
        owner,
        tuple(map(str, range(int(owner.max(initial=-1)) + 1))),
    )
    behind = None if history_of is None else history_of[profiles.log_history]
    return Comparison(kind, original, profiles, behind, market)


def _vocabularies(
    evidence: Evidence,
    original: Profiles,
    history_of: IntArray | None,
    manifest: Manifest,
    meaning: SemanticOptions,
    progress: Progress,
) -> Vocabularies:
    """Return released vocabularies with their original, over the network that the manifest names."""
    network = open_network(original, meaning, progress)
    eps = resolve("method", manifest.method).values.get("eps", 0)
    known = known_terms(original, network, meaning)
    return Vocabularies(known, evidence.get(ReleasedVocabularies), history_of, network, int(eps))


def meaning_of(manifest: Manifest, taxonomy: Path | None) -> SemanticOptions | None:
    """Return how terms were compared when the release was made; None where they were not."""
    if manifest.cleaning.meaning is None:
        return None
    return replace(SemanticOptions(**manifest.cleaning.meaning), taxonomy=taxonomy)
