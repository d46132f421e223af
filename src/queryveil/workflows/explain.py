"""Explaining why terms of a person are not in a release: for the log's owner, who holds the private folder.

Nothing is written.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.core.display import Tabular, html_table
from queryveil.core.errors import InputError, ReleaseError
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.logs.characters import fold
from queryveil.release.reader import Release, load_release
from queryveil.workflows.reasons import HoldingRows, LogHoldings, ReasonSearch, load_holdings
from queryveil.workflows.requests import WhyRequest

OWNER_ONLY = "For the owner of the log only: this shows what a person searched for. Nothing was written."
COULD_STAY = "it could have stayed: every combination with the kept terms would still be shared widely enough"


@dataclass(frozen=True)
class Fate:
    """What became of one term of one history."""

    history: int  # its number in the private folder
    term: str
    count: int  # queries of the history that hold the term
    kept: bool
    combination: tuple[str, ...] = ()  # if removed: the smallest that would be too rare with the term put back
    people: int | None = None  # who would hold it in the release, this person included
    people_in_log: int | None = None  # who hold it in the log

    def sentence(self, required: int) -> str:
        """Say what became of the term."""
        if self.kept:
            return "kept"
        if self.people is None:
            return COULD_STAY
        others = [term for term in self.combination if term != self.term]
        what = f"together with {', '.join(others)} it" if others else "it"
        holders = "1 person" if self.people == 1 else f"{self.people:,} people"
        return f"{what} would be held by {holders} of the {required:,} needed ({self.people_in_log:,} in the log)"


@dataclass(frozen=True)
class TermExplanation(Tabular):
    """What became of every term that was asked about."""

    person: str
    guarantee: str
    required: int  # people who must share every combination
    fates: tuple[Fate, ...]

    def to_arrow(self) -> Any:
        """Return a row per term of a history."""
        import pyarrow as pa

        columns = {name: [getattr(fate, name) for fate in self.fates] for name in Fate.__dataclass_fields__}
        schema = pa.schema(
            {
                "history": pa.int64(),
                "term": pa.string(),
                "count": pa.int64(),
                "kept": pa.bool_(),
                "combination": pa.list_(pa.string()),
                "people": pa.int64(),
                "people_in_log": pa.int64(),
            }
        )
        return pa.table(columns, schema)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows as text; the history is left out where there is one only."""
        several = len({fate.history for fate in self.fates}) > 1
        rows = [[str(fate.history), fate.term, f"{fate.count:,}", fate.sentence(self.required)] for fate in self.fates]
        headings = ["history", "term", "queries", ""]
        return (headings, rows) if several else (headings[1:], [row[1:] for row in rows])

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        fates = [{**asdict(fate), "sentence": fate.sentence(self.required)} for fate in self.fates]
        return {"person": self.person, "guarantee": self.guarantee, "note": OWNER_ONLY, "terms": fates}

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.guarantee)}</b>. {OWNER_ONLY}</p>{html_table(*self.table())}"


def explain(request: WhyRequest, *, progress: Progress = silent) -> TermExplanation:
    """Say of every term of a person's histories, or of one term, whether it is in the release and if not, why."""
    release, person = request.release, request.user
    loaded, folder = load_release(release, check_rows=False), PrivateFolder(request.private)
    if loaded.faults:
        raise ReleaseError(f"{release}: {loaded.faults[0]}; verify the release.")
    claim = loaded.manifest.claim
    if not {"k", "m"} <= claim.values.keys():
        raise InputError(f"{release} promises {claim}, and reasons are known for km only.")
    folder.check_belongs(loaded.manifest.content_sha256)
    membership = folder.membership()
    histories = _histories_of(membership, person, request.history)
    log = load_holdings(folder, membership)
    wanted = None if request.term is None else _term(log, histories, request.term, loaded)
    concerned = log.mark(histories)
    original, released = log.rows.of_terms(concerned), log.released(loaded, concerned)
    fates: list[Fate] = []
    for number, one in enumerate(histories):
        progress("looking for reasons", number, len(histories))
        fates += _fates(log, original, released, one, wanted, claim)
    progress("looking for reasons", len(histories), len(histories))
    return TermExplanation(person, str(claim), claim.integer("k"), tuple(fates))


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


def _term(log: LogHoldings, histories: Sequence[int], term: str, release: Release) -> int:
    """Return the number of a term that the person's histories hold, folded as the log's terms are."""
    folded = fold(term, release.manifest.cleaning.cleaning().charset).strip()
    number = log.terms.index(pa.scalar(folded)).as_py()
    if number < 0 or not any(number in log.rows.term[log.row(history)] for history in histories):
        raise InputError(f"--term {term!r} is in none of these histories; check the spelling, or leave it out.")
    return int(number)


def _fates(
    log: LogHoldings,
    original: HoldingRows,
    released: HoldingRows,
    history: int,
    wanted: int | None,
    claim: ResolvedName,
) -> list[Fate]:
    """Say of the terms of a history, or of the one that is wanted, what became of them; removed ones first."""
    row = log.row(history)
    terms, counts, part = log.rows.term[row], log.count[row], int(log.rows.part[history])
    texts = log.terms.take(pa.array(terms)).to_pylist()  # from here on a term is its place in the row
    before, after = (rows.postings(terms, part, len(log.terms)) for rows in (original, released))
    in_order = sorted(range(len(texts)), key=texts.__getitem__)
    kept = [place for place in in_order if log.release_id[history] in after.of(place)]
    search = ReasonSearch(after, int(log.rows.owner[history]), kept, k=claim.integer("k"), m=claim.integer("m"))
    fates = []
    for place in sorted(in_order, key=set(kept).__contains__):
        if wanted is not None and terms[place] != wanted:
            continue
        fate = Fate(history, texts[place], int(counts[place]), place in kept)
        found = None if fate.kept else search.smallest(place)
        if found is not None:
            places = sorted((place, *found.others), key=texts.__getitem__)
            names, in_log = tuple(texts[other] for other in places), before.people_holding(places)
            fate = replace(fate, combination=names, people=found.people, people_in_log=in_log)
        fates.append(fate)
    return fates
