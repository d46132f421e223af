"""Making a release on Spark."""

from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, replace
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from queryveil.core.errors import GuaranteeError, InputError
from queryveil.core.evidence import Evidence, Floor, MethodParameters, Views
from queryveil.core.files import MemoryPath, write_file
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress
from queryveil.core.results import Score
from queryveil.engines import SPARK
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.engines.spark.session import open_session
from queryveil.engines.spark.sql import history_counts
from queryveil.engines.spark.storage import Storage, local_path
from queryveil.guarantees import guarantee_of
from queryveil.histories.distributed import clean_histories
from queryveil.histories.profile_files import is_profile_file
from queryveil.kinds.base import Counts
from queryveil.kinds.frames import FrameLayout
from queryveil.kinds.private_folder import TAXONOMY, RunRecord
from queryveil.measures import measure_of
from queryveil.measures.utility.retention import from_counts
from queryveil.methods.base import method_of
from queryveil.methods.distributed.features import network_of
from queryveil.methods.distributed.outcomes import ClusterOutcome, SparkTask
from queryveil.release.atomic_folder import file_digest
from queryveil.release.manifest import CleaningRecord, Manifest, PartitionRecord
from queryveil.release.spark_writer import StagedRelease, cluster_staging, ranked, write_private, write_rows
from queryveil.release.writer import WrittenRows, prepare_targets
from queryveil.semantics.network import Network
from queryveil.workflows.anonymize import (
    TOO_FEW,
    TOP_TERMS,
    AppliedMethod,
    ReleasePlan,
    ReleaseRun,
    advise,
    plan_release,
)
from queryveil.workflows.excluded import WOULD_PUBLISH, find_published
from queryveil.workflows.inputs import ListInput, open_inputs
from queryveil.workflows.requests import ReleaseRequest
from queryveil.workflows.spark_verify import (
    group_evidence,
    history_evidence,
    open_network,
    published_frames,
    require_spark_support,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOCAL_ONLY = ("values", "market", "start_from", "start_from_private", "groups", "groups_private")


class SparkRun(ReleaseRun):
    """A run on a cluster."""

    engine = SPARK.name

    def __init__(self, request: ReleaseRequest, progress: Progress) -> None:
        """Refuse what a cluster cannot do, and folders that cannot be written, before Spark is started."""
        for flag, value in (("--keep", request.keep), ("--attack", request.attacks)):
            if value:
                raise InputError(f"{flag} has no Spark form; leave it out, or use --engine local.")
        if isinstance(request.out, MemoryPath):
            raise InputError("a release that is made by --engine spark is written; name a folder for it by --out.")
        super().__init__()
        self.plan, self.progress = plan_release(request), progress
        self._layout = _check_supported(self.plan)
        opened = open_inputs(request, self.plan.method, self.plan.kind, progress)
        self._lists = [each for each in opened if isinstance(each, ListInput)]
        self._views = Views(MethodParameters(self.plan.method.values))
        self._out, self._private = str(request.out), None if request.private is None else str(request.private)
        folder, secret = local_path(self._out), None if self._private is None else local_path(self._private)
        self.locations = folder or self._out, secret or self._private
        if folder is not None:
            prepare_targets(folder, secret, force=request.force)

    def __enter__(self) -> "SparkRun":
        """Start Spark and make the folders that it writes into, which it needs for intermediate results."""
        request = self.plan.request
        self.progress("starting Spark", 0, 1)
        with ExitStack() as stack:
            spark = stack.enter_context(open_session(request.engine_options.cluster()))
            self.progress("starting Spark", 1, 1)
            self._folders = stack.enter_context(
                cluster_staging(Storage(spark), self._out, self._private, force=request.force)
            )
            self._work = ScratchTables(spark, self._folders.work)
            self.enter_context(stack.pop_all())  # at the end what was not committed is removed, and Spark stopped
        return self

    def apply_method(self) -> AppliedMethod:
        """Read and clean the log and run the method."""
        plan, source = self.plan, self.plan.source
        cleaned = clean_histories(self._work.spark, source, unit=plan.kind.unit, progress=self.progress)
        self.callback(cleaned.release)
        self._cleaned = cleaned
        if find_published(cleaned.parts, source.excluded):
            raise GuaranteeError(WOULD_PUBLISH)
        entries = cleaned.frame.selectExpr("explode(entries) AS term").distinct()
        for each in self._lists:
            each.provide_for(lambda: [str(row[0]) for row in entries.collect()], self._views)
        semantics = replace(plan.request.semantics, excluded=source.excluded)
        task = SparkTask(cleaned.frame, plan.method, self._work, plan.seed, semantics, self._views, self.progress)
        outcome: ClusterOutcome = method_of(plan.method).load(self.engine)(task)
        self._outcome, self._profiles = outcome, outcome.profiles(cleaned.frame)
        self.progress("writing", 0, 1)
        self._ranked = ranked(self._work, outcome.frame, self._layout)
        after, more = outcome.counts()
        summary, partition = self._partition()
        return AppliedMethod(
            outcome.found,
            {**outcome.summary, **summary, **self._advice()},
            Counts(*history_counts(self._profiles)),
            Counts(*after, more),
            CleaningRecord(
                source.cleaning.as_record(),
                [asdict(step) for step in cleaned.steps],
                semantics.as_record() if _takes_meaning(plan.method) else None,
            ),
            partition,
            {key: value for each in self._lists for key, value in each.lists.items()} or None,
        )

    def _advice(self) -> dict[str, str]:
        """Return advice on stop words, by the histories or groups that hold each released item."""
        from pyspark.sql import functions as f

        items = self._ranked.select(f.explode("entries").alias("item")).groupBy("item").count()
        top = items.orderBy(f.desc("count"), "item").limit(TOP_TERMS).collect()
        return advise([row[0] for row in top], self.plan.kind, self.plan.source.cleaning)

    def _partition(self) -> tuple[dict[str, int], PartitionRecord | None]:
        """Return how the log was cut into partitions, for the summary and the manifest."""
        parts = self._cleaned.parts
        if not parts:
            return {}, None
        claim = self.plan.claim(self._outcome.found)
        people = self._cleaned.frame.where("size(entries) > 0").select("part", "person").distinct()
        sizes, smallest = people.groupBy("part").count(), guarantee_of(claim).smallest_crowd(claim)
        left_out = len(parts) - int(sizes.where(sizes["count"] >= smallest).count())
        column = self.plan.source.cleaning.partition_by
        return {"parts": len(parts), TOO_FEW: left_out}, PartitionRecord(column, len(parts), left_out)

    def stage(self) -> AbstractContextManager[tuple[StagedRelease, WrittenRows]]:
        """Write the private folder, and the rows as Parquet files, into folders made when Spark was started."""
        staged, has_parts = self._folders.staged, bool(self._cleaned.parts)
        self._members = self._outcome.members(self._ranked, self._work)
        if staged.private is not None:
            run = self._run_record()
            write_private(self._work, self._profiles, self._members, staged.private, run, has_parts=has_parts)
            taxonomy = self.plan.request.semantics.taxonomy
            if taxonomy is not None:
                write_file(staged.private / TAXONOMY, taxonomy.read_bytes(), 0o600)
        written = write_rows(self._work, self._ranked, staged, self.plan.kind, self._layout, has_parts=has_parts)
        self.progress("writing", 1, 1)
        return nullcontext((staged, written))

    def _run_record(self) -> RunRecord:
        """Return the private record of the run, with the files of the log."""
        storage, plan, meaning = Storage(self._work.spark), self.plan, self.plan.request.semantics
        inputs = [
            {"path": file, "bytes": size, "sha256": file_digest(local_path(file))}
            for uri in plan.source.uris
            for file, size in storage.sizes(uri)
        ]
        has_meaning = _takes_meaning(plan.method)
        more: dict[str, Any] = {"taxonomy": file_digest(meaning.taxonomy)} if has_meaning else {}
        more |= {key: value for each in self._lists for key, value in each.record.items()}
        return plan.run_record(self.engine, inputs, more)

    def evidence(self, manifest: Manifest) -> Evidence:
        """Return what was written, as Spark reads it back, with its owners or members and what the method was given."""
        evidence = self._decoded(manifest)
        for view in self._views.types():
            evidence.add(view, partial(self._views.find, view))
        return evidence

    def _decoded(self, manifest: Manifest) -> Evidence:
        """Return the rows with their owners or members."""
        rows = self._work.spark.read.parquet(f"{self._folders.uri}/data")
        if self.plan.kind.needs_private:
            everybody = self._profiles.select("person").join(self._members, "person", "left")
            members = everybody.selectExpr("person AS history", "release_id AS group")
            zipped = self._profiles.selectExpr("person AS history", "explode(arrays_zip(entries, weights)) AS pair")
            pairs = zipped.selectExpr("history", "pair.entries AS term", "pair.weights AS weight")
            return group_evidence(self.plan.kind, rows, Floor(manifest.floor), members, pairs)
        if self.plan.kind.is_generalized:
            return self._vocabulary_evidence(rows, Floor(manifest.floor))
        owners = self._ranked.selectExpr("number AS user", "person AS owner")
        return history_evidence(rows, Floor(manifest.floor), owners, self)

    def _vocabulary_evidence(self, rows: "DataFrame", floor: Floor) -> Evidence:
        """Return published vocabularies with the log's profiles and what tells which terms are near."""
        behind = self._ranked.selectExpr("number AS user", "person AS owner")
        members = self._members.selectExpr("person", "history", "release_id AS user")
        joined = self._profiles.join(members, ["person", "history"], "left")
        zipped = joined.selectExpr("user", "person AS owner", "explode(arrays_zip(entries, counts)) AS pair")
        held = zipped.selectExpr("user", "owner", "pair.entries AS term", "pair.counts AS count")
        evidence = Evidence(published_frames(rows, behind, held), floor)
        evidence.add(Network, partial(open_network, self.plan.request.semantics, self.plan.source.excluded))
        return evidence

    def measure(self, evidence: Evidence, manifest: Manifest) -> list[Score]:
        """Return the measure retention from the counts of the manifest; other measures are taken by `measure`."""
        retention = resolve("measure", "retention")
        if self.plan.kind.name not in measure_of(retention).kinds:
            return []
        return from_counts(retention, manifest.counts["before"], manifest.counts["after"])


def _takes_meaning(method: ResolvedName) -> bool:
    """Return whether a method compares terms by a semantic network."""
    return bool({"network", "hierarchy"} & {*method_of(method).inputs})


def _check_supported(plan: ReleasePlan) -> FrameLayout:
    """Return how rows are made from data frames; refuse methods, kinds and options that have no Spark form."""
    request, kind = plan.request, plan.kind
    require_spark_support("method", plan.method)
    if not kind.frame:
        first = method_of(plan.method).kinds[0]
        raise InputError(f"--kind {kind.name} has no Spark form; use --kind {first}, or --engine local.")
    for name in _LOCAL_ONLY:
        if getattr(request, name) is not None:
            raise InputError(f"--{name.replace('_', '-')} has no Spark form; leave it out, or use --engine local.")
    if _takes_meaning(plan.method):
        network_of(request.semantics)
    paths = [local_path(uri) for uri in plan.source.uris]
    if kind.reads_profile_files and any(path is not None and is_profile_file(path) for path in paths):
        raise InputError(f"{paths[0]} is a profile file, which has no Spark form; give a log, or use --engine local.")
    layout: FrameLayout = resolve_name(kind.frame)
    return layout
