"""From a raw log to a verified release: read, clean, anonymise, stage, verify, report, put in place."""

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from queryveil._version import __version__
from queryveil.core.errors import InputError
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score, Verdict
from queryveil.engines import LogSource, QueryLog, open_log
from queryveil.histories.build import Unit, build, find_occurrences
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.profiles import Profiles
from queryveil.lexicons.word_lists import PersonalWordLists
from queryveil.market.table import Market
from queryveil.methods import Method
from queryveil.release import manifest as manifests
from queryveil.release import private as privates
from queryveil.release.content import Content, histories_content, log_content, queries_content
from queryveil.release.reader import Release
from queryveil.release.writer import check_places, staging
from queryveil.sensitivity.lists import load_lists
from queryveil.workflows.ahead import load_ahead
from queryveil.workflows.anonymized import Anonymized, digest_of, digests_of
from queryveil.workflows.beside import set_beside
from queryveil.workflows.measure import default_measures, score
from queryveil.workflows.requests import ReleaseRequest
from queryveil.workflows.running import TOO_FEW, confirmed, histories_behind, method_of, run_method
from queryveil.workflows.starting import Start, open_start
from queryveil.workflows.worth import check_coverage, read_worth
from queryveil.workflows.writing import write_verified

KEEPABLE = ("time", "rank", "url")


def anonymize(options: ReleaseRequest, *, progress: Progress = silent) -> Anonymized:
    """Write a release of the log under the method's guarantee; nothing appears unless its verifier agrees."""
    if options.engine_options.cluster() is not None:
        from queryveil.workflows.distributed.anonymize import anonymize as anonymize_on_spark

        return anonymize_on_spark(options, progress=progress)
    started = time.monotonic()
    source, out, private = options.source, options.out_path, options.private_path
    bound = resolve("method", options.method)
    declared, kind = check(bound, source, options)
    if kind in ("groups", "vocabularies"):  # what these need takes long to import
        from queryveil.workflows.meaning import Place

        place = Place(out, private, options.seed, options.force, options.groups, options.groups_private)
        return _by_meaning(kind)(source, bound, place, options.semantics, progress)
    if options.groups is not None:
        raise InputError(f"--groups goes on with groups, and {bound} makes none; leave it out.")
    check_places(out, private, force=options.force)
    target = bound.values.get("target")
    worth = read_worth(target, options.values, options.market, source.cleaning.charset)
    lists = _lists(bound, options)
    start = _start(bound, kind, source, options, progress)
    seed = secrets.randbits(64) if options.seed is None else options.seed
    rng = np.random.default_rng(seed)
    load_ahead(source)
    with open_log(source, progress=progress) as log:
        profiles = build(log, unit=_unit(kind), progress=progress)
        covered = check_coverage(target, worth, profiles)
        weaker = None if start is None else start.mask(profiles)
        kept = run_method(bound, profiles, worth, rng=rng, start=weaker, lists=lists, progress=progress)
        progress("writing", 0, 1)
        content = _content(log, profiles, kept.mask, kind, source.keep)
        cleaning = {"options": source.cleaning.as_record(), "steps": [asdict(step) for step in log.steps]}
    manifest = _manifest(bound, declared.claim(bound, kept.settled), profiles, kept, content, cleaning, source)
    if lists is not None:
        manifest["lists"] = {"places": digest_of(options.places)}
    run: dict[str, Any] = {"seed": seed, "method": str(bound), "kind": kind, "queryveil": __version__}
    if start is not None:
        run["start_from"] = start.record()
    with staging(out, private, force=options.force) as staged:
        if staged.private:
            run["inputs"] = digests_of(source)
            run["worth"] = {"values": digest_of(options.values), "market": digest_of(options.market)}
            privates.write(staged.private, profiles, content, run)
        verdict, scores, manifest = write_verified(
            staged,
            manifest,
            content,
            lambda release: _judge(release, profiles, content, worth.market, lists, rng, progress),
        )
        staged.commit(manifest["content_sha256"])
    summary = {**kept.summary, "market": {figure: asdict(share) for figure, share in covered.items()}}
    return Anonymized(out, private, manifest, verdict, tuple(scores), summary, time.monotonic() - started)


