"""Attacking a release: what the guarantee is worth against somebody who knows something about a person."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from queryveil._version import __version__
from queryveil.attacks import Attack
from queryveil.core.errors import InputError, OutputError
from queryveil.core.files import check_new_file, write_new_file
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.results import AttackResult
from queryveil.logs.options import Cleaning
from queryveil.release.reader import Release, load
from queryveil.report.attacks import TITLE, AttackReport, render_attack_report
from queryveil.workflows.attacking import LogSide, read_side, set_up
from queryveil.workflows.requests import AttackRequest

USUAL_M = 2  # where the release's guarantee names none
_BEGINNING = 2_000  # bytes of a page, among them its title
NEEDS_PRIVATE = (
    "whether an attack succeeds is known only from who is behind the release, and that stands in its private folder; "
    "give --private."
)


def attack(options: AttackRequest, *, progress: Progress = silent) -> AttackReport:
    """Run attacks on a release; the log is cleaned in the way that the release's manifest says."""
    started = time.monotonic()
    release, against, private = options.release, options.against, options.private
    asked = [resolve("attack", name) for name in options.attacks]
    if options.targets < 1:
        raise InputError("--targets must be at least 1; give a larger number, or leave it out.")
    loaded = load(release)
    if loaded.faults:
        raise InputError(f"{release}: {loaded.faults[0]}; verify the release before attacking it.")
    if private is None:
        raise InputError(NEEDS_PRIVATE)
    if options.page is not None:
        _check_page(options.page, force=options.force)
    for bound in asked:
        problem = _problem(bound, loaded)
        if problem:
            raise InputError(f"{bound} cannot be run on {release}: {problem}.")
    bounds = asked or _usual(loaded)
    skipped = {str(bound): problem for bound in bounds if (problem := _problem(bound, loaded))}
    bounds = [bound for bound in bounds if str(bound) not in skipped]
    results, failed = _run(loaded, against, private, bounds, bool(asked), options, progress)
    done = AttackReport(
        str(release),
        loaded.kind,
        str(loaded.manifest["guarantee"]),
        tuple(results),
        {**skipped, **failed},
        {str(bound): _declared(bound).threat for bound in bounds},
        options.seed,
        __version__,
        time.monotonic() - started,
    )
    return done if options.page is None else _with_page(done, options)


def _run(
    loaded: Release,
    against: Sequence[Path],
    private: Path,
    bounds: Sequence[ResolvedName],
    is_asked: bool,
    options: AttackRequest,
    progress: Progress,
) -> tuple[list[AttackResult], dict[str, str]]:
    """Run every attack; one that was not asked for by name and finds nobody to attack is passed over, saying why."""
    needs = frozenset(_declared(bound).needs for bound in bounds)
    cleaning = Cleaning.from_record(loaded.manifest["cleaning"]["options"])
    side = read_side(against, cleaning, options.reading, needs, progress)
    others = read_side(options.control, cleaning, options.reading, needs, progress) if options.control else None
    setting = set_up(loaded, private, side, others, options.targets)
    results: list[AttackResult] = []
    failed: dict[str, str] = {}
    for bound in bounds:
        rng = np.random.default_rng(options.seed)  # so that an attack does not depend on those before it
        try:
            _refuse_missing(bound, side)
            results += bound.declaration.load()(setting, bound, rng=rng, progress=progress)
        except InputError as error:
            if is_asked:
                raise
            failed[str(bound)] = str(error).removeprefix(f"{bound} ").removesuffix(".").removesuffix("; leave it out")
    if not results:
        raise InputError(f"no attack could be run; {next(iter(failed.items()), ('', ''))[1]}.")
    return results, failed


def _refuse_missing(bound: ResolvedName, side: LogSide) -> None:
    """Refuse an attack for which the log lacks something."""
    needs = _declared(bound).needs
    if needs == "times" and side.moments is None:
        raise InputError(f"{bound} needs a log with times, and --against has none; leave it out.")
    if needs == "names" and side.queries is None:
        raise InputError(f"{bound} needs a log of queries, and --against is a file of profiles; leave it out.")


def _usual(release: Release) -> list[ResolvedName]:
    """Return every attack, with as many known terms as the guarantee is about."""
    claim = resolve("guarantee", release.manifest["guarantee"])
    m = min(claim.values.get("m", USUAL_M), 4)
    names = (f"known_terms(m={m})", f"infer(m={m})", f"multiplicity(m={m})", "time", "vanity", "minimality")
    return [resolve("attack", name) for name in names]


def _declared(bound: ResolvedName) -> Attack:
    if not isinstance(bound.declaration, Attack):
        raise InputError(f"the attack {bound.declaration.name} is not declared as an attack; mend its package.")
    return bound.declaration


def _problem(bound: ResolvedName, release: Release) -> str:
    """Say why an attack cannot be run on a release; nothing where it can."""
    declared = _declared(bound)
    if release.kind not in declared.kinds:
        return f"it is of releases of kind {' or '.join(declared.kinds)}, and this one is of kind {release.kind}"
    if declared.needs == "times" and "time" not in release.rows.column_names:
        return "the release tells no times; only one made with --keep time does"
    claim = resolve("guarantee", release.manifest["guarantee"])
    if declared.needs == "km" and claim.declaration.name != "km":
        return f"it is about what km deletes, and this release promises {claim}"
    return ""


def _check_page(page: Path, *, force: bool) -> None:
    """Refuse a place for the page, before any work is done; only an older page may be replaced, never a log."""
    check_new_file(page, overwrite=force)
    if page.exists() and f"<title>{TITLE}</title>".encode() not in _beginning(page):
        raise OutputError(f"{page} is not a page about attacks, so --force does not replace it; choose another name.")


def _beginning(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as stream:
        return stream.read(_BEGINNING)


def _with_page(done: AttackReport, options: AttackRequest) -> AttackReport:
    if options.page is None:
        return done
    write_new_file(options.page, render_attack_report(done).encode(), overwrite=options.force, mode=0o600)
    return replace(done, page=options.page)
