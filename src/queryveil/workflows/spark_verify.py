"""Verifying a release on Spark: its files, its counts, its claim, and its private folder where one is given."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pyarrow as pa

from queryveil.core.errors import InputError, ReleaseError
from queryveil.core.evidence import Evidence, Floor
from queryveil.core.names import ResolvedName, declarations, resolve
from queryveil.core.progress import Progress
from queryveil.core.results import Verdict
from queryveil.engines import SPARK
from queryveil.engines.spark.session import open_session
from queryveil.engines.spark.sql import ReleasedHistoryFrame, SparkSqlSession
from queryveil.engines.spark.storage import Storage, local_path, uri_of
from queryveil.engines.sql import GroupTables, HistoryTables, KeptTables
from queryveil.kinds.base import KEEPABLE, Kind, kind_of
from queryveil.kinds.groups import UNRELEASED_GROUPS
from queryveil.kinds.histories import history_faults
from queryveil.kinds.private_folder import (
    MEMBERSHIP,
    OTHER_HISTORIES,
    PROFILES,
    RUN_FILE,
    RunRecord,
    check_belongs,
    read_run,
)
from queryveil.methods.base import Method
from queryveil.release.kept_columns import compare_kept_columns
from queryveil.release.manifest import MANIFEST_FILE, Manifest, decode_manifest
from queryveil.release.reader import WRONG_ROWS, content_digest, file_faults
from queryveil.release.spark_writer import tables_of
from queryveil.release.verification import refuse_inapplicable_claim, verify_claim, wrong_counts
from queryveil.workflows.requests import VerifyRequest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def supported_names(category: str) -> list[str]:
    """Return the names of a category that have an implementation on Spark."""
    return [name for name, declaration in declarations(category).items() if SPARK.name in declaration.functions]


def require_spark_support(category: str, name: ResolvedName) -> None:
    """Refuse what can only be done on one machine."""
    declared, known = name.declaration, supported_names(category)
    if declared.name not in known:
        raise InputError(
            f"the {category} {declared.name} has no Spark form ({', '.join(known)} "
            f"{'has' if len(known) == 1 else 'have'} one); use --engine local."
        )
    for parameter, value in declared.spark_only.items() if isinstance(declared, Method) else ():
        if name.values.get(parameter, value) != value:
            raise InputError(
                f"{name}: on Spark there is only {parameter}={value}; leave it out, or use --engine local."
            )


def verify_on_spark(request: VerifyRequest, progress: Progress) -> Verdict:
    """Return whether a release keeps what it claims, and is what its manifest and private folder say."""
    claim = None if request.claim is None else resolve("guarantee", request.claim)
    if claim is not None:
        require_spark_support("guarantee", claim)
    private = None if request.private is None else str(request.private)
    with open_session(request.engine_options.cluster()) as spark, ExitStack() as stack:
        folder = ClusterRelease(spark, str(request.release))
        kind, claim = folder.kind, claim or folder.manifest.claim
        refuse_inapplicable_claim(claim, kind)
        require_spark_support("guarantee", claim)
        if kind.needs_private:
            evidence, faults = _check_groups(folder, private)
        else:
            evidence, faults = _check_histories(folder, private, stack)
        evidence.add(Manifest, lambda: folder.manifest)
        return verify_claim(claim, kind, evidence, faults=faults, engine=SPARK.name, progress=progress)


def _check_groups(folder: "ClusterRelease", private: str | None) -> tuple[Evidence, list[str]]:
    """Return released groups with their members, and where the folders contradict each other."""
    faults = folder.file_faults() or folder.row_faults()
    members = pairs = None
    if private is not None:
        membership, pairs = folder.private_tables(private)
        members = membership.selectExpr("history", "release_id AS group")
        released = folder.rows().select("group").distinct()
        unreleased = members.where("group IS NOT NULL").join(released, "group", "anti")
        faults += [] if faults or unreleased.isEmpty() else [UNRELEASED_GROUPS]
    return group_evidence(folder.kind, folder.rows(), Floor(folder.manifest.floor), members, pairs), faults


def _check_histories(folder: "ClusterRelease", private: str | None, stack: ExitStack) -> tuple[Evidence, list[str]]:
    """Return released histories with their owners, and where the folders contradict each other."""
    from pyspark.sql import functions as f

    faults, after, owners = folder.file_faults(), folder.manifest.counts["after"], None
    items = folder.checked_items()
    if not faults:
        row = items.agg(f.countDistinct("user"), f.countDistinct("term"), f.count(f.lit(1))).collect()[0]
        counts = dict(zip(("histories", "terms", "pairs"), map(int, row), strict=True))
        faults = [*wrong_counts(counts, after), *folder.row_faults()]
    if private is not None:
        faults += compare_kept_columns(folder.manifest, folder.check_belongs(private))
        membership, held = folder.private_tables(private)
        behind = membership.where("release_id IS NOT NULL")
        behind = behind.selectExpr("release_id AS user", "person AS owner", "history")
        users = items.select("user").distinct()
        if not users.join(behind, "user", "anti").isEmpty() or behind.count() != users.count():
            raise ReleaseError(OTHER_HISTORIES.format(private))
        n_invented = items.join(behind, "user").select("history", "term").exceptAll(held).count()
        faults += history_faults(n_invented, behind.select("owner").distinct().count(), after)
        owners = behind.select("user", "owner")
    return history_evidence(folder.rows(), Floor(folder.manifest.floor), owners, stack), faults


def distinct_items(rows: "DataFrame") -> "DataFrame":
    """Return the items of each history, each once: `user, term, partition`; the term may be a query."""
    part = "partition" if "partition" in rows.columns else "'' AS partition"
    return rows.selectExpr("user", f"{rows.columns[1]} AS term", part).distinct()


def history_evidence(rows: "DataFrame", floor: Floor, owners: "DataFrame | None", stack: ExitStack) -> Evidence:
    """Return released histories with their owners (`user, owner`), where these are known."""
    items = distinct_items(rows)
    items = items.selectExpr("*", "user AS owner") if owners is None else items.join(owners, "user")
    items = items.persist()
    stack.callback(items.unpersist)
    is_linked = owners is not None
    table = items.selectExpr("owner", "term AS item", "partition AS part")
    tables = HistoryTables(lambda: SparkSqlSession(rows.sparkSession, items=table), is_linked)
    evidence = Evidence(ReleasedHistoryFrame(items, is_linked), tables, floor)
    names = [name for name in KEEPABLE if name in rows.columns]
    if names:
        part = "partition" if "partition" in rows.columns else "''"
        owned = rows.selectExpr("*", "user AS owner") if owners is None else rows.join(owners, "user")
        kept = owned.selectExpr("user AS history", "owner", f"{part} AS part", *names)
        evidence.add(KeptTables, lambda: KeptTables(lambda: SparkSqlSession(rows.sparkSession, kept=kept), is_linked))
    return evidence


def group_evidence(
    kind: Kind, rows: "DataFrame", floor: Floor, members: "DataFrame | None", pairs: "DataFrame | None"
) -> Evidence:
    """Return released groups with `history, group` of everybody and `history, term` of their profiles."""
    if rows.columns != list(kind.columns):
        raise ReleaseError("the data of the release does not have the columns of its kind; it is damaged.")
    if not rows.where(" OR ".join(f"{name} IS NULL" for name in kind.columns)).isEmpty():
        raise ReleaseError("the release has rows in which something is missing; it is damaged.")
    place = ("_metadata.file_path AS file", "_metadata.row_index AS place")
    tables = {"released": rows.selectExpr("group AS group_id", "term", "weight", *place)}
    has_members = members is not None and pairs is not None
    if members is not None and pairs is not None:
        tables |= {"members": members.selectExpr("history", "group AS group_id"), "pairs": pairs}
    return Evidence(GroupTables(lambda: SparkSqlSession(rows.sparkSession, **tables), has_members), floor)


def location_uri(location: str) -> str:
    """Return a location as Spark takes it."""
    path = local_path(location)
    return location.rstrip("/") if path is None else uri_of(path)


class ClusterRelease:
    """A release folder that Spark can read."""

    def __init__(self, spark: "SparkSession", release: str) -> None:
        """Read the manifest."""
        self.spark, self.name, self.uri = spark, release, location_uri(release)
        self._storage = Storage(spark)
        if not self._storage.exists(self.uri):
            raise ReleaseError(f"there is no release {release}; check the path.")
        if not self._storage.exists(f"{self.uri}/{MANIFEST_FILE}"):
            raise ReleaseError(f"{release} has no {MANIFEST_FILE}, so it is not a finished release; check the path.")
        self.manifest: Manifest = decode_manifest(
            f"{release}/{MANIFEST_FILE}", self._storage.read(f"{self.uri}/{MANIFEST_FILE}")
        )
        self.kind: Kind = kind_of(self.manifest.kind)
        if not self.kind.frame:
            raise InputError(f"{release} is of kind {self.kind.name}, which has no Spark form; use --engine local.")

    def rows(self) -> "DataFrame":
        """Return the released rows."""
        return self.spark.read.parquet(f"{self.uri}/data")

    def file_faults(self) -> list[str]:
        """Find files that are missing, changed, or not in the manifest; tasks digest them."""
        root = self._storage.absolute(self.uri)
        present = {file.removeprefix(f"{root}/") for file in self._storage.files(self.uri)} - {MANIFEST_FILE}
        files = self.spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(self.uri)
        digests = files.select("path", "content").mapInArrow(_digest, "path STRING, sha256 STRING").collect()
        found = {row["path"].removeprefix(f"{root}/"): row["sha256"] for row in digests}
        return file_faults(self.manifest, {name: found.get(name, "") for name in present})

    def row_faults(self) -> list[str]:
        """Compare the digest of all rows, one file in memory at a time."""
        names = [entry.path for entry in self.manifest.files if entry.path.endswith(".parquet")]
        binary = self.spark.read.format("binaryFile")
        files = (binary.load(f"{self.uri}/{name}").select("content").collect() for name in names)
        tables = (table for rows in files for table in tables_of(bytes(rows[0][0])))
        digest = content_digest(self.manifest.columns, tables)
        return [] if digest == self.manifest.content_sha256 else [WRONG_ROWS]

    def checked_items(self) -> "DataFrame":
        """Return the items of each history, if the rows have the columns of their kind and nothing is missing."""
        from pyspark.sql import functions as f

        if not list(self._storage.files(f"{self.uri}/data")):
            raise ReleaseError(f"{self.name} has no data; the release is damaged.")
        rows = self.rows()
        if tuple(rows.columns) != self.manifest.columns or rows.columns[:2] != list(self.kind.columns):
            raise ReleaseError(f"{self.name}: the data does not have the columns of its kind; the release is damaged.")
        if not rows.where(rows[0].isNull() | rows[1].isNull()).isEmpty():
            raise ReleaseError(f"the release has rows without a user or a {rows.columns[1]}; it is damaged.")
        if "partition" in rows.columns:
            several = rows.groupBy("user").agg(f.countDistinct("partition").alias("n")).where("n != 1")
            if not several.isEmpty():
                raise ReleaseError("the release has a history in two partitions, or in none; it is damaged.")
        return distinct_items(rows)

    def check_belongs(self, private: str) -> RunRecord:
        """Return the run record of a private folder; refuse one that was made for other rows."""
        path = f"{location_uri(private)}/{RUN_FILE}"
        run = read_run(private, lambda: self._storage.read(path) if self._storage.exists(path) else b"")
        check_belongs(private, run, self.manifest.content_sha256)
        return run

    def private_tables(self, private: str) -> tuple["DataFrame", "DataFrame"]:
        """Return the membership, and `history, term` of everybody's profiles, from the private folder."""
        self.check_belongs(private)
        folder, read = location_uri(private), self.spark.read
        return read.parquet(f"{folder}/{MEMBERSHIP}"), read.parquet(f"{folder}/{PROFILES}").select("history", "term")


def _digest(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        digests = [hashlib.sha256(value.as_buffer()).hexdigest() for value in batch["content"]]
        yield pa.RecordBatch.from_pydict({"path": batch["path"], "sha256": pa.array(digests, pa.string())})
