"""Measuring a release against the log it was made from."""

import glob
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.evidence import GroupMembers, LogPair, ReleasedGroups
from queryveil.core.files import check_new_file
from queryveil.core.names import Name, ResolvedName, declarations, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.engines import LogSource, QueryLog, open_log
from queryveil.histories.build import build
from queryveil.logs.options import Cleaning
from queryveil.market.table import read_market
from queryveil.measures import FILE, NEEDS_MARKET, Measure
from queryveil.measures.base import Comparison
from queryveil.measures.utility.market import coverage
from queryveil.measures.vocabularies import Vocabularies
from queryveil.release import private as privates
from queryveil.release.groups import groups_of, load_members
from queryveil.release.reader import Release, histories_of, load
from queryveil.workflows.beside import set_beside, vocabularies_beside
from queryveil.workflows.pair_scores import USUAL, check_people, is_paired, needs_model, score_pair, write_people
from queryveil.workflows.pairs import match_for, pair_files, pair_release, pair_terms
from queryveil.workflows.rankings import Rankings, check_search
from queryveil.workflows.requests import MeasureRequest


def measure(options: MeasureRequest, *, progress: Progress = silent) -> list[Score]:
    """Score a release, or somebody's released log, against the original.

    For a release the log is cleaned in the way that its manifest says; a pair of logs is taken as it stands.
    """
    if options.engine_options.cluster() is not None:
        from queryveil.workflows.distributed.measure import measure as measure_on_spark

        return measure_on_spark(options, progress=progress)
    release, against = Path(options.release), tuple(map(Path, options.against))
    asked = [resolve("measure", name) for name in options.measures]  # a mistyped name is told before anything is read
    if options.people is not None:
        check_new_file(options.people, overwrite=options.force)
    if _is_log(release):
        return _measure_log(release, against, asked, options, progress)
    if not release.exists():
        raise InputError(f"there is no release or log {release}; check the path.")
    loaded = load(release)
    bounds = asked or [resolve("measure", name) for name in _usual(loaded, options)]
    _check(bounds, loaded.kind, options)
    if loaded.faults:
        raise InputError(f"{release}: {loaded.faults[0]}; verify the release before measuring it.")
    if loaded.kind == "groups":
        return _measure_groups(loaded, bounds, options, progress)
    return _measure_release(loaded, against, bounds, options, progress)


def _is_log(release: Path) -> bool:
    """Say whether it is no folder but a file, or a pattern of files."""
    return release.is_file() or (not release.exists() and glob.has_magic(str(release)))


def _check(bounds: Sequence[ResolvedName], kind: str, options: MeasureRequest) -> None:
    """Refuse measures and options that do not go with the kind of release, before any work is done."""
    for bound in bounds:
        check_measure(bound, options.market is not None, kind, may_pair=True)
    check_search(options, bounds)
    if options.people is not None:
        check_people(bounds)
    if options.taxonomy is not None and kind != "vocabularies":
        raise InputError("a taxonomy is for releases of vocabularies; leave --taxonomy out.")


def _measure_log(
    released: Path, against: Sequence[Path], asked: Sequence[ResolvedName], options: MeasureRequest, progress: Progress
) -> list[Score]:
    """Score somebody's released log."""
    for flag, value in (("--private", options.private_path), ("--market", options.market)):
        if value is not None:
            raise InputError(f"{flag} goes with a queryveil release, not with another log; leave it out.")
    bounds = asked or [resolve("measure", name) for name in USUAL]
    _check(bounds, FILE, options)
    pair = pair_files(
        against, released, options.pairing, options.reading, needs_model=needs_model(bounds), progress=progress
    )
    return _scores_of(pair, bounds, options, progress)


def _measure_release(
    release: Release,
    against: Sequence[Path],
    bounds: Sequence[ResolvedName],
    options: MeasureRequest,
    progress: Progress,
) -> list[Score]:
    """Score a release of histories, of queries or of their terms; the log is opened once."""
    paired = [bound for bound in bounds if is_paired(bound)]
    others = [str(bound) for bound in bounds if not is_paired(bound)]
    by_terms = bool(paired) and release.kind != "queries" and match_for(options.pairing, release.kind) == "terms"
    cleaning = Cleaning.from_record(release.manifest["cleaning"]["options"])
    scores: list[Score] = []
    with open_log(LogSource(tuple(against), options.reading, cleaning), progress=progress) as log:
        if others or by_terms:
            comparison = _comparison(release, log, options, progress)
            scores += score(comparison, others, np.random.default_rng(options.seed), progress)
        if by_terms and isinstance(comparison, Comparison):
            pair = pair_terms(comparison, options.pairing, needs_model=needs_model(paired))
        elif paired:
            pair = pair_release(
                release, log, options.pairing, options.private_path, needs_model=needs_model(paired), progress=progress
            )
    if paired:
        scores += _scores_of(pair, paired, options, progress)
    order = {str(bound): place for place, bound in enumerate(bounds)}
    return sorted(scores, key=lambda each: order.get(each.measure, len(order)))


