"""What `split` costs: processor time and memory of the whole command with `split=all` and `pairs`, against `none`.

`python -m benchmarks.pieces` (20,000 users), `python -m benchmarks.pieces full` (the size of the AltaVista log).
"""

import tempfile
from pathlib import Path

from benchmarks.common import RUNS, Figures, anonymize, bar, main, make_log, median, warm_up

METHODS = {split: f"km(k=10, m=2, split={split})" for split in ("none", "all", "pairs")}


def measure(users: int | None) -> Figures:
    """Run all in turn three times and compare the medians."""
    with tempfile.TemporaryDirectory() as folder:
        log = make_log(Path(folder), users)
        warm_up(Path(folder), *METHODS.values())
        runs = [{split: anonymize(log, method) for split, method in METHODS.items()} for _ in range(RUNS)]
    seconds, peaks = (
        {split: median([run[split][figure] for run in runs]) for split in METHODS}
        for figure in ("processor_seconds", "peak_mb")
    )
    return {
        **{f"{METHODS[split]}, processor seconds": round(value, 2) for split, value in seconds.items()},
        f"time ratio {bar('≤ 2', users)}": round(seconds["all"] / seconds["none"], 2),
        "time ratio of pairs": round(seconds["pairs"] / seconds["none"], 2),
        **{f"{METHODS[split]}, peak MB": round(value) for split, value in peaks.items()},
        f"peak memory ratio {bar('≤ 1.3', users)}": round(peaks["all"] / peaks["none"], 2),
        "peak memory ratio of pairs": round(peaks["pairs"] / peaks["none"], 2),
    }


if __name__ == "__main__":
    main(measure)
