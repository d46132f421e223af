"""Terms of a release compared with those of its log on Spark, and the measure `unique` (see `measures.privacy.unique`).

Histories and their terms are drawn by a hash of the history, the term and the seed, so the draws do not depend on how
Spark partitions the data; they differ from those on one machine, with the same probabilities. Every task reports which
of the drawn combinations another owner among its histories holds.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.core.rows import indptr_of, row_numbers
from queryveil.engines.spark.sql import history_counts
from queryveil.kernels.km.supports import postings
from queryveil.kernels.uniqueness import Crowd, find_alone
from queryveil.kinds.base import KEEPABLE, PLURALS, Counts, Kind
from queryveil.measures.base import Ownership
from queryveil.measures.privacy.unique import MOST_HISTORIES, expected_hits, scores_of
from queryveil.measures.utility.retention import RetentionCounts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_HASHES = 1 << 63
_ORIGINAL_SEED = 0  # a log always gives the same figure, however it was released
_SPARE = 1.1  # factor by which more are drawn than needed, so that rarely too few are left
_DRAWN = "hash LONG, owner STRING, history INT, terms ARRAY<STRING>"
Drawn = Sequence[tuple[str, Sequence[str]]]  # the owner and the terms of every drawn combination


@dataclass(frozen=True)
class DistributedComparison:
    """An original log and what was released of it: `owner, history, entries, counts` of each history.

    The owner is the person, in the release the history itself where the private folder is not given.
    """

    kind: Kind  # says what an item is: a term or a whole query
    original: "DataFrame"
    released: "DataFrame"
    is_linked: bool  # it is known whose the released histories are
    seed: int = 0  # of random draws, which are made by hashes

    @cached_property
    def before(self) -> Counts:
        """Count the original."""
        return Counts(*history_counts(self.original, "owner"))

    @cached_property
    def after(self) -> Counts:
        """Count the release."""
        return Counts(*history_counts(self.released, "owner"))

    @property
    def ownership(self) -> Ownership:
        """Return what is known about whose the released histories are."""
        if self.before.histories == self.before.people:
            return "one each"
        return "known" if self.is_linked else "unknown"

    def retention(self) -> RetentionCounts:
        """Return the counts that the measure retention compares."""
        before, after = self.before, self.after
        return RetentionCounts(
            PLURALS[self.kind.unit],
            (after.terms, before.terms),
            (self._released_occurrences(), before.occurrences),
            (after.people, before.people) if self.is_linked else (after.histories, before.histories),
            (after.pairs, before.pairs),
            self.ownership != "unknown",
        )

    def _released_occurrences(self) -> int | None:
        """Return how often the released items occur in the log; None where that is not known."""
        if self.kind.has_occurrences:
            return self.after.occurrences
        if not self.is_linked:
            return None
        before, after = (
            frame.selectExpr("owner", "history", "explode(arrays_zip(entries, counts)) AS pair").selectExpr(
                "owner", "history", "pair.entries AS entry", "pair.counts AS n"
            )
            for frame in (self.original, self.released)
        )
        both = before.join(after.drop("n"), ["owner", "history", "entry"])
        return int(both.agg({"n": "sum"}).collect()[0][0] or 0)


def measure_uniqueness(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the share of histories that m of their terms single out, in the release and in the original."""
    comparison, m = evidence.get(DistributedComparison), measure.integer("m")
    if measure.word("by") in KEEPABLE:
        raise InputError(f"the measure {measure} has no Spark form; use --engine local.")
    progress("counting who is singled out", 0, 2)
    before = _count_singled_out(comparison.original, comparison.before.histories, m, _ORIGINAL_SEED)
    progress("counting who is singled out", 1, 2)
    after = _count_singled_out(comparison.released, comparison.after.histories, m, comparison.seed)
    progress("counting who is singled out", 2, 2)
    return scores_of(measure, comparison.kind.unit, before, after, comparison.ownership)


def _count_singled_out(histories: "DataFrame", n_histories: int, m: int, seed: int) -> tuple[float, int]:
    """Return how many histories m random terms single out, and how many were looked at."""
    if m == 1:
        return expected_hits(_count_lone_terms(histories)), n_histories
    share = min(1.0, _SPARE * MOST_HISTORIES / max(1, n_histories))
    found = histories.select("owner", "history", "entries").mapInArrow(_Draw(m, seed, share), _DRAWN)
    if share < 1.0:
        found = found.orderBy("hash", "owner", "history").limit(MOST_HISTORIES)
    drawn = [(row["owner"], tuple(row["terms"])) for row in found.select("owner", "terms").collect()]
    others = histories.select("owner", "entries").mapInArrow(_Others(drawn), "combination LONG")
    return len(drawn) - others.distinct().count(), len(drawn)


