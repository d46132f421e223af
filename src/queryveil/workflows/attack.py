"""Attacking a release with knowledge about people; for the control, people of another log are attacked as well."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil._version import __version__
from queryveil.attacks import Attack, attack_of
from queryveil.attacks.base import AttackInputs, ItemTable, ItemTables, Queries
from queryveil.core.arrow import as_array
from queryveil.core.errors import InputError
from queryveil.core.files import begins_with, check_replaceable, write_new_file
from queryveil.core.group_evidence import ReleasedGroups
from queryveil.core.names import Name, ResolvedName, declarations, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.results import AttackResult
from queryveil.core.rows import IntArray, gather_rows, indptr_of, row_numbers
from queryveil.engines import LogSource, open_log
from queryveil.histories.build import build
from queryveil.histories.profile_files import is_profile_file, read_profiles
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Counts, Kind
from queryveil.kinds.histories import decode_histories
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.logs.options import CleaningOptions, ReadingOptions
from queryveil.release.reader import Release, load_release
from queryveil.report.attacks import TITLE, AttackReport, render_attack_report
from queryveil.workflows.original_log import find_people, refuse_other_counts
from queryveil.workflows.requests import AttackRequest

DEFAULT_M = 2  # where the release's guarantee names none
MAX_M = 4
NEEDS_PRIVATE = (
    "whether an attack succeeds is known only from who is behind the release, and that stands in its private folder; "
    "give --private."
)


@dataclass(frozen=True, eq=False)
class LogData:
    """A log as attacks need it: its profiles, and queries and times where an attack needs them."""

    profiles: Profiles
    queries: Profiles | None  # over whole queries
    moments: tuple[IntArray, IntArray] | None  # (queries,): place of the history in the profiles, and second


@dataclass(frozen=True, eq=False)
class ReleasedUnits:
    """Released histories ordered by person, or released groups, and whose they are; fields as in `AttackInputs`."""

    terms: ItemTable
    owner_of: NDArray[np.int32]
    people: IntArray
    held: IntArray
    history_of: IntArray
    part: NDArray[np.int32]
    moments: ItemTable | None = None


def read_log_data(
    paths: Sequence[Path], cleaning: CleaningOptions, reading: ReadingOptions, needs: frozenset[str], progress: Progress
) -> LogData:
    """Read a log cleaned as the release's was, or a profile file."""
    if len(paths) == 1 and is_profile_file(paths[0]):
        return LogData(read_profiles(paths[0]), None, None)
    with open_log(LogSource(tuple(paths), reading, cleaning), progress=progress) as log:
        profiles = build(log, progress=progress)
        queries = build(log, unit="query", progress=progress) if "names" in needs else None
        moments = None
        if "times" in needs and "time" in log.columns:  # of histories that have terms
            place = np.full(len(log.owners_and_partitions()[0]), -1, np.int64)
            place[profiles.log_history] = np.arange(profiles.n_histories)
            rows = pa.Table.from_batches(log.batches(("time",))).filter(pc.is_valid(pc.field("time")))
            history = place[as_array(rows["history"])]
            moments = history[history >= 0], _seconds(rows["time"])[history >= 0]
    return LogData(profiles, queries, moments)


def _seconds(times: pa.ChunkedArray) -> IntArray:
    return as_array(times.cast(pa.timestamp("us"), safe=False).cast(pa.int64())) // 1_000_000


def build_inputs(
    release: Release, private: PrivateFolder, log_data: LogData, others: LogData | None, max_targets: int
) -> AttackInputs:
    """Return everything that attacks need; the private folder tells whose the released histories or groups are."""
    private.check_belongs(release.manifest.content_sha256)
    membership, evidence = private.membership(), release.kind.read_evidence(release.rows, private, 1)
    person = find_people(membership, log_data.profiles, is_ordered=release.kind.deletes_terms)
    items = log_data.profiles if release.kind.unit == "term" else log_data.queries
    if items is not None:
        refuse_other_counts(release.manifest, Counts.of(items))
    if others is not None:
        n_common = len(set(log_data.profiles.persons) & set(others.profiles.persons))
        if n_common:  # people who may be in the release are no control
            raise InputError(
                f"--control: {n_common:,} of its people have an identifier that is in the log too; give a log of other "
                "people, with identifiers of their own."
            )
    number = {entry: i for i, entry in enumerate(log_data.profiles.vocabulary)}
    groups = evidence.find(ReleasedGroups)
    if groups is not None:
        units = _units_of_groups(groups, membership, person, log_data.profiles, number)
    else:
        units = _units_of_histories(release, private, person, log_data.profiles, number)
    moments = None
    if units.moments is not None and log_data.moments is not None:
        moments = ItemTables(units.moments, _rows(*log_data.moments, log_data.profiles.owner))
    return AttackInputs(
        kind=release.manifest.kind,
        claim=release.manifest.claim,
        terms=ItemTables(
            units.terms, _table(log_data.profiles, number), None if others is None else _table(others.profiles, number)
        ),
        term_number=number,
        owner_of=units.owner_of,
        people=units.people,
        held=units.held,
        history_of=units.history_of,
        part=units.part,
        max_targets=max_targets,
        moments=moments,
        queries=_queries(log_data),
    )


