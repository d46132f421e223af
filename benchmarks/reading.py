"""`read` to `Profiles` against plain DuckDB SQL that reads, tokenises and de-duplicates the same file.

`python -m benchmarks.reading`: a demo log of 60,000 users in the AOL format, each side in a process of its own, the
time from opening the database to closing it, since `profiles` does both, imports and compilation apart. The plain SQL
knows no bad lines, no identifiers, no bots, no other characters than ASCII and gives text, not numbered terms.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.common import ENVIRONMENT

USERS, SEED, LIMIT_MB, RUNS = 60_000, 1, 1000, 5

BARE_SQL = """
CREATE TABLE pairs AS
SELECT DISTINCT person, unnest(regexp_extract_all(lower(query), '[a-z0-9]+')) AS term
FROM (
    SELECT DISTINCT "AnonID" AS person, "Query" AS query, "QueryTime" AS time
    FROM read_csv('{path}', delim='\t', quote='', escape='', header=true, columns={{'AnonID': 'VARCHAR',
        'Query': 'VARCHAR', 'QueryTime': 'TIMESTAMP', 'ItemRank': 'VARCHAR', 'ClickURL': 'VARCHAR'}})
)
"""


def measure() -> dict[str, float | str | bool]:
    """Run both sides five times in turn and compare the medians."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.tsv"
        from queryveil.api import generate

        generate(path, users=USERS, seed=SEED)
        side("queryveil", path)  # compiles
        runs: dict[str, list[dict[str, float]]] = {"plain SQL": [], "queryveil": []}
        for _ in range(RUNS):
            for who, done in runs.items():
                done.append(side(who, path))
        size = path.stat().st_size
    seconds = {who: statistics.median(run["seconds"] for run in done) for who, done in runs.items()}
    peak = {who: max(run["peak_mb"] for run in done) for who, done in runs.items()}
    return {
        "log, MB": round(size / 1e6),
        "plain SQL, seconds": round(seconds["plain SQL"], 2),
        "queryveil, seconds": round(seconds["queryveil"], 2),
        "time ratio (bar: ≤ 1.5)": round(seconds["queryveil"] / seconds["plain SQL"], 2),
        "plain SQL, peak MB": round(peak["plain SQL"]),
        f"queryveil, peak MB (bar: ≤ {LIMIT_MB + 1000})": round(peak["queryveil"]),
        "pairs, plain SQL": runs["plain SQL"][0]["pairs"],
        "pairs, queryveil": runs["queryveil"][0]["pairs"],
    }


def side(who: str, path: Path) -> dict[str, float]:
    """Read the file in a process of its own; return the seconds, the peak and the number of pairs."""
    command = [sys.executable, "-m", "benchmarks.reading", who, str(path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT).stdout
    result: dict[str, float] = json.loads(output)
    return result


def _plain_sql(path: str) -> dict[str, float]:
    import duckdb

    duckdb.connect().close()
    started, used = time.perf_counter(), time.process_time()
    database = duckdb.connect(config={"memory_limit": f"{LIMIT_MB}MB"})
    database.execute(BARE_SQL.format(path=path))
    seconds, processor_seconds = time.perf_counter() - started, time.process_time() - used
    n_pairs = database.execute("SELECT count(*) FROM pairs").fetchall()[0][0]  # not part of the job
    started = time.perf_counter()
    database.close()
    seconds += time.perf_counter() - started
    return {"seconds": seconds, "processor_seconds": processor_seconds, "pairs": n_pairs}


def _ours(path: str) -> dict[str, float]:
    from queryveil.api import profiles

    _warm_up(profiles)
    started = time.perf_counter()
    made = profiles(path, memory_limit=f"{LIMIT_MB}MB")
    return {"seconds": time.perf_counter() - started, "pairs": len(made.ids)}


def _warm_up(profiles: Callable[..., object]) -> None:
    """Read a log of one line, so that imports and the loading of kernels are not timed, as they are not for DuckDB."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as stream:
        stream.write("user,query,time\n1,a b,2026-01-01\n")
        stream.flush()
        profiles(stream.name)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        result = (_ours if sys.argv[1] == "queryveil" else _plain_sql)(sys.argv[2])
        # not getrusage: its peak is inherited from the parent process
        peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
        print(json.dumps({**result, "peak_mb": int(peak) / 1000}))
    else:
        for name, value in measure().items():
            print(f"{name}: {value}")
