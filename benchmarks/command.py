"""The whole command, file to verified release, against DuckDB that merely reads, tokenises and de-duplicates the file.

`python -m benchmarks.command` (20,000 users), `python -m benchmarks.command full` (the size of the AltaVista log): the
command is timed from the start of its process to its end, all imports included; DuckDB, which runs the SQL of
`benchmarks.reading`, from opening the database to closing it, and again as a whole process. Memory is the peak of the
command's whole process tree. A small log says little about the ratio: most of the command's time is then its start.
"""

import tempfile
import time
from pathlib import Path

from benchmarks.common import RUNS, Figures, anonymize, bar, main, make_log, median, warm_up
from benchmarks.reading import side

METHOD = "km(k=10, m=2)"
LIMIT = ("--memory-limit", "1GB")
PEAKS = {"km(k=10, m=2)": "≤ 1000", "km(k=2, m=2)": "≤ 1000", "km(k=2, m=3)": "≤ 1500"}  # k = 2 is the hardest


def measure(users: int | None) -> Figures:
    """Run the command and the SQL three times in turn and compare the medians; then look at more peaks."""
    with tempfile.TemporaryDirectory() as folder:
        log = make_log(Path(folder), users)
        megabytes = log.stat().st_size / 1e6
        warm_up(Path(folder), *PEAKS)
        peaks = {method: anonymize(log, method, *LIMIT) for method in PEAKS}
        ours, statements, processes = [], [], []
        for _ in range(RUNS):
            started = time.perf_counter()
            statements.append(side("plain SQL", log))
            processes.append(time.perf_counter() - started)
            ours.append(anonymize(log, METHOD, *LIMIT))
    (seconds, processor), (sql, sql_processor) = (
        [median([run[what] for run in runs]) for what in ("seconds", "processor_seconds")]
        for runs in (ours, statements)
    )
    peaks[METHOD]["peak_mb"] = max(run["peak_mb"] for run in [peaks[METHOD], *ours])
    return {
        "log, MB": round(megabytes, 1),
        f"{METHOD}, whole command, seconds": round(seconds, 2),
        "plain SQL, seconds": round(sql, 2),
        "plain SQL, whole process, seconds": round(median(processes), 2),
        f"time ratio {bar('≤ 4', users)}": round(seconds / sql, 2),
        "processor time ratio": round(processor / sql_processor, 2),
        "time ratio of whole processes": round(seconds / median(processes), 2),
        **{
            f"{method}, peak MB of the process tree {bar(PEAKS[method], users)}": round(run["peak_mb"])
            for method, run in peaks.items()
        },
        "processes in the tree": max(run["processes"] for run in [*peaks.values(), *ours]),
    }


if __name__ == "__main__":
    main(measure)