def _scores_of(
    pair: LogPair, bounds: Sequence[ResolvedName], options: MeasureRequest, progress: Progress
) -> list[Score]:
    """Score a pair of logs, and write the figures of every person where asked to."""
    scores = score_pair(pair, bounds, np.random.default_rng(options.seed), progress)
    if options.people is not None:
        write_people(options.people, pair, bounds, force=options.force)
    return scores


def _comparison(
    release: Release, log: QueryLog, options: MeasureRequest, progress: Progress
) -> Comparison | Vocabularies:
    """Set the terms, or whole queries, of a release beside those of its log."""
    charset = log.source.cleaning.charset
    worths = None if options.market is None else read_market(options.market, charset)
    original = build(log, unit="query" if release.kind == "queries" else "term", progress=progress)
    if worths is not None:
        coverage(original, worths)
    people = history_of = None
    private = options.private_path
    if private is not None:
        privates.check_belongs(private, release.manifest["content_sha256"])
        people, history_of = privates.load_histories(private, histories_of(release.rows).users)
        if privates.load_run(private).get("engine") == "spark":  # nobody knows there who stands first in the log
            history_of = privates.places_in(original, private)[history_of]
    if release.kind == "vocabularies":
        return vocabularies_beside(original, release, history_of, options.taxonomy, progress)
    return set_beside(original, release, people, history_of, market=worths)


def default_measures(has_market: bool) -> tuple[str, ...]:
    """Return what is measured unless something is asked for."""
    return ("retention", *(("market",) if has_market else ()), "unique(m=1)", "unique(m=2)", "unique(m=3)")


def _usual(release: Release, options: MeasureRequest) -> tuple[str, ...]:
    """Return what is measured of a release unless something is asked for."""
    if release.kind == "groups":
        bound = resolve("guarantee", release.manifest["guarantee"])
        return (f"linkability(p={bound['p']})", *(() if options.index is None else ("search",)))
    if release.kind == "vocabularies":
        return ("blm", "lm", "patterns")
    usual = default_measures(options.market is not None)
    is_linked = options.private is not None or options.pairing.map is not None
    return (*usual, *USUAL) if release.kind == "queries" and is_linked else usual


def _measure_groups(
    release: Release, bounds: Sequence[ResolvedName], options: MeasureRequest, progress: Progress
) -> list[Score]:
    """Score a release of groups against the profiles in its private folder."""
    private = options.private_path
    if private is None:
        raise InputError(
            f"{release.path} holds groups, and who is in them stands in the private folder; give --private."
        )
    privates.check_belongs(private, release.manifest["content_sha256"])
    released = groups_of(release.rows)
    members, _ = load_members(private, released)
    rng, rankings = np.random.default_rng(options.seed), Rankings(options, release)
    scores = score_groups(released, members, [str(bound) for bound in bounds], rng, progress, rankings)
    rankings.write(rng)
    return scores


def score_groups(
    released: ReleasedGroups,
    members: GroupMembers,
    measures: Sequence[str | Name],
    rng: np.random.Generator,
    progress: Progress,
    rankings: Rankings | None = None,
) -> list[Score]:
    """Compute every measure asked for of a release of groups."""
    scores: list[Score] = []
    for number, name in enumerate(measures):
        progress("measuring", number, len(measures))
        bound = resolve("measure", name)
        context = {} if rankings is None else rankings.context(bound)
        scores += bound.declaration.load()(released, members, bound, **context, rng=rng, progress=progress)
    return scores


def check_measure(bound: ResolvedName, has_market: bool, kind: str = "histories", *, may_pair: bool = False) -> None:
    """Refuse a measure that cannot be taken of a kind of release, and one of market value without a market table."""
    measure = bound.declaration
    if is_paired(bound) and not may_pair:
        raise InputError(f"the measure {bound} is of a release beside its log; take it with queryveil measure.")
    if isinstance(measure, Measure) and kind not in measure.kinds:
        kinds = " or ".join(known for known in measure.kinds if known != FILE)
        found = "somebody else's log" if kind == FILE else kind
        raise InputError(
            f"the measure {bound} is of releases of kind {kinds}, not {found}; queryveil list measures names others."
        )
    if isinstance(measure, Measure) and measure.needs_market and not has_market:
        raise InputError(NEEDS_MARKET.format(bound))


def score(
    comparison: Comparison | Vocabularies, measures: Sequence[str | Name], rng: np.random.Generator, progress: Progress
) -> list[Score]:
    """Compute every measure asked for."""
    scores: list[Score] = []
    for number, name in enumerate(measures):
        progress("measuring", number, len(measures))
        bound = resolve("measure", name)
        scores += declarations("measure")[bound.declaration.name].load()(comparison, bound, rng=rng, progress=progress)
    progress("measuring", len(measures), len(measures))
    return scores
