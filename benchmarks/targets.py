"""Whether each target keeps most of what it aims at, for every k and m of table 5 of Burghardt et al. 2010.

`python -m benchmarks.targets` (20,000 users), `python -m benchmarks.targets full` (the size of the AltaVista log),
under `algorithm=best`, with a generated market table; every run starts from the whole log and is verified. A target may
stay up to half a point behind another one in its own measure. `fis` and `random` have no measure of their own and only
compete.
"""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.common import SEED, Figures, bar, main, make_log
from queryveil.api import compare
from queryveil.experiments.burghardt.printed import KS, MS

MEASURES = {  # target → the label of what it aims at
    "logsize": "log size",
    "users": "users",
    "distinct": "distinct terms",
    "bid": "bid",
    "clicks": "clicks",
    "impressions": "impressions",
    "revenue": "revenue",
}
COMPETITORS = ("fis", "random")
SWEEP = f"km(k={'|'.join(map(str, KS))}, m={'|'.join(map(str, MS))}, target={'|'.join((*MEASURES, *COMPETITORS))})"

Kept = Mapping[str, Mapping[str, float]]  # target → label → % kept


def measure(users: int | None) -> Figures:
    """Make all runs; return the largest shortfall, where it is, and what each target keeps of its own."""
    with tempfile.TemporaryDirectory() as folder:
        log = make_log(Path(folder), users, market=True)
        market = log.parent / "market.csv"
        found = compare(log, SWEEP, measures=["retention", "market"], market=market, seed=SEED, reuse=False)
    cells: dict[tuple[object, object], dict[str, dict[str, float]]] = {}
    for run in found.runs:
        kept = {score.label: score.value or 0.0 for score in run.scores}
        cells.setdefault((run.parameters["m"], run.parameters["k"]), {})[str(run.parameters["target"])] = kept
    short = [(points, f"m={m}, k={k}: {who}") for (m, k), cell in cells.items() for points, who in _shortfalls(cell)]
    results: Figures = {
        f"largest shortfall of a target in its own measure, points {bar('≤ 0.5', users)}": round(max(short)[0], 2),
        "where": max(short)[1],
        "targets over 0.5 points behind": "; ".join(f"{who} ({p:.2f})" for p, who in short if p > 0.5) or "none",
        "targets": " ".join(f"{target:>11}" for target in MEASURES),
    }
    for (m, k), cell in cells.items():
        results[f"m={m}, k={k}, own measure kept, %"] = " ".join(
            f"{cell[target][label]:11.2f}" for target, label in MEASURES.items()
        )
    return results


def _shortfalls(cell: Kept) -> Iterator[tuple[float, str]]:
    """Yield how far each target stays behind the best in its own measure, and behind which."""
    for target, label in MEASURES.items():
        leader = max(cell, key=lambda other: cell[other][label])
        yield cell[leader][label] - cell[target][label], f"{target} behind {leader}"


if __name__ == "__main__":
    main(measure)
