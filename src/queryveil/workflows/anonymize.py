"""From a raw log to a verified release: the one pipeline for every kind of release and both engines.

    source ─► log ─► profiles ─► method ─► rows ─► release folder ─► verify ─► measure ─► report ─► commit

A step that differs by kind of release is a method of the kind, one that differs by engine is a method of `ReleaseRun`.
"""

import os
import secrets
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from queryveil._version import __version__
from queryveil.attacks import attack_of
from queryveil.core.display import Tabular
from queryveil.core.errors import InputError, UnknownNameError
from queryveil.core.evidence import Evidence
from queryveil.core.files import Folder, MemoryPath
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score, Scores, Verdict
from queryveil.engines import LogSource
from queryveil.engines.kept_columns import KeptColumns
from queryveil.guarantees import guarantee_of
from queryveil.kinds.base import Counts, Kind, kind_of
from queryveil.kinds.private_folder import RunRecord
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.logs.options import CleaningOptions
from queryveil.methods.base import method_of
from queryveil.release.manifest import MANIFEST_FILE, SIGNATURE_FILE, CleaningRecord, Manifest, PartitionRecord
from queryveil.release.reader import load_release
from queryveil.release.signing import load_signer
from queryveil.release.verification import claim_faults, verify_or_raise
from queryveil.release.writer import MemoryStaging, WrittenRows
from queryveil.report import render_release_report
from queryveil.report.attacks import AttackReport
from queryveil.report.description import MANY_STOP_WORDS
from queryveil.workflows.excluded import RECORDED, excluded_record
from queryveil.workflows.requests import ReleaseRequest

if TYPE_CHECKING:
    from queryveil.release.spark_writer import RemoteStaging

REPORT_FILE = "report.html"
TOO_FEW = "parts with too few people"
TOP_TERMS = 10
ADVICE = "advice"  # in the summary of a run


@dataclass(frozen=True)
class ReleasePlan:
    """A request that has been checked: what is to be made, before anything is read."""

    request: ReleaseRequest
    source: LogSource
    method: ResolvedName
    kind: Kind
    seed: int

    def claim(self, found: Mapping[str, int | float]) -> ResolvedName:
        """Return the guarantee that is claimed, with the parameters that the run determined."""
        return method_of(self.method).claim(self.method, found)

    def kept_columns(self, found: Mapping[str, int | float]) -> KeptColumns:
        """Return the columns to keep; unless given, the floor of their values is the smallest crowd of the claim."""
        claim, floor = self.claim(found), self.request.keep_floor
        return KeptColumns(self.source.keep, guarantee_of(claim).smallest_crowd(claim) if floor is None else floor)

    def run_record(self, engine: str, files: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any]) -> RunRecord:
        """Return the private record of the run: the files of the log, and what is recorded of the method's inputs."""
        values, excluded = dict(self.method.values), {RECORDED: sorted(self.source.excluded)}
        more = {**inputs, **excluded} if self.source.excluded else dict(inputs)
        return RunRecord(self.seed, str(self.method), self.kind.name, __version__, engine, files, values, more)


def plan_release(request: ReleaseRequest) -> ReleasePlan:
    """Resolve a request, and refuse what does not go together before any input or output."""
    method, source = resolve("method", request.method), request.source
    declared = method_of(method)
    if declared.one_of and sum(name in method.values for name in declared.one_of) != 1:
        names = " or ".join(declared.one_of)
        raise UnknownNameError(
            f"{method}: {declared.name} takes {names}, and one of them only; give that one.", field=declared.one_of[0]
        )
    name = request.kind or declared.kinds[0]
    if name not in declared.kinds:
        raise InputError(
            f"{method} makes releases of kind {' or '.join(declared.kinds)}, not {name!r}; "
            "choose one of these by --kind.",
            field="kind",
        )
    kind = kind_of(name)
    for each in (resolve("attack", text) for text in request.attacks):
        if not attack_of(each).applies_to(kind):
            raise InputError(f"{each} cannot be run on a release of kind {name}; leave it out.", field="attacks")
    if request.keep_floor is not None and not source.keep:
        raise InputError(
            "--keep-floor is about columns that --keep names; add that or leave it out.", field="keep_floor"
        )
    _check_source(method, kind, source, has_private=request.private is not None)
    seed = secrets.randbits(64) if request.seed is None else request.seed
    return ReleasePlan(request, source, method, kind, seed)


