"""Explaining why terms of a person are not in a release: for the log's owner, who holds the private folder.

A release keeps km(k, m) as long as every combination of at most m terms of a history is held by k people (Burghardt,
Böhm, Guttman, Clifton 2010, definition 1). Putting one term back into one history adds this person to the holders of
the combinations of that term with terms the history has kept, and changes nothing else. So the term may return unless
one of these would be held by fewer than k people. Sizes are tried from 1 up. Nothing is written.

If that combination is common in the log, others have lost it too. Then the cause is a combination of the term with
terms that the history had in the log and that fewer than k people had; without one, the method gave the term up so that
others could stay. A whole query is a combination of one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.core.arrow import as_array
from queryveil.core.display import Brief, Tabular, counted
from queryveil.core.errors import InputError, ReleaseError
from queryveil.core.files import folder_of
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import BoolArray, Int32Array, IntArray, count_holders, indptr_of, ranges, row_numbers
from queryveil.guarantees import guarantee_of
from queryveil.kinds.base import PLURALS
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.logs.terms import fold
from queryveil.release.reader import Release, load_release
from queryveil.workflows.owner_lists import reasons
from queryveil.workflows.requests import WhyRequest

OWNER_ONLY = "For the owner of the log only: this shows what a person searched for. Nothing was written."
COULD_STAY = "it could have stayed: every combination with the kept terms would still be shared widely enough"
# finds what would follow too surely: a combination, what follows from it, who has that, and of how many
Reasons = Callable[..., tuple[tuple[int, ...], int, int, int] | None]


@dataclass(frozen=True)
class RareCombination:
    """A combination that is too rare: the terms besides the removed one, and how many people would hold it."""

    others: tuple[int, ...]
    people: int


class Postings:
    """Which histories hold each of some terms, and whose they are."""

    def __init__(self, history: IntArray, term: IntArray, owner: Int32Array, n_terms: int) -> None:
        order = np.lexsort((history, term))
        self.owner = owner  # (histories,)
        self._history = history[order]  # (rows,): by term, then ascending
        self._start = np.searchsorted(term[order], np.arange(n_terms + 1))
        self._seen = np.zeros(int(owner.max(initial=-1)) + 1, np.bool_)

    def of(self, term: int) -> IntArray:
        """Return the histories that hold a term, ascending."""
        return self._history[self._start[term] : self._start[term + 1]]

    def people_holding(self, terms: Sequence[int]) -> int:
        """Count the people one of whose histories holds all of the terms."""
        rarest, *others = sorted(map(self.of, terms), key=len)
        for histories in others:
            position = np.minimum(np.searchsorted(histories, rarest), len(histories) - 1)
            rarest = rarest[histories[position] == rarest]
        return self.count_people(rarest)

    def count_people(self, histories: IntArray) -> int:
        """Count the people behind histories."""
        self._seen[:] = False
        self._seen[self.owner[histories]] = True
        return int(np.count_nonzero(self._seen))


class ReasonSearch:
    """The search for reasons in one history: a person, and the terms the history has kept."""

    def __init__(self, postings: Postings, person: int, kept: Sequence[int], *, k: int, m: int) -> None:
        self._postings, self._person, self._kept, self._k, self._m = postings, person, kept, k, m
        # rows: (released history, position among the kept terms), histories ascending
        lists = [postings.of(term) for term in kept]
        history = np.concatenate([np.empty(0, np.int64), *lists])
        column = row_numbers(indptr_of([len(histories) for histories in lists]))
        order = np.argsort(history, kind="stable")
        self._history, self._column = history[order], column[order]

    def smallest(self, term: int) -> RareCombination | None:
        """Return the smallest combination below k, of these the rarest, of these the first in the order of `kept`.

        Time grows with the number of combinations of kept terms, memory with holders · kept terms.
        """
        holders = self._postings.of(term)
        holders = holders[self._postings.owner[holders] != self._person]
        people = self._postings.count_people(holders) + 1  # and the person of this history
        if people < self._k:
            return RareCombination((), people)
        if self._m == 1 or not self._kept:
            return None
        bits = self._bits(holders)
        everybody = np.full(bits.shape[1:], ~np.uint64(0))
        for size in range(1, min(self._m - 1, len(self._kept)) + 1):
            others, positions = _rarest(bits, everybody, 0, size)
            if others + 1 < self._k:
                return RareCombination(tuple(self._kept[position] for position in positions), others + 1)
        return None

    def _bits(self, holders: IntArray) -> NDArray[np.uint64]:
        """Return, for each kept term, a bit for each holder who has it: (kept terms, layers, words of 64 people).

        A person's first history stands in the first layer, a second one in the second: a combination must be in one
        history, and the person counts once.
        """
        begin = np.searchsorted(self._history, holders, "left")
        lengths = np.searchsorted(self._history, holders, "right") - begin
        held = np.zeros((len(holders), len(self._kept)), np.bool_)
        held[row_numbers(indptr_of(lengths)), self._column[ranges(begin, lengths)]] = True
        people, layer, held = _layers(self._postings.owner[holders], held)
        n_words = -(-(int(people.max(initial=-1)) + 1) // 64)
        flags = np.zeros((len(self._kept), int(layer.max(initial=0)) + 1, 64 * n_words), np.bool_)
        flags[:, layer, people] = held.T
        return np.packbits(flags, axis=-1).view(np.uint64)


def _layers(owner: Int32Array, held: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Number the people and each one's histories; equal histories of a person, and those with nothing, are left out."""
    filled = held.any(axis=1)
    owner, held = owner[filled], held[filled]
    order = np.argsort(owner, kind="stable")
    owner, held = owner[order], held[order]
    if (owner[1:] == owner[:-1]).any():
        _, first = np.unique(np.column_stack((owner, np.packbits(held, axis=1))), axis=0, return_index=True)
        first.sort()
        owner, held = owner[first], held[first]
    is_new = np.concatenate((np.ones(min(1, len(owner)), np.bool_), owner[1:] != owner[:-1]))
    people = np.cumsum(is_new) - 1
    return people, np.arange(len(owner)) - np.flatnonzero(is_new)[people], held


