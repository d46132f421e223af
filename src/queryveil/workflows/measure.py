"""Measuring a release, or another released log, against its original; and the one loop that takes measures."""

import glob
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.core.arrow import arrow_texts, as_array, csv_bytes, release_freed_memory
from queryveil.core.display import alternatives
from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence, LogPair, Owners, ReleasedHistories, ReleasedVocabularies
from queryveil.core.files import Folder, check_new_file, folder_of, write_new_file
from queryveil.core.names import Name, ResolvedName, resolve
from queryveil.core.progress import Progress, running_beside, silent
from queryveil.core.results import Score
from queryveil.core.rows import IntArray, row_numbers
from queryveil.engines import LogSource, QueryLog, open_log
from queryveil.engines.kept_columns import NOTHING_KEPT, KeptColumn
from queryveil.engines.local.files import expand_paths
from queryveil.histories.build import assemble, build
from queryveil.histories.profile_files import profiles_of
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import FOREIGN_LOG, PAIR_MEASURES, Counts, Kind
from queryveil.kinds.private_folder import VECTORS, PrivateFolder, RunRecord
from queryveil.market import Market, read_market
from queryveil.measures import NEEDS_INDEX, NEEDS_MARKET, measure_of
from queryveil.measures.base import Comparison
from queryveil.release.atomic_folder import file_digest, prepare_target, write_folder
from queryveil.release.manifest import Manifest
from queryveil.release.reader import Release, load_release
from queryveil.semantics import SemanticOptions
from queryveil.workflows.excluded import recorded_terms
from queryveil.workflows.requests import MeasureRequest

if TYPE_CHECKING:
    from queryveil.measures.vocabularies import Vocabularies
    from queryveil.search.evaluation.clicks import ClickLog
    from queryveil.search.evaluation.variants import SearchEvaluation

_QRELS = "qrels.txt"  # by which a folder of rankings is recognised
CLICK_COLUMNS = (KeptColumn("url"), KeptColumn("rank"))
_NO_CLICKS = (
    "clicks: the log has no address of a clicked result; name its column by --columns url=COLUMN, or measure search, "
    "which needs none."
)


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
    measured = _MeasuredRelease(release, private, run, request, progress, evidence)
    rng, rankings = np.random.default_rng(request.seed), measured.add_search()
    with ExitStack() as stack:
        measured.add_original(stack, CLICK_COLUMNS if any(measure_of(each).needs_clicks for each in measures) else ())
        evidence.add(LogPair, lambda: measured.pair(needs_model=needs_model(measures)))
        if run is None or not are_same_files(run, request.original(release.manifest.cleaning.cleaning())):
            evidence.get(Profiles)  # refuses another log, whatever the measures look at
        scores = take_measures(measures, evidence, rng, progress)
        if request.people is not None:
            write_people(evidence.get(LogPair), measures, request)
    if request.trec is not None and rankings:
        _write_rankings(request.trec, rankings[0], evidence, rng)
    return scores


@dataclass(frozen=True, eq=False)
class _MeasuredRelease:
    """A release and its private folder, from which the evidence of measures is built when one looks at it."""

    release: Release
    private: PrivateFolder | None
    run: RunRecord | None
    request: MeasureRequest
    progress: Progress
    evidence: Evidence

    def add_original(self, stack: ExitStack, also_keep: tuple[KeptColumn, ...]) -> None:
        """Let measures look at the log, which is cleaned in the way that the manifest says; the stack closes it."""
        manifest, request, private, evidence = self.release.manifest, self.request, self.private, self.evidence
        cleaning, recorded = manifest.cleaning.cleaning(), manifest.cleaning.meaning
        excluded = recorded_terms(manifest, self.run)
        source = request.original(cleaning, (*(manifest.kept or NOTHING_KEPT).columns, *also_keep), excluded)
        meaning = None
        if recorded is not None:  # how terms were compared when the release was made, maybe by the user's vectors
            file = None if private is None else private.path / VECTORS
            vectors: Any = file if file is not None and file.is_file() else None
            given = {"taxonomy": request.taxonomy, "vectors": vectors, "excluded": excluded}
            meaning = replace(SemanticOptions(**recorded), **given)

        def map_histories(owners: Owners) -> IntArray:
            positions = None if private is None else private.positions_in(evidence.get(Profiles))
            return owners.history if positions is None else positions[owners.history]

        evidence.add(QueryLog, lambda: stack.enter_context(open_log(source, progress=self.progress)))
        evidence.add(Profiles, lambda: self._read_original(source))
        market = None if request.market is None else read_market(request.market, cleaning.charset)
        more: dict[str, Any] = {"market": market, "meaning": meaning, "map_histories": map_histories}
        add_comparison(evidence, self.release.kind, manifest, **more, progress=self.progress)

    def _read_original(self, source: LogSource) -> Profiles:
        """Return the profiles of the log, which must be the one that the release was made from."""
        kind = self.release.kind
        profiles = profiles_of(source) if kind.reads_profile_files else None
        if profiles is None:
            profiles = build(self.evidence.get(QueryLog), unit=kind.unit, progress=self.progress)
        if self.private is not None:
            find_people(self.private.histories(), profiles, is_ordered=False)
        refuse_other_counts(self.release.manifest, Counts.of(profiles))
        return profiles

    def pair(self, *, needs_model: bool) -> LogPair:
        """Return log and release person by person."""
        from queryveil.workflows.log_pairs import pair_release, pair_terms

        kind, pairing = self.release.kind, self.request.pairing
        if kind.unit == "term" and kind.match(pairing.match) == "terms":
            return pair_terms(self.evidence.get(Comparison), pairing, needs_model=needs_model)
        log, progress = self.evidence.get(QueryLog), self.progress
        return pair_release(self.release, log, pairing, self.private, needs_model=needs_model, progress=progress)

    def add_search(self) -> "list[SearchEvaluation]":
        """Let measures open an index and read clicks, if one was given; return the list that rankings are added to."""
        rankings: list[SearchEvaluation] = []
        if self.request.index is not None:
            from queryveil.measures.utility.search import SearchInputs
            from queryveil.search.evaluation.group_profiles import PublicationRule
            from queryveil.search.index import open_index

            index, rule = self.request.index, PublicationRule.of(resolve("method", self.release.manifest.method))
            self.evidence.add(SearchInputs, lambda: SearchInputs(open_index(index), rule, rankings.append))
        if self.request.index is not None and (private := self.private) is not None:
            from queryveil.search.evaluation.clicks import ClickLog

            self.evidence.add(ClickLog, lambda: read_clicks(self.evidence.get(QueryLog), private))
        return rankings


