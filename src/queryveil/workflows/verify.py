"""Verifying a release, ours or anybody's file, with code that shares nothing with the methods."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InputError, ReleaseError
from queryveil.core.evidence import GroupMembers, ReleasedVocabularies
from queryveil.core.names import Name, ResolvedName, resolve
from queryveil.core.options import Location
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.core.rows import per_entry, row_numbers
from queryveil.lexicons.word_lists import PersonalWordLists
from queryveil.release import private as privates
from queryveil.release.groups import groups_of, load_members
from queryveil.release.reader import Release, ReleasedHistories, as_array, histories_of, load
from queryveil.release.vocabularies import vocabularies_of
from queryveil.workflows.requests import VerifyRequest, arrow_table

_OF_QUERIES = ("query_k", "ppp")  # guarantees about whole queries


def verify(request: VerifyRequest, *, progress: Progress = silent) -> Verdict:
    """Say whether a release keeps what it claims; a file that is no release of ours needs a claim."""
    if request.engine_options.cluster() is not None:
        from queryveil.workflows.distributed.verify import verify as verify_on_spark

        return verify_on_spark(request, progress=progress)
    claim, private, places = request.claim, request.private_path, request.places
    release = Path(request.release) if isinstance(request.release, Location) else arrow_table(request.release)
    if isinstance(release, Path) and release.is_dir():
        loaded = load(release)
        if loaded.kind == "groups":
            return _verify_groups(loaded, claim or loaded.manifest["guarantee"], private, progress)
        if loaded.kind == "vocabularies":
            return _verify_vocabularies(loaded, claim or loaded.manifest["guarantee"], private, progress)
        return verify_release(loaded, claim or loaded.manifest["guarantee"], private, progress, places)
    if isinstance(release, Path) and not release.exists():
        raise ReleaseError(f"there is no release {release}; check the path.")
    if claim is None:
        raise InputError(
            "a file that is not a queryveil release claims nothing by itself; name a guarantee by --claim."
        )
    if private is not None:
        raise InputError("--private goes with a queryveil release, not with another file; leave it out.")
    return _verify_file(release, claim, request.reading, places, progress)


def verify_release(
    release: Release, claim: str | Name, private: Path | None, progress: Progress, places: Path | None = None
) -> Verdict:
    """Say whether a release that has been read keeps a claim, and is what its manifest and private folder say."""
    released = histories_of(release.rows)
    people, faults = None, [*release.faults, *_miscounted(release, released)]
    if private is not None:
        privates.check_belongs(private, release.manifest["content_sha256"])
        people, more_faults = _behind(private, release, released)
        faults += more_faults
    if places is None and _places_of(release):
        reason = "the release was made with a list of places that is not part of it; give it by --places"
        return Verdict(str(claim), "unchecked", "nothing", reason=reason)
    lists = _lists(claim, places)
    if places is not None and hashlib.sha256(places.read_bytes()).hexdigest() != _places_of(release):
        raise InputError(f"--places: {places} is not the list that the release was made with; give that one or none.")
    return _judge(released, claim, faults, people, progress, lists)


def _places_of(release: Release) -> str | None:
    """Return the digest of the user's list of places that a release was made with, if there was one."""
    lists = release.manifest.get("lists")
    return lists.get("places") if isinstance(lists, dict) else None


def _lists(claim: str | Name, places: Path | None) -> PersonalWordLists | None:
    """Return the lists of names, places and private words, where the claim is about them."""
    if resolve("guarantee", claim).declaration.name == "ppp":
        from queryveil.sensitivity.lists import load_lists

        return load_lists(places)
    if places is not None:
        raise InputError("--places goes with a claim about places, such as ppp(release=none); leave it out.")
    return None


def _behind(private: Path, release: Release, released: ReleasedHistories) -> tuple[NDArray[np.int32] | None, list[str]]:
    """Return who is behind each released history, and where the private folder contradicts the release."""
    try:
        people, history_of = privates.load_histories(private, released.users)
    except ReleaseError:
        if release.faults:  # the rows are not those that the folder is about
            return None, []
        raise
    return people, [*_invented(private, released, history_of), *_other_people(release, people)]


def _other_people(release: Release, people: NDArray[np.int32]) -> list[str]:
    """Find that the private folder has another number of people than the manifest."""
    if len(np.unique(people)) == release.manifest["counts"]["after"]["people"]:
        return []
    return ["the manifest gives another number of people than the private folder"]


def _miscounted(
    release: Release, released: ReleasedHistories | ReleasedVocabularies, more: Mapping[str, int] = MappingProxyType({})
) -> list[str]:
    """Find counts in the manifest that are not those of the rows; a release with faults has other rows anyway."""
    if release.faults:
        return []
    given = release.manifest["counts"]["after"]
    found = {"histories": len(released.users), "terms": len(released.terms), "pairs": len(released.ids), **more}
    return [
        f"the manifest gives another number of {name} than the rows" for name in found if given[name] != found[name]
    ]


