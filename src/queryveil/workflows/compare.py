"""Comparing methods on one log: each is run, verified and measured; nothing is released."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from queryveil._version import __version__
from queryveil.core.errors import GuaranteeError, InputError, OutputError
from queryveil.core.files import check_new_file, write_new_file
from queryveil.core.names import Name, ResolvedName, parse_sweep, refuse_too_many, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score, Verdict
from queryveil.engines import open_log
from queryveil.histories.build import build
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.profiles import Profiles
from queryveil.methods.utilities import Worth, check_worth
from queryveil.release import manifest as manifests
from queryveil.release.content import histories_content
from queryveil.release.reader import Release
from queryveil.report.comparison import TITLE, ComparedRun, MethodComparison, render_comparison
from queryveil.workflows.beside import set_beside
from queryveil.workflows.measure import check_measure, default_measures, score
from queryveil.workflows.requests import CompareRequest
from queryveil.workflows.running import confirmed, histories_behind, method_of, run_method
from queryveil.workflows.starting import chains
from queryveil.workflows.worth import check_coverage, read_worth

KIND = "histories"
_BEGINNING = 2_000  # bytes of a page, among them its title


@dataclass(frozen=True)
class _Task:
    """What every run of a comparison shares."""

    profiles: Profiles
    worth: Worth
    measures: tuple[str | Name, ...]
    seed: int


def compare(options: CompareRequest, *, progress: Progress = silent) -> MethodComparison:
    """Run every method, or every combination of a sweep, on a log that is read once."""
    started = time.monotonic()
    source, bounds = options.source, _bounds(options.methods)
    measures = options.measures or default_measures(options.market is not None)
    for name in measures:
        check_measure(resolve("measure", name), options.market is not None)
    if options.page is not None:
        _check_page(options.page, force=options.force)
    worth = _worth(bounds, options, source.cleaning.charset)
    with open_log(source, progress=progress) as log:
        profiles = build(log, progress=progress)
        cleaning = {"options": source.cleaning.as_record(), "steps": [asdict(step) for step in log.steps]}
    for bound in bounds:
        check_coverage(bound.values.get("target"), worth, profiles)
    runs = _run_all(bounds, _Task(profiles, worth, tuple(measures), options.seed), options.reuse, progress)
    _refuse_nothing(runs)
    done = MethodComparison(
        tuple(runs), manifests.counts_of(profiles), cleaning, time.monotonic() - started, __version__
    )
    if options.page is not None:
        write_new_file(options.page, render_comparison(done).encode(), overwrite=options.force)
        done = replace(done, page=options.page)
    return done


def _check_page(page: Path, *, force: bool) -> None:
    """Refuse a place for the page, before any work is done; only an older page may be replaced, never a log."""
    check_new_file(page, overwrite=force)
    if page.exists() and not _is_page(page):
        raise OutputError(f"{page} is not a page of a comparison, so --force does not replace it; choose another name.")


def _is_page(path: Path) -> bool:
    """Say whether a file begins as the page of a comparison does."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return f"<title>{TITLE}</title>".encode() in stream.read(_BEGINNING)


def _bounds(methods: Sequence[str | Name]) -> list[ResolvedName]:
    """Return every run that is asked for, once, in the order it is first asked for."""
    names = [name for method in methods for name in parse_sweep(method)]
    if not names:
        raise InputError("there is nothing to compare; give at least one method.")
    refuse_too_many(len(names))
    bounds = [resolve("method", name) for name in names]
    for bound in bounds:
        if KIND not in method_of(bound).kinds:
            raise InputError(f"{bound} makes no release of kind {KIND}, so it cannot be compared; leave it out.")
    return list({str(bound): bound for bound in bounds}.values())


def _worth(bounds: Iterable[ResolvedName], options: CompareRequest, charset: str) -> Worth:
    """Read what terms are worth, once it is clear that every target has the file it needs."""
    for bound in bounds:
        check_worth(bound.values.get("target"), values=options.values is not None, market=options.market is not None)
    return read_worth(None, options.values, options.market, charset)


def _run_all(bounds: Sequence[ResolvedName], task: _Task, reuse: bool, progress: Progress) -> list[ComparedRun]:
    """Make all runs, chain by chain, and return them in the order they were asked for."""
    made: dict[str, ComparedRun] = {}
    for chain in chains(bounds) if reuse else [[bound] for bound in bounds]:
        start: tuple[str, NDArray[np.bool_]] | None = None  # one mask at a time: the one that the next run needs
        for bound in chain:
            stage = f"run {len(made) + 1:,} of {len(bounds):,}"
            made[str(bound)], start = _run(bound, task, start, _within(stage, progress))
    return [made[str(bound)] for bound in bounds]


def _within(stage: str, progress: Progress) -> Progress:
    """Return progress that says which run it is about."""
    return lambda inner, done, total: progress(f"{stage}: {inner}", done, total)


def _run(
    bound: ResolvedName, task: _Task, start: tuple[str, NDArray[np.bool_]] | None, progress: Progress
) -> tuple[ComparedRun, tuple[str, NDArray[np.bool_]] | None]:
    """Make one run, and return with it what the next of its chain may start from."""
    rng = np.random.default_rng(task.seed)  # as for a release with this seed
    began = time.monotonic()
    name, mask = start or (None, None)
    try:
        kept = run_method(bound, task.profiles, task.worth, rng=rng, start=mask, progress=progress)
    except GuaranteeError as error:
        problem = str(error).removeprefix(f"{bound}: ")
        return ComparedRun(str(bound), bound.values, time.monotonic() - began, problem=problem), start
    seconds = time.monotonic() - began
    verdict, scores = _judge(bound, kept, task, rng, progress)
    run = ComparedRun(
        str(bound),
        bound.values,
        seconds,
        verdict,
        tuple(scores),
        manifests.counts_of(task.profiles, kept.mask),
        kept.summary,
        name,
    )
    return run, (str(bound), kept.mask)


def _judge(
    bound: ResolvedName, kept: KeptPairs, task: _Task, rng: np.random.Generator, progress: Progress
) -> tuple[Verdict, list[Score]]:
    """Verify and measure the rows that a release would hold."""
    content = histories_content(task.profiles, kept.mask)
    claim = method_of(bound).claim(bound)
    manifest = {"kind": content.kind, "method": str(bound), "guarantee": str(claim)}
    release = Release(Path(), manifest, content.rows, ())
    history_of = histories_behind(content)
    people = task.profiles.owner[history_of]
    verdict = confirmed(release, people, progress)
    comparison = set_beside(task.profiles, release, people, history_of, market=task.worth.market)
    return verdict, score(comparison, task.measures, rng, progress)


def _refuse_nothing(runs: Sequence[ComparedRun]) -> None:
    """Raise where not one run could be made."""
    if all(run.problem for run in runs):
        which = runs[0].method if len(runs) == 1 else f"none of the {len(runs):,} runs can be made; {runs[0].method}"
        raise GuaranteeError(f"{which}: {runs[0].problem}")
