"""Uniqueness: how many people are singled out by m random terms of theirs.

Whoever knows m things that a person searched for finds that person if nobody else in the data searched for all of them.
For m = 1 the share is exact: of every history, the share of terms that one owner alone holds. For larger m, m terms are
drawn from every history, or from a sample of 100,000, each set of m equally likely, and it is counted how often one
owner alone holds them; separately in the release and in the original. A log always gives the same figure, because
draws from the original have a fixed seed (docs/decisions/0034).
"""

import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa

from queryveil.core.arrow import as_array
from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence, KeptValues
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score, wilson
from queryveil.core.rows import BoolArray, Int32Array, IntArray, row_numbers
from queryveil.engines import QueryLog
from queryveil.histories.build import assemble
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.supports import postings
from queryveil.kernels.uniqueness import Crowd, find_alone
from queryveil.kinds.base import KEEPABLE, PLURALS
from queryveil.measures.base import Comparison, Ownership

COMBINATIONS_PER_CALL = 5_000  # takes less than a second, so that an interrupt is noticed
MOST_HISTORIES = 100_000  # sampled: the 95 % interval is at most 0.62 percentage points wide
EMPTY = "the release has no {}"
PER_HISTORY = "a person may have several histories; only other people who hold the terms count"
HISTORIES_COUNTED = "histories are counted as people; --private tells which are the same person's"


