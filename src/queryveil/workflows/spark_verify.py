"""Verifying a release on Spark: its files, its counts, its claim, and its private folder where one is given."""

import hashlib
from collections.abc import Iterable, Iterator, Set
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from queryveil.core.errors import InputError, ReleaseError
from queryveil.core.evidence import Evidence, Floor, GroupMembers, MethodParameters
from queryveil.core.files import scratch, write_file
from queryveil.core.names import ResolvedName, declarations, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.engines import SPARK
from queryveil.engines.spark.session import open_session
from queryveil.engines.spark.sql import ReleasedHistoryFrame, SparkSqlSession, VocabularyFrames, count_columns
from queryveil.engines.spark.storage import Storage, local_path, uri_of
from queryveil.engines.sql import GroupTables, HistoryTables, KeptTables
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import KEEPABLE, PLURALS, Kind, kind_of, wrong_counts
from queryveil.kinds.groups import GROUPS, UNRELEASED_GROUPS, load_members
from queryveil.kinds.histories import history_faults
from queryveil.kinds.private_folder import (
    CONTRIBUTORS,
    MEMBERSHIP,
    OTHER_HISTORIES,
    PROFILES,
    RUN_FILE,
    TAXONOMY,
    PrivateFolder,
    RunRecord,
    check_belongs,
    read_run,
)
from queryveil.methods.base import Method
from queryveil.methods.distributed.features import network_of
from queryveil.release.exports import EXPORT_FILE
from queryveil.release.manifest import MANIFEST_FILE, SIGNATURE_FILE, Manifest, decode_manifest
from queryveil.release.reader import NOT_LISTED, column_faults, file_faults, manifest_faults, row_faults
from queryveil.release.signing import signature_faults
from queryveil.release.spark_writer import tables_of
from queryveil.release.verification import (
    WRONG_PARTITION,
    claim_faults,
    refuse_inapplicable_claim,
    require_known_sentences,
    run_faults,
    verify_claim,
)
from queryveil.semantics import SemanticOptions
from queryveil.semantics.network import Network, wordnet
from queryveil.workflows.excluded import check_excluded, find_published, recorded_terms
from queryveil.workflows.owner_lists import add_lists
from queryveil.workflows.requests import VerifyRequest
from queryveil.workflows.verify import add_network

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
    for parameter, values in declared.spark_only.items() if isinstance(declared, Method) else ():
        if name.values.get(parameter, values[0]) not in values:
            only = "|".join(map(str, values))
            raise InputError(f"{name}: on Spark there is only {parameter}={only}; leave it out, or use --engine local.")


def verify_on_spark(request: VerifyRequest, progress: Progress) -> Verdict:
    """Return whether a release keeps what it claims, and is what its manifest and private folder say."""
    claim = None if request.claim is None else resolve("guarantee", request.claim)
    if claim is not None:
        require_spark_support("guarantee", claim)
    private = None if request.private is None else str(request.private)
    with open_session(request.engine_options.cluster()) as spark, ExitStack() as stack:
        folder = ClusterRelease(spark, str(request.release))
        kind, manifest = folder.kind, folder.manifest
        claim = claim or manifest.claim
        refuse_inapplicable_claim(claim, kind)
        require_spark_support("guarantee", claim)
        faults = [*manifest_faults(manifest), *claim_faults(manifest)]
        if request.key is not None:
            faults += signature_faults(request.key, folder.read(MANIFEST_FILE) or b"", folder.read(SIGNATURE_FILE))
        run = None if private is None else folder.check_belongs(private)
        found, unchecked = check_excluded(manifest, request.exclude_terms, run, folder.find_published)
        faults += found
        check = check_vocabularies if kind.is_generalized else _check_histories
        evidence, found = (_check_groups if kind.needs_private else check)(folder, private, stack)
        faults += found
        evidence.add(Manifest, lambda: manifest)
        missing = add_lists(evidence, claim, request.lists, manifest)
        if missing:
            return Verdict(
                str(claim), "violated" if faults else "unchecked", "nothing", reason="; ".join((*faults, missing))
            )
        verdict = verify_claim(claim, kind, evidence, faults=faults, engine=SPARK.name, progress=progress)
        verdict = replace(verdict, warnings=(*verdict.warnings, *unchecked))
        is_authenticated = private is not None or request.key is not None
        return require_known_sentences(verdict, manifest, is_authenticated=is_authenticated)


