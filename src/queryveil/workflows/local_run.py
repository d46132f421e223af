"""Making a release on one machine."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from threading import Thread

import numpy as np
import pyarrow as pa

from queryveil.core.arrow import arrow_texts, release_freed_memory
from queryveil.core.errors import GuaranteeError, InputError
from queryveil.core.evidence import Evidence, MethodParameters, Views
from queryveil.core.files import Folder, MemoryPath, folder_of
from queryveil.core.progress import Progress, running_beside, silent
from queryveil.core.results import Score
from queryveil.engines import LogSource, QueryLog
from queryveil.engines.kept_columns import KeptColumns
from queryveil.engines.local.files import expand_paths
from queryveil.engines.local.reading import open_files
from queryveil.guarantees import guarantee_of
from queryveil.histories.build import build, partition_profiles
from queryveil.histories.outcomes import KeptPairs, Outcome
from queryveil.histories.profile_files import profiles_of
from queryveil.histories.profiles import Profiles
from queryveil.histories.tokens import Tokenizer
from queryveil.kinds.base import Counts, Kind, ReleaseContent
from queryveil.kinds.private_folder import PrivateFolder, bind, write_private
from queryveil.market import Market
from queryveil.methods.base import MethodTask, method_of
from queryveil.release.atomic_folder import file_digest
from queryveil.release.manifest import CleaningRecord, Manifest, PartitionRecord
from queryveil.release.reader import read_files
from queryveil.release.writer import MemoryStaging, WrittenRows, open_staging, write_rows
from queryveil.report.attacks import AttackReport
from queryveil.semantics import SemanticOptions
from queryveil.workflows.anonymize import TOO_FEW, AppliedMethod, ReleaseRun, advise, plan_release, top_items
from queryveil.workflows.excluded import refuse_published
from queryveil.workflows.inputs import open_inputs
from queryveil.workflows.measure import add_comparison, take_measures
from queryveil.workflows.requests import AttackRequest, ReleaseRequest

_LARGE = 20_000_000  # bytes: smaller logs are read before anything could be loaded in the background


class LocalRun(ReleaseRun):
    """A run on one machine."""

    engine = "local"
    locations: tuple[Folder, Folder | None]

    def __init__(self, request: ReleaseRequest, progress: Progress) -> None:
        """Check the folders to write and open the method's inputs, before the log is read."""
        super().__init__()
        self.plan, self.progress = plan_release(request), progress
        self.locations = folder_of(request.out), None if request.private is None else folder_of(request.private)
        open_staging(*self.locations, force=request.force)  # refuses folders before the log is read
        self._input_loaders = open_inputs(request, self.plan.method, self.plan.kind, progress)
        self._rng = np.random.default_rng(self.plan.seed)
        self._method_inputs = Views(MethodParameters(self.plan.method.values))

    def apply_method(self) -> AppliedMethod:
        """Read and clean the log, build profiles, run the method and encode its outcome."""
        plan, source = self.plan, self.plan.source
        files = expand_paths(source.paths) if source.table is None else []
        if sum(path.stat().st_size for path in files if path.is_file()) > _LARGE:
            Thread(target=_warm_up).start()
        with open_source(source, plan.kind, self.progress) as (log, profiles):
            release_freed_memory()
            for each in self._input_loaders:
                profiles = each.provide(profiles, self._method_inputs)
            outcome = run_method(MethodTask(profiles, plan.method, self._rng, self._method_inputs, self.progress))
            self.progress("writing", 0, 1)
            release_freed_memory()
            self._kept = plan.kept_columns(outcome.found)
            self._content = plan.kind.encode(outcome, profiles, log, self._kept)
            if source.excluded:
                refuse_published(self._content.rows, source.excluded)
            release_freed_memory()
            steps = [] if log is None else [asdict(step) for step in log.steps.values()]
        self._profiles, self._outcome = profiles, outcome
        meaning, partition = self._method_inputs.find(SemanticOptions), None
        if profiles.partition is not None:
            n_parts = len(profiles.partition_values)
            partition = PartitionRecord(source.cleaning.partition_by, n_parts, outcome.summary[TOO_FEW])
        return AppliedMethod(
            outcome.found,
            {key: value for each in self._input_loaders[::-1] for key, value in each.summary.items()}
            | {**outcome.summary, **_suppressed(self._kept, self._content.suppressed)}
            | advise(top_items(self._content.rows, plan.kind), plan.kind, source.cleaning),
            Counts.of(profiles),
            plan.kind.counts(outcome, profiles, self._content),
            CleaningRecord(source.cleaning.as_record(), steps, None if meaning is None else meaning.as_record()),
            partition,
            {key: value for each in self._input_loaders for key, value in each.lists.items()} or None,
        )

    @contextmanager
    def stage(self) -> Iterator[tuple[MemoryStaging, WrittenRows]]:
        """Write membership, profiles and the run record into the private folder, and the rows as Parquet files."""
        rows = self._content.rows
        empty = pa.Table.from_batches([], schema=rows.schema)  # `empty_table` would import pandas
        self._content = replace(self._content, rows=empty)  # they are read back
        with (
            open_staging(*self.locations, force=self.plan.request.force) as staged,
            running_beside(partial(self._write_private, staged.private)) as self._private_written,
        ):
            self._folder = staged.release
            written = write_rows(staged, rows)
            del rows
            release_freed_memory()
            yield staged, written

    def _write_private(self, folder: Folder | None, progress: Progress = silent) -> None:
        """Write everything of the private folder, where one is wanted."""
        source, profiles, content = self.plan.source, self._profiles, self._content
        if folder is not None:
            paths = expand_paths(source.paths) if source.table is None else []
            files = [{"path": str(path), "sha256": str(file_digest(path))} for path in paths]
            more = {key: value for each in self._input_loaders for key, value in each.record.items()}
            run = self.plan.run_record(self.engine, files, more)
            write_private(folder, profiles, content.release_ids, run, content.history_of)
            for each in self._input_loaders:
                each.write_private(folder, profiles, self._outcome, content)
        if not self.plan.request.attacks:
            del self._outcome  # is not needed any more, and its memory is

    def evidence(self, manifest: Manifest) -> Evidence:
        """Read back what was written."""
        self.progress("reading back", 0, 1)
        released = read_files(self._folder, manifest)
        if released.faults:
            raise InputError(f"{self.locations[0]}: {released.faults[0]} while it was written; try again.")
        evidence = evidence_of_new_rows(
            self.plan.kind, released.rows, self._profiles, self._content, manifest, self._method_inputs
        )
        del released
        release_freed_memory()
        return evidence

    def measure(self, evidence: Evidence, manifest: Manifest) -> list[Score]:
        """Take the default measures of the kind."""
        available = frozenset({"market"} if self._method_inputs.find(Market) is not None else ()) | {*self._kept.names}
        names = self.plan.kind.default_measures(manifest.claim, available, when_made=True)
        scores = take_measures(names, evidence, self._rng, self.progress)
        self._private_written.result()  # before anything is committed
        return scores

    def attack(self, manifest: Manifest) -> AttackReport:
        """Attack the staged release as `queryveil attack` does; the private side is in memory."""
        from queryveil.workflows.attack import attack_release

        out, given, source = self.locations[0], self.plan.request, self.plan.source
        request = AttackRequest(release=out, against=(), attacks=given.attacks, taxonomy=given.semantics.taxonomy)
        release = read_files(self._folder, manifest, check_rows=False)
        folder = MemoryPath("the private folder")
        self._write_private(folder)
        bind(folder, manifest.content_sha256, manifest.field_digests())
        files = replace(source, paths=tuple(expand_paths(source.paths)) if source.table is None else ())
        return attack_release(release, PrivateFolder(folder), request, files, self.progress)


