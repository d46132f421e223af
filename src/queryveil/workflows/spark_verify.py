"""Verifying a release on a cluster: its files, its counts, its claim, and its private folder where it is given."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pyarrow as pa

from queryveil.core.errors import InputError, ReleaseError
from queryveil.core.evidence import Floor
from queryveil.core.names import resolve
from queryveil.core.progress import Progress
from queryveil.core.results import Verdict
from queryveil.engines.spark.session import open_session
from queryveil.engines.spark.storage import Storage, local_path, uri_of
from queryveil.kinds.base import Kind
from queryveil.kinds.private_folder import MEMBERSHIP, PROFILES, RUN, RunRecord
from queryveil.release.digest import streamed_digest
from queryveil.release.manifest import NAME, Manifest, decode_manifest
from queryveil.release.reader import WRONG_ROWS, changed_file, missing_file, unlisted_files
from queryveil.release.spark_writer import tables_of
from queryveil.release.verification import check_claim, verify, wrong_counts
from queryveil.workflows.requests import VerifyRequest
from queryveil.workflows.spark_evidence import distinct_items, group_evidence, history_evidence
from queryveil.workflows.spark_support import ENGINE, require_spark_support

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def verify_on_spark(request: VerifyRequest, progress: Progress) -> Verdict:
    """Return whether a release keeps what it claims, and is what its manifest and private folder say."""
    claim = None if request.claim is None else resolve("guarantee", request.claim)
    if claim is not None:
        require_spark_support("guarantee", claim)
    cluster = request.engine_options.cluster()
    if cluster is None:
        raise TypeError("a verification on a cluster needs a cluster")
    release, private = str(request.release), None if request.private is None else str(request.private)
    with open_session(cluster) as spark, ExitStack() as stack:
        folder = ClusterRelease(spark, release)
        kind, claim = folder.kind, claim or folder.manifest.claim
        check_claim(claim, kind)
        require_spark_support("guarantee", claim)
        faults = folder.file_faults()
        if kind.needs_private:
            faults = faults or folder.row_faults()
            members = pairs = None
            if private is not None:
                members, pairs, more = folder.group_members(private)
                faults += [] if faults else more
            evidence = group_evidence(kind, folder.rows(), Floor(folder.manifest.floor), members, pairs)
        else:
            items = folder.checked_items()
            faults = faults or [*wrong_counts(_item_counts(items), folder.manifest.after), *folder.row_faults()]
            owners = None
            if private is not None:
                owners, more = folder.owners(private, items)
                faults += more
            evidence = history_evidence(folder.rows(), Floor(folder.manifest.floor), owners, stack)
        return verify(claim, kind, evidence, faults=faults, engine=ENGINE, progress=progress)


def location_uri(location: str) -> str:
    """Return a location as Spark takes it."""
    path = local_path(location)
    return location.rstrip("/") if path is None else uri_of(path)


class ClusterRelease:
    """A release folder that Spark can read."""

    def __init__(self, spark: "SparkSession", release: str) -> None:
        """Read the manifest."""
        self.spark, self.name, self.uri = spark, release, location_uri(release)
        storage = Storage(spark)
        if not storage.exists(self.uri):
            raise ReleaseError(f"there is no release {release}; check the path.")
        if not storage.exists(f"{self.uri}/{NAME}"):
            raise ReleaseError(f"{release} has no {NAME}, so it is not a finished release; check the path.")
        self.manifest: Manifest = decode_manifest(f"{release}/{NAME}", storage.read(f"{self.uri}/{NAME}"))
        if self.kind.frame is None:
            raise InputError(f"{release} is of kind {self.kind.name}, which has no Spark form; use --engine local.")

    @property
    def kind(self) -> Kind:
        """Return the kind of the release."""
        return self.manifest.kind_object()

    def rows(self) -> "DataFrame":
        """Return the released rows."""
        return self.spark.read.parquet(f"{self.uri}/data")

    def file_faults(self) -> list[str]:
        """Find files that are missing, changed, or not in the manifest; tasks digest them."""
        given = {entry.path: entry.sha256 for entry in self.manifest.files}
        storage = Storage(self.spark)
        root = storage.absolute(self.uri)
        present = {file.removeprefix(f"{root}/") for file in storage.files(self.uri)} - {NAME}
        files = self.spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(self.uri)
        digests = files.select("path", "content").mapInArrow(_digest, "path STRING, sha256 STRING").collect()
        found = {row["path"].removeprefix(f"{root}/"): row["sha256"] for row in digests}
        faults = [missing_file(name) for name in given if name not in present]
        faults += [changed_file(name) for name in given if name in found and found[name] != given[name]]
        return faults + unlisted_files(present, given)

    def row_faults(self) -> list[str]:
        """Compare the digest of all rows, one file in memory at a time."""
        names = [entry.path for entry in self.manifest.files if entry.path.endswith(".parquet")]
        binary = self.spark.read.format("binaryFile")
        files = (binary.load(f"{self.uri}/{name}").select("content").collect() for name in names)
        tables = (table for rows in files for table in tables_of(bytes(rows[0][0])))
        digest = streamed_digest(self.manifest.columns, tables)
        return [] if digest == self.manifest.content_sha256 else [WRONG_ROWS]

    def checked_items(self) -> "DataFrame":
        """Return what each history holds, if the rows have the columns of their kind and nothing is missing."""
        from pyspark.sql import functions as f

        if not list(Storage(self.spark).files(f"{self.uri}/data")):
            raise ReleaseError(f"{self.name} has no data; the release is damaged.")
        rows = self.rows()
        if tuple(rows.columns) != self.manifest.columns or rows.columns[:2] != list(self.kind.columns):
            raise ReleaseError(f"{self.name}: the data has not the columns of its kind; the release is damaged.")
        if not rows.where(rows[0].isNull() | rows[1].isNull()).isEmpty():
            raise ReleaseError(f"the release has rows without a user or a {rows.columns[1]}; it is damaged.")
        if "partition" in rows.columns:
            several = rows.groupBy("user").agg(f.countDistinct("partition").alias("n")).where("n != 1")
            if not several.isEmpty():
                raise ReleaseError("the release has a history in two partitions, or in none; it is damaged.")
        return distinct_items(rows)

    def check_belongs(self, private: str) -> None:
        """Refuse a private folder that was made for other rows than the manifest names."""
        storage, path = Storage(self.spark), f"{location_uri(private)}/{RUN}"
        try:
            run = RunRecord.decode(storage.read(path)) if storage.exists(path) else None
        except (ValueError, TypeError):
            run = None
        if run is None:
            raise ReleaseError(f"{private} is not a private folder: its {RUN} cannot be read; check --private.")
        if run.content_sha256 != self.manifest.content_sha256:
            raise ReleaseError(
                f"{private} does not belong to this release: it was made for other rows; check --private, "
                "or whether the release was changed."
            )

    def owners(self, private: str, items: "DataFrame") -> tuple["DataFrame", list[str]]:
        """Return who is behind each released history, and where the private folder contradicts the release."""
        self.check_belongs(private)
        folder = location_uri(private)
        membership = self.spark.read.parquet(f"{folder}/{MEMBERSHIP}").where("release_id IS NOT NULL")
        owners = membership.selectExpr("release_id AS user", "person AS owner", "history")
        users = items.select("user").distinct()
        if not users.join(owners, "user", "anti").isEmpty() or owners.count() != users.count():
            raise ReleaseError(f"{private} does not belong to this release: other histories were released from it.")
        faults = []
        held = self.spark.read.parquet(f"{folder}/{PROFILES}").select("history", "term")
        n_invented = items.join(owners, "user").select("history", "term").exceptAll(held).count()
        if n_invented:
            faults.append(f"{n_invented:,} released terms were never in the history behind them")
        if owners.select("owner").distinct().count() != self.manifest.after["people"]:
            faults.append("the manifest gives another number of people than the private folder")
        return owners.select("user", "owner"), faults

    def group_members(self, private: str) -> tuple["DataFrame", "DataFrame", list[str]]:
        """Return everybody's group and terms, and where the private folder contradicts the release."""
        self.check_belongs(private)
        folder = location_uri(private)
        members = self.spark.read.parquet(f"{folder}/{MEMBERSHIP}").selectExpr("history", "release_id AS group")
        pairs = self.spark.read.parquet(f"{folder}/{PROFILES}").select("history", "term")
        missing = members.where("group IS NOT NULL").join(self.rows().select("group").distinct(), "group", "anti")
        faults = [] if missing.isEmpty() else ["the private folder has members of groups that are not released"]
        return members, pairs, faults


def _item_counts(items: "DataFrame") -> dict[str, int]:
    from pyspark.sql import functions as f

    row = items.agg(f.countDistinct("user"), f.countDistinct("term"), f.count(f.lit(1))).collect()[0]
    return dict(zip(("histories", "terms", "pairs"), map(int, row), strict=True))


def _digest(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        digests = [hashlib.sha256(value.as_buffer()).hexdigest() for value in batch["content"]]
        yield pa.RecordBatch.from_pydict({"path": batch["path"], "sha256": pa.array(digests, pa.string())})