def _check_groups(folder: "ClusterRelease", private: str | None, _: ExitStack) -> tuple[Evidence, list[str]]:
    """Return released groups with their members, and where the folders contradict each other."""
    rows, after = folder.rows(), folder.manifest.counts["after"]
    floor, faults = Floor(folder.manifest.floor), folder.file_faults() or folder.row_faults()
    if not faults:
        n_rows, n_terms, n_groups = count_columns(rows, "1", "DISTINCT term", "DISTINCT group")
        counts = {"terms": n_terms, "pairs": n_rows, "occurrences": n_rows, "groups": n_groups}
        faults = wrong_counts(counts, after, "rows")
    if private is None:
        return group_evidence(folder.kind, rows, floor, None, None), faults
    run, membership, pairs, found = folder.private_side(private)
    members = membership.selectExpr("history", "release_id AS group")
    unreleased = members.where("group IS NOT NULL").join(rows.select("group").distinct(), "group", "anti")
    if not faults:
        counts = dict.fromkeys(("people", "histories"), count_columns(members, "group")[0])
        faults += wrong_counts(counts, after, "private folder") + [UNRELEASED_GROUPS] * (not unreleased.isEmpty())
    evidence = group_evidence(folder.kind, rows, floor, members, pairs, folder.frozen_groups(private))
    evidence.add(MethodParameters, lambda: MethodParameters(run.parameters))
    meaning = folder.manifest.cleaning.meaning
    if "min_similarity" in run.parameters and meaning is not None:
        here = local_path(private)
        if here is None:
            raise InputError(
                f"min_similarity is checked on one machine; copy {private} to this one, and give the copy."
            )
        on_disk = PrivateFolder(here)
        add_network(evidence, on_disk, folder.manifest, silent)
        evidence.add(Profiles, lambda: on_disk.log_profiles)
        evidence.add(GroupMembers, lambda: load_members(on_disk, GROUPS.decode(rows.toArrow())))
    return evidence, faults + found


def _check_histories(folder: "ClusterRelease", private: str | None, stack: ExitStack) -> tuple[Evidence, list[str]]:
    """Return released histories with their owners, and where the folders contradict each other."""
    faults, kind, after, owners = folder.file_faults(), folder.kind, folder.manifest.counts["after"], None
    items, found = folder.checked_items(), list[str]()
    if not faults:
        names, columns = ("pairs", "histories", "terms"), ("1", "DISTINCT user", "DISTINCT term")
        counts = dict(zip(names, count_columns(items, *columns), strict=True))
        counts |= {"occurrences": folder.rows().count()} if kind.has_occurrences else {}
        faults = [*wrong_counts(counts, after, "rows"), *folder.row_faults()]
    if private is not None:
        _, membership, held, found = folder.private_side(private)
        behind = _released_members(items, membership, private)
        issued = folder.rows().selectExpr("user", f"{folder.rows().columns[1]} AS term").groupBy("user", "term").count()
        released = issued.withColumnRenamed("count", "n").join(behind.select("user", "history"), "user")
        joined = released.join(held, ["history", "term"], "left")
        copied = "IF(count <> n, 1, NULL)" if kind.has_occurrences else "NULL"
        n_all, n_held, n_copied, n_people = (
            *count_columns(joined, "1", "count", copied),
            count_columns(behind, "DISTINCT owner")[0],
        )
        counts = {"people": n_people, "occurrences": int(joined.selectExpr("SUM(count)").collect()[0][0] or 0)}
        found += history_faults(n_all - n_held, n_copied, counts, after, PLURALS[kind.unit])
        if folder.manifest.partition is not None:
            different = items.select("user", "partition").distinct().exceptAll(behind.select("user", "partition"))
            found += [] if different.isEmpty() else [WRONG_PARTITION]
        owners = behind.select("user", "owner")
    return history_evidence(folder.rows(), Floor(folder.manifest.floor), owners, stack), faults + found


