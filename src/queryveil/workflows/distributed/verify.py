"""Verifying a release on a cluster: its files, its counts, its claim, and its private folder where it is given."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from queryveil.core.errors import InputError, ReleaseError
from queryveil.core.names import Name, resolve
from queryveil.core.options import Location
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.engines.spark.session import SparkCluster, open_session
from queryveil.engines.spark.storage import Storage, local_path, uri_of
from queryveil.release import manifest as manifests
from queryveil.release.distributed import tables_of
from queryveil.release.private import MEMBERSHIP, PROFILES, RUN
from queryveil.workflows.distributed.forms import check_form
from queryveil.workflows.requests import ONLY_PATHS, VerifyRequest

KINDS = ("histories", "queries", "groups")  # that have a Spark form

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def verify(request: VerifyRequest, *, progress: Progress = silent) -> Verdict:
    """Say whether a release keeps what it claims, and is what its manifest and private folder say."""
    if not isinstance(request.release, Location):
        raise InputError(ONLY_PATHS)
    release, claim = str(request.release), request.claim
    private = None if request.private is None else str(request.private)
    if claim is not None:
        check_form("guarantee", resolve("guarantee", claim))
    with open_session(request.engine_options.cluster() or SparkCluster()) as spark:
        place = uri(release)
        manifest = manifest_of(spark, release, place)
        if manifest["kind"] not in KINDS:
            raise InputError(f"{release} is of kind {manifest['kind']}, which has no Spark form; use --engine local.")
        faults = file_faults(spark, place, manifest)
        if manifest["kind"] == "groups":
            faults = faults or _other_rows(spark, place, manifest)
            verdict = _verify_groups(spark, place, manifest, claim, private, faults, progress)
            return (
                replace(verdict, state="violated", reason="; ".join([*faults, verdict.reason])) if faults else verdict
            )
        rows = _rows(spark, release, f"{place}/data", manifest)
        faults = faults or [*_miscounted(rows, manifest), *_other_rows(spark, place, manifest)]
        owners = None
        if private is not None:
            owners, more = _behind(spark, uri(private), private, manifest, rows)
            faults += more
        verdict = check_rows(spark, f"{place}/data", claim or manifest["guarantee"], owners, progress)
    return replace(verdict, state="violated", reason="; ".join(faults)) if faults else verdict


def check_rows(
    spark: "SparkSession", data: str, claim: str | Name, owners: "DataFrame | None", progress: Progress
) -> Verdict:
    """Check a claim on the rows of a folder; `owners` (user, owner) tells who is behind each released history."""
    bound = resolve("guarantee", claim)
    check_form("guarantee", bound)
    if bound.declaration.name == "linkability":
        raise InputError(f"{bound} is a claim about groups, and these are histories; claim km(k=…, m=…).")
    rows = _pairs(spark.read.parquet(data))
    rows = rows.selectExpr("*", "user AS owner") if owners is None else rows.join(owners, "user")
    rows = rows.persist()
    try:
        verdict: Verdict = bound.declaration.load("spark")(
            bound, rows, counted="histories" if owners is None else "people", progress=progress
        )
    finally:
        rows.unpersist()
    return verdict


def _verify_groups(
    spark: "SparkSession",
    place: str,
    manifest: Mapping[str, Any],
    claim: str | Name | None,
    private: str | None,
    faults: list[str],
    progress: Progress,
) -> Verdict:
    """Check a claim on a release of groups; faults that its private folder shows are added to those found before."""
    members = pairs = None
    if private is not None:
        folder = uri(private)
        check_belongs(spark, folder, private, manifest)
        members = spark.read.parquet(f"{folder}/{MEMBERSHIP}").selectExpr("history", "release_id AS group")
        pairs = spark.read.parquet(f"{folder}/{PROFILES}").select("history", "term")
        released = spark.read.parquet(f"{place}/data").select("group").distinct()
        nowhere = members.where("group IS NOT NULL").join(released, "group", "anti")
        if not faults and not nowhere.isEmpty():
            faults.append("the private folder has members of groups that are not released")
    return check_groups(
        spark, f"{place}/data", claim or manifest["guarantee"], members, pairs, int(manifest["floor"]), progress
    )


def check_groups(
    spark: "SparkSession",
    data: str,
    claim: str | Name,
    members: "DataFrame | None",
    pairs: "DataFrame | None",
    floor: int,
    progress: Progress,
) -> Verdict:
    """Check a claim on the groups of a folder; `members` is `history, group`, `pairs` what everybody holds."""
    bound = resolve("guarantee", claim)
    if bound.declaration.name != "linkability":
        raise InputError(f"{bound} is no claim about groups, which this release holds; claim linkability(p=…).")
    rows = spark.read.parquet(data)
    if rows.columns != list(manifests.COLUMNS["groups"]):
        raise ReleaseError("the data of the release has not the columns of its kind; it is damaged.")
    if not rows.where("group IS NULL OR term IS NULL OR weight IS NULL").isEmpty():
        raise ReleaseError("the release has rows in which something is missing; it is damaged.")
    placed = rows.selectExpr("*", "_metadata.file_path AS file", "_metadata.row_index AS row")
    verdict: Verdict = bound.declaration.load("spark")(bound, placed, members, pairs, floor=floor, progress=progress)
    return verdict


def _pairs(rows: "DataFrame") -> "DataFrame":
    """Return what each history holds, once: `user, term, partition`; the term may be a query."""
    part = "partition" if "partition" in rows.columns else "'' AS partition"
    return rows.selectExpr("user", f"{rows.columns[1]} AS term", part).distinct()


def uri(place: str) -> str:
    """Return a place as Spark takes it."""
    path = local_path(place)
    return place.rstrip("/") if path is None else uri_of(path)


def manifest_of(spark: "SparkSession", release: str, place: str) -> dict[str, Any]:
    """Read the manifest of a release."""
    storage = Storage(spark)
    if not storage.exists(place):
        raise ReleaseError(f"there is no release {release}; check the path.")
    if not storage.exists(f"{place}/{manifests.NAME}"):
        raise ReleaseError(f"{release} has no {manifests.NAME}, so it is not a finished release; check the path.")
    return manifests.decode(f"{release}/{manifests.NAME}", storage.read(f"{place}/{manifests.NAME}"))


def file_faults(spark: "SparkSession", place: str, manifest: Mapping[str, Any]) -> list[str]:
    """Find files that are missing, changed, or not in the manifest; tasks digest them."""
    given = {entry["path"]: entry["sha256"] for entry in manifest["files"]}
    storage = Storage(spark)
    root = storage.absolute(place)
    present = {file.removeprefix(f"{root}/") for file in storage.files(place)} - {manifests.NAME}
    files = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(place)
    digests = files.select("path", "content").mapInArrow(_digest, "path STRING, sha256 STRING").collect()
    found = {row["path"].removeprefix(f"{root}/"): row["sha256"] for row in digests}
    faults = [f"{name} is missing" for name in given if name not in present]
    faults += [
        f"{name} has been changed since it was released"
        for name in given
        if name in found and found[name] != given[name]
    ]
    return faults + [f"{name} is not in the manifest" for name in sorted(present - set(given))]


def _digest(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        digests = [hashlib.sha256(value.as_buffer()).hexdigest() for value in batch["content"]]
        yield pa.RecordBatch.from_pydict({"path": batch["path"], "sha256": pa.array(digests, pa.string())})


def _rows(spark: "SparkSession", release: str, data: str, manifest: Mapping[str, Any]) -> "DataFrame":
    from pyspark.sql import functions as f

    if not list(Storage(spark).files(data)):
        raise ReleaseError(f"{release} has no data; the release is damaged.")
    rows = spark.read.parquet(data)
    if rows.columns != manifest["columns"] or tuple(rows.columns[:2]) != manifests.COLUMNS[manifest["kind"]]:
        raise ReleaseError(f"{release}: the data has not the columns of its kind; the release is damaged.")
    if not rows.where(rows[0].isNull() | rows[1].isNull()).isEmpty():
        raise ReleaseError(f"the release has rows without a user or a {rows.columns[1]}; it is damaged.")
    if "partition" in rows.columns:
        several = rows.groupBy("user").agg(f.countDistinct("partition").alias("n")).where("n != 1")
        if not several.isEmpty():
            raise ReleaseError("the release has a history in two partitions, or in none; it is damaged.")
    return _pairs(rows)


def _other_rows(spark: "SparkSession", place: str, manifest: Mapping[str, Any]) -> list[str]:
    """Compare the digest of all rows, one file in memory at a time."""
    names = [entry["path"] for entry in manifest["files"] if entry["path"].endswith(".parquet")]
    files = (spark.read.format("binaryFile").load(f"{place}/{name}").select("content").collect() for name in names)
    tables = (table for rows in files for table in tables_of(bytes(rows[0][0])))
    if manifests.streamed_digest(manifest["columns"], tables) != manifest["content_sha256"]:
        return ["the rows do not have the digest that the manifest gives"]
    return []


def _miscounted(rows: "DataFrame", manifest: Mapping[str, Any]) -> list[str]:
    """Find counts in the manifest that are not those of the rows."""
    from pyspark.sql import functions as f

    row = rows.agg(f.countDistinct("user"), f.countDistinct("term"), f.count(f.lit(1))).collect()[0]
    found = dict(zip(("histories", "terms", "pairs"), row, strict=True))
    given = manifest["counts"]["after"]
    return [
        f"the manifest gives another number of {name} than the rows" for name in found if given[name] != found[name]
    ]


def check_belongs(spark: "SparkSession", place: str, private: str, manifest: Mapping[str, Any]) -> None:
    """Refuse a private folder that was made for other rows than a release's manifest names."""
    storage = Storage(spark)
    if not storage.exists(f"{place}/{RUN}"):
        raise ReleaseError(f"{private} is not a private folder: its {RUN} cannot be read; check --private.")
    if json.loads(storage.read(f"{place}/{RUN}")).get("content_sha256") != manifest["content_sha256"]:
        raise ReleaseError(
            f"{private} does not belong to this release: it was made for other rows; check --private, "
            "or whether the release was changed."
        )


def _behind(
    spark: "SparkSession", place: str, private: str, manifest: Mapping[str, Any], rows: "DataFrame"
) -> tuple["DataFrame", list[str]]:
    """Return who is behind each released history, and where the private folder contradicts the release."""
    check_belongs(spark, place, private, manifest)
    membership = spark.read.parquet(f"{place}/{MEMBERSHIP}").where("release_id IS NOT NULL")
    owners = membership.selectExpr("release_id AS user", "person AS owner", "history")
    users = rows.select("user").distinct()
    if not users.join(owners, "user", "anti").isEmpty() or owners.count() != users.count():
        raise ReleaseError(f"{private} does not belong to this release: other histories were released from it.")
    faults = []
    held = spark.read.parquet(f"{place}/{PROFILES}").select("history", "term")
    invented = rows.join(owners, "user").select("history", "term").exceptAll(held).count()
    if invented:
        faults.append(f"{invented:,} released terms were never in the history behind them")
    if owners.select("owner").distinct().count() != manifest["counts"]["after"]["people"]:
        faults.append("the manifest gives another number of people than the private folder")
    return owners.select("user", "owner"), faults
