"""Whole commands on logs of 1, 4 and 16 million people: time, peak memory, and what is spilled to disk.

`python -m benchmarks.scale [PEOPLE,… [METHOD,… [ENGINE,…]]]`, such as `250000,1000000 km,query_k local`. Logs are like
AltaVista's (`queryveil generate --like altavista`). Exponents are those of processor time. Memory is the peak of the
process tree. Spill is the largest size of the temporary folder while a local command runs, and what the tasks of Spark
(`local[2]`) report as spilled.
"""

import math
import os
import sys
import tempfile
import threading
from itertools import pairwise
from pathlib import Path

from benchmarks.common import Figures, anonymize, make_log
from benchmarks.spark import read_events

PEOPLE = (1_000_000, 4_000_000, 16_000_000)
METHODS = {
    "km": "km(k=10, m=2)",
    "linkability": "linkability(p=0.4)",
    "vocabulary": "vocabulary(k=5, eps=8, omega=9)",
    "query_k": "query_k(k=10)",
}
ENGINES = ("local", "spark")
_SAMPLE_SECONDS = 0.2


def measure(people: tuple[int, ...], methods: tuple[str, ...], engines: tuple[str, ...]) -> Figures:
    """Run every method at every size; print each result at once, since the next may take hours, or fail."""
    results: Figures = {}
    runs = [(m, e) for e in engines for m in methods]
    cpu: dict[tuple[str, str], list[tuple[int, float]]] = {run: [] for run in runs}
    for size in people:
        with tempfile.TemporaryDirectory(prefix="scale-") as folder:
            log = make_log(Path(folder), size)
            for method, engine in runs:
                try:
                    done = _run(log, METHODS[method], engine)
                except RuntimeError as error:  # the others may still succeed
                    figures = f"fails: {error}"
                else:
                    cpu[method, engine].append((size, done["processor_seconds"]))
                    figures = f"{done['seconds']:.0f} s, {done['processor_seconds']:.0f} s of processor time, "
                    figures += f"{done['peak_mb']:,.0f} MB, {done['spilled_mb']:,.0f} MB spilled"
                results[f"{method}, {engine}, {size:,} people"] = figures
                print(f"{method}, {engine}, {size:,} people: {figures}", flush=True)
    for (method, engine), curve in cpu.items():
        for (few, before), (many, after) in pairwise(curve):
            what = f"{method}, {engine}, {few:,} to {many:,} people: time grows with exponent"
            results[what] = round(math.log(after / before) / math.log(many / few), 2)
            print(f"{what}: {results[what]}")
    return results


def _run(log: Path, method: str, engine: str) -> dict[str, float]:
    """Return the seconds, the processor time, the peak memory and the spill of one command; sizes are in MB."""
    events, scratch = log.with_name("events"), log.with_name("scratch")
    for folder in (events, scratch):
        folder.mkdir(exist_ok=True)
    options = ["--memory-limit", "4GB"]
    if engine == "spark":
        conf = {"driver.memory": "4g", "eventLog.enabled": "true", "eventLog.compress": "false"}
        conf["eventLog.dir"] = events.as_uri()
        options = ["--engine", "spark", "--spark-master", "local[2]"]
        options += [word for key, value in conf.items() for word in ("--spark-conf", f"spark.{key}={value}")]
    os.environ["TMPDIR"] = str(scratch)
    ended, largest = threading.Event(), [0]
    watch = threading.Thread(target=_watch_size, args=(scratch, ended, largest))
    watch.start()
    try:
        done = anonymize(log, method, *options)
    finally:
        ended.set()
        watch.join()
    return {**done, "spilled_mb": (_spilled(events) if engine == "spark" else largest[0]) / 1e6}


def _watch_size(folder: Path, ended: threading.Event, largest: list[int]) -> None:
    """Note the largest size of a folder until the command has ended."""
    while not ended.wait(_SAMPLE_SECONDS):
        size = 0
        for place, _, names in os.walk(folder):
            for name in names:
                try:
                    size += (Path(place) / name).stat().st_size
                except OSError:  # removed meanwhile
                    continue
        largest[0] = max(largest[0], size)


def _spilled(events: Path) -> int:
    """Sum what the tasks of the latest run spilled to disk, in bytes."""
    latest = max(events.iterdir(), key=lambda path: path.stat().st_mtime)
    ends = (event for event in read_events(latest) if event["Event"].endswith("TaskEnd"))
    return sum(int(event.get("Task Metrics", {}).get("Disk Bytes Spilled", 0)) for event in ends)


if __name__ == "__main__":
    asked = [word.split(",") for word in sys.argv[1:]]
    sizes = tuple(map(int, asked[0])) if asked else PEOPLE
    chosen = tuple(asked[1]) if len(asked) > 1 else tuple(METHODS)
    measure(sizes, chosen, tuple(asked[2]) if len(asked) > 2 else ENGINES)
