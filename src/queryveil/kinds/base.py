"""What every kind of release supplies."""

import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from queryveil.core.arrow import as_array
from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import Declaration, ResolvedName, declarations, nearest
from queryveil.core.rows import BoolArray, IntArray, count_runs, select_entries
from queryveil.engines import QueryLog
from queryveil.engines.kept_columns import FORMS, NOTHING_KEPT, KeptColumns
from queryveil.histories.profiles import Profiles
from queryveil.kinds import OWN_KINDS
from queryveil.kinds.private_folder import PrivateFolder

if TYPE_CHECKING:
    from queryveil.histories.pairs import Match

KEEPABLE = tuple(FORMS)  # columns of a log that some kinds release as well
PLURALS = {"term": "terms", "query": "queries", "time": "times", "rank": "ranks", "url": "URLs"}
COLUMNS = {  # what each column of a release says
    "user": "one history, numbered by the rank of its content among the released contents",
    "query_id": "one query of a history, numbered likewise",
    "term": "a term, as typed unless a column level says that it was generalised",
    "query": "a query as it was compared: in lower case, its terms joined by single spaces; one row per issue",
    "group": "one group of people, numbered by the rank of its content",
    "weight": "how much of the group's profile the term is",
    "count": "how often the term is in the vocabulary",
    "level": "0 for a term as typed, above 0 for one that was generalised",
    "time": "when the query was issued; with time:minute, time:hour or time:day the beginning of that",
    "rank": "the rank of the result that was clicked; with rank:bucket 1, 2-3, 4-10 or 11+",
    "url": "the URL that was clicked; with url:domain its host name without www.",
    "partition": "the part of the log: the value of the column by which it was cut",
}
PAIR_MEASURES = ("impressions", "jsd", "spi", "exposed", "worst")  # defaults where people can be linked


@dataclass(frozen=True)
class Counts:
    """The counts of a log or a release, as a manifest states them."""

    people: int
    histories: int
    terms: int
    pairs: int
    occurrences: int
    more: Mapping[str, int] = field(default_factory=dict)  # what only some kinds count

    @classmethod
    def of(cls, profiles: Profiles, mask: BoolArray | None = None) -> "Counts":
        """Count the profiles, or only their masked pairs."""
        kept: BoolArray | slice = slice(None) if mask is None else mask
        indptr, ids = profiles.indptr if mask is None else select_entries(profiles.indptr, mask), profiles.ids[kept]
        is_filled = indptr[1:] > indptr[:-1]
        return cls(
            count_runs(profiles.owner[is_filled]),
            int(np.count_nonzero(is_filled)),
            int(np.count_nonzero(np.bincount(ids))),
            len(ids),
            int(profiles.counts[kept].sum(dtype=np.int64)),
        )

    def record(self) -> dict[str, int]:
        """Return the figures by name."""
        figures: dict[str, Any] = asdict(self)
        more: dict[str, int] = figures.pop("more")
        return figures | more


def wrong_counts(found: Mapping[str, int], stated: Mapping[str, int], where: str, what: str = "after") -> list[str]:
    """Return a sentence for every count of the manifest that is not what was counted."""
    wrong = [name for name in found if stated.get(name) != found[name]]
    return [f"the manifest gives another number of {name} than the {where} (counts, {what})" for name in wrong]


@dataclass(frozen=True, eq=False)
class ReleaseContent:
    """The rows of a release, and the release id of every history (private)."""

    rows: pa.Table
    release_ids: IntArray  # (histories of the profiles,), or (pieces of them,): -1 where nothing is released
    suppressed: Mapping[str, int] = field(default_factory=dict)  # kept column → values that too few people share
    frozen: tuple[int, ...] = ()  # ids of what is published as in an earlier release
    history_of: IntArray | None = None  # (pieces,): the history of each, ascending; None: each history is in one piece


@dataclass(frozen=True)
class DefaultMeasure:
    """A measure that is taken of a release of a kind unless others are named."""

    name: str  # with {parameter} for parameters of the claim
    needs_any: frozenset[str] = frozenset()  # inputs of which at least one must be given; empty: none is needed
    when_made: bool = True  # it is also taken when the release is made


