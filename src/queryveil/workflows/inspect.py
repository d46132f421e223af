"""What the owner of a release can look at: how many people share what is published, and one person's history."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.core.arrow import as_array
from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import IntArray
from queryveil.guarantees import guarantee_of
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.release.reader import Release, load_release
from queryveil.workflows.explain import explain
from queryveil.workflows.requests import WhyRequest


@dataclass(frozen=True)
class Crowds:
    """How many people share the things that a release publishes: terms, queries, vocabularies or groups."""

    unit: str  # the kind of thing that is published
    number: int  # of published things
    smallest: int
    median: float
    largest: int


def crowds(release: Path, private: Path) -> Crowds:
    """Count the people who share each published thing; a person with several histories counts once."""
    loaded = load_release(release, check_rows=False)
    membership = PrivateFolder(private).membership()
    membership = membership.filter(membership["release_id"].is_valid())
    person = as_array(membership["person"].combine_chunks().dictionary_encode().indices).astype(np.int64)
    evidence = loaded.kind.read_evidence(loaded.rows, None, 1)
    things, persons = loaded.kind.crowd_members(evidence, as_array(membership["release_id"]), person)
    pairs = np.unique(np.stack((things, persons)), axis=1)
    _, sizes = np.unique(pairs[0], return_counts=True)
    if not len(sizes):
        return Crowds(loaded.kind.crowd, 0, 0, 0.0, 0)
    return Crowds(loaded.kind.crowd, len(sizes), int(sizes.min()), float(np.median(sizes)), int(sizes.max()))


UNKNOWN_PERSON = (
    "the log has nobody by that name, or cleaning left the person out; give the user as it stands in the log."
)


@dataclass(frozen=True)
class OriginalItem:
    """A term, or a query, of a person's history."""

    entry: str
    count: int  # queries that hold it
    kept: bool
    reason: str


@dataclass(frozen=True)
class PublishedItem:
    """What is published of a history, or of the group or vocabulary that stands for it."""

    entry: str
    figure: str  # its weight or count, where there is one
    own: bool  # the history held it before


@dataclass(frozen=True)
class PersonView:
    """A person's histories, and what a release shows of them."""

    kind: str
    before: tuple[OriginalItem, ...]  # removed items first
    after: tuple[PublishedItem, ...]
    histories: int
    released: int  # of these


@dataclass(frozen=True)
class SamplePerson:
    """A person to look at, by number: the private folder alone says who it is."""

    number: int
    terms: int
    is_released: bool


def sample_people(private: Path, most: int) -> list[SamplePerson]:
    """Return a few people, from the one with the most terms to the one with the fewest."""
    numbers, persons, membership = _people(private)
    lengths = np.bincount(as_array(PrivateFolder(private).encoded_terms()["history"]), minlength=len(membership))
    terms = np.bincount(numbers, lengths[as_array(membership["history"])], len(persons)).astype(np.int64)
    is_released = np.zeros(len(persons), np.bool_)
    is_released[numbers[np.asarray(membership["release_id"].is_valid().to_pylist(), np.bool_)]] = True
    order = np.argsort(-terms, kind="stable")
    places = np.unique(np.linspace(0, len(order) - 1, min(most, len(order))).astype(np.int64))
    return [SamplePerson(int(i), int(terms[i]), bool(is_released[i])) for i in order[places]]


def person_of(private: Path, number: int) -> str:
    """Return the identifier of the person with a number."""
    _, persons, _ = _people(private)
    if not 0 <= number < len(persons):
        raise InputError(f"there are {len(persons):,} people, numbered from 1; choose one of them.", field="number")
    return persons[number]


def number_of(private: Path, person: str) -> int:
    """Return the number of a person, by which alone records name them."""
    _, persons, _ = _people(private)
    if person not in persons:
        raise InputError(UNKNOWN_PERSON, field="person")
    return persons.index(person)


def show_person(release: Path, private: Path, person: str, *, progress: Progress = silent) -> PersonView:
    """Return a person's history before and after."""
    loaded = load_release(release, check_rows=False)
    membership = PrivateFolder(private).membership()
    own = membership.filter(pc.equal(membership["person"], person))
    if not own.num_rows:
        raise InputError(UNKNOWN_PERSON, field="person")
    units = own["release_id"].drop_null()
    after = _published(loaded, units)
    claim = loaded.manifest.claim
    if guarantee_of(claim).largest_shared(claim):
        why = explain(WhyRequest(release=release, private=private, user=person), progress=progress)
        before = [OriginalItem(fate.term, fate.count, fate.kept, fate.sentence(why.required)) for fate in why.fates]
    else:
        before = _compared(private, own["history"], loaded.kind.fates, {entry for entry, _ in after})
    held = {row.entry for row in before}
    shown = tuple(PublishedItem(entry, figure, entry in held) for entry, figure in after)
    return PersonView(loaded.manifest.kind, tuple(before), shown, pc.count_distinct(own["history"]).as_py(), len(units))


def _people(private: Path) -> tuple[IntArray, list[str], pa.Table]:
    """Return the number of each history's person, the people in that order, and the histories."""
    membership = PrivateFolder(private).histories()
    encoded = membership["person"].combine_chunks().dictionary_encode()
    return as_array(encoded.indices).astype(np.int64), encoded.dictionary.to_pylist(), membership


def _compared(
    private: Path, histories: pa.ChunkedArray, fates: tuple[str, str], published: set[str]
) -> list[OriginalItem]:
    """Return a person's items, each with whether it is published; those that are not come first."""
    pairs = PrivateFolder(private).encoded_terms()
    own = pairs.filter(pc.is_in(pairs["history"], histories.combine_chunks()))
    kept, gone = fates
    entries = zip(own["term"].cast(pa.string()).to_pylist(), own["count"].to_pylist(), strict=True)
    rows = [
        OriginalItem(entry, count, entry in published, kept if entry in published else gone) for entry, count in entries
    ]
    return sorted(rows, key=lambda row: (row.kept, row.entry))


def _published(release: Release, units: pa.ChunkedArray) -> Sequence[tuple[str, str]]:
    """Return what a release shows of some of its histories or groups, with a figure where there is one."""
    unit, item, (figure, form) = next(iter(release.kind.columns)), release.kind.unit, release.kind.figure
    rows = release.rows.filter(pc.is_in(release.rows[unit], units.combine_chunks()))
    if not figure:
        figure = "count_all"
        rows = rows.group_by(item).aggregate([([], figure)])
    rows = rows.sort_by([(figure, "descending"), (item, "ascending")])
    return [(row[item], format(row[figure], form)) for row in rows.select([item, figure]).to_pylist()]
