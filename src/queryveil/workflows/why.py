"""Why a term is not in a release: for its owner, who holds the private folder. Nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.errors import InputError, ReleaseError
from queryveil.logs.characters import fold
from queryveil.logs.options import Cleaning
from queryveil.release import private as privates
from queryveil.release.reader import Release, as_array, load
from queryveil.spec import Bound, resolve
from queryveil.types import Progress, silent
from queryveil.workflows.fates import Fate, Why
from queryveil.workflows.reasons import Postings, Search


@dataclass(frozen=True, eq=False)
class _Log:
    """The log as the method saw it, and where each history went."""

    history: NDArray[np.int64]  # (pairs,): ascending
    term: NDArray[np.int32]  # (pairs,): a number in `terms`
    count: NDArray[np.int32]  # (pairs,)
    terms: pa.Array
    owner: NDArray[np.int32]  # (histories,)
    release_id: NDArray[np.int64]  # (histories,): -1 where nothing was released
    partition: NDArray[np.int32] | None  # (histories,): None where the log is whole

    def row(self, history: int) -> slice:
        """Return where the pairs of a history stand."""
        begin, end = np.searchsorted(self.history, [history, history + 1])
        return slice(int(begin), int(end))

    def postings(self, history: int) -> Postings:
        """Return who holds the terms of a history in its part of the log; terms by their place in the history."""
        terms = self.term[self.row(history)]
        place = np.zeros(len(self.terms), np.int64)
        place[terms] = np.arange(len(terms))
        is_concerned = np.zeros(len(self.terms), np.bool_)
        is_concerned[terms] = True
        pairs = np.flatnonzero(is_concerned[self.term])
        pairs = pairs[self.beside(history, self.history[pairs])]
        return Postings(self.history[pairs], place[self.term[pairs]], self.owner, len(terms))

    def beside(self, history: int, others: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which other histories are in the same part of the log."""
        if self.partition is None:
            return np.ones(len(others), np.bool_)
        same: NDArray[np.bool_] = self.partition[others] == self.partition[history]
        return same


def why(
    release: Path,
    private: Path,
    person: str,
    *,
    history: int | None = None,
    term: str | None = None,
    progress: Progress = silent,
) -> Why:
    """Say of every term of a person's histories, or of one term, whether it is in the release and if not, why."""
    loaded = load(release, check_rows=False)
    if loaded.faults:
        raise ReleaseError(f"{release}: {loaded.faults[0]}; verify the release.")
    bound = resolve("guarantee", loaded.manifest["guarantee"])
    if bound.declaration.name != "km":
        raise InputError(f"{release} promises {bound}, and reasons are known for km only.")
    privates.check_belongs(private, loaded.manifest["content_sha256"])
    membership = privates.load_membership(private)
    histories = _histories_of(membership, person, history)
    log = _log(private, membership)
    wanted = None if term is None else _term(log, histories, term, loaded)
    fates: list[Fate] = []
    for number, one in enumerate(histories):
        progress("looking for reasons", number, len(histories))
        fates += _fates(log, loaded, one, wanted, bound)
    progress("looking for reasons", len(histories), len(histories))
    return Why(person, str(bound), bound.integer("k"), tuple(fates))


def _histories_of(membership: pa.Table, person: str, history: int | None) -> list[int]:
    """Return the histories of a person, or the one asked for."""
    own = membership.filter(pc.equal(membership["person"], person))["history"].to_pylist()
    if not own:
        raise InputError("the private folder knows nobody by that name; give --user as it stands in the log.")
    if history is None:
        return [int(number) for number in own]
    if history not in own:
        some = f"{own[0]}" if len(own) == 1 else f"{len(own):,} from {min(own)} to {max(own)}"
        raise InputError(f"--history {history} is not a history of this person, who has {some}; give one of these.")
    return [history]


def _log(private: Path, membership: pa.Table) -> _Log:
    pairs = privates.load_terms(private)
    encoded = pairs["term"].chunk(0)
    partition = None
    if "partition" in membership.column_names:
        partition = _numbers(membership["partition"])
    return _Log(
        as_array(pairs["history"]),
        as_array(encoded.indices),
        as_array(pairs["count"]),
        encoded.dictionary,
        _numbers(membership["person"]),
        as_array(pc.coalesce(membership["release_id"], pa.scalar(-1, pa.int64()))),
        partition,
    )


def _numbers(texts: pa.ChunkedArray) -> NDArray[np.int32]:
    """Return a number for each text, the same for the same."""
    return as_array(texts.combine_chunks().dictionary_encode().indices).astype(np.int32)


def _term(log: _Log, histories: Sequence[int], term: str, release: Release) -> int:
    """Return the number of a term that the person's histories hold, folded as the log's terms are."""
    folded = fold(term, Cleaning.from_record(release.manifest["cleaning"]["options"]).charset).strip()
    number = log.terms.index(pa.scalar(folded)).as_py()
    if number < 0 or not any(number in log.term[log.row(history)] for history in histories):
        raise InputError(f"--term {term!r} is in none of these histories; check the spelling, or leave it out.")
    return int(number)


def _fates(log: _Log, release: Release, history: int, wanted: int | None, bound: Bound) -> list[Fate]:
    """Say of the terms of a history, or of the one that is wanted, what became of them; removed ones first."""
    row = log.row(history)
    terms, counts = log.term[row], log.count[row]
    texts = log.terms.take(pa.array(terms)).to_pylist()  # from here on a term is its place in the row
    released, original = _released_postings(log, release, history, texts), log.postings(history)
    in_order = sorted(range(len(texts)), key=texts.__getitem__)
    kept = [place for place in in_order if log.release_id[history] in released.of(place)]
    search = Search(released, int(log.owner[history]), kept, k=bound.integer("k"), m=bound.integer("m"))
    fates = []
    for place in sorted(in_order, key=set(kept).__contains__):
        if wanted is not None and terms[place] != wanted:
            continue
        fate = Fate(history, texts[place], int(counts[place]), place in kept)
        found = None if fate.kept else search.smallest(place)
        if found is not None:
            places = sorted((place, *found.others), key=texts.__getitem__)
            names, in_log = tuple(texts[other] for other in places), original.people_holding(places)
            fate = replace(fate, combination=names, people=found.people, people_in_log=in_log)
        fates.append(fate)
    return fates


def _released_postings(log: _Log, release: Release, history: int, texts: Sequence[str]) -> Postings:
    """Return who holds the terms of a history in the release, in the history's part of the log."""
    place = pc.index_in(release.rows["term"], pa.array(texts, pa.string()))
    is_concerned = pc.is_valid(place)
    user = as_array(release.rows["user"].filter(is_concerned))
    term = as_array(place.filter(is_concerned)).astype(np.int64)
    keys = np.sort(user * len(texts) + term)
    is_new = np.concatenate((keys[:1] >= 0, keys[1:] != keys[:-1]))  # a term may stand in several queries of a history
    user, term = np.divmod(keys[is_new], len(texts))
    is_released = log.release_id >= 0
    behind = np.empty(np.count_nonzero(is_released), np.int64)  # released history → history
    behind[log.release_id[is_released]] = np.flatnonzero(is_released)
    same_part = log.beside(history, behind[user])
    return Postings(user[same_part], term[same_part], log.owner[behind], len(texts))
