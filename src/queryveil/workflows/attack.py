"""Attacking a release: what the guarantee is worth against somebody who knows something about a person."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from queryveil._version import __version__
from queryveil.attacks import Attack, attack_of
from queryveil.attacks.base import Setting
from queryveil.core.errors import InputError
from queryveil.core.files import begins_with, check_replaceable, write_new_file
from queryveil.core.names import Name, ResolvedName, declarations, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.results import AttackResult
from queryveil.histories.profiles import Profiles
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.release.reader import Release, load_release
from queryveil.report.attacks import TITLE, AttackReport, render_attack_report
from queryveil.workflows.attack_setting import LogSide, build_setting, read_side
from queryveil.workflows.requests import AttackRequest

DEFAULT_M = 2  # where the release's guarantee names none
MOST_M = 4
NEEDS_PRIVATE = (
    "whether an attack succeeds is known only from who is behind the release, and that stands in its private folder; "
    "give --private."
)


def attack(request: AttackRequest, progress: Progress = silent) -> AttackReport:
    """Run attacks on a release; the log is cleaned in the way that the release's manifest says."""
    started = time.monotonic()
    named = [resolve("attack", name) for name in request.attacks]
    if request.targets < 1:
        raise InputError("--targets must be at least 1; give a larger number, or leave it out.")
    release = load_release(request.release)
    release.refuse_damaged("attacking")
    if request.private is None:
        raise InputError(NEEDS_PRIVATE)
    if request.page is not None:
        is_page = partial(begins_with, text=f"<title>{TITLE}</title>")
        check_replaceable(request.page, "a page about attacks", is_page, overwrite=request.force)
    for each in named:
        problem = _problem(each, release)
        if problem:
            raise InputError(f"{each} cannot be run on {request.release}: {problem}.")
    attacks = named or default_attacks(release)
    skipped = {str(each): problem for each in attacks if (problem := _problem(each, release))}
    attacks = [each for each in attacks if str(each) not in skipped]
    results, failed = _run(release, PrivateFolder(request.private), attacks, bool(named), request, progress)
    done = AttackReport(
        str(request.release),
        release.manifest.kind,
        release.manifest.guarantee,
        tuple(results),
        {**skipped, **failed},
        {str(each): attack_of(each).threat for each in attacks},
        request.seed,
        __version__,
        time.monotonic() - started,
    )
    if request.page is None:
        return done
    write_new_file(request.page, render_attack_report(done).encode(), overwrite=request.force, mode=0o600)
    return replace(done, page=request.page)


def _run(
    release: Release,
    private: PrivateFolder,
    attacks: Sequence[ResolvedName],
    is_named: bool,
    request: AttackRequest,
    progress: Progress,
) -> tuple[list[AttackResult], dict[str, str]]:
    """Run every attack; one that was not named and finds nobody to attack is skipped with the reason."""
    needs = frozenset(attack_of(each).needs for each in attacks)
    cleaning = release.manifest.cleaning.cleaning()
    side = read_side(request.against, cleaning, request.reading, needs, progress)
    others = read_side(request.control, cleaning, request.reading, needs, progress) if request.control else None
    private.check_belongs(release.manifest.content_sha256)
    evidence = release.kind.read_evidence(release.rows, private, release.manifest.floor)
    evidence.add(Profiles, lambda: side.profiles)
    evidence.add(Setting, lambda: build_setting(release, private, side, others, request.targets))
    results: list[AttackResult] = []
    failed: dict[str, str] = {}
    for each in attacks:
        rng = np.random.default_rng(request.seed)  # so that an attack does not depend on those before it
        try:
            _refuse_missing(each, side)
            results += each.declaration.load()(evidence, each, rng=rng, progress=progress)
        except InputError as error:
            if is_named:
                raise
            failed[str(each)] = str(error).removeprefix(f"{each} ").removesuffix(".").removesuffix("; leave it out")
    if not results:
        raise InputError(f"no attack could be run; {next(iter(failed.items()), ('', ''))[1]}.")
    return results, failed


def _refuse_missing(attack: ResolvedName, side: LogSide) -> None:
    """Refuse an attack for which the log lacks something."""
    needs = attack_of(attack).needs
    if needs == "times" and side.moments is None:
        raise InputError(f"{attack} needs a log with times, and --against has none; leave it out.")
    if needs == "names" and side.queries is None:
        raise InputError(f"{attack} needs a log of queries, and --against is a file of profiles; leave it out.")


def default_attacks(release: Release) -> list[ResolvedName]:
    """Return every attack, with as many known terms as the guarantee is about."""
    m = min(release.manifest.claim.values.get("m", DEFAULT_M), MOST_M)
    names = [
        Name(name, (("m", m),) if isinstance(each, Attack) and each.knows_as_claimed else ())
        for name, each in declarations("attack").items()
    ]
    return [resolve("attack", name) for name in names]


def _problem(attack: ResolvedName, release: Release) -> str:
    """Return why an attack cannot be run on a release; "" where it can."""
    declared, kind, claim = attack_of(attack), release.kind, release.manifest.claim
    if not declared.applies_to(kind):
        return f"it is of releases of kind {' or '.join(declared.kinds)}, and this one is of kind {kind.name}"
    if declared.needs == "times" and "time" not in release.rows.column_names:
        return "the release tells no times; only one made with --keep time does"
    if declared.guarantee not in ("", claim.declaration.name):
        return f"it is about what {declared.guarantee} deletes, and this release promises {claim}"
    return ""