def _released_members(rows: "DataFrame", membership: "DataFrame", private: str) -> "DataFrame":
    """Return the released part of a membership with the columns `user, owner`; it must be about the rows."""
    behind = membership.where("release_id IS NOT NULL")
    behind = behind.selectExpr("release_id AS user", "person AS owner", *behind.columns)
    users = rows.select("user").distinct()
    if not users.join(behind, "user", "anti").isEmpty() or behind.count() != users.count():
        raise ReleaseError(OTHER_HISTORIES.format(private))
    return behind


def distinct_items(rows: "DataFrame") -> "DataFrame":
    """Return the items of each history, each once: `user, term, partition`; the term may be a query."""
    part = "partition" if "partition" in rows.columns else "'' AS partition"
    return rows.selectExpr("user", f"{rows.columns[1]} AS term", part).distinct()


def items_as_typed(rows: "DataFrame", owners: "DataFrame | None") -> "DataFrame":
    """Return the items of each history as vocabularies: `user, owner, term, count, level`."""
    issued = rows.selectExpr("user", f"{rows.columns[1]} AS term").groupBy("user", "term").count()
    owned = issued.selectExpr("*", "user AS owner") if owners is None else issued.join(owners, "user")
    return owned.selectExpr("user", "owner", "term", "count", "0 AS level")


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
    evidence.add(VocabularyFrames, lambda: VocabularyFrames(items_as_typed(rows, owners), is_linked))
    names = [name for name in KEEPABLE if name in rows.columns]
    if names:
        part = "partition" if "partition" in rows.columns else "''"
        owned = rows.selectExpr("*", "user AS owner") if owners is None else rows.join(owners, "user")
        kept = owned.selectExpr("user AS history", "owner", f"{part} AS part", *names)
        evidence.add(KeptTables, lambda: KeptTables(lambda: SparkSqlSession(rows.sparkSession, kept=kept), is_linked))
    return evidence


