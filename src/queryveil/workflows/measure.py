"""Measuring a release, or another released log, against its original; and the one loop that takes measures."""

import glob
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from queryveil.core.arrow import arrow_texts
from queryveil.core.display import alternatives
from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence, Owners, ReleasedHistories
from queryveil.core.files import check_new_file, write_new_file
from queryveil.core.group_evidence import ReleasedVocabularies
from queryveil.core.memory import release_freed_memory
from queryveil.core.memory_folder import Folder, folder_of
from queryveil.core.names import Name, ResolvedName, resolve
from queryveil.core.progress import Progress, running_beside, silent
from queryveil.core.results import Score
from queryveil.core.rows import IntArray, row_numbers
from queryveil.engines import LogSource, QueryLog, open_log
from queryveil.engines.kept_columns import NOTHING_KEPT, KeptColumn
from queryveil.histories.build import assemble, build
from queryveil.histories.profile_files import profiles_of
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import FOREIGN_LOG, PAIR_MEASURES, Counts, Kind
from queryveil.kinds.private_folder import VECTORS, PrivateFolder, RunRecord
from queryveil.market.table import Market, read_market
from queryveil.measures import NEEDS_INDEX, NEEDS_MARKET, measure_of
from queryveil.measures.base import Comparison
from queryveil.release.atomic_folder import prepare_target, write_folder
from queryveil.release.manifest import Manifest
from queryveil.release.reader import Release, load_release
from queryveil.semantics import SemanticOptions
from queryveil.workflows.clicks import CLICK_COLUMNS, read_clicks
from queryveil.workflows.excluded import recorded_terms
from queryveil.workflows.original_log import are_same_files, find_people, refuse_other_counts
from queryveil.workflows.requests import MeasureRequest

if TYPE_CHECKING:
    from queryveil.core.log_pair import LogPair
    from queryveil.measures.vocabularies import Vocabularies
    from queryveil.search.evaluation.variants import SearchEvaluation

_QRELS = "qrels.txt"  # by which a folder of rankings is recognised


def measure(request: MeasureRequest, progress: Progress = silent) -> list[Score]:
    """Score a release, or another released log, against the original.

    For a release the log is cleaned in the way that its manifest says; a pair of logs is taken as it is.
    """
    scores: list[Score] = request.engine_options.workflow("measure")(request, progress)
    return scores


def measure_locally(request: MeasureRequest, progress: Progress) -> list[Score]:
    """Score a release or a released log on this machine."""
    # a mistyped name is reported before anything is read
    named = [resolve("measure", name) for name in request.measures]
    if request.people is not None:
        check_new_file(request.people, overwrite=request.force)
    release = folder_of(request.release)
    if not isinstance(release, Folder) or release.is_file() or (not release.exists() and glob.has_magic(str(release))):
        return _measure_foreign_log(release, named, request, progress)
    if not release.exists():
        raise InputError(f"there is no release or log {release}; check the path.")
    loaded = load_release(release)
    given = {"market": request.market, "index": request.index, "private": request.private, "map": request.pairing.map}
    available = frozenset(name for name, value in given.items() if value is not None)
    available |= {*loaded.manifest.uncovered_columns}
    measures = named or [
        resolve("measure", name) for name in loaded.kind.default_measures(loaded.manifest.claim, available)
    ]
    check_measures(measures, loaded.kind, request)
    loaded.refuse_damaged("measuring")
    return _measure_release(loaded, measures, request, progress)


def check_measures(measures: Sequence[ResolvedName], kind: Kind, request: MeasureRequest) -> None:
    """Refuse measures and options that do not go with the kind of release, before any work is done."""
    for each in measures:
        check_measure(each, kind, has_market=request.market is not None, may_pair=True)
    _check_search(request, measures)
    if request.people is not None and not any(measure_of(each).by_person for each in measures):
        raise InputError("--people: none of the measures has a figure for every person; ask for spi or jsd, say.")
    if request.taxonomy is not None and not kind.is_generalized:
        raise InputError("a taxonomy is for releases of vocabularies; leave --taxonomy out.")
    if kind.needs_private and request.private is None:
        raise InputError(
            f"{request.release} holds groups, and who is in them stands in the private folder; give --private."
        )