def write_people(pair: LogPair, measures: Sequence[ResolvedName], request: MeasureRequest) -> None:
    """Write the figures of every person as CSV if requested; it names people, so only its owner can read it."""
    if request.people is None:
        return
    columns: dict[str, Any] = {"person": pair.persons, "queries": pair.n_before, "released": pair.n_after}
    for each in measures:
        if measure_of(each).by_person:
            figures = measure_of(each).load_by_person()(pair, each)
            columns[str(each)] = pa.array(figures, mask=np.isnan(figures))
    data = csv_bytes(pa.table(columns), quoting_style="needed")
    write_new_file(request.people, data, overwrite=request.force, mode=0o600)


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


def _write_rankings(out: Path, rankings: "SearchEvaluation", evidence: Evidence, rng: np.random.Generator) -> None:
    """Write rankings as TREC files, for the owner only: they are computed from people's own profiles."""
    from queryveil.measures.utility.search import SearchInputs
    from queryveil.search.evaluation.variants import trec_files

    documents = evidence.get(SearchInputs).index.documents
    write_folder(out, trec_files(rankings, documents.ids, rng), _QRELS, force=False, secret=True)


def read_clicks(log: QueryLog, private: PrivateFolder) -> "ClickLog":
    """Return the clicks of the people of a release; `log` was opened with the columns of clicks."""
    from queryveil.search.evaluation.clicks import ClickLog

    url, rank = CLICK_COLUMNS
    if not log.has_values(url):
        raise InputError(_NO_CLICKS)
    logged = f"TRY_CAST({rank.sql} AS DOUBLE)" if rank.name in log.columns else "CAST(NULL AS DOUBLE)"
    table = log.connection.query_table(
        f"SELECT people.person, query, {url.sql} AS url, CASE WHEN {logged} >= 1 THEN {logged} END AS logged"
        f" FROM queries JOIN people ON people.id = queries.person WHERE {url.sql} IS NOT NULL"
    )
    persons = private.histories()["person"].combine_chunks()
    number = pc.index_in(table["person"].cast(persons.type), persons)
    rows = table.set_column(0, "person", number)
    rows = rows.filter(pc.is_valid(rows["person"])).sort_by(
        [(name, "ascending") for name in ("person", "query", "url")]
    )
    return ClickLog(
        as_array(rows["person"]).astype(np.int64),
        tuple(rows["query"].to_pylist()),
        tuple(rows["url"].to_pylist()),
        as_array(pc.fill_null(rows["logged"].cast(pa.float64()), np.nan)),
    )


def are_same_files(run: RunRecord, source: LogSource) -> bool:
    """Return whether the files of a log are known to be those that a run read, by their digests."""
    digests = [file_digest(path) or "" for path in expand_paths(source.paths)] if source.table is None else [""]
    return all(digests) and sorted(digests) == sorted(str(each.get("sha256")) for each in run.inputs)


def refuse_other_counts(manifest: Manifest, found: Counts) -> None:
    """Refuse a log that has other counts than the manifest says of the one that the release was made from."""
    stated, meaning = manifest.counts["before"], manifest.cleaning.meaning or {}
    wrong = [name for name, number in found.record().items() if stated.get(name) != number]
    if wrong and meaning.get("unknown_terms") != "drop":  # else the method saw fewer terms
        raise InputError(
            f"--against: this is not the log that the release was made from, it has another number of "
            f"{', '.join(wrong)}; give that one."
        )


def find_people(membership: pa.Table, profiles: Profiles, *, is_ordered: bool) -> IntArray:
    """Return the number in the log of the person behind every history of the private folder.

    If it is ordered, the log must have the same histories in the same order.
    """
    person = pc.fill_null(pc.index_in(membership["person"], pa.array(profiles.persons, pa.string())), -1)
    found = as_array(person.combine_chunks().cast(pa.int64()))
    if not (found >= 0).any():
        raise InputError(
            "--against: nobody in this log is behind the release; give the log that the release was made from."
        )
    is_same = bool((found >= 0).all()) and len(np.unique(found)) == profiles.n_people
    if not is_same or (is_ordered and not np.array_equal(found, profiles.owner)):
        raise InputError(
            "--against: this is not the log that the release was made from, other people are in it; give that one."
        )
    return found
