"""How much more of the log `algorithm=best` keeps than `algorithm=paper`, under the same guarantee, each verified.

`python -m benchmarks.kept` (20,000 users), `python -m benchmarks.kept full` (the size of the AltaVista log). The public
click stream BMS-WebView-2 is looked at too where the environment variable QUERYVEIL_BMS names its file
(`BMS-WebView-2.dat.gz`, one line of item numbers per session), read without `--scrub`, since all of it is numbers.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.common import SEED, Figures, bar, main, make_log
from queryveil.api import compare

BARS = {2: 6, 10: 4, 100: 3}  # k → relative %
BMS_BARS = {2: 6, 5: 12, 10: 15, 20: 14}
BMS_FILE = "QUERYVEIL_BMS"


def measure(users: int | None) -> Figures:
    """Run both algorithms on both logs."""
    with tempfile.TemporaryDirectory() as folder:
        results = {f"altavista, {name}": value for name, value in _gains(make_log(Path(folder), users), BARS, users)}
    bms = os.environ.get(BMS_FILE)
    if not bms or not Path(bms).is_file():
        return {**results, "BMS-WebView-2": f"left out; name the file BMS-WebView-2.dat.gz by {BMS_FILE}"}
    more = _gains(Path(bms), BMS_BARS, None, format="transactions", scrub=False)
    return results | {f"BMS-WebView-2, {name}": value for name, value in more}


def _gains(log: Path, bars: Mapping[int, int], users: int | None, **options: Any) -> list[tuple[str, float | str]]:
    """Return what both algorithms keep for every k, and the gain in relative percent."""
    sweep = f"km(k={'|'.join(map(str, bars))}, m=2, algorithm=paper|best)"
    found = compare(log, sweep, measures=["retention"], seed=SEED, **options)
    kept = {
        (run.parameters["algorithm"], run.parameters["k"]): {score.label: score.value or 0.0 for score in run.scores}
        for run in found.runs
    }
    results: list[tuple[str, float | str]] = []
    for k, least in bars.items():
        paper, best = kept["paper", k], kept["best", k]
        results += [
            (f"k={k}, log size kept, paper / best, %", f"{paper['log size']:.2f} / {best['log size']:.2f}"),
            (
                f"k={k}, more kept, % {bar(f'≥ {least}', users)}",
                round(100 * (best["log size"] / paper["log size"] - 1), 2),
            ),
            (f"k={k}, users kept, paper / best, % (bar: no fewer)", f"{paper['users']:.2f} / {best['users']:.2f}"),
        ]
    return results


if __name__ == "__main__":
    main(measure)