@dataclass(frozen=True)
class Kind(Declaration):
    """A kind of release: its schema, how it is encoded and decoded, and what can be done with it."""

    columns: Mapping[str, str] = field(default_factory=dict)  # name → Arrow type; the first identifies the unit
    sorted_by: tuple[str, ...] = ()  # the columns by which rows ascend; those of type int64 are numbered from 0
    has_equal_rows: bool = False  # rows may be equal in these columns
    unit: Literal["term", "query"] = "term"  # what an item of the profiles is
    content: str = "terms"  # what the rows hold, for sentences
    example_claim: str = ""  # a claim that can be made about it
    crowd: str = "term"  # the published thing that a crowd of people shares
    keepable: tuple[str, ...] = ()  # columns of the log that may be released as well
    has_occurrences: bool = False  # the release says how often an item occurs
    needs_private: bool = False  # who is behind it cannot be verified without the private folder
    answers_searches: bool = False  # searches can be personalised with it
    reads_foreign_files: bool = False  # anybody's file of histories can be verified as if it were of this kind
    reads_profile_files: bool = False  # the source may be a file of profiles in place of a log
    needs_profiles_only: bool = False  # unless columns are kept, it is encoded without the log, which can be closed
    needs_whole_people: bool = False  # a history must be all of a person's queries
    allows_partitions: bool = False  # the log may be cut into partitions that keep the guarantee one by one
    is_generalized: bool = False  # a published term may stand for others near it in meaning
    is_order_lost: bool = False  # of a query only the words that are not stop words are left, in no order
    matches: "tuple[Match, ...]" = ()  # how its queries can be matched with the log's; the default first
    deletes_terms: bool = False  # it is the log with terms deleted, so that there is a reason for every missing one
    fates: tuple[str, str] = ("released", "not released")  # what is said of an item that is, or is not, published
    after_heading: str = "After"  # of a person's released history
    comparison: str = ""  # "module:view" in which its releases are put side by side; empty: they are not
    comparison_note: str = ""  # how its figures differ from those of other kinds with the same view
    figure: tuple[str, str] = ("", ",d")  # the column that weighs an item, and its format; "": its rows are counted
    default_measure_specs: tuple[DefaultMeasure, ...] = ()  # taken unless some are named
    checked: str = "Combinations checked"  # what the verifier of its claims counts
    measures: tuple[str, ...] = ()  # measures that name other kinds and apply to this one as well
    attacks: tuple[str, ...] = ()  # likewise
    report_section: str = "kinds/scores.html.j2"  # the template of its part of the report, or "package:template"
    frame: str = ""  # "module:layout" by which a cluster makes its rows; empty: a cluster cannot make it

    # ---- making a release

    def encode(
        self, outcome: Any, profiles: Profiles, log: QueryLog | None = None, kept: KeptColumns = NOTHING_KEPT
    ) -> ReleaseContent:
        """Return the rows of a method's outcome in canonical order."""
        raise NotImplementedError

    def counts(self, outcome: Any, profiles: Profiles, content: ReleaseContent) -> Counts:
        """Count what is released."""
        raise NotImplementedError

    def evidence_of_profiles(self, rows: pa.Table, profiles: Profiles, content: ReleaseContent, floor: int) -> Evidence:
        """Return the evidence of a release that has just been made, from what it was made of."""
        raise NotImplementedError

    # ---- reading one back

    def schema(self) -> pa.Schema:
        """Return the Arrow schema of the rows."""
        return pa.schema([(name, pa.type_for_alias(alias)) for name, alias in self.columns.items()])

    def watch_order(self, tables: Iterable[pa.Table], faults: list[str]) -> Iterator[pa.Table]:
        """Yield tables of rows, and note once if they are not in the order of the kind, which could tell more."""
        last: list[pa.RecordBatch] = []  # the row before the batch
        for table in tables:
            for batch in (batch for batch in table.to_batches() if batch.num_rows and self.sorted_by):
                if not faults and not self._continues(last, batch):
                    faults.append("the rows are not numbered and sorted as those of their kind are")
                last = [batch.slice(batch.num_rows - 1)]
            yield table

    def _continues(self, last: list[pa.RecordBatch], batch: pa.RecordBatch) -> bool:
        """Return whether a batch of rows is in order and goes on with the numbers of the row before it."""
        import pyarrow.compute as pc  # slow to import, and commands that list names read no rows

        columns = [pa.Table.from_batches([*last, batch])[name].combine_chunks() for name in self.sorted_by]
        if any(column.null_count for column in columns):
            return True  # such rows are refused when they are decoded
        is_tied = pc.equal(columns[0][1:], columns[0][1:])  # everywhere
        for column in columns:
            is_less, is_equal = (compare(column[1:], column[:-1]) for compare in (pc.less, pc.equal))
            is_wrong = pc.and_(is_tied, is_less)
            if pa.types.is_int64(column.type):
                ids = as_array(column)
                if not np.isin(np.diff(ids), (0, 1)).all() or (not last and ids[0] != 0):
                    return False
                is_wrong = pc.or_(is_wrong, pc.and_not(is_equal, is_tied))  # a part of two units
            is_tied = pc.and_(is_tied, is_equal)
            if pc.any(is_wrong).as_py():
                return False
        return self.has_equal_rows or not pc.any(is_tied).as_py()

    def read_evidence(self, rows: pa.Table, private: PrivateFolder | None, floor: int) -> Evidence:
        """Return the evidence of a release that was read, with its private folder where that is given."""
        raise NotImplementedError

    def count_rows(self, evidence: Evidence) -> Mapping[str, int]:
        """Count again from the rows what the manifest states."""
        return {}

    def private_faults(
        self, evidence: Evidence, private: PrivateFolder, counts: Mapping[str, int], *, is_intact: bool
    ) -> list[str]:
        """Return where the private folder contradicts the release."""
        return []

    def crowd_members(self, evidence: Evidence, units: IntArray, persons: IntArray) -> tuple[IntArray, IntArray]:
        """Return (published thing, person) pairs from the release ids of people's histories."""
        raise NotImplementedError

    def released_queries(self, rows: pa.Table) -> tuple[pa.Array, pa.Array]:
        """Return the released id and the text of every query; a kind that does not keep queries has none."""
        raise InputError(f"a release of kind {self.name} does not keep queries; measure it by its terms.")

    # ---- defaults

    def default_measures(
        self, claim: ResolvedName, available: frozenset[str], *, when_made: bool = False
    ) -> tuple[str, ...]:
        """Return the measures taken unless some are named; `available` are the inputs that were given."""
        usual = (each for each in self.default_measure_specs if each.when_made or not when_made)
        return tuple(m.name.format(**claim.values) for m in usual if not m.needs_any or m.needs_any & available)

    def match(self, name: str | None) -> "Match":
        """Return how the release's queries are matched with the log's; refuse a match that the kind does not allow."""
        from queryveil.histories.pairs import MATCHES

        if name is None:
            return self.matches[0]
        if name not in MATCHES:
            raise InputError(f"--match: there is no match {name!r}; {nearest(name, MATCHES)}")
        if name not in self.matches:
            raise InputError(
                f"--match {name} cannot be had of a release of kind {self.name}, which does not keep whole queries; "
                f"give {' or '.join(self.matches)}."
            )
        return next(match for match in self.matches if match == name)


FOREIGN_LOG = Kind(  # somebody else's released log: no kind that can be made
    name="file",
    purpose="a log that somebody else released",
    content="queries",
    matches=("exact", "words", "partial", "terms"),
)


def kind_of(name: str) -> Kind:
    """Return the kind of release of a name; one of our own is imported without the others."""
    is_own = name in OWN_KINDS
    kind = pkgutil.resolve_name(f"queryveil.kinds.{name}:{name.upper()}") if is_own else declarations("kind")[name]
    if not isinstance(kind, Kind):
        raise TypeError(f"{name} is registered as a kind of release but is not a Kind")
    return kind