def _units_of_histories(
    release: Release, private: PrivateFolder, person: IntArray, profiles: Profiles, number: dict[str, int]
) -> ReleasedUnits:
    """Return released histories ordered by person."""
    users = np.unique(as_array(release.rows["user"]))
    _, history = private.owners(users)
    owner = person[history]
    order = np.argsort(owner, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))  # the released history's row among those by person
    unit, term, counts = pairs_of(release.kind, release.rows, number)
    owner_of = np.full(profiles.n_people, -1, np.int32)
    owner_of[owner] = owner
    owners = owner[order].astype(np.int32)
    terms = _rows(place[unit], term, owners, counts)
    moments = None
    if "time" in release.rows.column_names:
        timed = release.rows.filter(pc.is_valid(pc.field("time")))
        user = np.searchsorted(users, as_array(timed["user"]))
        moments = _rows(place[user], _seconds(timed["time"]), owners)
    partition = decode_histories(release.rows, release.kind.unit).partition
    part = np.zeros(len(order), np.int32) if partition is None else partition[order]
    return ReleasedUnits(
        terms,
        owner_of,
        np.ones(profiles.n_people, np.int64),
        np.ones(len(terms.keys), np.int64),
        history[order],
        part,
        moments,
    )


def pairs_of(kind: Kind, rows: pa.Table, number: dict[str, int]) -> tuple[IntArray, IntArray, IntArray | None]:
    """Return the released history, the term's number and its count of every released pair.

    Whole queries are cut into their terms. Terms that the log does not have are numbered after it.
    """
    if "count" in rows.column_names:  # of vocabularies: as many rows as there are occurrences
        rows = rows.take(pa.array(row_numbers(indptr_of(as_array(rows["count"])))))
    released = decode_histories(rows, kind.unit)
    unit = row_numbers(released.indptr)
    split = [text.split(" ") if kind.unit == "query" else [text] for text in released.terms]
    lengths = np.array([len(set(words)) for words in split], np.int64)
    numbers = np.array(
        [number.setdefault(word, len(number)) for words in split for word in sorted(set(words))], np.int64
    )
    indptr, at = gather_rows(indptr_of(lengths), released.ids)
    pair = row_numbers(indptr)
    counts = None if not kind.has_occurrences else released.counts[pair].astype(np.int64)
    return unit[pair], numbers[at], counts


def _units_of_groups(
    released: ReleasedGroups, membership: pa.Table, person: IntArray, profiles: Profiles, number: dict[str, int]
) -> ReleasedUnits:
    """Return released groups, and how many members hold each published term."""
    release_id = as_array(pc.coalesce(membership["release_id"], pa.scalar(-1, pa.int64())))
    group = np.searchsorted(released.groups, release_id)
    is_member = np.isin(release_id, released.groups) & (person >= 0)
    owner_of = np.full(profiles.n_people, -1, np.int32)
    owner_of[person[is_member]] = group[is_member]
    unit = row_numbers(released.indptr)
    terms = np.array([number.setdefault(term, len(number)) for term in released.terms], np.int64)
    table = _rows(unit, terms[released.ids], np.arange(len(released.groups), dtype=np.int32))
    return ReleasedUnits(
        table,
        owner_of,
        np.bincount(owner_of[owner_of >= 0], minlength=len(released.groups)),
        _held(table, owner_of, profiles, len(number)),
        np.full(len(released.groups), -1, np.int64),
        np.zeros(len(released.groups), np.int32),
    )


def _held(table: ItemTable, owner_of: NDArray[np.int32], profiles: Profiles, width: int) -> IntArray:
    """Count the members of each group who hold each of its terms."""
    row_owner = owner_of[profiles.owner_per_pair()].astype(np.int64)
    cells, count = np.unique((row_owner * width + profiles.ids)[row_owner >= 0], return_counts=True)
    wanted = row_numbers(table.indptr) * width + table.keys
    place = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    return np.where(cells[place] == wanted, count[place], 0)


