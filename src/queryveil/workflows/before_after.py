"""One person's history before and after: what it was, what is published of it, and why each term went.

For the owner of the log, who holds the private folder. Nothing is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.release import private as privates
from queryveil.release.reader import Release, as_array, load
from queryveil.workflows.requests import WhyRequest
from queryveil.workflows.why import why

UNKNOWN_PERSON = (
    "the log has nobody by that name, or cleaning left the person out; give the user as it stands in the log."
)
_IN_GROUP, _NOT_IN_GROUP = "published of the group", "not published of the group"
_IN_VOCABULARY, _NOT_IN_VOCABULARY = "in the vocabulary that is shared", "not in the vocabulary that is shared"
_KEPT_QUERY, _GONE_QUERY = "released", "not released"


@dataclass(frozen=True)
class Before:
    """A term, or a query, of a person's history."""

    entry: str
    count: int  # queries that hold it
    kept: bool
    reason: str


@dataclass(frozen=True)
class After:
    """What is published of a history, or of the group or vocabulary that stands for it."""

    entry: str
    figure: str  # its weight or count, where there is one
    own: bool  # the history held it before


@dataclass(frozen=True)
class BeforeAfter:
    """A person's histories, and what a release shows of them."""

    kind: str
    before: tuple[Before, ...]  # what went first
    after: tuple[After, ...]
    histories: int
    released: int  # of these


@dataclass(frozen=True)
class Someone:
    """A person to look at, by number: the private folder alone says who it is."""

    number: int
    terms: int
    is_released: bool


def some_people(private: Path, most: int) -> list[Someone]:
    """Return a few people, from the one with the most terms to the one with the fewest."""
    numbers, persons, membership = _people(private)
    lengths = np.bincount(as_array(privates.load_terms(private)["history"]), minlength=len(membership))
    terms = np.bincount(numbers, lengths[as_array(membership["history"])], len(persons)).astype(np.int64)
    is_released = np.zeros(len(persons), np.bool_)
    is_released[numbers[np.asarray(membership["release_id"].is_valid().to_pylist(), np.bool_)]] = True
    order = np.argsort(-terms, kind="stable")
    places = np.unique(np.linspace(0, len(order) - 1, min(most, len(order))).astype(np.int64))
    return [Someone(int(i), int(terms[i]), bool(is_released[i])) for i in order[places]]


def person_of(private: Path, number: int) -> str:
    """Return the user behind a number."""
    _, persons, _ = _people(private)
    if not 0 <= number < len(persons):
        raise InputError(f"there are {len(persons):,} people, numbered from 1; choose one of them.", field="number")
    return persons[number]


def look(release: Path, private: Path, person: str, *, progress: Progress = silent) -> BeforeAfter:
    """Return a person's history before and after."""
    loaded = load(release, check_rows=False)
    membership = privates.load_membership(private)
    own = membership.filter(pc.equal(membership["person"], person))
    if not own.num_rows:
        raise InputError(UNKNOWN_PERSON, field="person")
    units = own["release_id"].drop_null()
    after = _published(loaded, units)
    before = (
        _with_reasons(release, private, person, progress)
        if loaded.kind in ("histories", "log")
        else _compared(private, own["history"], loaded.kind, {entry for entry, _ in after})
    )
    held = {row.entry for row in before}
    shown = tuple(After(entry, figure, entry in held) for entry, figure in after)
    return BeforeAfter(loaded.kind, tuple(before), shown, own.num_rows, len(units))


def _people(private: Path) -> tuple[NDArray[np.int64], list[str], pa.Table]:
    """Return the number of each history's person, the people in that order, and the membership."""
    membership = privates.load_membership(private)
    encoded = membership["person"].combine_chunks().dictionary_encode()
    return as_array(encoded.indices).astype(np.int64), encoded.dictionary.to_pylist(), membership


def _with_reasons(release: Path, private: Path, person: str, progress: Progress) -> list[Before]:
    found = why(WhyRequest(release=release, private=private, user=person), progress=progress)
    return [Before(fate.term, fate.count, fate.kept, fate.sentence(found.required)) for fate in found.fates]


def _compared(private: Path, histories: pa.ChunkedArray, kind: str, published: set[str]) -> list[Before]:
    """Return a person's entries, each with whether it is published; what is not comes first."""
    pairs = privates.load_terms(private)
    own = pairs.filter(pc.is_in(pairs["history"], histories.combine_chunks()))
    kept, gone = {
        "groups": (_IN_GROUP, _NOT_IN_GROUP),
        "vocabularies": (_IN_VOCABULARY, _NOT_IN_VOCABULARY),
    }.get(kind, (_KEPT_QUERY, _GONE_QUERY))
    entries = zip(own["term"].cast(pa.string()).to_pylist(), own["count"].to_pylist(), strict=True)
    rows = [Before(entry, count, entry in published, kept if entry in published else gone) for entry, count in entries]
    return sorted(rows, key=lambda row: (row.kept, row.entry))


def _published(release: Release, units: pa.ChunkedArray) -> Sequence[tuple[str, str]]:
    """Return what a release shows of some of its histories or groups, with a figure where there is one."""
    column = "group" if release.kind == "groups" else "user"
    rows = release.rows.filter(pc.is_in(release.rows[column], units.combine_chunks()))
    if release.kind == "groups":
        rows = rows.sort_by([("weight", "descending"), ("term", "ascending")])
        return [(row["term"], f"{row['weight']:.2f}") for row in rows.select(["term", "weight"]).to_pylist()]
    if release.kind == "vocabularies":
        rows = rows.sort_by([("count", "descending"), ("term", "ascending")])
        return [(row["term"], f"{row['count']:,}") for row in rows.select(["term", "count"]).to_pylist()]
    entry = "query" if release.kind == "queries" else "term"
    counted = (
        rows.group_by(entry).aggregate([([], "count_all")]).sort_by([("count_all", "descending"), (entry, "ascending")])
    )
    return [(row[entry], f"{row['count_all']:,}") for row in counted.to_pylist()]
