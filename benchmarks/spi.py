"""SPI, JSD, impressions and exposed of a pair of logs against DuckDB that reads both and counts (person, query).

`python -m benchmarks.spi`: an original of 10,000 people with 1 million queries in the AOL format, made of the queries
of more people, and what query k-anonymity (k = 2) leaves of it. DuckDB reads each file, makes the clicks of a query
one, and counts how often each person issued each query; we read both, count the same, look up how sensitive every
query is and compute the four measures. Each side is a process of its own, imports and compilation apart, five runs in
turn.
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import SEED, Figures, own_process

PEOPLE, QUERIES, RUNS = 10_000, 1_000_000, 5
SOURCES = 40_000  # people of the generated log, who are put together to PEOPLE with enough queries
MEASURES = ("spi", "jsd", "impressions", "exposed")
READ = """read_csv('{path}', delim='\t', quote='', escape='', header=true, columns={{'AnonID': 'VARCHAR',
    'Query': 'VARCHAR', 'QueryTime': 'TIMESTAMP', 'ItemRank': 'VARCHAR', 'ClickURL': 'VARCHAR'}})"""
COUNT = """
CREATE TABLE {name} AS SELECT "AnonID" AS person, "Query" AS query, count(*) AS times
FROM (SELECT DISTINCT "AnonID", "Query", "QueryTime" FROM {source}) GROUP BY ALL
"""


def measure() -> Figures:
    """Run both sides in turn and compare the medians."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        n_people, n_queries = _make(place)
        own_process("benchmarks.spi", "queryveil", folder)  # compiles
        runs: dict[str, list[dict[str, float]]] = {"DuckDB": [], "queryveil": []}
        for _ in range(RUNS):
            for who, done in runs.items():
                done.append(own_process("benchmarks.spi", who, folder))
    seconds = {who: statistics.median(run["seconds"] for run in done) for who, done in runs.items()}
    original = statistics.median(run["original"] for run in runs["DuckDB"])
    last = runs["queryveil"][-1]
    return {
        "people, queries": f"{n_people:,}, {n_queries:,}",
        "DuckDB, both logs, seconds": round(seconds["DuckDB"], 2),
        "DuckDB, the original alone, seconds": round(original, 2),
        "queryveil, seconds": round(seconds["queryveil"], 2),
        "time ratio to both logs": round(seconds["queryveil"] / seconds["DuckDB"], 2),
        "time ratio to the original alone (bar: ≤ 2)": round(seconds["queryveil"] / original, 2),
        **{name: round(last[name], 4) for name in MEASURES},
    }


def _make(folder: Path) -> tuple[int, int]:
    """Write both logs; return how many people and queries the original has."""
    import duckdb

    from queryveil.api import generate

    generate(folder / "source.tsv", like="aol", users=SOURCES, seed=SEED)
    database = duckdb.connect()
    source = READ.format(path=folder / "source.tsv")
    number = f'dense_rank() OVER (ORDER BY "AnonID") % {PEOPLE}'
    rows = f'SELECT * REPLACE (({number})::VARCHAR AS "AnonID") FROM {source}'
    database.execute(f"""CREATE TABLE issued AS SELECT "AnonID", "Query", "QueryTime", min("ItemRank") AS "ItemRank",
        min("ClickURL") AS "ClickURL" FROM ({rows}) GROUP BY ALL""")
    some = f'SELECT * FROM issued ORDER BY hash("AnonID", "Query", "QueryTime") LIMIT {QUERIES}'
    database.execute(f'CREATE TABLE log AS SELECT * FROM ({some}) ORDER BY "AnonID", "QueryTime", "Query"')
    options = "(header true, delimiter '\t', quote '')"
    database.execute(f"COPY log TO '{folder / 'original.tsv'}' {options}")
    common = 'SELECT "Query" FROM log GROUP BY 1 HAVING count(DISTINCT "AnonID") >= 2'
    database.execute(
        f"""COPY (SELECT * FROM log WHERE "Query" IN ({common})) TO '{folder / "released.tsv"}' {options}"""
    )
    counted = database.execute('SELECT count(DISTINCT "AnonID"), count(*) FROM log').fetchall()[0]
    database.close()
    return int(counted[0]), int(counted[1])


def _plain_sql(folder: Path) -> dict[str, float]:
    import duckdb

    duckdb.connect().close()
    started = time.perf_counter()
    database = duckdb.connect()
    times = []
    for name in ("original", "released"):
        database.execute(COUNT.format(name=name, source=READ.format(path=folder / f"{name}.tsv")))
        times.append(time.perf_counter() - started)
    database.close()
    return {"seconds": time.perf_counter() - started, "original": times[0]}


def _ours(folder: Path) -> dict[str, float]:
    from queryveil.api import measure as run

    lines = "".join(f"{i % 10},word{i} of a query,2026-01-01\n" for i in range(1_000))
    (folder / "small.csv").write_text(f"user,query,time\n{lines}")
    run(folder / "small.csv", folder / "small.csv", measures=MEASURES)  # imports, and loads all kernels
    started = time.perf_counter()
    scores = run(folder / "released.tsv", folder / "original.tsv", measures=MEASURES)
    seconds = time.perf_counter() - started
    first = {score.measure: score.value or 0.0 for score in reversed(scores)}
    return {"seconds": seconds, **first}


if __name__ == "__main__":
    if len(sys.argv) == 3:
        side = _ours if sys.argv[1] == "queryveil" else _plain_sql
        print(json.dumps(side(Path(sys.argv[2]))))
    else:
        for figure, value in measure().items():
            print(f"{figure}: {value}")
