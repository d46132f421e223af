"""SPI, JSD, impressions and exposure on Spark: the code for one machine runs on blocks of people.

Blocks are made by a hash of the person and combined in the order of their numbers, so that sums do not depend on how
Spark partitions the data.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from queryveil.core.evidence import Evidence, LogPair
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.measures.privacy import pairs
from queryveil.measures.privacy.pairs import Figures, PairMeasure, Spread, merge_figures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ARRAYS = {"indptr": np.int64, "ids": np.int32, "before": np.int64, "after": np.int64}
_LEVELS = ("sensitivity", "own_sensitivity")
PAIR_SCHEMA = ", ".join(["block INT", "unit STRING", *(f"{name} BINARY" for name in (*_ARRAYS, *_LEVELS))])
_FOUND_SCHEMA = "block INT, people ARRAY<LONG>, unit STRING, totals ARRAY<LONG>, spreads ARRAY<DOUBLE>"
PairFigures = Callable[[LogPair, ResolvedName], Figures]


@dataclass(frozen=True)
class DistributedPair:
    """People × documents, before and after, a row for every block of people; see `queryveil.core.evidence.LogPair`."""

    frame: "DataFrame"
    n_strangers: int


def pair_row(block: int, pair: LogPair) -> dict[str, Any]:
    """Return a pair of logs of some people as a row, without their identifiers."""
    levels = {name: getattr(pair, name) for name in _LEVELS}
    arrays = {name: getattr(pair, name).astype(kind).tobytes() for name, kind in _ARRAYS.items()}
    known = {name: None if level is None else level.tobytes() for name, level in levels.items()}
    return {"block": block, "unit": pair.unit, **arrays, **known}


def read_pair(row: dict[str, Any]) -> LogPair:
    """Return the pair of logs of a row."""
    arrays: dict[str, Any] = {name: np.frombuffer(row[name], kind) for name, kind in _ARRAYS.items()}
    levels: dict[str, Any] = {name: None if row[name] is None else np.frombuffer(row[name]) for name in _LEVELS}
    return LogPair(**arrays, persons=(), **levels, unit=row["unit"])


@dataclass(frozen=True)
class DistributedPairMeasure:
    """A measure of a pair of logs whose figures are computed block by block."""

    measure: PairMeasure

    def __call__(
        self, evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
    ) -> list[Score]:
        """Return the scores of the pair of logs; figures are merged in the order of the blocks."""
        pair = evidence.get(DistributedPair)
        rows = pair.frame.mapInArrow(_Find(self.measure.figures, measure), _FOUND_SCHEMA).collect()
        parts = [_read_figures(row) for row in sorted(rows, key=lambda row: int(row["block"]))]
        return self.measure.scores(merge_figures(parts)._replace(n_strangers=pair.n_strangers), measure)


spi, jsd, impressions, exposed = map(DistributedPairMeasure, (pairs.spi, pairs.jsd, pairs.impressions, pairs.exposed))


@dataclass(frozen=True)
class _Find:
    finding: PairFigures
    measure: ResolvedName

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                found = self.finding(read_pair(row), self.measure)
                spreads = [value for spread in found.spreads for value in spread]
                columns = {
                    "block": pa.array([row["block"]], pa.int32()),
                    "people": pa.array([found[:2]], pa.list_(pa.int64())),
                    "unit": pa.array([found.unit], pa.string()),
                    "totals": pa.array([found.totals], pa.list_(pa.int64())),
                    "spreads": pa.array([spreads], pa.list_(pa.float64())),
                }
                yield pa.RecordBatch.from_pydict(columns)


def _read_figures(row: Any) -> Figures:
    flat = row["spreads"]
    spreads = tuple(Spread(int(flat[i]), flat[i + 1], flat[i + 2]) for i in range(0, len(flat), 3))
    n_people, n_silent = row["people"]
    return Figures(n_people, n_silent, 0, row["unit"], tuple(row["totals"]), spreads)
