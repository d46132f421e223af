"""The core types: frozen, and the only things that pass between layers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Progress = Callable[[str, int, int], None]  # stage, done, total


def silent(stage: str, done: int, total: int) -> None:
    """Take progress reports and show nothing."""


def count_runs(values: NDArray[Any]) -> int:
    """Count the different values of an array in which equal ones stand side by side."""
    return int(np.count_nonzero(values[1:] != values[:-1])) + min(1, len(values))


class Tabular:
    """Something with an Arrow table, which pandas and Polars can take."""

    def to_arrow(self) -> Any:
        """Return the rows as an Arrow table."""
        raise TypeError(f"{type(self).__name__} has no rows")

    def to_pandas(self) -> Any:
        """Return the rows as a pandas data frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return the rows as a Polars data frame."""
        import polars

        return polars.from_arrow(self.to_arrow())


@dataclass(frozen=True)
class Vocabulary:
    """Entries (terms, or whole queries) by id; the id is the position."""

    entries: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, entry_id: int) -> str:
        return self.entries[entry_id]


@dataclass(frozen=True, eq=False)
class Profiles(Tabular):
    """Histories × entries in compressed sparse rows.

    Entry ids fall with the number of people who hold the entry, ties by text; histories stand in log order, all
    histories of one person side by side.
    """

    vocabulary: Vocabulary
    indptr: NDArray[np.int64]  # (histories + 1,): row h is ids[indptr[h]:indptr[h + 1]]
    ids: NDArray[np.int32]  # (pairs,): ascending and unique within a row
    counts: NDArray[np.int32]  # (pairs,): queries of the history that hold the entry
    owner: NDArray[np.int32]  # (histories,): the person of each history, ascending
    persons: tuple[str, ...] = field(repr=False)  # person → the identifier in the log
    log_history: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    # (histories,): the history's number in the log the profiles were built from
    partition: NDArray[np.int32] | None = None  # (histories,): which part of the log, where it was cut
    partition_values: tuple[str, ...] = ()
    weights: NDArray[np.float64] | None = None  # (pairs,): how much of the history the entry is; None: 1 each

    @property
    def n_histories(self) -> int:
        """Count the histories, empty ones included."""
        return len(self.indptr) - 1

    def to_arrow(self) -> Any:
        """Return the rows `history, person, entry, count`; the person is the identifier in the log."""
        import pyarrow as pa

        history = np.repeat(np.arange(self.n_histories), np.diff(self.indptr))
        persons = pa.array(self.persons, pa.string())
        return pa.table(
            {
                "history": history,
                "person": persons.take(pa.array(self.owner[history])),
                "entry": pa.array(self.vocabulary.entries, pa.string()).take(pa.array(self.ids)),
                "count": self.counts,
            }
        )

    def _repr_html_(self) -> str:
        return (
            f"<b>profiles</b>: {self.n_histories:,} histories of {self.n_people:,} people, "
            f"{len(self.vocabulary):,} distinct entries, {len(self.ids):,} pairs"
        )

    @property
    def n_people(self) -> int:
        """Count the people who have a history."""
        return count_runs(self.owner)


def only(profiles: Profiles, mask: NDArray[np.bool_]) -> Profiles:
    """Return the profiles with only some of their pairs; histories may become empty, ids stay as they are."""
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(mask, dtype=np.int64)))
    return replace(
        profiles,
        indptr=before[profiles.indptr],
        ids=profiles.ids[mask],
        counts=profiles.counts[mask],
        weights=None if profiles.weights is None else profiles.weights[mask],
    )


@dataclass(frozen=True, eq=False)
class Kept:
    """What a deleting method returns: which pairs of its `Profiles` stay, and what it did."""

    mask: NDArray[np.bool_]  # (pairs,)
    summary: Mapping[str, Any] = field(default_factory=dict)
    settled: Mapping[str, int] = field(default_factory=dict)  # parameters of the claim that the run has found


@dataclass(frozen=True)
class Lists:
    """Words by which a query is about a person, a place or something private; all as terms joined by single spaces."""

    names: frozenset[str]  # words that are names by themselves
    first_names: frozenset[str]  # that may be common words too; with a last name after them they are a name
    last_names: frozenset[str]
    places: frozenset[str]  # of one or more words
    words: frozenset[str]  # private words, of one or more words each


@dataclass(frozen=True, eq=False)
class Features:
    """Histories × dimensions of meaning in compressed sparse rows: what histories are compared by, never published."""

    indptr: NDArray[np.int64]  # (histories + 1,)
    ids: NDArray[np.int32]  # (pairs,): ascending and unique within a row
    values: NDArray[np.float64]  # (pairs,): above 0
    n_dimensions: int


@dataclass(frozen=True, eq=False)
class Grouped:
    """What a grouping method returns: the group of every history, what is published of each group, what it did."""

    group: NDArray[np.int32]  # (histories,): −1 where the history is suppressed
    indptr: NDArray[np.int64]  # (groups + 1,): row g is the representative of group g, over the entries of `Profiles`
    ids: NDArray[np.int32]  # (published pairs,): ascending and unique within a row
    weights: NDArray[np.float64]  # (published pairs,)
    summary: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_groups(self) -> int:
        """Count the groups."""
        return len(self.indptr) - 1


@dataclass(frozen=True, eq=False)
class Published:
    """What a method of vocabularies returns: the bag of names published of every history, and what it did.

    A name is a term of the log, level 0, or stands for several of them. What stands behind it in one history is not
    kept: a measure finds that from the original and the released bag, so that it can be taken of any such release.
    """

    terms: tuple[str, ...]  # names: terms of the log, or of what they were generalised to
    indptr: NDArray[np.int64]  # (histories + 1,): row h is what is published of history h, empty if suppressed
    ids: NDArray[np.int32]  # (rows,): places in `terms`, ascending within a history; twice if at several levels
    counts: NDArray[np.int32]  # (rows,): occurrences, at least 1
    levels: NDArray[np.int32]  # (rows,): 0 as typed, else how many steps what it stands for was generalised at most
    summary: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ReleasedVocabularies:
    """The vocabularies of a release over numbered terms."""

    users: NDArray[np.int64]  # (histories,): the ids in the release, ascending
    indptr: NDArray[np.int64]  # (histories + 1,)
    ids: NDArray[np.int32]  # (rows,): ascending within a history, then by level
    counts: NDArray[np.int32]  # (rows,)
    levels: NDArray[np.int32]  # (rows,)
    terms: tuple[str, ...]  # in the order of the texts


@dataclass(frozen=True, eq=False)
class ReleasedGroups:
    """The groups of a release over numbered terms."""

    groups: NDArray[np.int64]  # (groups,): the ids in the release, ascending
    indptr: NDArray[np.int64]  # (groups + 1,)
    ids: NDArray[np.int32]  # (rows,): terms in the order of the rows, which is that of the texts if nothing is wrong
    weights: NDArray[np.float64]  # (rows,)
    terms: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Members:
    """Who is in which group, and what each person's profile was: the private side of a release of groups."""

    group: NDArray[np.int32]  # (people,): the place among the released groups; −1 where the person is suppressed
    indptr: NDArray[np.int64]  # (people + 1,)
    ids: NDArray[np.int32]  # (pairs,): places in `terms`, ascending and unique within a person
    weights: NDArray[np.float64]  # (pairs,)
    terms: tuple[str, ...]  # begins with the terms of the release, in their order; then those that were not released


