"""The (k, m) verifier against the obvious SQL: a DuckDB self-join that counts the users of every pair.

Both read the same Parquet file of (user, term), with terms as numbers, which is DuckDB's best case. Each runs in a
process of its own; time is from opening the file to the verdict, without imports; memory is the peak of the whole
process, and again less what it had after its imports. The kernels are compiled before, apart.

Run it with `python -m benchmarks.verifier`.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

K, SEED = 10, 20260
N_TERMS, TOPIC_SIZE, N_BASES = 20_000, 80, 8_400
ROOT = Path(__file__).resolve().parent.parent

SELF_JOIN = """
    SELECT count(*), min(holders) FROM (
        SELECT a.term, b.term, count(DISTINCT a.user) AS holders
        FROM r a JOIN r b ON a.user = b.user AND a.term < b.term GROUP BY ALL HAVING holders < $k
        UNION ALL
        SELECT term, NULL, count(DISTINCT user) AS holders FROM r GROUP BY ALL HAVING holders < $k
    )
"""


def honest_release() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return (user, term) rows: parts of topics, each held alike by at least K users, in shuffled user order."""
    rng = np.random.default_rng(SEED)
    popularity = 1 / np.arange(1, N_TERMS + 1) ** 0.7
    topics = [rng.choice(N_TERMS, TOPIC_SIZE, replace=False, p=popularity / popularity.sum()) for _ in range(400)]
    histories = []
    for _ in range(N_BASES):
        length = min(TOPIC_SIZE, 1 + int(rng.lognormal(2.0, 0.65)))
        base = np.sort(rng.choice(topics[rng.integers(len(topics))], length, replace=False))
        histories += [base] * int(rng.integers(K, K + 5))
    names = rng.permutation(len(histories)).astype(np.int32)
    users = np.repeat(names, [len(history) for history in histories])
    terms = np.concatenate(histories).astype(np.int32)
    order = np.lexsort((terms, users))
    return users[order], terms[order]


def write(folder: Path) -> dict[str, Path]:
    """Write the release as it is, and one in which the last user has gained a term from far away."""
    users, terms = honest_release()
    stranger = np.setdiff1d(terms, terms[users == users[-1]])[-1]
    paths = {"honest": folder / "honest.parquet", "tampered": folder / "tampered.parquet"}
    pq.write_table(pa.table({"user": users, "term": terms}), paths["honest"])
    more = pa.table({"user": np.append(users, users[-1]), "term": np.append(terms, stranger)})
    pq.write_table(more, paths["tampered"])
    return paths


def describe(path: Path) -> str:
    """Say how large the release is."""
    table = pq.read_table(path)
    return f"{len(table['user'].unique())} histories, {len(table)} pairs, km(k={K}, m=2)"


def peak_mb() -> float:
    # Not getrusage: its peak is inherited from the parent process across exec.
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def work_queryveil() -> Callable[[str], int]:
    from queryveil.core.names import resolve
    from queryveil.verifiers.km import check_combinations as verify

    def check(path: str) -> int:
        table = pq.ParquetFile(path).read()
        # Not to_numpy: where pandas is installed, pyarrow imports it there.
        users, terms = (np.from_dlpack(table[name].combine_chunks()) for name in ("user", "term"))
        ids = terms[np.lexsort((terms, users))].astype(np.int32, copy=False)
        n_users = int(users.max()) + 1
        indptr = np.concatenate(([0], np.cumsum(np.bincount(users, minlength=n_users))))
        bound = resolve("guarantee", f"km(k={K}, m=2)")
        names = [f"{term:06}" for term in range(N_TERMS)]
        owner = np.arange(n_users, dtype=np.int32)
        return verify(bound, indptr, ids, owner, names, counted="histories").violations

    return check


def work_duckdb() -> Callable[[str], int]:
    import duckdb

    def check(path: str) -> int:
        connection = duckdb.connect()
        connection.execute("CREATE TABLE r AS SELECT * FROM read_parquet($path)", {"path": path})
        return int(connection.execute(SELF_JOIN, {"k": K}).fetchall()[0][0])

    return check


WORKERS = {"queryveil": work_queryveil, "duckdb": work_duckdb}


def work(who: str, path: str) -> None:
    """Check one file in this process and print the figures for the parent."""
    check = WORKERS[who]()
    imported = peak_mb()
    begin = time.perf_counter()
    violations = check(path)
    seconds = time.perf_counter() - begin
    print(json.dumps({"violations": violations, "seconds": seconds, "peak": peak_mb(), "imported": imported}))


def in_own_process(who: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.verifier", who, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def measure() -> dict[str, float | str | bool]:
    """Return seconds, peak memory, their ratios, and whether both gave the same verdicts."""
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder))
        in_own_process("queryveil", paths["honest"])  # compiles the kernels, or finds them compiled
        runs = {who: {name: in_own_process(who, path) for name, path in paths.items()} for who in WORKERS}
        release = describe(paths["honest"])
    ours, theirs = runs["queryveil"], runs["duckdb"]
    extra = {who: runs[who]["honest"]["peak"] - runs[who]["honest"]["imported"] for who in WORKERS}
    verdicts = {who: [run["violations"] for run in runs[who].values()] for who in WORKERS}
    return {
        "release": release,
        "queryveil_seconds": ours["honest"]["seconds"],
        "duckdb_seconds": theirs["honest"]["seconds"],
        "times_faster": theirs["honest"]["seconds"] / ours["honest"]["seconds"],
        "queryveil_peak_mb": ours["honest"]["peak"],
        "duckdb_peak_mb": theirs["honest"]["peak"],
        "memory_ratio": ours["honest"]["peak"] / theirs["honest"]["peak"],
        "queryveil_mb_beyond_imports": extra["queryveil"],
        "duckdb_mb_beyond_imports": extra["duckdb"],
        "honest_violations": ours["honest"]["violations"],
        "tampered_violations": ours["tampered"]["violations"],
        "same_verdicts": verdicts["queryveil"] == verdicts["duckdb"],
    }


if __name__ == "__main__":
    if len(sys.argv) == 3:
        work(sys.argv[1], sys.argv[2])
    else:
        for figure, value in measure().items():
            print(f"{figure:30} {value:.3g}" if isinstance(value, float) else f"{figure:30} {value}")
