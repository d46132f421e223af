"""`km` on Spark (`local[2]`) against one machine: what is kept, rounds, seconds and shuffled bytes of a round, memory.

`python -m benchmarks.spark` (20,000 users), `python -m benchmarks.spark full` (the size of the AltaVista log); one of
`kept`, `memory` as a second argument measures that only. Every release is verified by the verifier for one machine.
Rounds are taken from Spark's event log: a turn is a job that writes blocks, shuffled bytes are those its tasks wrote,
as they are compressed and encrypted.

The driver's memory is measured where it is a process of its own (`local-cluster[2,1,1024]`: two executors next to it):
the highest resident memory of the Python process, and of Java the most that is in use right after a collection of
garbage, looked at every two seconds. That is taken at 1 and at 4 times the users.
"""

import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, SEED, SMALL, Figures, bar, make_log, own_process
from queryveil.api import anonymize, compare, verify

KS = (2, 10)
LEAST, TIMES = 97, 4
FULL = 367_803  # users of the AltaVista log
_TURN = re.compile(r"InsertIntoHadoopFsRelationCommand \S*/turn-(\d+)")
_EVERY = 2.0  # seconds between looks at the driver


def measure(users: int | None, which: str = "") -> Figures:
    """Measure what is kept and what it takes, and the driver's memory at two sizes."""
    results: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        if which != "memory":
            results |= _kept(make_log(Path(folder), users), users)
        if which != "kept":
            results |= _memory(Path(folder), users or FULL)
    return results


def _kept(log: Path, users: int | None) -> Figures:
    """Compare what is kept on Spark with both algorithms of one machine."""
    found = compare(
        log, f"km(k={'|'.join(map(str, KS))}, m=2, algorithm=paper|best)", measures=["retention"], seed=SEED
    )
    here = {(run.parameters["algorithm"], run.parameters["k"]): _log_size(run.scores) for run in found.runs}
    results: Figures = {}
    for k in KS:
        done, turns = _on_spark(log, f"km(k={k}, m=2)")
        kept = next(score["value"] for score in done["scores"] if score["label"] == "log size")
        paper, best = here["paper", k], here["best", k]
        summary = done["summary"]
        seconds = [turn["seconds"] for turn in turns[: summary["rounds"]]]
        shuffled = [turn["shuffled"] / 1e6 for turn in turns[: summary["rounds"]]]
        results |= {
            f"k={k}, log size kept, Spark / paper / best, %": f"{kept:.2f} / {paper:.2f} / {best:.2f}",
            f"k={k}, kept of paper, % {bar(f'≥ {LEAST}', users)}": round(100 * kept / paper, 2),
            f"k={k}, kept of best, % {bar(f'★ ≥ {LEAST}', users)}": round(100 * kept / best, 2),
            f"k={k}, rounds (bar: ≤ 12)": summary["rounds"],
            f"k={k}, terms that the finish deleted": summary["terms deleted at last from all histories"],
            f"k={k}, verified on one machine": verify(done["release"]).holds,
            f"k={k}, seconds, whole command": done["seconds"],
            f"k={k}, seconds of each round": " ".join(f"{value:.1f}" for value in seconds),
            f"k={k}, MB shuffled in each round": " ".join(f"{value:.1f}" for value in shuffled),
        }
    return results


def _log_size(scores: Any) -> float:
    return next(score.value or 0.0 for score in scores if score.label == "log size")


def _on_spark(log: Path, method: str) -> tuple[dict[str, Any], list[dict[str, float]]]:
    """Run the command; return what it printed, and the seconds and shuffled bytes of every turn."""
    events, out = log.with_name("events"), log.with_name("release")
    events.mkdir(exist_ok=True)
    conf = {
        "spark.driver.memory": "2g",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
    }
    command = [sys.executable, "-m", "queryveil", "anonymize", str(log), "--method", method, "--out", str(out)]
    command += ["--force", "--json", "--engine", "spark", "--spark-master", "local[2]"]
    command += [word for pair in conf.items() for word in ("--spark-conf", "=".join(pair))]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    latest = max(events.iterdir(), key=lambda path: path.stat().st_mtime)
    return json.loads(done.stdout), list(_turns(latest))