def check_release(
    release: Release,
    claim: str | Name,
    *,
    people: NDArray[np.int32] | None = None,
    lists: PersonalWordLists | None = None,
    progress: Progress = silent,
) -> Verdict:
    """Check a claim on the rows of a release; `people` tells who is behind each released history."""
    return _judge(histories_of(release.rows), claim, release.faults, people, progress, lists)


def _verify_groups(release: Release, claim: str | Name, private: Path | None, progress: Progress) -> Verdict:
    """Say whether a release of groups keeps a claim; who is in a group stands in the private folder."""
    members, faults = None, list(release.faults)
    if private is not None:
        privates.check_belongs(private, release.manifest["content_sha256"])
        members, release_id = load_members(private, groups_of(release.rows))
        if not release.faults and np.setdiff1d(release_id[release_id >= 0], as_array(release.rows["group"])).size:
            faults.append("the private folder has members of groups that are not released")
    verdict = check_groups(release, claim, members, progress)
    return replace(verdict, state="violated", reason="; ".join([*faults, verdict.reason])) if faults else verdict


def check_groups(
    release: Release, claim: str | Name, members: GroupMembers | None, progress: Progress = silent
) -> Verdict:
    """Check a claim on the groups of a release with its members."""
    bound = resolve("guarantee", claim)
    if bound.declaration.name != "linkability":
        raise InputError(f"{bound} is no claim about groups, which this release holds; claim linkability(p=…).")
    verdict: Verdict = bound.declaration.load()(
        bound,
        groups_of(release.rows),
        members,
        floor=int(release.manifest["floor"]),
        progress=progress,
    )
    return verdict


def _verify_vocabularies(release: Release, claim: str | Name, private: Path | None, progress: Progress) -> Verdict:
    """Say whether a release of vocabularies keeps a claim; that different people share one needs the private folder."""
    released = vocabularies_of(release.rows)
    more = {"occurrences": int(released.counts.sum(dtype=np.int64))}
    people, holders, faults = None, None, [*release.faults, *_miscounted(release, released, more)]
    if private is not None:
        privates.check_belongs(private, release.manifest["content_sha256"])
        if not release.faults:
            people, _ = privates.load_histories(private, released.users)
            holders = privates.count_holders(private)
            faults += _other_people(release, people)
    verdict = check_vocabularies(release, claim, people, holders, progress)
    return replace(verdict, state="violated", reason="; ".join(faults)) if faults else verdict


def check_vocabularies(
    release: Release,
    claim: str | Name,
    people: NDArray[np.int32] | None,
    holders: Mapping[str, int] | None,
    progress: Progress = silent,
) -> Verdict:
    """Check a claim on the vocabularies of a release; `holders` tells how many people of the log hold each term."""
    bound = resolve("guarantee", claim)
    if bound.declaration.name != "vocabulary_k":
        raise InputError(f"{bound} is no claim about vocabularies, which this release holds; claim vocabulary_k(k=…).")
    return _shared(bound, vocabularies_of(release.rows), people, progress, int(release.manifest["floor"]), holders)


def _shared(
    bound: ResolvedName,
    released: ReleasedVocabularies,
    people: NDArray[np.int32] | None,
    progress: Progress,
    floor: int = 1,
    holders: Mapping[str, int] | None = None,
) -> Verdict:
    """Run the verifier of vocabularies; unless it is known who has which, each is somebody's."""
    verdict: Verdict = bound.declaration.load()(
        bound,
        released,
        np.arange(len(released.users), dtype=np.int32) if people is None else people,
        counted="histories" if people is None else "people",
        floor=floor,
        holders=holders,
        progress=progress,
    )
    return verdict


def _judge(
    released: ReleasedHistories,
    claim: str | Name,
    faults: Sequence[str],
    people: NDArray[np.int32] | None,
    progress: Progress,
    lists: PersonalWordLists | None = None,
) -> Verdict:
    """Check a claim on the rows; a release that is not what it says it is violates its claim in any case."""
    verdict = check_histories(released, claim, people, progress, lists)
    return replace(verdict, state="violated", reason="; ".join(faults)) if faults else verdict