def _measure_foreign_log(
    released: Any, named: Sequence[ResolvedName], request: MeasureRequest, progress: Progress
) -> list[Score]:
    """Score a released log that is no queryveil release."""
    for flag, value in (("--private", request.private), ("--market", request.market)):
        if value is not None:
            raise InputError(f"{flag} goes with a queryveil release, not with another log; leave it out.")
    measures = named or [resolve("measure", name) for name in PAIR_MEASURES]
    check_measures(measures, FOREIGN_LOG, request)
    from queryveil.workflows.log_pairs import pair_files

    pair = pair_files(released, request, needs_model=needs_model(measures), progress=progress)
    scores = take_measures(measures, Evidence(pair), np.random.default_rng(request.seed), progress)
    write_people(pair, measures, request)
    return scores


def needs_model(measures: Sequence[ResolvedName]) -> bool:
    """Return whether one of the measures must know how sensitive queries are."""
    return any(measure_of(each).needs_model for each in measures)


def _measure_release(
    release: Release, measures: Sequence[ResolvedName], request: MeasureRequest, progress: Progress
) -> list[Score]:
    """Score a release; the log is opened when a measure first looks at it."""
    private = None if request.private is None else PrivateFolder(folder_of(request.private))
    run = None if private is None else private.check_belongs(release.manifest.content_sha256)
    evidence = release.kind.read_evidence(release.rows, private, release.manifest.floor)
    rng, rankings = np.random.default_rng(request.seed), _add_search(evidence, release, private, request)
    with ExitStack() as stack:
        keep = CLICK_COLUMNS if any(measure_of(each).needs_clicks for each in measures) else ()
        _add_original(evidence, release, private, run, request, stack, progress, keep)
        _add_pair(evidence, release, private, request, needs_model(measures), progress)
        if run is None or not are_same_files(run, request.original(release.manifest.cleaning.cleaning())):
            evidence.get(Profiles)  # refuses another log, whatever the measures look at
        scores = take_measures(measures, evidence, rng, progress)
        if request.people is not None:
            from queryveil.core.log_pair import LogPair

            write_people(evidence.get(LogPair), measures, request)
    if request.trec is not None and rankings:
        _write_rankings(request.trec, rankings[0], evidence, rng)
    return scores


def _add_original(
    evidence: Evidence,
    release: Release,
    private: PrivateFolder | None,
    run: RunRecord | None,
    request: MeasureRequest,
    stack: ExitStack,
    progress: Progress,
    also_keep: tuple[KeptColumn, ...],
) -> None:
    """Let measures look at the log, which is cleaned in the way that the manifest says; the stack closes it."""
    cleaning = release.manifest.cleaning.cleaning()
    meaning = release.manifest.cleaning.meaning  # how terms were compared when the release was made
    kept = release.manifest.kept or NOTHING_KEPT
    excluded = recorded_terms(release.manifest, run)
    source = request.original(cleaning, (*kept.columns, *also_keep), excluded)

    def map_histories(owners: Owners) -> IntArray:
        positions = None if private is None else private.positions_in(evidence.get(Profiles))
        return owners.history if positions is None else positions[owners.history]

    evidence.add(QueryLog, lambda: stack.enter_context(open_log(source, progress=progress)))
    evidence.add(Profiles, lambda: _read_original(evidence, release, private, source, progress))
    add_comparison(
        evidence,
        release.kind,
        release.manifest,
        market=None if request.market is None else read_market(request.market, cleaning.charset),
        meaning=None
        if meaning is None
        else replace(
            SemanticOptions(**meaning), taxonomy=request.taxonomy, vectors=_own_vectors(private), excluded=excluded
        ),
        map_histories=map_histories,
        progress=progress,
    )


def _own_vectors(private: PrivateFolder | None) -> Any:
    """Return the file of the vectors by which the release was made, if these were the user's."""
    file = None if private is None else private.path / VECTORS
    return file if file is not None and file.is_file() else None


def _read_original(
    evidence: Evidence, release: Release, private: PrivateFolder | None, source: LogSource, progress: Progress
) -> Profiles:
    """Return the profiles of the log, which must be the one that the release was made from."""
    kind = release.kind
    profiles = profiles_of(source) if kind.reads_profile_files else None
    if profiles is None:
        profiles = build(evidence.get(QueryLog), unit=kind.unit, progress=progress)
    if private is not None:
        find_people(private.histories(), profiles, is_ordered=False)
    refuse_other_counts(release.manifest, Counts.of(profiles))
    return profiles