def _rows(row: IntArray, key: NDArray[np.int64], owner: NDArray[np.int32], counts: IntArray | None = None) -> ItemTable:
    """Return pairs as rows of ascending keys; the counts of equal pairs are added."""
    lowest = key.min(initial=0)  # a moment may lie before 1970
    width = key.max(initial=0) - lowest + 1
    cells, at = np.unique(row * width + key - lowest, return_inverse=True)
    total = None if counts is None else np.bincount(at, counts, minlength=len(cells)).astype(np.int64)
    indptr = np.searchsorted(cells // width, np.arange(len(owner) + 1)).astype(np.int64)
    return ItemTable(indptr, cells % width + lowest, owner, total)


def _table(profiles: Profiles, number: dict[str, int]) -> ItemTable:
    """Return the terms of a log's histories by the common numbers."""
    numbers = np.array([number.setdefault(entry, len(number)) for entry in profiles.vocabulary], np.int64)
    row = row_numbers(profiles.indptr)
    return _rows(row, numbers[profiles.ids], profiles.owner, profiles.counts.astype(np.int64))


def _queries(log_data: LogData) -> Queries | None:
    """Return whole queries by the number of the person among those who have terms."""
    if log_data.queries is None:
        return None
    given = log_data.queries
    number = {person: i for i, person in enumerate(log_data.profiles.persons)}
    person = np.array([number.get(name, -1) for name in given.persons], np.int32)
    of_pair = person[given.owner_per_pair()]
    is_known = of_pair >= 0
    return Queries(
        given.vocabulary,
        of_pair[is_known],
        given.ids[is_known].astype(np.int64),
        given.counts[is_known].astype(np.int64),
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
    needs = frozenset(attack_of(each).needs for each in attacks) | {"names" if release.kind.unit == "query" else ""}
    cleaning = release.manifest.cleaning.cleaning()
    log_data = read_log_data(request.against, cleaning, request.reading, needs, progress)
    others = read_log_data(request.control, cleaning, request.reading, needs, progress) if request.control else None
    private.check_belongs(release.manifest.content_sha256)
    evidence = release.kind.read_evidence(release.rows, private, release.manifest.floor)
    evidence.add(Profiles, lambda: log_data.profiles)
    evidence.add(AttackInputs, lambda: build_inputs(release, private, log_data, others, request.targets))
    results: list[AttackResult] = []
    failed: dict[str, str] = {}
    for each in attacks:
        rng = np.random.default_rng(request.seed)  # so that an attack does not depend on those before it
        try:
            needed = attack_of(each).needs
            if needed == "times" and log_data.moments is None:
                raise InputError(f"{each} needs a log with times, and --against has none; leave it out.")
            if needed == "names" and log_data.queries is None:
                raise InputError(f"{each} needs a log of queries, and --against is a file of profiles; leave it out.")
            results += each.declaration.load()(evidence, each, rng=rng, progress=progress)
        except InputError as error:
            if is_named:
                raise
            failed[str(each)] = str(error).removeprefix(f"{each} ").removesuffix(".").removesuffix("; leave it out")
    if not results:
        raise InputError(f"no attack could be run; {next(iter(failed.items()), ('', ''))[1]}.")
    return results, failed


def default_attacks(release: Release) -> list[ResolvedName]:
    """Return every attack, with as many known terms as the guarantee is about."""
    m = min(release.manifest.claim.values.get("m", DEFAULT_M), MAX_M)
    names = [
        Name(name, (("m", m),) if isinstance(each, Attack) and each.defaults_to_claimed_m else ())
        for name, each in declarations("attack").items()
    ]
    return [resolve("attack", name) for name in names]


def _problem(attack: ResolvedName, release: Release) -> str:
    """Return why an attack cannot be run on a release; "" where it can."""
    declared, kind, claim = attack_of(attack), release.kind, release.manifest.claim
    if not declared.applies_to(kind):
        return f"it applies to releases of kind {' or '.join(declared.kinds)}, and this one is of kind {kind.name}"
    if declared.needs == "times" and "time" not in release.rows.column_names:
        return "the release tells no times; only one made with --keep time does"
    if declared.guarantee not in ("", claim.declaration.name):
        return f"it is about what {declared.guarantee} deletes, and this release promises {claim}"
    return ""
