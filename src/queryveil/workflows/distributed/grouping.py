"""From a log that Spark reads to a verified release of groups."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from queryveil.core.errors import InputError
from queryveil.core.names import ResolvedName
from queryveil.core.results import Verdict
from queryveil.engines import LogSource
from queryveil.engines.spark.storage import local_path
from queryveil.histories.distributed import DistributedHistories, clean_histories
from queryveil.histories.profile_files import is_profile_file
from queryveil.methods.distributed.kept import GroupedOnCluster
from queryveil.methods.distributed.linkability import network_of
from queryveil.methods.linkability.principles import floor_of
from queryveil.release import distributed as releases
from queryveil.release import manifest as manifests
from queryveil.release.remote import Making
from queryveil.semantics.options import SemanticOptions
from queryveil.workflows.anonymized import digest_of
from queryveil.workflows.distributed.running import Made, Run, finish, must_hold, record_of
from queryveil.workflows.distributed.verify import check_groups
from queryveil.workflows.grouping import refuse
from queryveil.workflows.requests import ReleaseRequest
from queryveil.workflows.running import method_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_source(source: LogSource, bound: ResolvedName, meaning: SemanticOptions, *, has_private: bool) -> None:
    """Refuse what groups cannot be made of on a cluster, before any work is done."""
    refuse(source, bound, has_private=has_private)
    network_of(meaning)
    paths = [local_path(uri) for uri in source.uris]
    if any(path is not None and is_profile_file(path) for path in paths):
        raise InputError(f"{paths[0]} is a profile file, which has no Spark form; give a log, or use --engine local.")


def make_groups(run: Run, made: Making, options: ReleaseRequest) -> Made:
    """Write everything into the folders in the making; return the manifest, the verdict and what was done."""
    cleaned = clean_histories(run.work.spark, run.source, progress=run.progress)
    try:
        grouped: GroupedOnCluster = run.bound.declaration.load("spark")(
            cleaned.frame,
            run.bound,
            work=run.work,
            meaning=options.semantics,
            seed=options.seed,
            progress=run.progress,
        )
        run.progress("writing", 0, 1)
        ranked = releases.ranked_groups(run.work, grouped.frame)
        written = releases.write_data(run.work, ranked, made, run.kind, has_parts=False)
        members = grouped.members.join(ranked.selectExpr("block", "group", "number AS release_id"), ["block", "group"])
        members = run.work.keep(members.selectExpr("person", "0 AS history", "release_id"), "members")
        record = {**record_of(run, options), "taxonomy": digest_of(options.semantics.taxonomy)}
        if made.private is not None:
            releases.write_private(run.work, grouped.profiles, members, made.private, record, has_parts=False)
        manifest = _manifest(run, options, cleaned, grouped, ranked, written)
        run.progress("writing", 1, 1)
        verdict = must_hold(_verdict(run, made, manifest, grouped.profiles, members), run)
    finally:
        cleaned.release()
    finish(made, manifest, verdict, [])
    return manifest, verdict, [], dict(grouped.summary)


def _verdict(run: Run, made: Making, manifest: dict[str, Any], profiles: "DataFrame", members: "DataFrame") -> Verdict:
    """Verify what was written, by who is in which group and by what everybody holds."""
    everybody = profiles.select("person").join(members, "person", "left")
    inside = everybody.selectExpr("person AS history", "release_id AS group")
    pairs = profiles.selectExpr("person AS history", "explode(entries) AS term")
    return check_groups(
        run.work.spark, f"{made.uri}/data", manifest["guarantee"], inside, pairs, manifest["floor"], run.progress
    )


def _manifest(
    run: Run,
    options: ReleaseRequest,
    cleaned: DistributedHistories,
    grouped: GroupedOnCluster,
    ranked: "DataFrame",
    written: releases.WrittenData,
) -> dict[str, Any]:
    n_people, n_rows = grouped.n_people, sum(file["rows"] for file in written.files)
    n_terms = ranked.selectExpr("explode(entries) AS term").distinct().count()
    after = dict(zip(manifests.COUNTS, (n_people, n_people, n_terms, n_rows, n_rows), strict=True))
    manifest = manifests.make(
        run.kind,
        run.bound,
        method_of(run.bound).claim(run.bound),
        written.no_rows(),
        floor=floor_of(run.bound),
        cleaning={
            "options": run.source.cleaning.as_record(),
            "steps": [asdict(step) for step in cleaned.steps],
            "meaning": options.semantics.as_record(),
        },
        counts={
            "before": releases.counts_of(grouped.profiles),
            "after": {**after, "groups": int(grouped.summary["groups"])},
        },
    )
    return {**manifest, "content_sha256": written.content_sha256, "files": written.files}