@dataclass(frozen=True, eq=False)
class LogPair:
    """People × documents, before and after: how often each person issued each query, and how often it was released.

    A row is a document of a person that is on either side. Every person has something before; people of whom nothing
    was released have nothing after.
    """

    indptr: NDArray[np.int64]  # (people + 1,): the rows of each person
    ids: NDArray[np.int32]  # (rows,): documents, ascending and unique within a person
    before: NDArray[np.int64]  # (rows,): the person's queries of the original
    after: NDArray[np.int64]  # (rows,): those of the release
    persons: tuple[str, ...] = field(repr=False)  # person → the identifier in the original
    sensitivity: NDArray[np.float64] | None = (
        None  # (rows,): how likely what a reader sees of it is sensitive, if asked
    )
    own_sensitivity: NDArray[np.float64] | None = None  # (rows,): likewise of the document as it was issued
    n_strangers: int = 0  # people of the release who are not in the original
    unit: Literal["query", "term"] = "query"  # what documents are

    @property
    def n_people(self) -> int:
        """Count the people of the original."""
        return len(self.indptr) - 1

    @cached_property
    def person(self) -> NDArray[np.int64]:
        """Return the person of every row."""
        return np.repeat(np.arange(self.n_people), np.diff(self.indptr))

    @cached_property
    def n_before(self) -> NDArray[np.int64]:
        """Count the queries of every person in the original."""
        return self._by_person(self.before)

    @cached_property
    def n_after(self) -> NDArray[np.int64]:
        """Count the queries of every person in the release."""
        return self._by_person(self.after)

    @cached_property
    def share_before(self) -> NDArray[np.float64]:
        """Return how likely each row's document is among the person's queries of the original."""
        return np.asarray(self.before / self.n_before[self.person], np.float64)

    @cached_property
    def share_after(self) -> NDArray[np.float64]:
        """Return the same for those of the release; 0 where nothing was released."""
        return np.asarray(self.after / np.maximum(1, self.n_after)[self.person], np.float64)

    def _by_person(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        total = np.concatenate((np.zeros(1, np.int64), np.cumsum(values)))
        return np.diff(total[self.indptr])


def printable(text: str) -> str:
    """Write a text of somebody's file so that it cannot steer a terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


@dataclass(frozen=True)
class Violation:
    """The smallest combination that breaks a guarantee, and how many have it."""

    entries: tuple[str, ...]
    support: int
    required: int

    def __str__(self) -> str:
        holders = "1 holder has" if self.support == 1 else f"{self.support} holders have"
        return f"{{{', '.join(map(printable, self.entries))}}}: {holders} it, at least {self.required} must"


@dataclass(frozen=True)
class Verdict:
    """What a verifier found: the claim, whether it holds, what was counted, and the smallest counterexample."""

    claim: str
    state: Literal["holds", "violated", "unchecked"]
    counted: Literal["people", "histories", "nothing"]  # nothing: the claim is about each query by itself
    checked: int = 0  # combinations (or queries) looked at
    violations: int = 0
    counterexample: Violation | None = None
    reason: str = ""  # why it is violated or could not be checked, where there is no counterexample
    unit: Literal["combinations", "queries"] = "combinations"  # what was looked at

    @property
    def holds(self) -> bool:
        """Say whether the claim was checked and holds."""
        return self.state == "holds"

    def sentence(self) -> str:
        """Say in a sentence what the verifier found."""
        counted = "people" if self.counted == "people" else "histories; that these are different people needs --private"
        if self.holds:
            counting = "" if self.counted == "nothing" else f", counting {counted}"
            return f"{self.claim} holds: {self.checked:,} {self.unit} checked{counting}."
        if self.state == "unchecked":
            return f"{self.claim} could not be checked: {self.reason}."
        parts = [self.reason] if self.reason else []
        if self.counterexample is not None:
            others = self.violations - 1
            what = "combinations of that size" if self.unit == "combinations" else self.unit
            more = f", and {others:,} more {what} fall short" if others > 0 else ""
            parts.append(f"{self.counterexample} (counting {counted}){more}")
        elif self.checked and not self.violations:
            parts.append("the rows that are there keep the claim")
        return f"{self.claim} is violated: {'; '.join(parts)}."

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        found = self.counterexample
        return {
            "claim": self.claim,
            "state": self.state,
            "counted": self.counted,
            "checked": self.checked,
            "violations": self.violations,
            "counterexample": None if found is None else {"terms": list(found.entries), "support": found.support},
            "reason": self.reason,
        }

    def _repr_html_(self) -> str:
        return f"<b>{escape(self.state)}</b>: {escape(self.sentence())}"


@dataclass(frozen=True)
class Score:
    """One figure of a measure: its value, how it was got, and which way is better."""

    measure: str  # the measure's text name
    label: str
    value: float | None  # None: it cannot be known from what was given
    original: float | None = None  # the same figure of the original log, where it has one
    unit: str = "%"
    units_counted: int = 0  # over how many people, terms or pairs
    interval: tuple[float, float] | None = None
    better: Literal["higher", "lower", ""] = "higher"  # "": neither
    note: str = ""

    def figure(self, value: float | None) -> str:
        """Write one of the score's figures with its unit."""
        if value is None:
            return "–"
        return f"{value:.1f} %" if self.unit == "%" else f"{value:.3f} {self.unit}".rstrip()


def html_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a plain HTML table of texts, for notebooks."""
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


class Scores(list[Score]):
    """The scores of a release; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        rows = [(s.measure, s.label, s.figure(s.original), s.figure(s.value), s.note) for s in self]
        return html_table(("measure", "", "original", "release", ""), rows)


Risk = Literal["singling out", "linkability", "inference"]  # the regulators' words (WP29, opinion 05/2014)


@dataclass(frozen=True)
class Rate:
    """A share between 0 and 1 with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} %"


@dataclass(frozen=True)
class AttackResult:
    """What an attack reached with so much knowledge, beside its control, a guess, and the same attack on the log."""

    attack: str  # the attack's text name
    risk_of: Risk
    knowledge: str  # what of a person the attacker knows
    rate: Rate  # of success against the release
    control: Rate  # the same attack on people who are not in what is attacked
    baseline: Rate  # guessing
    risk: Rate  # what the attack reaches above its control, of what there is to reach
    original: Rate  # the same attack on the log, merely pseudonymised: low, the attack is too weak to show anything
    targets: int
    controls: int
    controlled_by: str  # who is attacked in the control
    crowd: float | None = None  # the median number of people that a found target hides among
    smallest: int | None = None  # and the smallest
    note: str = ""

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return asdict(self)