def _add_pair(
    evidence: Evidence,
    release: Release,
    private: PrivateFolder | None,
    request: MeasureRequest,
    needs_model: bool,
    progress: Progress,
) -> None:
    """Let measures look at log and release person by person."""
    from queryveil.core.log_pair import LogPair

    kind, pairing = release.kind, request.pairing

    def pair() -> LogPair:
        from queryveil.workflows.log_pairs import pair_release, pair_terms

        if kind.unit == "term" and kind.match(pairing.match) == "terms":
            return pair_terms(evidence.get(Comparison), pairing, needs_model=needs_model)
        log = evidence.get(QueryLog)
        return pair_release(release, log, pairing, private, needs_model=needs_model, progress=progress)

    evidence.add(LogPair, pair)


def write_people(pair: "LogPair", measures: Sequence[ResolvedName], request: MeasureRequest) -> None:
    """Write the figures of every person as CSV if requested; it names people, so only its owner can read it."""
    if request.people is None:
        return
    columns: dict[str, Any] = {"person": pair.persons, "queries": pair.n_before, "released": pair.n_after}
    for each in measures:
        if measure_of(each).by_person:
            figures = measure_of(each).load_by_person()(pair, each)
            columns[str(each)] = pa.array(figures, mask=np.isnan(figures))
    sink = pa.BufferOutputStream()
    csv.write_csv(pa.table(columns), sink, csv.WriteOptions(quoting_style="needed"))
    write_new_file(request.people, sink.getvalue().to_pybytes(), overwrite=request.force, mode=0o600)


def take_measures(
    measures: Sequence[str | Name | ResolvedName],
    evidence: Evidence,
    rng: np.random.Generator,
    progress: Progress,
    engine: str = "local",
) -> list[Score]:
    """Take every measure, in order; some, which draw nothing, beside the others."""
    named = [name if isinstance(name, ResolvedName) else resolve("measure", name) for name in measures]
    takes = [partial(each.declaration.load(engine), evidence, each, rng=rng) for each in named]
    scores: dict[int, list[Score]] = {}

    def take(numbers: Sequence[int], progress: Progress) -> None:
        for number in numbers:
            scores[number] = takes[number](progress=progress)

    beside = [number for number, each in enumerate(named) if measure_of(each).runs_beside and len(named) > 1]
    progress("measuring", 0, len(named))
    if beside:
        evidence.find(Comparison)  # built by one thread
    with running_beside(partial(take, beside)) as others:
        for number in range(len(named)):
            take([number] if number not in beside else [], progress)
            progress("measuring", number + 1, len(named))
        others.result()
    return [score for number in range(len(named)) for score in scores[number]]


def check_measure(measure: ResolvedName, kind: Kind, *, has_market: bool, may_pair: bool = False) -> None:
    """Refuse a measure that cannot be taken of a kind of release, and one of market value without a market table."""
    declared = measure_of(measure)
    if declared.of_pair and not may_pair:
        raise InputError(f"the measure {measure} compares a release with its log; take it with queryveil measure.")
    if kind.name not in declared.kinds and declared.name not in kind.measures:
        kinds = alternatives([known for known in declared.kinds if known != FOREIGN_LOG.name])
        found = "somebody else's log" if kind is FOREIGN_LOG else kind.name
        raise InputError(
            f"the measure {measure} applies to releases of kind {kinds}, not {found}; see queryveil list measures."
        )
    if declared.needs_market and not has_market:
        raise InputError(NEEDS_MARKET.format(measure))


def add_comparison(
    evidence: Evidence,
    kind: Kind,
    manifest: Manifest,
    *,
    market: Market | None = None,
    meaning: SemanticOptions | None = None,
    map_histories: Callable[[Owners], IntArray] = attrgetter("history"),
    progress: Progress = silent,
) -> None:
    """Let measures compare a release with the `Profiles` of its log; which comparison is built depends on the measure.

    `map_histories` maps the histories of the private folder to those of the profiles, which may be in another order.
    """
    after = manifest.counts["after"]
    several = after["histories"] > after["people"]  # of people with one history each, these are pieces
    evidence.add(
        Comparison,
        lambda: replace(compare_to_original(evidence, kind, market, map_histories), is_in_pieces=several),
    )
    if meaning is not None:
        from queryveil.measures.vocabularies import Vocabularies

        evidence.add(Vocabularies, lambda: _compare_vocabularies(evidence, manifest, meaning, map_histories, progress))


