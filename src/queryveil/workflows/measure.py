"""Measuring a release, or anybody's released log, against the log it was made from."""

import glob
import importlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence, LogPair, Owners
from queryveil.core.files import check_new_file, write_new_file
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.core.rows import IntArray
from queryveil.engines import LogSource, QueryLog, open_log
from queryveil.histories.build import build
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import FOREIGN_LOG, PAIR_MEASURES, Kind
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.market.table import read_market
from queryveil.measures import measure_of
from queryveil.measures.base import Comparison
from queryveil.release.reader import Release, load_release
from queryveil.workflows.log_pairs import pair_files, pair_release, pair_terms
from queryveil.workflows.measures import SearchEvidence, add_comparison, check_measure, meaning_of, take_measures
from queryveil.workflows.requests import MeasureRequest

_ON_ENGINE: Mapping[str, str] = MappingProxyType(
    {
        "local": "queryveil.workflows.measure:measure_locally",
        "spark": "queryveil.workflows.spark_measure:measure_on_spark",
    }
)


def measure(request: MeasureRequest, progress: Progress = silent) -> list[Score]:
    """Score a release, or anybody's released log, against the original.

    For a release the log is cleaned in the way that its manifest says; a pair of logs is taken as it is.
    """
    module, _, function = _ON_ENGINE[request.engine_options.engine].partition(":")
    scores: list[Score] = getattr(importlib.import_module(module), function)(request, progress)
    return scores


def measure_locally(request: MeasureRequest, progress: Progress) -> list[Score]:
    """Score a release or a released log on this machine."""
    named = [
        resolve("measure", name) for name in request.measures
    ]  # a mistyped name is reported before anything is read
    if request.people is not None:
        check_new_file(request.people, overwrite=request.force)
    release = Path(request.release)
    if _is_log(release):
        return _measure_log(release, named, request, progress)
    if not release.exists():
        raise InputError(f"there is no release or log {release}; check the path.")
    loaded = load_release(release)
    measures = named or [resolve("measure", name) for name in _defaults(loaded, request)]
    check_measures(measures, loaded.kind, request)
    loaded.refuse_damaged("measuring")
    return _measure_release(loaded, measures, request, progress)


def _is_log(release: Path) -> bool:
    """Return whether a path is a file, or a pattern of files, rather than a folder."""
    return release.is_file() or (not release.exists() and glob.has_magic(str(release)))


def _defaults(release: Release, request: MeasureRequest) -> tuple[str, ...]:
    """Return the measures taken unless some are named."""
    given = {
        "market": request.market,
        "index": request.index,
        "private": request.private,
        "map": request.pairing.map,
    }
    available = frozenset(name for name, value in given.items() if value is not None)
    return release.kind.default_measures(release.manifest.claim, available)


def check_measures(measures: Sequence[ResolvedName], kind: Kind, request: MeasureRequest) -> None:
    """Refuse measures and options that do not go with the kind of release, before any work is done."""
    for each in measures:
        check_measure(each, kind, has_market=request.market is not None, may_pair=True)
    SearchEvidence.check(request, measures)
    if request.people is not None and not any(measure_of(each).by_person for each in measures):
        raise InputError("--people: none of the measures has a figure for every person; ask for spi or jsd, say.")
    if request.taxonomy is not None and not kind.is_generalized:
        raise InputError("a taxonomy is for releases of vocabularies; leave --taxonomy out.")
    if kind.needs_private and request.private is None:
        raise InputError(
            f"{request.release} holds groups, and who is in them stands in the private folder; give --private."
        )


def _measure_log(
    released: Path, named: Sequence[ResolvedName], request: MeasureRequest, progress: Progress
) -> list[Score]:
    """Score anybody's released log."""
    for flag, value in (("--private", request.private), ("--market", request.market)):
        if value is not None:
            raise InputError(f"{flag} goes with a queryveil release, not with another log; leave it out.")
    measures = named or [resolve("measure", name) for name in PAIR_MEASURES]
    check_measures(measures, FOREIGN_LOG, request)
    against = [Path(path) for path in request.against]
    pair = pair_files(
        against, released, request.pairing, request.reading, needs_model=needs_model(measures), progress=progress
    )
    scores = take_measures(measures, Evidence.of(pair), np.random.default_rng(request.seed), progress)
    write_people(pair, measures, request)
    return scores


def needs_model(measures: Sequence[ResolvedName]) -> bool:
    """Return whether one of the measures must know how sensitive queries are."""
    return any(measure_of(each).needs_model for each in measures)


def _measure_release(
    release: Release, measures: Sequence[ResolvedName], request: MeasureRequest, progress: Progress
) -> list[Score]:
    """Score a release; the log is opened when a measure first looks at it."""
    private = None if request.private_path is None else PrivateFolder(request.private_path)
    if private is not None:
        private.check_belongs(release.manifest.content_sha256)
    evidence = release.kind.read_evidence(release.rows, private, release.manifest.floor)
    rng, search = np.random.default_rng(request.seed), SearchEvidence(request, release, evidence)
    with ExitStack() as stack:
        _add_log(evidence, release, private, request, needs_model(measures), stack, progress)
        scores = take_measures(measures, evidence, rng, progress)
        if request.people is not None:
            write_people(evidence.get(LogPair), measures, request)
    search.write(rng)
    return scores


def _add_log(
    evidence: Evidence,
    release: Release,
    private: PrivateFolder | None,
    request: MeasureRequest,
    has_model: bool,
    stack: ExitStack,
    progress: Progress,
) -> None:
    """Let measures look at the log that the release was made from, and at both person by person."""
    kind, cleaning = release.kind, release.manifest.cleaning.cleaning()
    source = LogSource(tuple(Path(path) for path in request.against), request.reading, cleaning)

    @cache
    def log() -> QueryLog:
        return stack.enter_context(open_log(source, progress=progress))

    @cache
    def original() -> Profiles:
        return build(log(), unit=kind.unit, progress=progress)

    def history_of(owners: Owners) -> IntArray:
        return owners.history if private is None else private.positions_in(original())[owners.history]

    def pair() -> LogPair:
        if kind.unit == "term" and kind.match(request.pairing.match) == "terms":
            return pair_terms(evidence.get(Comparison), request.pairing, needs_model=has_model)
        return pair_release(
            release, log(), request.pairing, request.private_path, needs_model=has_model, progress=progress
        )

    market = None if request.market is None else read_market(request.market, cleaning.charset)
    meaning = meaning_of(release.manifest, request.taxonomy)
    add_comparison(
        evidence,
        kind,
        original,
        release.manifest,
        market=market,
        meaning=meaning,
        history_of=history_of,
        progress=progress,
    )
    evidence.add(LogPair, pair)
    evidence.add(Profiles, original)


def write_people(pair: LogPair, measures: Sequence[ResolvedName], request: MeasureRequest) -> None:
    """Write the figures of every person as CSV where asked to; it names people, so only its owner can read it."""
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
