"""The whole command on a log of AOL's size (650,000 users, 20 million user-term pairs): time and peak memory.

`python -m benchmarks.aol full`; without `full` the log has 20,000 users. Memory is the peak of the whole process tree.
"""

import tempfile
from pathlib import Path

from benchmarks.common import Figures, anonymize, bar, main, make_log, warm_up

PEAKS = {"km(k=100, m=2)": "≤ 8000", "km(k=100, m=3)": "aim ≤ 16000"}


def measure(users: int | None) -> Figures:
    """Run the command once for each size of combinations."""
    results: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        log = make_log(Path(folder), users, like="aol")
        results["log, MB"] = round(log.stat().st_size / 1e6)
        warm_up(Path(folder), *PEAKS)
        for method, most in PEAKS.items():
            done = anonymize(log, method)
            results[f"{method}, seconds"] = round(done["seconds"], 1)
            results[f"{method}, peak MB {bar(most, users)}"] = round(done["peak_mb"])
    return results


if __name__ == "__main__":
    main(measure)
