"""Whether each target keeps most of what it aims at, for every k and m of table 5 of Burghardt et al. 2010.

`python -m benchmarks.targets` (20,000 users), `python -m benchmarks.targets full` (the size of the AltaVista log),
`python -m benchmarks.targets FOLDER` (the public logs excite-small.log, BMS-WebView-1.dat.gz and BMS-WebView-2.dat.gz,
wherever in a folder they are), under `algorithm=best`, with a generated market table; every run starts from the whole
log and is verified. A target may stay up to half a point behind another one in its own measure. `fis` and `random` have
no measure of their own and only compete.
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import SEED, Figures, bar, main, make_log
from queryveil.api import compare, profiles
from queryveil.core.progress import silent
from queryveil.experiments.burghardt.printed import KS, MS
from queryveil.logs.generate.market import market_table
from queryveil.logs.generate.writer import TermUsage

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
BASKETS = {"format": "transactions", "scrub": False}  # all of it is numbers
PUBLIC_LOGS: dict[str, dict[str, Any]] = {
    "excite-small.log": {},
    "BMS-WebView-1.dat.gz": BASKETS,
    "BMS-WebView-2.dat.gz": BASKETS,
}
PUBLIC_KS = (2, 5, 10, 20)

Kept = Mapping[str, Mapping[str, float]]  # target → label → % kept


def measure(users: int | None) -> Figures:
    """Make all runs on a generated log; return the largest shortfall, where it is, and what each target keeps."""
    with tempfile.TemporaryDirectory() as folder:
        log = make_log(Path(folder), users, market=True)
        return _compare(log, log.parent / "market.csv", bar("≤ 0.5", users), KS)


def measure_public(folder: Path) -> Figures:
    """Make all runs on the public logs of a folder, each with a market table made for its terms."""
    results: Figures = {}
    for name, options in PUBLIC_LOGS.items():
        found = sorted(folder.rglob(name))
        if not found:
            results[name] = "left out; it is not in this folder"
            continue
        terms = profiles(found[0], **options)
        frequency = np.bincount(terms.ids, weights=terms.counts).astype(np.int64)
        usage = TermUsage(list(terms.vocabulary), frequency, terms.holder_counts())
        with tempfile.TemporaryDirectory() as temporary:
            market = Path(temporary) / "market.csv"
            market.write_bytes(market_table(usage, np.random.default_rng(SEED), silent))
            figures = _compare(found[0], market, "(bar: ≤ 0.5)", PUBLIC_KS, **options)
        results |= {f"{name}, {what}": value for what, value in figures.items()}
    return results


def _compare(log: Path, market: Path, bar_text: str, ks: Sequence[int], **options: Any) -> Figures:
    """Make all runs on one log."""
    found = compare(log, _sweep(ks), measures=["retention", "market"], market=market, seed=SEED, reuse=False, **options)
    cells: dict[tuple[object, object], dict[str, dict[str, float]]] = {}
    for run in found.runs:
        kept = {score.label: score.value or 0.0 for score in run.scores}
        cells.setdefault((run.parameters["m"], run.parameters["k"]), {})[str(run.parameters["target"])] = kept
    short = [(points, f"m={m}, k={k}: {who}") for (m, k), cell in cells.items() for points, who in _shortfalls(cell)]
    results: Figures = {
        f"largest shortfall of a target in its own measure, points {bar_text}": round(max(short)[0], 2),
        "where": max(short)[1],
        "targets over 0.5 points behind": "; ".join(f"{who} ({p:.2f})" for p, who in short if p > 0.5) or "none",
        "targets": " ".join(f"{target:>11}" for target in MEASURES),
    }
    for (m, k), cell in cells.items():
        results[f"m={m}, k={k}, own measure kept, %"] = " ".join(
            f"{cell[target][label]:11.2f}" for target, label in MEASURES.items()
        )
    return results


def _sweep(ks: Sequence[int]) -> str:
    """Return the name of all runs."""
    return f"km(k={'|'.join(map(str, ks))}, m={'|'.join(map(str, MS))}, target={'|'.join((*MEASURES, *COMPETITORS))})"


def _shortfalls(cell: Kept) -> Iterator[tuple[float, str]]:
    """Yield how far each target stays behind the best in its own measure, and behind which."""
    for target, label in MEASURES.items():
        leader = max(cell, key=lambda other: cell[other][label])
        yield cell[leader][label] - cell[target][label], f"{target} behind {leader}"


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] != "full":
        for what, value in measure_public(Path(sys.argv[1])).items():
            print(f"{what}: {value}")
    else:
        main(measure)