def _rarest(bits: NDArray[np.uint64], within: NDArray[np.uint64], first: int, size: int) -> tuple[int, tuple[int, ...]]:
    """Return the fewest people who hold a combination of `size` kept terms from `first` on, and the first such."""
    if size == 1:
        people = np.bitwise_count(np.bitwise_or.reduce(bits[first:] & within, axis=1)).sum(axis=1, dtype=np.int64)
        position = int(np.argmin(people))
        return int(people[position]), (first + position,)
    best: tuple[int, tuple[int, ...]] | None = None
    for position in range(first, len(bits) - size + 1):
        people_here, others = _rarest(bits, within & bits[position], position + 1, size - 1)
        if best is None or people_here < best[0]:
            best = people_here, (position, *others)
        if best[0] == 0:  # none can be rarer
            break
    if best is None:
        raise ValueError("there are fewer terms than the combination has")
    return best


@dataclass(frozen=True, eq=False)
class HoldingRows:
    """Which histories, of the log or of the release, hold which terms, and whose they are."""

    history: IntArray  # (rows,): ascending, no row twice
    term: Int32Array  # (rows,): a number in the log's terms
    owner: Int32Array  # (histories,)
    part: Int32Array  # (histories,): all 0 where the log is whole

    def postings(self, terms: Int32Array, part: int, n_terms: int) -> Postings:
        """Return who holds some terms in a part of the log; each term is numbered by its position among them."""
        position = np.full(n_terms, -1, np.int64)
        position[terms] = np.arange(len(terms))
        rows = np.flatnonzero(position[self.term] >= 0)
        rows = rows[self.part[self.history[rows]] == part]
        return Postings(self.history[rows], position[self.term[rows]], self.owner, len(terms))