def measure_uniqueness(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the share of histories that m of their terms single out, in the release and in the original."""
    comparison, m = evidence.get(Comparison), measure.integer("m")
    if measure.word("by") in KEEPABLE:
        return _measure_kept_column(evidence, measure, comparison.ownership, rng, progress)
    before = count_in_original(comparison.original, m, progress)
    after = count_singled_out(comparison.released, comparison.released_owner(), m, rng, progress)
    return scores_of(measure, comparison.kind.unit, before, after, comparison.ownership)


def _measure_kept_column(
    evidence: Evidence, measure: ResolvedName, ownership: Ownership, rng: np.random.Generator, progress: Progress
) -> list[Score]:
    """Return the share of histories that m of their times, ranks or URLs single out; the log may be closed already."""
    name, m, kept = measure.word("by"), measure.integer("m"), evidence.find(KeptValues)
    if kept is None or name not in kept.table.column_names:
        raise InputError(f"{measure}: the release has no {name}; only one made with --keep {name} has.")
    log, before = evidence.find(QueryLog), None
    if log is not None:
        (column,) = (column for column in log.source.keep if column.name == name)
        if not log.has_values(column):
            raise InputError(f"{measure}: the log has no {name}; name its column by --columns, or leave it out.")
        rows = pa.Table.from_batches(log.batches([column]))
        owner = log.owners_and_partitions()[0][as_array(rows["history"])]
        before = _count_by_values(
            rows.append_column("owner", pa.array(owner)), name, m, np.random.default_rng(m), progress
        )
    return scores_of(measure, name, before, _count_by_values(kept.table, name, m, rng, progress), ownership)


def _count_by_values(
    rows: pa.Table, name: str, m: int, rng: np.random.Generator, progress: Progress
) -> tuple[float, int]:
    """Return how many histories m of their values single out, and how many have a value."""
    rows = rows.select(["history", "owner", name]).drop_null()
    if not len(rows):
        return 0, 0
    encoded = rows[name].combine_chunks().dictionary_encode()
    history, ids = as_array(rows["history"]).astype(np.int32), as_array(encoded.indices).astype(np.int32)
    owner = np.zeros(int(history.max()) + 1, np.int32)
    owner[history] = as_array(rows["owner"])
    profiles = assemble(history, ids, encoded.dictionary.cast(pa.large_string()), owner)
    return count_singled_out(profiles, profiles.owner, m, rng, progress)


def scores_of(
    measure: ResolvedName, unit: str, before: tuple[float, int] | None, after: tuple[float, int], ownership: Ownership
) -> list[Score]:
    """Return the score of (singled out, histories) in the original, where it is known, and in the release.

    Of one known term it is exact.
    """
    m, is_empty = measure.integer("m"), after[1] == 0
    base = "people" if ownership == "one each" else "histories"

    def interval(hits: float, n: int) -> tuple[float, float] | None:
        low, high = wilson(hits, max(1, n))
        return None if m == 1 or not n else (100.0 * low, 100.0 * high)

    n_before = before[1] if before is not None else 0
    counted = f"of {n_before:,} {base} of the log and {after[1]:,} of the release" if n_before else ""
    caution = {"one each": "", "known": PER_HISTORY, "unknown": HISTORIES_COUNTED}[ownership]
    score = Score(
        str(measure),
        f"singled out by {m} random {PLURALS[unit] if m > 1 else 'URL' if unit == 'url' else unit}",
        None if is_empty else 100.0 * after[0] / after[1],
        100.0 * before[0] / n_before if before is not None and n_before else None,
        units_counted=after[1],
        interval=interval(*after),
        original_interval=None if before is None else interval(*before),
        better="lower",
        note=EMPTY.format(PLURALS[unit]) if is_empty else "; ".join(filter(None, (counted, caution))),
        base=base,
    )
    return [score]


def draw(profiles: Profiles, m: int, rng: np.random.Generator) -> tuple[IntArray, Int32Array]:
    """Draw m distinct terms, or all if there are fewer, of every non-empty history or of MOST_HISTORIES of them.

    Returns the histories, and for each a row of m term ids, ascending, with -1 before them if there are fewer.
    Floyd's algorithm: for each of the last m positions of a row, a position up to it is drawn, and if that is taken
    already, the position itself is taken. Every set is equally likely, and no array is as long as the rows.
    """
    length = np.diff(profiles.indptr)
    histories = np.flatnonzero(length)
    if len(histories) > MOST_HISTORIES:
        histories = np.sort(rng.choice(histories, MOST_HISTORIES, replace=False, shuffle=False))
    length = length[histories]
    n_drawn = np.minimum(length, m)
    positions = np.full((len(histories), m), -1, np.int64)
    for step in range(m):
        rows = np.flatnonzero(step < n_drawn)
        last = length[rows] - n_drawn[rows] + step
        drawn = rng.integers(0, last + 1)
        is_taken = (positions[rows, :step] == drawn[:, None]).any(axis=1)
        positions[rows, step] = np.where(is_taken, last, drawn)
    terms = np.full(positions.shape, -1, np.int32)
    is_drawn = positions >= 0
    terms[is_drawn] = profiles.ids[(profiles.indptr[histories][:, None] + positions)[is_drawn]]
    terms.sort(axis=1)
    return histories, terms


def single_out(
    profiles: Profiles, owner: Int32Array, histories: IntArray, combinations: Int32Array, *, progress: Progress = silent
) -> BoolArray:
    """Return for every drawn combination whether its owner alone holds it; owners may be in any order."""
    index = postings(profiles.indptr, profiles.ids, len(profiles.vocabulary))
    crowd = Crowd(profiles.indptr, profiles.ids, owner, *index)
    starts = range(0, len(combinations), COMBINATIONS_PER_CALL)

    def find_batch(start: int) -> BoolArray:
        end = start + COMBINATIONS_PER_CALL
        return find_alone(crowd, histories[start:end], combinations[start:end])

    alone = [np.zeros(0, np.bool_)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the kernel releases the global interpreter lock
        try:
            for batch in pool.map(find_batch, starts):
                alone.append(batch)
                progress("counting who is singled out", len(alone), len(starts) + 1)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return np.concatenate(alone)


def count_singled_out(
    profiles: Profiles, owner: Int32Array, m: int, rng: np.random.Generator, progress: Progress
) -> tuple[float, int]:
    """Return how many histories m random terms single out, and how many were looked at."""
    if m == 1:
        return expected_hits(count_lone_terms(profiles, owner)), int(np.count_nonzero(np.diff(profiles.indptr)))
    histories, combinations = draw(profiles, m, rng)
    alone = single_out(profiles, owner, histories, combinations, progress=progress)
    return int(np.count_nonzero(alone)), len(alone)


def count_in_original(profiles: Profiles, m: int, progress: Progress) -> tuple[float, int]:
    """Return how many histories of an original log m random terms single out, and how many were looked at."""
    return count_singled_out(profiles, profiles.owner, m, np.random.default_rng(m), progress)


def count_lone_terms(profiles: Profiles, owner: Int32Array) -> dict[int, int]:
    """Return how many terms of histories only one owner holds, by the length of the history."""
    history = row_numbers(profiles.indptr, np.int32)
    holder, last = owner[history], np.zeros(len(profiles.vocabulary), np.int32)
    last[profiles.ids] = holder  # one of the owners who hold a term
    is_shared = np.zeros(len(last), np.bool_)
    is_shared[profiles.ids[holder != last[profiles.ids]]] = True
    is_alone = ~is_shared[profiles.ids]
    lengths, counts = np.unique(np.diff(profiles.indptr)[history[is_alone]], return_counts=True)
    return dict(zip(lengths.tolist(), counts.tolist(), strict=True))


def expected_hits(lone_terms: Mapping[int, int]) -> float:
    """Return how many histories one random term singles out on average, given `count_lone_terms`."""
    return math.fsum(count / length for length, count in lone_terms.items())