def _count_lone_terms(histories: "DataFrame") -> dict[int, int]:
    """Return how many terms of histories only one owner holds, by the length of the history."""
    from pyspark.sql import functions as f

    pairs = histories.selectExpr("owner", "size(entries) AS length", "explode(entries) AS entry")
    # by entry and length first, so that the list of a common entry is short
    by_length = pairs.groupBy("entry", "length").agg(f.min("owner"), f.max("owner"), f.count(f.lit(1)))
    by_length = by_length.toDF("entry", "length", "lowest", "highest", "n")
    found = f.collect_list(f.struct("length", "n")).alias("found")
    by_entry = by_length.groupBy("entry").agg(f.min("lowest").alias("lowest"), f.max("highest").alias("highest"), found)
    alone = by_entry.where("lowest = highest").selectExpr("inline(found)")
    return {int(row[0]): int(row[1]) for row in alone.groupBy("length").sum("n").collect()}


def _hash(*parts: object) -> int:
    text = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


@dataclass(frozen=True)
class _Draw:
    """Draws a share of the histories, and m terms of each, or all where there are fewer."""

    m: int
    seed: int
    share: float

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [self._draw(row["owner"], row["history"], row["entries"]) for row in batch.to_pylist()]
            columns = list(zip(*(row for row in rows if row is not None), strict=True)) or [(), (), (), ()]
            kinds = (pa.int64(), pa.string(), pa.int32(), pa.list_(pa.string()))
            names = [column.split()[0] for column in _DRAWN.split(", ")]
            arrays = [pa.array(list(column), kind) for column, kind in zip(columns, kinds, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names)

    def _draw(self, owner: str, history: int, entries: list[str]) -> tuple[int, str, int, list[str]] | None:
        number = _hash(self.seed, owner, history)
        if not entries or number >= self.share * _HASHES:
            return None
        return number, owner, history, sorted(entries, key=lambda term: (_hash(number, term), term))[: self.m]


@dataclass(frozen=True)
class _Others:
    """Reports which combinations a history of another owner holds."""

    drawn: Drawn

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        given = list(batches)
        if not given:
            return
        table = pa.Table.from_batches(given).combine_chunks()
        found = shared_with_others(table["owner"].combine_chunks(), table["entries"].combine_chunks(), self.drawn)
        yield pa.RecordBatch.from_pydict({"combination": found})


def shared_with_others(
    owners: pa.Array, entries: pa.ListArray, drawn: Drawn
) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return the numbers of the combinations that a history of another owner holds."""
    owner, words = owners.dictionary_encode(), entries.flatten().dictionary_encode()
    people = np.bincount(words.indices.to_numpy(), minlength=len(words.dictionary))
    by_number = np.argsort(-people, kind="stable")  # rarer terms have larger ids
    rank = np.empty(len(by_number), np.int32)
    rank[by_number] = np.arange(len(by_number), dtype=np.int32)
    lengths = entries.value_lengths().to_numpy()
    row = row_numbers(indptr_of(lengths))
    ids = rank[words.indices.to_numpy()]
    order = np.lexsort((ids, row))
    # one more history without terms, of no owner here: it stands for owners whose histories are in other tasks
    indptr = indptr_of(np.append(lengths, 0))
    owner_of = np.append(owner.indices.to_numpy(), -1).astype(np.int32)
    crowd = Crowd(indptr, ids[order], owner_of, *postings(indptr, ids[order], len(rank)))
    position = {person: i for i, person in enumerate(owner.dictionary.to_pylist())}
    first = np.full(len(position) + 1, len(lengths), np.int64)  # a history of each owner; for other owners the last
    first[owner.indices.to_numpy()] = np.arange(len(lengths))
    number = dict(zip(words.dictionary.to_pylist(), rank.tolist(), strict=True))
    m = max((len(terms) for _, terms in drawn), default=1)
    known, histories, combinations = [], [], []
    for i, (person, terms) in enumerate(drawn):
        held = sorted(number.get(term, -1) for term in terms)
        if held[0] >= 0:
            known.append(i)
            histories.append(first[position.get(person, -1)])
            combinations.append([-1] * (m - len(held)) + held)
    drawn_terms = np.array(combinations, np.int32).reshape(len(known), m)
    alone = find_alone(crowd, np.array(histories, np.int64), drawn_terms)
    return np.array(known, np.int64)[~alone]
