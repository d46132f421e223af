"""SPI, JSD, impressions and exposure on a cluster: blocks of people by the code for one machine, then put together.

Blocks are by a hash of the person and stand in the order of their numbers, so sums are the same however Spark cuts.
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
from queryveil.measures.privacy import pairs as local
from queryveil.measures.privacy.pairs import Figures, Spread, merge_figures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ARRAYS = {"indptr": np.int64, "ids": np.int32, "before": np.int64, "after": np.int64}
_LEVELS = ("sensitivity", "own_sensitivity")
PAIR_SCHEMA = ", ".join(["block INT", "unit STRING", *(f"{name} BINARY" for name in (*_ARRAYS, *_LEVELS))])
_FOUND_SCHEMA = "block INT, people ARRAY<LONG>, unit STRING, totals ARRAY<LONG>, spreads ARRAY<DOUBLE>"
Finding = Callable[[LogPair, ResolvedName], Figures]


@dataclass(frozen=True)
class DistributedPair:
    """People × documents, before and after, a row for every block of people; see `queryveil.core.evidence.LogPair`."""

    frame: "DataFrame"
    n_strangers: int


def pair_row(block: int, pair: LogPair) -> dict[str, Any]:
    """Return a pair of logs of some people as a row; who they are is left out."""
    levels = {name: getattr(pair, name) for name in _LEVELS}
    arrays = {name: getattr(pair, name).astype(kind).tobytes() for name, kind in _ARRAYS.items()}
    told = {name: None if level is None else level.tobytes() for name, level in levels.items()}
    return {"block": block, "unit": pair.unit, **arrays, **told}


def read_pair(row: dict[str, Any]) -> LogPair:
    """Return the pair of logs of a row."""
    arrays: dict[str, Any] = {name: np.frombuffer(row[name], kind) for name, kind in _ARRAYS.items()}
    levels: dict[str, Any] = {name: None if row[name] is None else np.frombuffer(row[name]) for name in _LEVELS}
    return LogPair(**arrays, persons=(), **levels, unit=row["unit"])


def spi(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the mean SPI over people."""
    return local.spi.scores(_found(evidence.get(DistributedPair), local.spi.figures, measure), measure)


def jsd(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the mean JSD over people."""
    return local.jsd.scores(_found(evidence.get(DistributedPair), local.jsd.figures, measure), measure)


def impressions(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the share of queries released, of those that are not the person's own, and of people with none."""
    return local.impressions.scores(_found(evidence.get(DistributedPair), local.impressions.figures, measure), measure)


def exposed(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the mean exposed sensitive mass over people, beside that of the original."""
    return local.exposed.scores(_found(evidence.get(DistributedPair), local.exposed.figures, measure), measure)


def _found(pair: DistributedPair, finding: Finding, measure: ResolvedName) -> Figures:
    """Return what is found in all blocks, put together in their order."""
    rows = pair.frame.mapInArrow(_Find(finding, measure), _FOUND_SCHEMA).collect()
    parts = [_read_figures(row) for row in sorted(rows, key=lambda row: int(row["block"]))]
    return merge_figures(parts)._replace(n_strangers=pair.n_strangers)


@dataclass(frozen=True)
class _Find:
    finding: Finding
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