@dataclass(frozen=True, eq=False)
class LogHoldings:
    """The log as the method saw it, and the released id of each history."""

    rows: HoldingRows
    count: Int32Array  # (rows,): queries of the history that hold the term
    terms: pa.Array
    released_from: IntArray  # (released histories,): the history of the log that each is, or is a piece of

    def row(self, history: int) -> slice:
        """Return the rows of a history."""
        begin, end = np.searchsorted(self.rows.history, [history, history + 1])
        return slice(int(begin), int(end))

    def mark(self, histories: list[int]) -> BoolArray:
        """Mark the terms that some histories hold."""
        marked = np.zeros(len(self.terms), np.bool_)
        for history in histories:
            marked[self.rows.term[self.row(history)]] = True
        return marked

    def is_common(self, part: int, k: int) -> BoolArray:
        """Return which terms at least k people of a part of the log hold."""
        rows = self.rows.part[self.rows.history] == part
        owner = self.rows.owner[self.rows.history[rows]]
        return np.asarray(count_holders(owner, self.rows.term[rows], len(self.terms)) >= k)

    def count_lost(
        self, before: Postings, after: Postings, position: int, is_common: BoolArray, k: int
    ) -> tuple[int, int]:
        """Count who lost a term, and those of them who had it with a common term that fewer than k had with it."""
        holders = before.of(position)
        begin, end = np.searchsorted(self.rows.history, [holders, holders + 1])
        taken = ranges(begin, end - begin)
        owner, term = self.rows.owner[self.rows.history[taken]], self.rows.term[taken]
        people = count_holders(owner, term, len(self.terms))
        lost = np.setdiff1d(owner, after.owner[after.of(position)])
        return len(lost), len(np.intersect1d(lost, owner[(people[term] < k) & is_common[term]]))

    def released(self, release: Release, is_concerned: BoolArray) -> HoldingRows:
        """Return the rows that the release has of the marked terms."""
        numbers = np.flatnonzero(is_concerned)
        position = pc.index_in(release.rows[release.kind.unit], self.terms.take(pa.array(numbers)))
        is_there = pc.is_valid(position)
        user = as_array(release.rows["user"].filter(is_there))
        keys = np.sort(user * len(numbers) + as_array(position.filter(is_there)))
        is_new = np.concatenate((keys[:1] >= 0, keys[1:] != keys[:-1]))  # a term may stand in several queries
        user, position = np.divmod(keys[is_new], max(len(numbers), 1))
        owner, part = self.rows.owner[self.released_from], self.rows.part[self.released_from]
        return HoldingRows(user, numbers[position].astype(np.int32), owner, part)

    def pieces(self, history: int, released: HoldingRows) -> list[set[int]]:
        """Return the terms that each piece of a history shows, the largest piece first."""
        found = []
        for user in np.flatnonzero(self.released_from == history).tolist():
            begin, end = np.searchsorted(released.history, [user, user + 1])
            found.append(set(released.term[begin:end].tolist()))
        return sorted(found, key=len, reverse=True)  # of equals the first in the release


def load_holdings(private: PrivateFolder) -> LogHoldings:
    """Read the log from a private folder."""
    membership, pieces = private.histories(), private.membership().drop_null()
    pairs = private.encoded_terms()
    encoded = pairs["term"].chunk(0)
    has_parts = "partition" in membership.column_names
    part = _numbers(membership["partition"]) if has_parts else np.zeros(len(membership), np.int32)
    rows = HoldingRows(as_array(pairs["history"]), as_array(encoded.indices), _numbers(membership["person"]), part)
    released_from = as_array(pieces.sort_by("release_id")["history"])
    return LogHoldings(rows, as_array(pairs["count"]), encoded.dictionary, released_from)