def evidence_of_new_rows(
    kind: Kind, rows: pa.Table, profiles: Profiles, content: ReleaseContent, manifest: Manifest, views: Views
) -> Evidence:
    """Return the evidence of rows that were just made: decoded, with the private side and what the method was given."""
    evidence = kind.evidence_of_profiles(rows, profiles, content, manifest.floor)
    evidence.add(Profiles, lambda: profiles)
    for view in views.types():
        evidence.add(view, partial(views.find, view))
    add_comparison(evidence, kind, manifest, market=views.find(Market), meaning=views.find(SemanticOptions))
    return evidence


@contextmanager
def open_source(source: LogSource, kind: Kind, progress: Progress) -> Iterator[tuple[QueryLog | None, Profiles]]:
    """Open a log and build its profiles, or read a profile file where the kind can be made from one."""
    profiles = profiles_of(source) if kind.reads_profile_files else None
    if profiles is not None:
        yield None, profiles
        return
    with open_files(source, progress=progress) as log:
        for column in source.keep:
            if not log.has_values(column):
                raise InputError(
                    f"--keep {column}: the log has no {column.name}; leave it out or name its column by --columns."
                )
        is_read = kind.needs_profiles_only and not source.keep
        yield log, build(log, unit=kind.unit, closes_log=is_read, progress=progress)


