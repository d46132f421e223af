"""From a log that Spark reads to a verified release: read, clean, anonymise, write, verify, report, put in place."""

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from queryveil.core.errors import InputError
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, silent
from queryveil.engines import LogSource
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.engines.spark.session import SparkCluster, open_session
from queryveil.engines.spark.storage import Storage, local_path
from queryveil.histories.build import Unit
from queryveil.histories.distributed import DistributedHistories, clean_histories
from queryveil.measures.utility.retention import from_counts
from queryveil.release import distributed as releases
from queryveil.release import manifest as manifests
from queryveil.release.remote import Making, making
from queryveil.release.writer import check_places
from queryveil.workflows.anonymized import Anonymized
from queryveil.workflows.distributed.forms import check_form
from queryveil.workflows.distributed.grouping import check_source, make_groups
from queryveil.workflows.distributed.running import Made, Run, finish, must_hold, record_of, with_seed
from queryveil.workflows.distributed.verify import check_rows
from queryveil.workflows.requests import ONLY_PATHS, ReleaseRequest
from queryveil.workflows.running import TOO_FEW, method_of

# kinds that have a Spark form, and what they hold
KINDS: Mapping[str, Unit] = {"histories": "term", "queries": "query", "groups": "term"}
_LOCAL_ONLY = ("values", "market", "start_from", "start_from_private", "groups", "groups_private", "places")


def anonymize(options: ReleaseRequest, *, progress: Progress = silent) -> Anonymized:
    """Write a release of the log under the method's guarantee; nothing appears unless its verifier agrees."""
    started = time.monotonic()
    source, out, private = options.source, str(options.out), None if options.private is None else str(options.private)
    if source.table is not None:
        raise InputError(ONLY_PATHS)
    bound = resolve("method", options.method)
    kind = _checked(bound, source, options)
    if kind == "groups":
        check_source(source, bound, options.semantics, has_private=private is not None)
    folder, secret = local_path(out), None if private is None else local_path(private)
    if folder is not None:
        check_places(folder, secret, force=options.force)
    progress("starting Spark", 0, 1)
    with open_session(options.engine_options.cluster() or SparkCluster()) as spark:
        progress("starting Spark", 1, 1)
        storage = Storage(spark)
        with making(storage, out, private, force=options.force) as made:
            run = Run(bound, kind, source, ScratchTables(spark, made.work), progress)
            make = make_groups if kind == "groups" else _make
            manifest, verdict, scores, summary = make(run, made, with_seed(options))
            made.commit(manifest["content_sha256"])
    return Anonymized(
        folder or out,
        secret or private,
        manifest,
        verdict,
        tuple(scores),
        summary,
        time.monotonic() - started,
    )


def _checked(bound: ResolvedName, source: LogSource, options: ReleaseRequest) -> str:
    """Return the kind of release, if it and the options have a Spark form."""
    declared = method_of(bound)
    declared.check(bound)
    check_form("method", bound)
    kind = options.kind or declared.kinds[0]
    if kind not in declared.kinds:
        raise InputError(
            f"{bound} makes releases of kind {' or '.join(declared.kinds)}, not {kind!r}; "
            "choose one of these by --kind."
        )
    if kind not in KINDS:
        raise InputError(f"--kind {kind} has no Spark form; use --kind {declared.kinds[0]}, or --engine local.")
    if source.cleaning.partition_by and kind == "queries":
        raise InputError(f"{bound} looks at the log as a whole, so it goes without --partition-by; leave that out.")
    if source.keep:
        raise InputError("--keep has no Spark form; leave it out, or use --engine local.")
    for name in _LOCAL_ONLY:
        if getattr(options, name) is not None:
            raise InputError(f"--{name.replace('_', '-')} has no Spark form; leave it out, or use --engine local.")
    return kind


def _make(run: Run, made: Making, options: ReleaseRequest) -> Made:
    """Write everything into the folders in the making; return the manifest, the verdict and what was kept."""
    cleaned = clean_histories(run.work.spark, run.source, unit=KINDS[run.kind], progress=run.progress)
    try:
        kept = run.bound.declaration.load("spark")(cleaned.frame, run.bound, work=run.work, progress=run.progress)
        run.progress("writing", 0, 1)
        ranked = releases.ranked(run.work, kept.frame, run.kind)
        written = releases.write_data(run.work, ranked, made, run.kind, has_parts=bool(cleaned.parts))
        if made.private is not None:
            record = record_of(run, options)
            behind = ranked.selectExpr("person", "history", "number AS release_id")
            releases.write_private(run.work, cleaned.frame, behind, made.private, record, has_parts=bool(cleaned.parts))
        manifest, summary = _manifest(run, cleaned, kept, written)
    finally:
        cleaned.release()
    run.progress("writing", 1, 1)
    owners = ranked.selectExpr("number AS user", "person AS owner")
    verdict = must_hold(
        check_rows(run.work.spark, f"{made.uri}/data", manifest["guarantee"], owners, run.progress), run
    )
    scores = from_counts(resolve("measure", "retention"), manifest["counts"]["before"], manifest["counts"]["after"])
    finish(made, manifest, verdict, scores)
    return manifest, verdict, scores, summary


def _manifest(
    run: Run, cleaned: DistributedHistories, kept: Any, written: releases.WrittenData
) -> tuple[dict[str, Any], dict[str, Any]]:
    claim = method_of(run.bound).claim(run.bound, kept.settled)
    summary, partition = dict(kept.summary), None
    if cleaned.parts:
        left_out = len(cleaned.parts) - _large_parts(cleaned, claim.integer("k"))
        summary |= {"parts": len(cleaned.parts), TOO_FEW: left_out}
        partition = {
            "column": run.source.cleaning.partition_by,
            "values": len(cleaned.parts),
            "left_out": left_out,
        }
    manifest = manifests.make(
        run.kind,
        run.bound,
        claim,
        written.no_rows(),
        floor=claim.integer("k"),
        cleaning={
            "options": run.source.cleaning.as_record(),
            "steps": [asdict(step) for step in cleaned.steps],
        },
        counts={"before": releases.counts_of(cleaned.frame), "after": releases.counts_of(kept.frame)},
        partition=partition,
    )
    return {**manifest, "content_sha256": written.content_sha256, "files": written.files}, summary


def _large_parts(cleaned: DistributedHistories, k: int) -> int:
    """Count the parts that have at least k people."""
    people = cleaned.frame.where("size(entries) > 0").select("part", "person").distinct().groupBy("part").count()
    return int(people.where(people["count"] >= k).count())