def _by_meaning(kind: str) -> Callable[..., Anonymized]:
    """Return how a kind of release is made that depends on what terms mean."""
    if kind == "groups":
        from queryveil.workflows.grouping import group

        return group
    from queryveil.workflows.publishing import publish

    return publish


def check(bound: ResolvedName, source: LogSource, options: ReleaseRequest) -> tuple[Method, str]:
    """Return the method's declaration and the kind of release, if the options fit it."""
    declared = method_of(bound)
    declared.check(bound)
    kind = options.kind or declared.kinds[0]
    if kind not in declared.kinds:
        raise InputError(
            f"{bound} makes releases of kind {' or '.join(declared.kinds)}, not {kind!r}; "
            "choose one of these by --kind.",
            field="kind",
        )
    for name in source.keep:
        if name not in KEEPABLE:
            known = ", ".join(KEEPABLE)
            raise InputError(f"--keep: there is no column {name!r} to keep; there are {known}.", field="keep")
    if source.keep and kind == "histories":
        raise InputError(
            "--keep needs single queries, so it goes with --kind log; add that or leave --keep out.", field="keep"
        )
    if source.cleaning.partition_by and kind == "queries":
        raise InputError(
            f"{bound} looks at the log as a whole, so it goes without --partition-by; leave that out.",
            field="partition_by",
        )
    return declared, kind


def _unit(kind: str) -> Unit:
    return "query" if kind == "queries" else "term"


def _lists(bound: ResolvedName, options: ReleaseRequest) -> PersonalWordLists | None:
    """Return the lists of names, places and private words, where the method looks for them."""
    if method_of(bound).needs_lists:
        return load_lists(options.places)
    if options.places is not None:
        raise InputError(f"--places is for methods that look for places, and {bound} does not; leave it out.")
    return None


def _start(
    bound: ResolvedName, kind: str, source: LogSource, options: ReleaseRequest, progress: Progress
) -> Start | None:
    """Return the release that the run is to start from, where one was given."""
    if options.start_from is not None:
        private = options.start_from_private
        return open_start(options.start_from, private, bound, kind, source.cleaning, progress=progress)
    if options.start_from_private is not None:
        raise InputError("--start-from-private goes with --start-from; give that too, or leave it out.")
    return None


def _content(log: QueryLog, profiles: Profiles, mask: NDArray[np.bool_], kind: str, keep: tuple[str, ...]) -> Content:
    if kind == "histories":
        return histories_content(profiles, mask)
    if kind == "queries" and not keep:
        return queries_content(profiles, mask)
    missing = [name for name in keep if name not in log.columns]
    if missing:
        raise InputError(
            f"--keep {missing[0]}: the log has no {missing[0]} column; leave it out or name it by --columns."
        )
    issued = find_occurrences(log, profiles, keep, unit=_unit(kind))
    return queries_content(profiles, mask, issued) if kind == "queries" else log_content(profiles, mask, issued)


def _manifest(
    bound: ResolvedName,
    claim: ResolvedName,
    profiles: Profiles,
    kept: KeptPairs,
    content: Content,
    cleaning: Mapping[str, Any],
    source: LogSource,
) -> dict[str, Any]:
    counts = {"before": manifests.counts_of(profiles), "after": manifests.counts_of(profiles, kept.mask)}
    partition = None
    if profiles.partition is not None:
        partition = {
            "column": source.cleaning.partition_by,
            "values": len(profiles.partition_values),
            "left_out": kept.summary[TOO_FEW],
        }
    return manifests.make(
        content.kind,
        bound,
        claim,
        content.rows,
        floor=claim.integer("k") if "k" in claim.values else 1,
        cleaning=cleaning,
        counts=counts,
        partition=partition,
        uncovered=source.keep,
    )


def _judge(
    release: Release,
    profiles: Profiles,
    content: Content,
    market: Market | None,
    lists: PersonalWordLists | None,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Verdict, list[Score]]:
    """Verify a release that has been written, and measure it."""
    history_of = histories_behind(content)
    people = profiles.owner[history_of]
    verdict = confirmed(release, people, progress, lists)
    comparison = set_beside(profiles, release, people, history_of, market=market)
    return verdict, score(comparison, default_measures(market is not None), rng, progress)