def compare_to_original(
    evidence: Evidence, kind: Kind, market: Market | None, map_histories: Callable[[Owners], IntArray]
) -> Comparison:
    """Return a release with its original; without the private side each released history is a person of its own."""
    original = evidence.get(Profiles)
    if market is not None:
        from queryveil.measures.utility.market import coverage

        coverage(original, market)  # refuses a table that has no term of the log
    released, owners = evidence.find(ReleasedHistories) or evidence.get(ReleasedVocabularies), evidence.find(Owners)
    owner = np.arange(len(released.users), dtype=np.int32) if owners is None else owners.person
    profiles = assemble(
        np.repeat(row_numbers(released.indptr, np.int32), released.counts),
        np.repeat(released.ids, released.counts),
        arrow_texts(released.terms, pa.large_string()),
        owner,
    )
    histories = None if owners is None else map_histories(owners)[profiles.log_history]
    release_freed_memory()
    return Comparison(kind, original, profiles, histories, market)


def _compare_vocabularies(
    evidence: Evidence,
    manifest: Manifest,
    meaning: SemanticOptions,
    map_histories: Callable[[Owners], IntArray],
    progress: Progress,
) -> "Vocabularies":
    """Return released vocabularies with their original, and the network by which terms were compared."""
    from queryveil.measures.vocabularies import Vocabularies
    from queryveil.workflows.semantic_inputs import known_terms, open_network

    original, owners = evidence.get(Profiles), evidence.find(Owners)
    network = open_network(original, meaning, progress)
    eps = resolve("method", manifest.method).values.get("eps", 0)
    known, released = known_terms(original, network, meaning), evidence.get(ReleasedVocabularies)
    return Vocabularies(known, released, None if owners is None else map_histories(owners), network, int(eps))


def _check_search(request: MeasureRequest, measures: Sequence[ResolvedName]) -> None:
    """Refuse an index without a measure that needs it, and such a measure without an index."""
    searching = [each for each in measures if measure_of(each).needs_index]
    if searching and request.index is None:
        raise InputError(NEEDS_INDEX.format(searching[0]))
    if request.index is not None and not searching:
        raise InputError("--index is for the measures search and clicks, of releases of groups; name one by --measure.")
    if request.trec is not None:
        if len(searching) != 1:
            raise InputError("--trec writes the rankings of one measure, search or clicks; name it once by --measure.")
        prepare_target(request.trec, _QRELS, force=False)


def _add_search(
    evidence: Evidence, release: Release, private: PrivateFolder | None, request: MeasureRequest
) -> "list[SearchEvaluation]":
    """Let measures open an index and read clicks, if an index was given; return the list that rankings are added to."""
    rankings: list[SearchEvaluation] = []
    if request.index is not None:
        from queryveil.measures.utility.search import SearchInputs
        from queryveil.search.evaluation.group_profiles import PublicationRule
        from queryveil.search.index import open_index

        index, rule = request.index, PublicationRule.of(resolve("method", release.manifest.method))
        evidence.add(SearchInputs, lambda: SearchInputs(open_index(index), rule, rankings.append))
    if request.index is not None and private is not None:
        from queryveil.search.evaluation.clicks import ClickLog

        evidence.add(ClickLog, lambda: read_clicks(evidence.get(QueryLog), private))
    return rankings


def _write_rankings(out: Path, rankings: "SearchEvaluation", evidence: Evidence, rng: np.random.Generator) -> None:
    """Write rankings as TREC files, for the owner only: they are computed from people's own profiles."""
    from queryveil.measures.utility.search import SearchInputs
    from queryveil.search.evaluation.variants import trec_files

    documents = evidence.get(SearchInputs).index.documents
    write_folder(out, trec_files(rankings, documents.ids, rng), _QRELS, force=False, secret=True)