def run_method(task: MethodTask) -> Outcome:
    """Run a method on the log, or on each of its partitions by itself; refuse to release nothing."""
    method = method_of(task.method).load()
    outcome: Outcome = method(task) if task.profiles.partition is None else _run_by_partition(task, method)
    if isinstance(outcome, KeptPairs) and not outcome.mask.any():
        raise GuaranteeError(f"{task.method}: nothing would be left of the log; lower k or m, or give a larger log.")
    return outcome


def _run_by_partition(task: MethodTask, method: Callable[[MethodTask], KeptPairs]) -> KeptPairs:
    """Run a method on each partition that has enough people, and keep nothing of the others."""
    claim = method_of(task.method).claim(task.method)
    smallest = guarantee_of(claim).smallest_crowd(claim)
    mask, piece = np.zeros(len(task.profiles.ids), np.bool_), np.full(len(task.profiles.ids), -1, np.int32)
    is_cut = False
    n_suppressed, chosen, start = 0, Counter[str](), task.inputs.find(KeptPairs)
    found: dict[str, int | float] = {}
    for part in range(len(task.profiles.partition_values)):
        profiles, pairs = partition_profiles(task.profiles, part)
        if profiles.n_people < smallest:
            n_suppressed += 1
            continue
        inputs = task.inputs if start is None else Views(*task.inputs.build_all(), KeptPairs(start.mask[pairs]))
        outcome = method(MethodTask(profiles, task.method, task.rng, inputs, task.progress))
        mask[pairs] = outcome.mask
        found |= outcome.found
        if outcome.piece is not None:
            piece[pairs], is_cut = outcome.piece, True
        chosen[outcome.summary.get("chosen", outcome.summary.get("algorithm", task.method.declaration.name))] += 1
    summary = {
        **{name: task.method[name] for name in ("algorithm",) if name in task.method.values},
        "parts": len(task.profiles.partition_values),
        TOO_FEW: n_suppressed,
        "parts by what was chosen": dict(chosen),
    }
    return KeptPairs(mask, piece if is_cut else None, summary=summary, found=found)


def _suppressed(kept: KeptColumns, n_rare: Mapping[str, int]) -> dict[str, int]:
    """Return for the summary how many values of each kept column too few people share, and what would keep more."""
    found: dict[str, int] = {}
    for column in kept.columns:
        coarser = f"; --keep {column.coarsest} keeps more" if column != column.coarsest else ""
        what = f"values of {column} left out, since fewer than {kept.floor:,} people have them{coarser}"
        found |= {what: n_rare[column.name]} if n_rare[column.name] else {}
    return found


def _warm_up() -> None:
    """Load the compiler while the log is read."""
    Tokenizer().add(arrow_texts(["a"]))