def group_evidence(
    kind: Kind,
    rows: "DataFrame",
    floor: Floor,
    members: "DataFrame | None",
    pairs: "DataFrame | None",
    frozen: tuple[int, ...] = (),
) -> Evidence:
    """Return released groups with `history, group` of everybody and `history, term, weight` of their profiles."""
    if rows.columns != list(kind.columns):
        raise ReleaseError("the data of the release does not have the columns of its kind; it is damaged.")
    if not rows.where(" OR ".join(f"{name} IS NULL" for name in kind.columns)).isEmpty():
        raise ReleaseError("the release has rows in which something is missing; it is damaged.")
    place = ("_metadata.file_path AS file", "_metadata.row_index AS place")
    tables = {"released": rows.selectExpr("group AS group_id", "term", "weight", *place)}
    has_members = members is not None and pairs is not None
    if members is not None and pairs is not None:
        tables |= {"members": members.selectExpr("history", "group AS group_id"), "pairs": pairs}
    return Evidence(GroupTables(lambda: SparkSqlSession(rows.sparkSession, **tables), has_members, frozen), floor)


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
        if self._storage.exists(f"{self.uri}/{EXPORT_FILE}"):
            raise InputError(f"{release} is an export, which has no Spark form; use --engine local.")
        self.manifest: Manifest = decode_manifest(f"{release}/{MANIFEST_FILE}", self.read(MANIFEST_FILE) or b"")
        self.kind: Kind = kind_of(self.manifest.kind)
        if not self.kind.frame:
            raise InputError(f"{release} is of kind {self.kind.name}, which has no Spark form; use --engine local.")

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file of the folder, None if there is none."""
        return self._read(f"{self.uri}/{name}")

    def _read(self, path: str) -> bytes | None:
        return self._storage.read(path) if self._storage.exists(path) else None

    def rows(self) -> "DataFrame":
        """Return the released rows."""
        return self.spark.read.parquet(f"{self.uri}/data")

    def file_faults(self) -> list[str]:
        """Find files that are missing, changed, or not in the manifest; tasks digest them."""
        root = self._storage.absolute(self.uri)
        present = {file.removeprefix(f"{root}/") for file in self._storage.files(self.uri)} - NOT_LISTED
        files = self.spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(self.uri)
        digests = files.select("path", "content").mapInArrow(_digest, "path STRING, sha256 STRING").collect()
        found = {row["path"].removeprefix(f"{root}/"): row["sha256"] for row in digests}
        return file_faults(self.manifest.files, {name: found.get(name, "") for name in present})

    def row_faults(self) -> list[str]:
        """Compare columns, digest and order of all rows, one file in memory at a time."""
        names = [entry.path for entry in self.manifest.files if entry.path.endswith(".parquet")]
        binary = self.spark.read.format("binaryFile")
        files = (binary.load(f"{self.uri}/{name}").select("content").collect() for name in names)
        tables = (table for rows in files for table in tables_of(bytes(rows[0][0])))
        return [*column_faults(self.manifest, self.rows().columns), *row_faults(self.manifest, tables)]

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

    def find_published(self, excluded: Set[str]) -> set[str]:
        """Return the excluded terms that are published; released terms and queries are in the form of cleaned ones."""
        from pyspark.sql import functions as f

        listed = self.spark.createDataFrame([(term,) for term in sorted(excluded)], "term STRING")
        rows, texts = self.rows(), [name for name, type_ in self.kind.columns.items() if type_ == "string"]
        words = [rows.select(f.explode(f.split(name, "[ |]")).alias("term")) for name in texts]
        parts = rows.select("partition").distinct().collect() if "partition" in rows.columns else []
        found = {row[0] for each in words for row in listed.join(each, "term", "semi").collect()}
        return found | find_published((str(row[0]) for row in parts), excluded)

    def read_private(self, private: str, name: str) -> bytes | None:
        """Return the bytes of a file of a private folder, None if there is none."""
        return self._read(f"{location_uri(private)}/{name}")

    def check_belongs(self, private: str) -> RunRecord:
        """Refuse a private folder that was made for other rows than the manifest names; return its record."""
        run = read_run(private, lambda: self.read_private(private, RUN_FILE) or b"")
        check_belongs(private, run, self.manifest.content_sha256)
        return run

    def private_side(self, private: str) -> tuple[RunRecord, "DataFrame", "DataFrame", list[str]]:
        """Return the record of the run, the membership and everybody's profiles, and what these contradict."""
        run, folder, read = self.check_belongs(private), location_uri(private), self.spark.read
        membership, pairs = read.parquet(f"{folder}/{MEMBERSHIP}"), read.parquet(f"{folder}/{PROFILES}")
        names, columns = ("histories", "terms", "pairs"), ("DISTINCT history", "DISTINCT term", "1")
        before = dict(zip(names, count_columns(pairs, *columns), strict=True))
        before["occurrences"] = int(pairs.selectExpr("SUM(count)").collect()[0][0] or 0)
        before["people"] = count_columns(membership.join(pairs, "history", "semi"), "DISTINCT person")[0]
        wrong = wrong_counts(before, self.manifest.counts["before"], "private folder", "before")
        return run, membership, pairs, run_faults(run, self.manifest) + wrong

    def frozen_groups(self, private: str) -> tuple[int, ...]:
        """Return the groups that are published as in an earlier release; a release made on a cluster has none."""
        people = self.spark.read.parquet(f"{location_uri(private)}/{CONTRIBUTORS}")
        if "is_frozen" not in people.columns:
            return ()
        return tuple(row[0] for row in people.where("is_frozen").select("release_id").distinct().collect())


