"""Attacking a release with knowledge about people; for the control, people of another log are attacked as well."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil._version import __version__
from queryveil.attacks import Attack, attack_of
from queryveil.attacks.base import AttackInputs, ItemTable, ItemTables, Queries
from queryveil.attacks.finding import SECONDS
from queryveil.core.arrow import as_array
from queryveil.core.display import alternatives
from queryveil.core.errors import InputError
from queryveil.core.evidence import ReleasedGroups
from queryveil.core.files import check_replaceable, folder_of, write_new_file
from queryveil.core.names import Name, ResolvedName, declarations, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.results import AttackResult
from queryveil.core.rows import Int32Array, IntArray, gather_rows, indptr_of, row_numbers
from queryveil.engines import LogSource, QueryLog, log_source, open_log
from queryveil.engines.kept_columns import NOTHING_KEPT
from queryveil.guarantees import guarantee_of
from queryveil.histories.build import build
from queryveil.histories.profile_files import profiles_of
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import KEEPABLE, PLURALS, Counts, Kind, kind_of
from queryveil.kinds.histories import decode_histories
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.release.manifest import Manifest
from queryveil.release.reader import Release, load_release
from queryveil.report.attacks import TITLE, AttackReport, render_attack_report
from queryveil.semantics import SemanticOptions
from queryveil.semantics.tree import term_tree, terms_below, terms_listed
from queryveil.workflows.excluded import recorded_terms
from queryveil.workflows.measure import find_people, refuse_other_counts
from queryveil.workflows.requests import AttackRequest
from queryveil.workflows.semantic_inputs import open_network

DEFAULT_M = 2  # where the release's guarantee names none
MAX_M = 4
SEVERAL = "\n"  # no term begins with it
NEEDS_PRIVATE = (
    "whether an attack succeeds is known only from who is behind the release, and that stands in its private folder; "
    "give --private."
)


@dataclass(frozen=True, eq=False)
class LogData:
    """A log as attacks need it: its profiles, and queries, times and URLs where an attack needs them."""

    profiles: Profiles
    queries: Profiles | None  # over whole queries
    kept: Mapping[str, tuple[IntArray, pa.ChunkedArray]]  # kept column → position of the history in the profiles, value
    excluded: frozenset[str] = frozenset()  # terms that were left out


@dataclass(frozen=True, eq=False)
class ReleasedUnits:
    """Released histories ordered by person, or released groups, and whose they are; fields as in `AttackInputs`."""

    terms: ItemTable
    owner_of: Int32Array
    people: IntArray
    held: IntArray
    history_of: IntArray
    part: Int32Array
    kept: Mapping[str, tuple[IntArray, pa.ChunkedArray]] = field(
        default_factory=dict
    )  # unit and value, as in `LogData`


def read_log_data(
    source: LogSource,
    manifest: Manifest,
    needs: frozenset[str],
    progress: Progress,
    excluded: frozenset[str] = frozenset(),
) -> LogData:
    """Read a log as the release was made of it, cleaned and its columns coarsened; or profiles."""
    wanted = tuple(column for column in (manifest.kept or NOTHING_KEPT).columns if column.name in needs)
    source = replace(source, cleaning=manifest.cleaning.cleaning(), keep=wanted, excluded=excluded)
    found = profiles_of(source)
    if found is not None:
        return LogData(found, None, {}, excluded)
    with open_log(source, progress=progress) as log:
        profiles = build(log, excludes_queries=kind_of(manifest.kind).unit == "query", progress=progress)
        queries = build(log, unit="query", progress=progress) if "names" in needs else None
        kept = _kept_values(log, profiles)
    return LogData(profiles, queries, kept, excluded)


def _kept_values(log: QueryLog, profiles: Profiles) -> dict[str, tuple[IntArray, pa.ChunkedArray]]:
    """Return the columns that are wanted of a log: the values of histories that have terms."""
    found = {}
    for column in log.source.keep:
        if log.has_values(column):
            position = np.full(len(log.owners_and_partitions()[0]), -1, np.int64)
            position[profiles.log_history] = np.arange(profiles.n_histories)
            rows = pa.Table.from_batches(log.batches([column])).drop_null()
            rows = rows.sort_by([("history", "ascending"), (column.name, "ascending")])  # they come in any order
            history = position[as_array(rows["history"])]
            found[column.name] = history[history >= 0], rows[column.name].filter(pa.array(history >= 0))
    return found


def _kept_tables(units: ReleasedUnits, log_data: LogData) -> dict[str, ItemTables]:
    """Return the kept columns that both sides have as tables of numbers: the second of a time, any number of others."""
    tables = {}
    for name in units.kept.keys() & log_data.kept.keys():
        (unit, released), (history, original) = units.kept[name], log_data.kept[name]
        both = pa.chunked_array([*original.chunks, *released.chunks], original.type)
        if pa.types.is_timestamp(both.type):
            keys = as_array(both.cast(pa.timestamp("us"), safe=False).cast(pa.int64())) // 1_000_000
        else:
            keys = as_array(both.combine_chunks().dictionary_encode().indices.cast(pa.int64()))
        tables[name] = ItemTables(
            _rows(unit, keys[len(original) :], units.terms.owner),
            _rows(history, keys[: len(original)], log_data.profiles.owner),
        )
    return tables


def build_inputs(
    release: Release,
    private: PrivateFolder,
    log_data: LogData,
    others: LogData | None,
    max_targets: int,
    taxonomy: Path | None = None,
) -> AttackInputs:
    """Return everything that attacks need; the private folder tells whose the released histories or groups are."""
    private.check_belongs(release.manifest.content_sha256)
    membership, evidence = private.histories(), release.kind.read_evidence(release.rows, private, 1)
    person = find_people(membership, log_data.profiles, is_ordered=release.kind.deletes_terms)
    items = log_data.profiles if release.kind.unit == "term" else log_data.queries
    if items is not None:
        refuse_other_counts(release.manifest, Counts.of(items))
    if others is not None:
        _refuse_common_people(log_data, others)
    number = {entry: i for i, entry in enumerate(log_data.profiles.vocabulary)}
    if (groups := evidence.find(ReleasedGroups)) is not None:
        units = _units_of_groups(groups, membership, person, log_data.profiles, number)
    else:
        units = _units_of_histories(release, private, person, log_data.profiles, number)
    tables = ItemTables(
        units.terms, _table(log_data.profiles, number), None if others is None else _table(others.profiles, number)
    )
    return AttackInputs(
        kind=release.manifest.kind,
        claim=release.manifest.claim,
        terms=tables,
        term_number=number,
        owner_of=units.owner_of,
        people=units.people,
        held=units.held,
        history_of=units.history_of,
        part=units.part,
        max_targets=max_targets,
        kept=_kept_tables(units, log_data),
        queries=_queries(log_data),
        meanings=_meanings(release, log_data, number, taxonomy),
    )


def _refuse_common_people(log_data: LogData, others: LogData) -> None:
    """Refuse a control log with people of the log: who may be in the release is no control."""
    n_common = len(set(log_data.profiles.persons) & set(others.profiles.persons))
    if n_common:
        raise InputError(
            f"--control: {n_common:,} of its people have an identifier that is in the log too; give a log of other "
            "people, with identifiers of their own."
        )


def _meanings(release: Release, log_data: LogData, number: dict[str, int], taxonomy: Path | None) -> IntArray | None:
    """Return columns of a name that stands for several terms and one of these, or −1 last; None without such names.

    A list stands for its parts, a more general term for all below it in the network that the release was made with.
    """
    names = {text[len(SEVERAL) :]: key for text, key in number.items() if text.startswith(SEVERAL)}
    terms = {text: key for text, key in number.items() if not text.startswith(SEVERAL)}
    if not names:
        return None
    term_keys, name_keys = (np.array(list(texts.values()), np.int64) for texts in (terms, names))
    rows = terms_listed(tuple(names), tuple(terms))
    general = np.setdiff1d(np.arange(len(names)), rows[:, 1])
    if len(general):
        meaning = SemanticOptions(**(release.manifest.cleaning.meaning or {}))
        meaning = replace(meaning, taxonomy=taxonomy, excluded=log_data.excluded)
        network = open_network(log_data.profiles, meaning, silent)
        texts = [list(names)[name] for name in general]
        below = terms_below(texts, tuple(terms), network, term_tree(network, tuple(terms)))
        rows = np.concatenate((rows, np.stack((below[:, 0], general[below[:, 2]]), axis=1)))
    pairs = np.unique(np.stack((name_keys[rows[:, 1]], term_keys[rows[:, 0]]), axis=1), axis=0)
    return np.concatenate((pairs.T, np.stack((name_keys, np.full(len(names), -1)))), axis=1)


def _units_of_histories(
    release: Release, private: PrivateFolder, person: IntArray, profiles: Profiles, number: dict[str, int]
) -> ReleasedUnits:
    """Return released histories ordered by person."""
    users = np.unique(as_array(release.rows["user"]))
    _, history = private.owners(users)
    owner = person[history]
    order = np.argsort(owner, kind="stable")
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))  # the released history's row among those by person
    unit, term, counts = pairs_of(release.kind, release.rows, number)
    owner_of = np.full(profiles.n_people, -1, np.int32)
    owner_of[owner] = owner
    owners = owner[order].astype(np.int32)
    terms = _rows(position[unit], term, owners, counts)
    kept = {}
    for name in release.manifest.uncovered_columns:
        shown = release.rows.filter(pc.is_valid(pc.field(name)))
        kept[name] = position[np.searchsorted(users, as_array(shown["user"]))], shown[name]
    partition = decode_histories(release.rows, release.kind.unit).partition
    part = np.zeros(len(order), np.int32) if partition is None else partition[order]
    return ReleasedUnits(
        terms,
        owner_of,
        np.ones(profiles.n_people, np.int64),
        np.ones(len(terms.keys), np.int64),
        history[order],
        part,
        kept,
    )


def pairs_of(kind: Kind, rows: pa.Table, number: dict[str, int]) -> tuple[IntArray, IntArray, IntArray | None]:
    """Return the released history, the term's number and its count of every released pair.

    Whole queries are cut into their terms. Terms that the log does not have are numbered after it; so are names that
    stand for several terms, as texts that begin with `SEVERAL`.
    """
    if "level" in rows.column_names:
        several = pc.binary_join_element_wise(SEVERAL, rows["term"], "")
        names = pc.if_else(pc.greater(rows["level"], 0), several, rows["term"])
        rows = rows.set_column(rows.column_names.index("term"), "term", names)
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


def _held(table: ItemTable, owner_of: Int32Array, profiles: Profiles, width: int) -> IntArray:
    """Count the members of each group who hold each of its terms."""
    row_owner = owner_of[profiles.owner_per_pair()].astype(np.int64)
    cells, count = np.unique((row_owner * width + profiles.ids)[row_owner >= 0], return_counts=True)
    wanted = row_numbers(table.indptr) * width + table.keys
    position = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    return np.where(cells[position] == wanted, count[position], 0)


def _rows(row: IntArray, key: IntArray, owner: Int32Array, counts: IntArray | None = None) -> ItemTable:
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
    for name in request.attacks:
        resolve("attack", name)  # a mistyped name is reported before anything is read
    release = load_release(folder_of(request.release))
    release.refuse_damaged("attacking")
    if request.private is None:
        raise InputError(NEEDS_PRIVATE)
    if request.taxonomy is not None and not release.kind.is_generalized:
        raise InputError("a taxonomy is for releases of vocabularies; leave --taxonomy out.")
    if request.page is not None:
        check_replaceable(request.page, "a page about attacks", f"<title>{TITLE}</title>", overwrite=request.force)
    source = log_source(request.against, request.reading, release.manifest.cleaning.cleaning())
    done = attack_release(release, PrivateFolder(folder_of(request.private)), request, source, progress)
    if request.page is None:
        return done
    write_new_file(request.page, render_attack_report(done).encode(), overwrite=request.force, mode=0o600)
    return replace(done, page=request.page)


def attack_release(
    release: Release, private: PrivateFolder, request: AttackRequest, source: LogSource, progress: Progress
) -> AttackReport:
    """Run attacks on a release that was read or just made, with knowledge drawn from its log."""
    started = time.monotonic()
    named = [resolve("attack", name) for name in request.attacks]
    for each in named:
        problem = _problem(each, release)
        if problem:
            raise InputError(f"{each} cannot be run on {request.release}: {problem}.")
    attacks = named or default_attacks(release)
    skipped = {str(each): problem for each in attacks if (problem := _problem(each, release))}
    attacks = [each for each in attacks if str(each) not in skipped]
    results, failed = _run(release, private, attacks, request, source, progress)
    return AttackReport(
        str(request.release),
        release.manifest.kind,
        release.manifest.guarantee,
        tuple(results),
        {**skipped, **failed},
        {str(each): attack_of(each).threat for each in attacks},
        request.seed,
        __version__,
        time.monotonic() - started,
        content_sha256=release.manifest.content_sha256,
    )


def _run(
    release: Release,
    private: PrivateFolder,
    attacks: Sequence[ResolvedName],
    request: AttackRequest,
    source: LogSource,
    progress: Progress,
) -> tuple[list[AttackResult], dict[str, str]]:
    """Run every attack; one that was not named and finds nobody to attack is skipped with the reason."""
    needs = frozenset(attack_of(each).needs for each in attacks) | {"names" if release.kind.unit == "query" else ""}
    manifest = release.manifest
    excluded = recorded_terms(manifest, private.check_belongs(manifest.content_sha256))
    log_data, others = read_log_data(source, manifest, needs, progress, excluded), None
    if request.control is not None:
        control = log_source(request.control, request.reading, source.cleaning)
        others = read_log_data(control, manifest, needs, progress, excluded)
    evidence = release.kind.read_evidence(release.rows, private, manifest.floor)
    evidence.add(Profiles, lambda: log_data.profiles)
    evidence.add(
        AttackInputs, lambda: build_inputs(release, private, log_data, others, request.targets, request.taxonomy)
    )
    results: list[AttackResult] = []
    failed: dict[str, str] = {}
    for each in attacks:
        rng = np.random.default_rng(request.seed)  # so that an attack does not depend on those before it
        try:
            needed = attack_of(each).needs
            if needed in KEEPABLE and needed not in log_data.kept:
                raise InputError(f"{each} needs a log with {PLURALS[needed]}, and --against has none; leave it out.")
            if needed == "names" and log_data.queries is None:
                raise InputError(f"{each} needs a log of queries, and --against is a file of profiles; leave it out.")
            results += each.declaration.load()(evidence, each, rng=rng, progress=progress)
        except InputError as error:
            if request.attacks:
                raise
            failed[str(each)] = str(error).removeprefix(f"{each} ").removesuffix(".").removesuffix("; leave it out")
    if not results:
        reason = next(iter(failed.values()), "none goes with this release")
        raise InputError(f"no attack could be run: {reason}; see queryveil list attacks.")
    return results, failed


def default_attacks(release: Release) -> list[ResolvedName]:
    """Return every attack, with as many known terms as the guarantee is about."""
    m = min(release.manifest.claim.values.get("m", DEFAULT_M), MAX_M)
    names = [
        Name(name, (("m", m),) if isinstance(each, Attack) and each.defaults_to_claimed_m else ())
        for name, each in declarations("attack").items()
    ]
    attacks = [resolve("attack", name) for name in names]
    unit = published_time_precision(release.manifest)
    return [replace(each, values={**each.values, "unit": unit}) if _is_finer(each, unit) else each for each in attacks]


def published_time_precision(manifest: Manifest) -> str:
    """Return how precise the times of a release are."""
    forms = {column.name: column.form for column in (manifest.kept or NOTHING_KEPT).columns}
    return forms.get("time", "raw").replace("raw", "second")


def _is_finer(attack: ResolvedName, unit: str) -> bool:
    """Return whether an attack knows times more precisely than in a unit."""
    return attack_of(attack).needs == "time" and SECONDS[attack.word("unit")] < SECONDS[unit]


def _problem(attack: ResolvedName, release: Release) -> str:
    """Return why an attack cannot be run on a release; "" where it can."""
    declared, kind, claim = attack_of(attack), release.kind, release.manifest.claim
    if not declared.applies_to(kind):
        return f"it applies to releases of kind {alternatives(declared.kinds)}, and this one is of kind {kind.name}"
    if declared.needs in KEEPABLE and declared.needs not in release.rows.column_names:
        return f"the release has no {PLURALS[declared.needs]}; only one made with --keep {declared.needs} has"
    unit = published_time_precision(release.manifest)
    if _is_finer(attack, unit):
        return f"the release tells times by the {unit}; take unit={unit}, or a coarser one"
    if declared.guarantee not in ("", claim.declaration.name, *guarantee_of(claim).includes):
        return f"it is about what {declared.guarantee} deletes, and this release promises {claim}"
    if declared.needs == "counts" and "level" in release.rows.column_names:
        counts = release.rows["count"].filter(pc.equal(release.rows["level"], 0))
        if not len(counts):
            return "it does not apply: how often a name for several terms is published tells nothing of one of them"
        if pc.max(counts).as_py() == 1:
            return "it does not apply: every term as typed is published once, however often it was searched for"
    return ""