def check_histories(
    released: ReleasedHistories,
    claim: str | Name,
    people: NDArray[np.int32] | None,
    progress: Progress,
    lists: PersonalWordLists | None = None,
) -> Verdict:
    """Run the verifier of the claimed guarantee on histories × terms."""
    bound = resolve("guarantee", claim)
    if bound.declaration.name == "linkability":
        raise InputError(f"{bound} is a claim about groups, and these are histories; claim km(k=…, m=…).")
    if (bound.declaration.name in _OF_QUERIES) != (released.unit == "query"):
        what, which = ("terms", "km(k=…, m=…)") if released.unit == "term" else ("whole queries", "query_k(k=…)")
        raise InputError(f"{bound} is no claim about {what}, which these rows hold; claim {which}.")
    if bound.declaration.name == "vocabulary_k":
        return _shared(bound, _as_vocabularies(released), people, progress)
    owner = np.arange(len(released.users), dtype=np.int32) if people is None else people
    checker = bound.declaration.load()
    verdict: Verdict = checker(
        bound,
        released.indptr,
        released.ids,
        owner,
        released.terms,
        counted="histories" if people is None else "people",
        partition=released.partition,
        progress=progress,
        **({} if lists is None else {"lists": lists}),
    )
    return verdict


def _as_vocabularies(released: ReleasedHistories) -> ReleasedVocabularies:
    """Return histories as vocabularies, whose terms are all as typed."""
    rank = np.empty(len(released.terms), np.int32)
    by_text = sorted(range(len(released.terms)), key=released.terms.__getitem__)
    rank[by_text] = np.arange(len(by_text), dtype=np.int32)
    order = np.lexsort((rank[released.ids], row_numbers(released.indptr)))
    ids, levels = rank[released.ids][order], np.zeros(len(order), np.int32)
    terms = tuple(released.terms[i] for i in by_text)
    return ReleasedVocabularies(released.users, released.indptr, ids, released.counts[order], levels, terms)


def _invented(private: Path, released: ReleasedHistories, history_of: NDArray[np.int64]) -> list[str]:
    """Find released terms that the history behind them never held."""
    import pyarrow as pa
    import pyarrow.compute as pc

    _, pairs = privates.load_profiles(private)
    term = pc.index_in(pairs["term"], pa.array(released.terms, pa.string()))
    is_released = pc.is_valid(term)
    history = as_array(pairs["history"].filter(is_released))
    true = history * len(released.terms) + as_array(term.filter(is_released))
    rows = per_entry(history_of, released.indptr)
    n_invented = np.count_nonzero(~np.isin(rows * len(released.terms) + released.ids, true))
    return [f"{n_invented:,} released terms were never in the history behind them"] if n_invented else []


def _verify_file(file: Path | Any, claim: str | Name, reading: Any, places: Path | None, progress: Progress) -> Verdict:
    """Read anybody's file as it stands and check the claim on it, every user being one history."""
    from queryveil.engines import LogSource, open_log
    from queryveil.logs.options import Cleaning, Reading

    unit: Literal["term", "query"] = "query" if resolve("guarantee", claim).declaration.name in _OF_QUERIES else "term"
    as_it_stands = Cleaning(scrub=False, duplicates="keep", bots=0)
    is_path = isinstance(file, Path)
    source = LogSource((file,) if is_path else (), reading or Reading(), as_it_stands, table=None if is_path else file)
    with open_log(source, progress=progress) as log:
        has_baskets = is_path and unit == "term" and _holds_baskets(file, source.reading)
        released = _baskets(log) if has_baskets else _histories(log, unit, progress)
        n_bad = next(step.count for step in log.steps if step.name == "bad lines")
    verdict = check_histories(released, claim, None, progress, _lists(claim, places))
    if verdict.holds and n_bad:  # what was not read may break the claim
        reason = f"the lines that can be read keep it, but {n_bad:,} cannot be read; mend the file"
        return replace(verdict, state="unchecked", reason=reason)
    return verdict


def _holds_baskets(file: Path, reading: Any) -> bool:
    from queryveil.logs.formats import find_format
    from queryveil.logs.sample import take_sample

    return find_format(take_sample(file), reading.format, reading.column_roles()).name == "transactions"


def _baskets(log: Any) -> ReleasedHistories:
    """Return the items of baskets just as they stand: folding them would make different items look alike."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = []
    for batch in log.batches():
        items = pc.utf8_split_whitespace(batch["query"])
        history = batch["history"].take(pc.list_parent_indices(items))
        parts.append(pa.table({"user": history.cast(pa.int64()), "term": pc.list_flatten(items)}))
    rows = pa.concat_tables(parts)
    return histories_of(rows.filter(pc.not_equal(rows["term"], "")))


def _histories(log: Any, unit: Literal["term", "query"], progress: Progress) -> ReleasedHistories:
    """Return the terms of queries or whole queries, or a column of terms just as it stands."""
    from queryveil.histories.build import build

    profiles = build(log, unit="entry" if log.has_single_terms else unit, progress=progress)
    return ReleasedHistories(
        np.arange(profiles.n_histories),
        profiles.indptr,
        profiles.ids,
        profiles.counts,
        profiles.vocabulary.entries,
        None,
        unit,
    )