def _digest(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        digests = [hashlib.sha256(value.as_buffer()).hexdigest() for value in batch["content"]]
        yield pa.RecordBatch.from_pydict({"path": batch["path"], "sha256": pa.array(digests, pa.string())})


def open_network(meaning: SemanticOptions, excluded: frozenset[str]) -> Network:
    """Return the network that a method on Spark compares terms by; it publishes no excluded term."""
    network = network_of(meaning) or wordnet()
    return network.hide_names(excluded) if excluded else network


def published_frames(
    rows: "DataFrame", behind: "DataFrame | None", held: "DataFrame | None" = None
) -> VocabularyFrames:
    """Return published rows with those behind them (`user, owner`), where known; refuse damaged rows."""
    names = ("user", "term", "count", "level")
    if not rows.where(" OR ".join(f"{name} IS NULL" for name in names)).isEmpty():
        raise ReleaseError("the release has rows in which something is missing; it is damaged.")
    if not rows.where("count < 1 OR level < 0").isEmpty():
        raise ReleaseError("the release has rows with a count below 1 or a level below 0; it is damaged.")
    if not rows.groupBy("user", "term", "level").count().where("count > 1").isEmpty():
        raise ReleaseError("the release has the same term of a history twice; it is damaged.")
    owned = rows.selectExpr("*", "user AS owner") if behind is None else rows.join(behind, "user")
    return VocabularyFrames(owned.select("owner", *names), behind is not None, held)


def check_vocabularies(folder: "ClusterRelease", private: str | None, stack: ExitStack) -> tuple[Evidence, list[str]]:
    """Return released vocabularies with their owners, and where the folders contradict each other."""
    rows, after, manifest = folder.rows(), folder.manifest.counts["after"], folder.manifest
    if rows.columns != list(folder.kind.columns):
        raise ReleaseError("the data of the release does not have the columns of its kind; it is damaged.")
    faults = folder.file_faults() or folder.row_faults()
    if not faults:
        n_rows, n_histories, n_terms = count_columns(rows, "1", "DISTINCT user", "DISTINCT term")
        n_occurrences = int(rows.selectExpr("SUM(count)").collect()[0][0] or 0)
        counts = {"histories": n_histories, "terms": n_terms, "pairs": n_rows, "occurrences": n_occurrences}
        faults = wrong_counts(counts, after, "rows")
    if private is None:
        return Evidence(published_frames(rows, None), Floor(manifest.floor)), faults
    run, membership, pairs, found = folder.private_side(private)
    held = membership.join(pairs, "history").selectExpr("release_id AS user", "person AS owner", "term", "count")
    behind = _released_members(rows, membership, private).select("user", "owner")
    found += wrong_counts({"people": count_columns(behind, "DISTINCT owner")[0]}, after, "private folder")
    evidence = Evidence(published_frames(rows, behind, held), Floor(manifest.floor))
    evidence.add(MethodParameters, lambda: MethodParameters(run.parameters))
    if manifest.cleaning.meaning is not None:
        meaning = SemanticOptions(
            network=manifest.cleaning.meaning["network"], taxonomy=_copy_taxonomy(folder, private, stack)
        )
        evidence.add(Network, partial(open_network, meaning, recorded_terms(manifest, run)))
    return evidence, faults + found


def _copy_taxonomy(folder: "ClusterRelease", private: str, stack: ExitStack) -> Path | None:
    """Return a copy on this machine of the taxonomy in a private folder, removed at the end; None without one."""
    data = folder.read_private(private, TAXONOMY)
    if data is None:
        return None
    copy = stack.enter_context(scratch("taxonomy")) / TAXONOMY
    write_file(copy, data, 0o600)
    return copy
