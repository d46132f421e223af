"""Taking measures: which can be taken, what they look at, and the one loop that takes them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence, Owners, ReleasedHistories, ReleasedVocabularies
from queryveil.core.names import Name, ResolvedName, resolve
from queryveil.core.progress import Progress
from queryveil.core.results import Score
from queryveil.core.rows import IntArray, row_numbers, row_numbers_of
from queryveil.histories.assembly import assemble
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import FOREIGN_LOG, Kind
from queryveil.market.table import Market
from queryveil.measures import NEEDS_INDEX, NEEDS_MARKET, measure_of
from queryveil.measures.base import Comparison, Vocabularies
from queryveil.measures.utility.market import coverage
from queryveil.release.folder import write_folder
from queryveil.release.manifest import Manifest
from queryveil.release.reader import Release
from queryveil.release.writer import check_place
from queryveil.semantics.options import SemanticOptions
from queryveil.workflows.inputs import known_terms, open_network
from queryveil.workflows.requests import MeasureRequest

if TYPE_CHECKING:  # tantivy is imported only if something is searched
    from queryveil.search.evaluation.variants import SearchEvaluation

_QRELS = "qrels.txt"  # by which a folder of rankings is recognised


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
    occurrences = row_numbers_of(released.counts)
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


class SearchEvidence:
    """Gives the measure `search` its index, and keeps its rankings until they are written as TREC files."""

    def __init__(self, request: MeasureRequest, release: Release, evidence: Evidence) -> None:
        """Add the index to the evidence, if one was given; it is opened when a measure asks for it."""
        self._trec, self._evidence = request.trec, evidence
        self._rankings: list[SearchEvaluation] = []
        if request.index is None:
            return
        from queryveil.measures.utility.search import SearchInputs
        from queryveil.search.evaluation.group_profiles import PublicationRule
        from queryveil.search.index import open_index

        index = request.index
        rule = PublicationRule.of(resolve("method", release.manifest.method))
        evidence.add(SearchInputs, lambda: SearchInputs(open_index(index), rule, self._rankings.append))

    @staticmethod
    def check(request: MeasureRequest, measures: Sequence[ResolvedName]) -> None:
        """Refuse an index without a measure that needs it, and such a measure without an index."""
        searching = [each for each in measures if measure_of(each).needs_index]
        if searching and request.index is None:
            raise InputError(NEEDS_INDEX.format(searching[0]))
        if request.index is not None and not searching:
            raise InputError("--index is for the measure search, of releases of groups; name it by --measure.")
        if request.trec is not None:
            if len(searching) != 1:
                raise InputError("--trec writes the rankings of the measure search; name that once by --measure.")
            check_place(request.trec, _QRELS, force=False)

    def write(self, rng: np.random.Generator) -> None:
        """Write run and qrels files if requested, for the owner only: they are computed from people's own profiles."""
        if self._trec is None or not self._rankings:
            return
        from queryveil.measures.utility.search import SearchInputs
        from queryveil.search.evaluation.variants import trec_files

        index = self._evidence.get(SearchInputs).index
        files = trec_files(self._rankings[0], index.documents.ids, rng)
        write_folder(self._trec, files, force=False, secret=True)