def _check_source(method: ResolvedName, kind: Kind, source: LogSource, *, has_private: bool) -> None:
    """Refuse ways of reading a log that a kind of release cannot be made from."""
    if kind.needs_private and not has_private:
        raise InputError(f"{method} needs a private folder: who is in which group stands there; give --private.")
    if kind.needs_whole_people and (source.cleaning.history != "user" or source.cleaning.partition_by):
        raise InputError(f"{method} groups people, so it goes with --history user and without --partition-by.")
    if source.keep and not kind.keepable:
        others = [each for each in method_of(method).kinds if kind_of(each).keepable]
        remedy = (
            f"so it goes with --kind {others[0]}; add that or leave --keep out."
            if others
            else f"and a release of {kind.content} has none; leave it out."
        )
        raise InputError(f"--keep needs single queries, {remedy}", field="keep")
    if source.cleaning.partition_by and not kind.allows_partitions:
        raise InputError(
            f"{method} looks at the log as a whole, so it goes without --partition-by; leave that out.",
            field="partition_by",
        )


@dataclass(frozen=True)
class AppliedMethod:
    """What a method did: the figures that the manifest needs."""

    found: Mapping[str, int | float]  # parameters of the claim that the run determined
    summary: Mapping[str, Any]
    before: Counts
    after: Counts
    cleaning: CleaningRecord
    partition: PartitionRecord | None = None
    lists: Mapping[str, Any] | None = None


def build_manifest(plan: ReleasePlan, applied: AppliedMethod, written: WrittenRows) -> Manifest:
    """Return the manifest of a release, with the promise and its limits in words."""
    claim, kept, excluded = plan.claim(applied.found), plan.kept_columns(applied.found), plan.source.excluded
    guarantee = guarantee_of(claim)
    promise, limits = guarantee.sentences(claim)
    return Manifest(
        made=today(),
        title=plan.request.title,
        dataset=plan.request.dataset,
        kind=plan.kind.name,
        method=str(plan.method),
        guarantee=str(claim),
        promise=promise,
        limits=limits,
        floor=guarantee.floor(claim, plan.method.values),
        uncovered_columns=kept.names,
        kept=kept if kept.columns else None,
        partition=applied.partition,
        columns=written.columns,
        cleaning=applied.cleaning,
        counts={"before": applied.before.record(), "after": applied.after.record()},
        content_sha256=written.content_sha256,
        lists=applied.lists,
        excluded=excluded_record(excluded, written.content_sha256) if excluded else None,
        files=written.files,
    )


def today() -> str:
    """Return the day in UTC; the variable SOURCE_DATE_EPOCH sets another, to repeat a run byte by byte."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(int(given) if given else None))
    except (ValueError, OverflowError, OSError):
        raise InputError(f"SOURCE_DATE_EPOCH is a number of seconds since 1970, not {given!r}; unset it.") from None


class ReleaseRun(ExitStack):
    """An engine's part in making a release; used in a `with` block."""

    engine: str
    plan: ReleasePlan
    locations: tuple[Folder | str, Folder | str | None]  # of the release and its private folder: here, or URIs

    @abstractmethod
    def apply_method(self) -> AppliedMethod:
        """Read and clean the log, build profiles and run the method."""

    @abstractmethod
    def stage(self) -> "AbstractContextManager[tuple[MemoryStaging | RemoteStaging, WrittenRows]]":
        """Write the private folder, where one is wanted, and the rows; both are removed unless they are committed."""

    @abstractmethod
    def evidence(self, manifest: Manifest) -> Evidence:
        """Return the evidence: the rows, read back from disk, and who is behind them, from memory."""

    @abstractmethod
    def measure(self, evidence: Evidence, manifest: Manifest) -> list[Score]:
        """Take the measures of a release that is being made."""

    def attack(self, manifest: Manifest) -> AttackReport:
        """Attack a release that is being made; an engine that cannot refuses the request before it is read."""
        raise NotImplementedError