def _numbers(texts: pa.ChunkedArray) -> Int32Array:
    """Return a number for each text; equal texts have equal numbers."""
    return as_array(texts.combine_chunks().dictionary_encode().indices).astype(np.int32)


@dataclass(frozen=True, repr=False)
class Fate(Brief):
    """What became of one term of one history."""

    _shown = ("history", "kept", "people", "people_in_log")
    history: int  # its number in the private folder
    term: str
    count: int  # queries of the history that hold the term
    kept: bool
    combination: tuple[str, ...] = ()  # if removed: the smallest that would be too rare with the term put back
    people: int | None = None  # who would hold it in the release, this person included
    people_in_log: int | None = None  # who hold it in the log
    # if k people do, so that they lost it too:
    cause: tuple[str, ...] = ()  # the smallest combination of the history with the term that is too rare in the log
    people_of_cause: int | None = None  # who hold that in the log
    lost: int | None = None  # if the combination is the term alone: the people who lost it
    lost_in_pairs: int | None = None  # and those of them who had it in a pair that is too rare in the log
    # if enough people would share every combination, but something sensitive would follow from one:
    known: tuple[str, ...] = ()  # the combination
    sensitive: str | None = None  # what would follow
    having: int | None = None  # how many of those who hold the combination would have it
    holders: int | None = None
    piece: int = 0  # if kept: the piece of the history that it is in, by size; 0 is the largest
    beside: tuple[str, ...] = ()  # the other terms of another piece
    # Other terms of these combinations are common by themselves: what goes anyway forces nothing else to go.

    def sentence(self, required: int) -> str:
        """Say what became of the term."""
        if self.piece:
            return f"in another piece, with {', '.join(self.beside)}" if self.beside else "in another piece, alone"
        if self.kept:
            return "kept"
        if self.sensitive is not None:
            shared = ", ".join(self.known) + (" together" if len(self.known) > 1 else "")
            holders = f"{self.having:,} of the {self.holders:,} who have {shared}"
            return f"{holders} would have {self.sensitive} too, and a smaller share is allowed"
        if self.people is None or self.people_in_log is None:
            return COULD_STAY
        together = self._with(self.combination)
        if self.people_in_log < required:
            have = f"{counted(self.people_in_log, 'people')} in the log {'has' if self.people_in_log == 1 else 'have'}"
            return f"only {have} it{together}, and {required:,} are needed"
        said = f"{counted(self.people, 'people')} of the {required:,} needed would have it{together}"
        said += f" ({self.people_in_log:,} in the log)"
        if self.lost is not None:
            said += f"; {self.lost_in_pairs:,} of the {self.lost:,} who lost it had it in a pair too rare in the log"
        if self.people_of_cause is None:
            return f"{said}; it was removed from this history so that other terms could be kept"
        verb = "has" if self.people_of_cause == 1 else "have"
        cause = f"a combination that only {counted(self.people_of_cause, 'people')} in the log {verb}"
        return f"{said}; in this history it occurs{self._with(self.cause)}, {cause}"

    def _with(self, combination: tuple[str, ...]) -> str:
        others = [term for term in combination if term != self.term]
        return f" together with {', '.join(others)}" if others else ""