def _turns(events: Path) -> Iterator[dict[str, float]]:
    """Read what every turn took from an event log, in order."""
    turn_of: dict[str, int] = {}  # by number of the statement, then by stage
    stages: dict[int, int] = {}
    jobs: dict[int, int] = {}
    turns: dict[int, dict[str, float]] = {}
    for event in read_events(events):
        kind = event["Event"].rpartition(".")[2]
        if kind == "SparkListenerSQLExecutionStart" and (
            written := _TURN.search(event["sparkPlanInfo"]["simpleString"])
        ):
            turn_of[str(event["executionId"])] = int(written[1])
        elif kind == "SparkListenerJobStart":
            turn = turn_of.get(event["Properties"].get("spark.sql.execution.id", ""))
            if turn is not None:
                jobs[event["Job ID"]] = turn
                stages |= dict.fromkeys(event["Stage IDs"], turn)
                turns.setdefault(turn, {"started": event["Submission Time"], "shuffled": 0})
        elif kind == "SparkListenerJobEnd" and event["Job ID"] in jobs:
            turn = jobs[event["Job ID"]]
            turns[turn]["seconds"] = (event["Completion Time"] - turns[turn]["started"]) / 1000
        elif kind == "SparkListenerTaskEnd" and event["Stage ID"] in stages:
            written_bytes = event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            turns[stages[event["Stage ID"]]]["shuffled"] += written_bytes
    return (turns[turn] for turn in sorted(turns) if turn > 0)  # (turn 0 makes the blocks)


def read_events(place: Path) -> Iterator[Mapping[str, Any]]:
    """Read the events of a Spark run, which are in one file or several."""
    files = sorted(place.glob("events_*")) if place.is_dir() else [place]
    for file in files:
        with file.open() as lines:
            yield from map(json.loads, lines)


def _memory(folder: Path, users: int) -> Figures:
    """Run the method at both sizes, each in a process of its own."""
    seen = []
    for times in (1, TIMES):
        place = folder / f"times-{times}"
        place.mkdir()
        log = make_log(place, users * times)
        seen.append(own_process("benchmarks.spark", "driver", str(log)))
    one, four = seen
    return {
        f"the driver's Python, MB, {users:,} / {users * TIMES:,} users": f"{one['python']:.0f} / {four['python']:.0f}",
        f"the driver's Java, MB, {users:,} / {users * TIMES:,} users": f"{one['java']:.0f} / {four['java']:.0f}",
        "the driver's memory, ratio (bar: does not grow with users)": round(
            (four["python"] + four["java"]) / (one["python"] + one["java"]), 2
        ),
    }


def _driver(log: Path) -> dict[str, float]:
    """Anonymise on a cluster of two executors and watch the driver."""
    from queryveil.engines.spark.session import SparkCluster, open_session

    conf = {"spark.driver.memory": "700m", "spark.executor.memory": "1g"}
    with open_session(SparkCluster("local-cluster[2,1,1024]", conf)) as spark:
        runtime: Any = spark._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]
        most, is_over = [0.0], threading.Event()

        def look() -> None:
            while not is_over.wait(_EVERY):
                runtime.gc()
                most[0] = max(most[0], runtime.totalMemory() - runtime.freeMemory())

        watch = threading.Thread(target=look)
        watch.start()
        started = time.monotonic()
        try:
            anonymize(
                log,
                "km(k=10, m=2)",
                log.parent / "release",
                private=log.parent / "private",
                engine="spark",
                spark=spark,
            )
        finally:
            is_over.set()
            watch.join()
    status = Path("/proc/self/status").read_text()
    python = int(status.split("VmHWM:")[1].split()[0]) * 1024
    return {"python": python / 1e6, "java": most[0] / 1e6, "seconds": time.monotonic() - started}


if __name__ == "__main__":
    if sys.argv[1:2] == ["driver"]:
        print(json.dumps(_driver(Path(sys.argv[2]))))
    else:
        is_full = "full" in sys.argv[1:]
        chosen = next((word for word in sys.argv[1:] if word in ("kept", "memory")), "")
        for name, value in measure(None if is_full else SMALL, chosen).items():
            print(f"{name}: {value}", flush=True)