def make_release(request: ReleaseRequest, progress: Progress = silent) -> "ReleaseResult":
    """Write a release of a log under a method's guarantee; nothing appears unless its verifier agrees."""
    started = time.monotonic()
    sign = None if request.sign_key is None else load_signer(request.sign_key)
    open_run: Callable[[ReleaseRequest, Progress], ReleaseRun] = request.engine_options.workflow("release")
    with open_run(request, progress) as run:
        kind, applied = run.plan.kind, run.apply_method()
        with run.stage() as (staged, written):
            manifest = build_manifest(run.plan, applied, written)
            evidence = run.evidence(manifest)
            faults = claim_faults(manifest)
            verdict = verify_or_raise(manifest, kind, evidence, faults=faults, engine=run.engine, progress=progress)
            scores = run.measure(evidence, manifest)
            progress("rendering the report", 0, 1)
            context = {"unit": kind.unit, "checked": kind.checked, "needs_private": kind.needs_private}
            attacks = run.attack(manifest) if request.attacks else None
            page = render_release_report(
                manifest, verdict, scores, section=kind.report_section, context=context, attacks=attacks
            )
            manifest = replace(manifest, files=(*manifest.files, staged.write(REPORT_FILE, page.encode())))
            if sign is not None:
                staged.write(SIGNATURE_FILE, sign(manifest.encode()))
            staged.write(MANIFEST_FILE, manifest.encode())
            staged.commit(manifest)
    seconds = time.monotonic() - started
    location, private = run.locations
    return ReleaseResult(location, private, manifest, verdict, Scores(scores), applied.summary, seconds, attacks)


@dataclass(frozen=True, repr=False)
class ReleaseResult(Tabular):
    """What a run made: the release, its verdict, what was kept and what it took."""

    _shown = ("location", "private_location", "manifest", "verdict")
    location: Folder | str  # of the release: a path of this machine or in memory, or a URI such as hdfs://…
    private_location: Folder | str | None
    manifest: Manifest
    verdict: Verdict
    scores: Scores
    summary: Mapping[str, Any]
    seconds: float
    attacks: AttackReport | None = None  # that were run on it

    @property
    def release(self) -> Path:
        """Return the folder of the release, if it is on this machine."""
        return _local(self.location)

    @property
    def private(self) -> Path | None:
        """Return the private folder, if there is one and it is on this machine."""
        return None if self.private_location is None else _local(self.private_location)

    @property
    def report(self) -> Path:
        """Return the path of the report, if it is on this machine."""
        return self.release / REPORT_FILE

    def to_arrow(self) -> Any:
        """Return the released rows as an Arrow table."""
        return load_release(self.location if isinstance(self.location, MemoryPath) else self.release).to_arrow()

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "release": str(self.location),
            "report": f"{self.location}/{REPORT_FILE}",
            "private": None if self.private_location is None else str(self.private_location),
            "verdict": self.verdict.record(),
            "manifest": self.manifest.record(),
            "scores": [asdict(score) for score in self.scores],
            "summary": self.summary,
            **({} if self.attacks is None else {"attacks": self.attacks.record()}),
            "seconds": round(self.seconds, 2),
        }

    def _repr_html_(self) -> str:
        place = f"<code>{escape(str(self.location))}</code>"
        return f"<p>{self.verdict._repr_html_()} Release: {place}</p>{self.scores._repr_html_()}"


def _local(location: Folder | str) -> Path:
    if isinstance(location, Path):
        return location
    remedy = "name a folder for it by --out" if isinstance(location, MemoryPath) else "read it with Spark"
    raise InputError(f"{location} is not on a disk of this machine; {remedy}.")


def top_items(rows: pa.Table, kind: Kind) -> list[str]:
    """Return the released terms or queries that most rows hold."""
    counts = pc.value_counts(rows[kind.unit].combine_chunks())
    table = pa.table({"item": counts.field("values"), "rows": counts.field("counts")})
    ranked = table.sort_by([("rows", "descending"), ("item", "ascending")])
    return list(ranked["item"].slice(0, TOP_TERMS).to_pylist())


def advise(top: Sequence[str], kind: Kind, cleaning: CleaningOptions) -> dict[str, str]:
    """Return, for the summary of a run, that stop words may be left out if many of the top terms are such."""
    found = sum(item in STOP_WORDS for item in top)
    if kind.unit != "term" or cleaning.stop_words != "none" or found < MANY_STOP_WORDS:
        return {}
    which = f"{found} of the {len(top)} most frequent released terms are stop words"
    return {ADVICE: f"{which}; --stop-words english leaves them out"}