@dataclass(frozen=True, repr=False)
class TermExplanation(Tabular):
    """What became of every requested term."""

    _shown = ("guarantee", "fates", "n_kept")
    person: str
    guarantee: str
    required: int  # people who must share every combination
    fates: tuple[Fate, ...]
    unit: str = "term"  # what is called a term here may be a whole query

    @property
    def n_kept(self) -> int:
        """Count the terms that are in the release."""
        return sum(fate.kept for fate in self.fates)

    def to_arrow(self) -> Any:
        """Return a row per term of a history."""
        columns = {name: [getattr(fate, name) for fate in self.fates] for name in Fate.__dataclass_fields__}
        types = {"term": pa.string(), "kept": pa.bool_()}
        types |= dict.fromkeys(("combination", "cause", "known", "beside"), pa.list_(pa.string())) | {
            "sensitive": pa.string()
        }
        return pa.table(columns, pa.schema({name: types.get(name, pa.int64()) for name in columns}))

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows as text; the history is left out where there is one only."""
        several = len({fate.history for fate in self.fates}) > 1
        rows = [[str(fate.history), fate.term, f"{fate.count:,}", fate.sentence(self.required)] for fate in self.fates]
        headings = ["history", self.unit, "queries", ""]
        return (headings, rows) if several else (headings[1:], [row[1:] for row in rows])

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        fates = [{**asdict(fate), "sentence": fate.sentence(self.required)} for fate in self.fates]
        return {"person": self.person, "guarantee": self.guarantee, "note": OWNER_ONLY, "terms": fates}

    def _repr_html_(self) -> str:
        """Return figures for a notebook, which may be passed on; `to_pandas()` shows the terms."""
        kept = f"{self.n_kept:,} of {len(self.fates):,} {PLURALS[self.unit]} are in the release"
        return f"<b>{escape(self.guarantee)}</b>: {kept}; to_pandas() shows them, for the owner of the log only."


def explain(request: WhyRequest, *, progress: Progress = silent) -> TermExplanation:
    """Say of every term of a person's histories, or of one term, whether it is in the release and if not, why."""
    release, person = folder_of(request.release), request.user
    loaded, folder = load_release(release, check_rows=False), PrivateFolder(folder_of(request.private))
    if loaded.faults:
        raise ReleaseError(f"{release}: {loaded.faults[0]}; verify the release.")
    claim = loaded.manifest.claim
    if not guarantee_of(claim).largest_shared(claim):
        raise InputError(
            f"{release} promises {claim}; reasons are known where terms or queries must be shared by k people."
        )
    run = folder.check_belongs(loaded.manifest.content_sha256)
    find_reason = reasons(claim, run.more)
    histories = _histories_of(folder.histories(), person, request.history)
    log = load_holdings(folder)
    wanted = None
    if request.term is not None:  # it is folded as the log's terms are
        folded = " ".join(fold(request.term, loaded.manifest.cleaning.cleaning().charset).split())
        wanted = int(log.terms.index(pa.scalar(folded)).as_py())
        if wanted < 0 or not any(wanted in log.rows.term[log.row(history)] for history in histories):
            raise InputError(
                f"--term {request.term!r} is in none of these histories; check the spelling, or leave it out."
            )
    concerned = log.mark(histories)
    rows = np.flatnonzero(concerned[log.rows.term])
    original = replace(log.rows, history=log.rows.history[rows], term=log.rows.term[rows])
    released = log.released(loaded, concerned)
    fates: list[Fate] = []
    k, m = claim.integer("k"), guarantee_of(claim).largest_shared(claim)
    is_common = {part: log.is_common(part, k) for part in set(log.rows.part[histories].tolist())}
    for number, one in enumerate(histories):
        progress("looking for reasons", number, len(histories))
        common = is_common[int(log.rows.part[one])]
        fates += HistoryReasons(log, (original, released), one, common, k, m).fates(wanted, find_reason)
    progress("looking for reasons", len(histories), len(histories))
    return TermExplanation(person, str(claim), k, tuple(fates), loaded.kind.unit)


def _histories_of(membership: pa.Table, person: str, history: int | None) -> list[int]:
    """Return the histories of a person, or the one asked for."""
    own = membership.filter(pc.equal(membership["person"], person))["history"].to_pylist()
    if not own:
        raise InputError("the private folder knows nobody by that name; give --user as it stands in the log.")
    if history is None:
        return [int(number) for number in own]
    if history not in own:
        several = f"who has {len(own):,} from {min(own)} to {max(own)}; give one of these."
        single = f"whose only history is {own[0]}; give that, or leave it out."
        which = single if len(own) == 1 else several
        raise InputError(f"--history {history} is not a history of this person, {which}")
    return [history]


