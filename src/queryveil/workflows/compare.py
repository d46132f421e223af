"""Comparing methods on one log: each is run, verified and measured; nothing is released."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from queryveil._version import __version__
from queryveil.core.errors import GuaranteeError, InputError
from queryveil.core.evidence import Views
from queryveil.core.files import check_replaceable, write_new_file
from queryveil.core.names import Name, ResolvedName, parse_sweep, refuse_too_many, resolve
from queryveil.core.progress import Progress, nested_progress, silent
from queryveil.core.rows import BoolArray
from queryveil.engines import QueryLog, open_log
from queryveil.guarantees import guarantee_of
from queryveil.histories.build import build
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Counts, Kind
from queryveil.market import Market
from queryveil.methods.base import MethodTask, method_of
from queryveil.release.manifest import CleaningRecord
from queryveil.release.verification import verify_or_raise
from queryveil.release.writer import WrittenRows
from queryveil.report.comparison import TITLE, ComparedRun, MethodComparison, render_comparison
from queryveil.workflows.anonymize import AppliedMethod, ReleasePlan, build_manifest, plan_release
from queryveil.workflows.earlier_releases import strength_parameters, without_parameters
from queryveil.workflows.excluded import refuse_published
from queryveil.workflows.inputs import MethodInput, input_key, open_inputs
from queryveil.workflows.local_run import evidence_of_new_rows, run_method
from queryveil.workflows.measure import check_measure, take_measures
from queryveil.workflows.requests import CompareRequest, ReleaseRequest


@dataclass
class _Workbench:
    """The log that all runs share; profiles and inputs are prepared once for all runs that need the same."""

    request: CompareRequest
    log: QueryLog
    cleaning: CleaningRecord
    progress: Progress
    inputs: dict[tuple[Any, ...], tuple[MethodInput, ...]]
    _profiles: dict[str, Profiles] = field(default_factory=dict)
    _prepared: dict[tuple[Any, ...], tuple[Profiles, Views]] = field(default_factory=dict)

    def profiles(self, kind: Kind) -> Profiles:
        """Return the profiles over the items of a kind."""
        if kind.unit not in self._profiles:
            self._profiles[kind.unit] = build(self.log, unit=kind.unit, progress=self.progress)
        return self._profiles[kind.unit]

    def prepared(self, plan: ReleasePlan) -> tuple[Profiles, Views]:
        """Return the profiles as a method is to see them, and its inputs."""
        key = input_key(plan.method)
        if key not in self._prepared:
            profiles, views = self.profiles(plan.kind), Views()
            for each in self.inputs[key]:
                profiles = each.provide(profiles, views)
            self._prepared[key] = profiles, views
        return self._prepared[key]


def compare(request: CompareRequest, progress: Progress = silent) -> MethodComparison:
    """Run every method, or every combination of a sweep, on a log that is read once."""
    started = time.monotonic()
    plans = [plan_release(_release_request(request, method)) for method in _methods(request.methods)]
    for name in request.measures:
        for plan in plans:
            check_measure(resolve("measure", name), plan.kind, has_market=request.market is not None)
    if request.page is not None:
        check_replaceable(request.page, "a page of a comparison", f"<title>{TITLE}</title>", overwrite=request.force)
    inputs = {input_key(plan.method): open_inputs(plan.request, plan.method, plan.kind, progress) for plan in plans}
    with ExitStack() as stack:
        log = stack.enter_context(open_log(request.source, progress=progress))
        cleaning = CleaningRecord(request.source.cleaning.as_record())
        bench = _Workbench(request, log, cleaning, progress, inputs)
        for plan in plans:
            bench.prepared(plan)  # a file that does not fit the log is reported before the first run
        runs = _run_all(plans, bench, progress)
        before = Counts.of(bench.profiles(plans[0].kind)).record()
        steps = {"options": cleaning.options, "steps": [asdict(step) for step in log.steps.values()]}
    if all(run.problem for run in runs):
        which = runs[0].method if len(runs) == 1 else f"none of the {len(runs):,} runs can be made; {runs[0].method}"
        raise GuaranteeError(f"{which}: {runs[0].problem}")
    done = MethodComparison(tuple(runs), before, steps, time.monotonic() - started, __version__)
    if request.page is not None:
        write_new_file(request.page, render_comparison(done).encode(), overwrite=request.force)
        done = replace(done, page=request.page)
    return done


def _release_request(request: CompareRequest, method: ResolvedName) -> ReleaseRequest:
    """Return the release that a run would make; its folders are never written."""
    claim = method_of(method).claim(method)
    takes_values = "term_values" in method_of(method).inputs
    return ReleaseRequest(
        log=request.source,
        method=str(method),
        out=Path("unused"),
        private=Path("unused"),
        values=request.values if takes_values else None,
        market=request.market if takes_values else None,
        lists=request.lists.only(guarantee_of(claim).inputs),
        semantics=request.semantics,
        seed=request.seed,
    )


def _methods(methods: Sequence[str | Name]) -> list[ResolvedName]:
    """Return every run that is asked for, once, in the order it is first asked for."""
    names = [name for method in methods for name in parse_sweep(method)]
    if not names:
        raise InputError("there is nothing to compare; give at least one method.")
    refuse_too_many(len(names))
    resolved = [resolve("method", name) for name in names]
    return list({str(method): method for method in resolved}.values())


def sweep_chains(plans: Sequence[ReleasePlan]) -> list[list[ReleasePlan]]:
    """Put the runs of a sweep into chains: each may start from the result of the one before it.

    The runs of a chain differ only in the last parameter that makes the guarantee stronger (m of km). Along k too much
    would be lost to compare by (decision 0010).
    """
    found: dict[tuple[object, ...], list[ReleasePlan]] = {}
    for plan in plans:
        growing = strength_parameters(plan.method)
        key = without_parameters(plan.method, growing[-1:]) if growing else (str(plan.method),)
        found.setdefault(key, []).append(plan)

    def strength(plan: ReleasePlan) -> list[int]:
        return [plan.method.integer(name) for name in strength_parameters(plan.method)]

    return [sorted(chain, key=strength) for chain in found.values()]


def _run_all(plans: Sequence[ReleasePlan], bench: _Workbench, progress: Progress) -> list[ComparedRun]:
    """Make all runs, chain by chain, and return them in the order they were asked for."""
    made: dict[str, ComparedRun] = {}
    for chain in sweep_chains(plans) if bench.request.reuse else [[plan] for plan in plans]:
        start: tuple[str, BoolArray] | None = None  # only the mask that the next run needs is kept
        for plan in chain:
            stage = f"run {len(made) + 1:,} of {len(plans):,}"
            made[str(plan.method)], start = _run(plan, bench, start, nested_progress(stage, progress))
    return [made[str(plan.method)] for plan in plans]


def _run(
    plan: ReleasePlan, bench: _Workbench, start: tuple[str, BoolArray] | None, progress: Progress
) -> tuple[ComparedRun, tuple[str, BoolArray] | None]:
    """Make one run, and return with it what the next of its chain may start from."""
    rng = np.random.default_rng(plan.seed)  # as for a release with this seed
    profiles, views = bench.prepared(plan)
    name, mask = start or (None, None)
    if mask is not None:
        views = Views(*views.build_all(), KeptPairs(mask))
    method, began = str(plan.method), time.monotonic()
    try:
        outcome = run_method(MethodTask(profiles, plan.method, rng, views, progress))
        content = plan.kind.encode(outcome, profiles, bench.log)
        if plan.source.excluded:
            refuse_published(content.rows, plan.source.excluded)
    except GuaranteeError as error:
        problem = str(error).removeprefix(f"{method}: ")
        return ComparedRun(method, plan.method.values, time.monotonic() - began, problem=problem), start
    seconds, kind = time.monotonic() - began, plan.kind
    counts = kind.counts(outcome, profiles, content)
    applied = AppliedMethod(outcome.found, outcome.summary, Counts.of(profiles), counts, bench.cleaning)
    manifest = build_manifest(plan, applied, WrittenRows(tuple(content.rows.column_names)))
    evidence = evidence_of_new_rows(kind, content.rows, profiles, content, manifest, views)
    verdict = verify_or_raise(manifest, kind, evidence, progress=progress)
    available = frozenset({"market"} if views.find(Market) is not None else ())
    measures = bench.request.measures or kind.default_measures(manifest.claim, available, when_made=True)
    scores = tuple(take_measures(measures, evidence, rng, progress))
    run = ComparedRun(method, plan.method.values, seconds, verdict, scores, counts.record(), outcome.summary, name)
    return run, ((method, outcome.mask) if isinstance(outcome, KeptPairs) else None)