class HistoryReasons:
    """One history of the log and why its terms are missing; a term is its position in the history's row."""

    def __init__(
        self, log: LogHoldings, rows: tuple[HoldingRows, HoldingRows], history: int, common: BoolArray, k: int, m: int
    ) -> None:
        """Take the rows of the log and of the release, which terms k people of the log hold, and k and m."""
        row, part, person = log.row(history), int(log.rows.part[history]), int(log.rows.owner[history])
        self._log, self._history, self._is_common, self._k = log, history, common, k
        self._terms, self._counts = log.rows.term[row], log.count[row]
        self._texts: list[str] = log.terms.take(pa.array(self._terms)).to_pylist()
        self._before, self._after = (each.postings(self._terms, part, len(log.terms)) for each in rows)
        self._in_order = sorted(range(len(self._texts)), key=self._texts.__getitem__)
        pieces = log.pieces(history, rows[1])
        self._piece_of = [
            next((i for i, shown in enumerate(pieces) if term in shown), -1) for term in self._terms.tolist()
        ]
        self._kept = [position for position in self._in_order if self._piece_of[position] == 0]
        shared = [position for position in self._in_order if common[self._terms[position]]]
        self._search = ReasonSearch(self._after, person, self._kept, k=k, m=m)
        self._causes = ReasonSearch(self._before, person, shared, k=k, m=m)

    def fates(self, wanted: int | None, find_reason: Reasons | None) -> Iterator[Fate]:
        """Yield what became of the terms, or of the one that is wanted: removed terms first, then piece by piece."""
        for position in sorted(self._in_order, key=self._piece_of.__getitem__):
            if wanted is not None and self._terms[position] != wanted:
                continue
            number = self._piece_of[position]
            others = (
                each for each in self._in_order if number > 0 and self._piece_of[each] == number and each != position
            )
            beside = tuple(self._texts[each] for each in others)
            count = int(self._counts[position])
            fate = Fate(self._history, self._texts[position], count, number >= 0, piece=max(number, 0), beside=beside)
            found = None if fate.kept else self._search.smallest(position)
            if found is not None:
                fate = replace(fate, combination=self._named((position, *found.others)), people=found.people)
                fate = self._explain_by_log(fate, (position, *found.others))
            elif find_reason is not None and not fate.kept:
                fate = self._explain_by_inference(fate, position, find_reason)
            yield fate

    def _named(self, positions: Sequence[int]) -> tuple[str, ...]:
        return tuple(sorted(self._texts[each] for each in positions))

    def _explain_by_log(self, fate: Fate, positions: tuple[int, ...]) -> Fate:
        """Say how many people hold the combination in the log and, if they are enough, why they lost the term."""
        in_log = self._before.people_holding(positions)
        fate = replace(fate, people_in_log=in_log)
        if in_log >= self._k and len(positions) == 1:
            lost, in_pairs = self._log.count_lost(self._before, self._after, positions[0], self._is_common, self._k)
            fate = replace(fate, lost=lost, lost_in_pairs=in_pairs)
        if in_log >= self._k and (cause := self._causes.smallest(positions[0])) is not None:
            fate = replace(fate, cause=self._named((positions[0], *cause.others)), people_of_cause=cause.people)
        return fate

    def _explain_by_inference(self, fate: Fate, position: int, find_reason: Reasons) -> Fate:
        """Say what would follow too surely if the term were put back."""
        released = int(np.append(np.flatnonzero(self._log.released_from == self._history), -1)[0])
        owner = self._after.owner
        if released < 0:  # nothing of the history was released: it would be a new one
            released, owner = len(owner), np.append(owner, self._log.rows.owner[self._history])
        found = find_reason(self._after.of, owner, released, self._kept, position, self._texts)
        if found is None:
            return fate
        known, term, having, holders = found
        return replace(fate, known=self._named(known), sensitive=self._texts[term], having=having, holders=holders)
