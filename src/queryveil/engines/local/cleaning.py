"""From `raw` to the cleaned table `queries`: person, history, query, and what else is there; each step counted."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pyarrow as pa

from queryveil.core.errors import LogError
from queryveil.engines import Step
from queryveil.engines.local.reading import count
from queryveil.engines.local.selecting import literal
from queryveil.logs.options import Cleaning, seconds
from queryveil.logs.scrub import ASCII_CANDIDATE, KINDS, OTHER_CANDIDATE, scrub

Scrubber = Callable[[str], tuple[str, Counter[str]]]

_BATCH = 50_000


def clean(
    database: duckdb.DuckDBPyConnection,
    columns: tuple[str, ...],
    options: Cleaning,
    *,
    baskets: bool = False,
    may_be_empty: bool = False,
) -> list[Step]:
    """Run all steps in order and return what each did; the items of baskets are scrubbed one by one."""
    has_times = "time" in columns
    with ThreadPoolExecutor(1) as beside:  # the one is SQL, the other mostly Python
        numbered = beside.submit(_number_people, database.cursor())
        steps = [_scrub(database, options, _scrub_items if baskets else scrub)]
        numbered.result()
    steps.append(_merge_clicks(database, columns, options, has_times))
    bots = _drop_bots(database, options, has_times)
    n_people = count(database, "SELECT count(*) FROM people") - bots.count
    if n_people == 0 and not may_be_empty:
        raise LogError("all users of the log are bots by --bots; raise it, or give 0 to keep everybody.")
    return [*steps, bots, _number_histories(database, columns, options, has_times, n_people)]


def _scrub(database: duckdb.DuckDBPyConnection, options: Cleaning, scrubber: Scrubber) -> Step:
    """Find the queries that hold direct identifiers; only candidates are looked at in Python."""
    database.execute("CREATE TABLE scrubbed (query VARCHAR, clean VARCHAR)")
    if not options.scrub:
        return Step("scrub", 0, "direct identifiers taken out", "off")
    kinds: Counter[str] = Counter()
    is_ascii = "strlen(query) = length(query)"
    reader = database.cursor()  # of its own, so that rows can be inserted while it is read
    candidates = reader.sql(
        f"SELECT query, count(*) AS rows FROM raw WHERE CASE WHEN {is_ascii}"
        f" THEN regexp_matches(query, {literal(ASCII_CANDIDATE)})"
        f" ELSE regexp_matches(query, {literal(OTHER_CANDIDATE)}) END GROUP BY query"
    )
    for batch in candidates.to_arrow_reader(_BATCH):
        changed: list[tuple[str, str]] = []
        for text, rows in zip(batch["query"].to_pylist(), batch["rows"].to_pylist(), strict=True):
            without, found = scrubber(text)
            if found:
                changed.append((text, without))
                kinds.update({kind: number * rows for kind, number in found.items()})
        _insert_scrubbed(database, changed)
    reader.close()
    note = ", ".join(f"{kinds[kind]:,} {kind}" for kind in KINDS if kinds[kind])
    return Step("scrub", kinds.total(), "direct identifiers taken out", note)


def _scrub_items(basket: str) -> tuple[str, Counter[str]]:
    """Scrub the items of a basket apart: two short numbers side by side are no phone number."""
    parts = [scrub(item) for item in basket.split()]
    return " ".join(text for text, _ in parts), sum((found for _, found in parts), Counter())


def _insert_scrubbed(database: duckdb.DuckDBPyConnection, changed: list[tuple[str, str]]) -> None:
    if changed:
        texts, cleaned = zip(*changed, strict=True)
        database.register("changed", pa.table({"query": texts, "clean": cleaned}))
        database.execute("INSERT INTO scrubbed SELECT * FROM changed")
        database.unregister("changed")


def _number_people(database: duckdb.DuckDBPyConnection) -> None:
    """Number people in the order in which they first stand in the log."""
    database.execute(
        "CREATE TABLE people AS SELECT (row_number() OVER (ORDER BY first) - 1)::INTEGER AS id, person"
        " FROM (SELECT person, min(rowid) AS first FROM raw GROUP BY person)"
    )


def _merge_clicks(
    database: duckdb.DuckDBPyConnection, columns: tuple[str, ...], options: Cleaning, has_times: bool
) -> Step:
    """Make rows of equal person, query and time one query; the first click's rank and url stay."""
    merging = options.duplicates == "merge" and has_times
    joined = "raw JOIN people USING (person)"
    query = "query"
    if count(database, "SELECT count(*) FROM scrubbed"):
        joined += " LEFT JOIN scrubbed USING (query)"
        query = "coalesce(scrubbed.clean, raw.query)"
    keys = f"people.id AS person, {query} AS query" + (", raw.time" if has_times else "")
    if "part" in columns:
        keys += ", coalesce(raw.part, '') AS part"
    clicks = [name for name in ("rank", "url") if name in columns]
    if merging:
        first = "".join(f", arg_min(raw.{name}, raw.rowid) AS {name}" for name in clicks)
        database.execute(f"CREATE TABLE cleaned AS SELECT {keys}{first} FROM {joined} GROUP BY ALL")
    else:
        extra = "".join(f", raw.{name}" for name in clicks)
        database.execute(f"CREATE TABLE cleaned AS SELECT {keys}{extra} FROM {joined}")
    merged = count(database, "SELECT (SELECT count(*) FROM raw) - (SELECT count(*) FROM cleaned)")
    database.execute("DROP TABLE raw; DROP TABLE scrubbed")
    note = "" if merging else "off" if options.duplicates == "keep" else "skipped: the log has no times"
    return Step("duplicates", merged, "rows merged into the query they belong to", note)


def _drop_bots(database: duckdb.DuckDBPyConnection, options: Cleaning, has_times: bool) -> Step:
    """Leave out people who have a session of too many queries."""
    unit = "users left out as bots"
    if options.bots == 0:
        return Step("bots", 0, unit, "off")
    if not has_times:
        return Step("bots", 0, unit, "skipped: the log has no times")
    session = "day" if options.bot_session == "day" else "session"
    # Whoever has so long a session has as many queries in all: sessions of few people need to be looked at.
    database.execute(
        "CREATE TEMP TABLE busy AS SELECT person, time FROM cleaned SEMI JOIN"
        f" (SELECT person FROM cleaned GROUP BY person HAVING count(*) > {options.bots}) USING (person)"
    )
    database.execute(
        f"CREATE TABLE bots AS SELECT DISTINCT person FROM ({_with_bucket(session, options, 'busy')})"
        f" GROUP BY person, bucket HAVING count(*) > {options.bots}"
    )
    n_queries = count(database, "SELECT count(*) FROM cleaned SEMI JOIN bots USING (person)")
    n_people = count(database, "SELECT count(*) FROM bots")
    if n_people:
        database.execute("DELETE FROM cleaned WHERE person IN (SELECT person FROM bots)")
    database.execute("DROP TABLE bots; DROP TABLE busy")
    return Step("bots", n_people, unit, f"{n_queries:,} queries" if n_people else "")


def _with_bucket(history: str, options: Cleaning, rows: str = "cleaned") -> str:
    """Return SQL for the rows of a table with a number `bucket` that tells a person's histories apart.

    Queries without a time, in a log that has times, are a history of their own: their bucket is NULL.
    """
    if history == "user":
        return f"SELECT *, 0 AS bucket FROM {rows}"
    if history != "session":
        length = seconds("1d" if history == "day" else history.removeprefix("window:")) * 1_000_000
        since = "epoch_us(time)"  # `//` rounds towards zero, and times before 1970 are negative
        return f"SELECT *, {since} // {length} - ({since} % {length} < 0)::INTEGER AS bucket FROM {rows}"
    # A new session starts where the pause since the person's query before is strictly longer than the gap.
    gap = seconds(options.session_gap) * 1_000_000
    before = "lag(time) OVER (PARTITION BY person ORDER BY time)"
    paused = f"SELECT *, coalesce(epoch_us(time) - epoch_us({before}) > {gap}, false)::INTEGER AS pause FROM {rows}"
    number = "sum(pause) OVER (PARTITION BY person ORDER BY time ROWS UNBOUNDED PRECEDING)"
    return f"SELECT * EXCLUDE (pause), CASE WHEN time IS NOT NULL THEN {number} END AS bucket FROM ({paused})"


def _number_histories(
    database: duckdb.DuckDBPyConnection, columns: tuple[str, ...], options: Cleaning, has_times: bool, n_people: int
) -> Step:
    """Make `queries`: the cleaned rows with the number of their history."""
    if options.history != "user" and not has_times:
        raise LogError(f"--history {options.history} needs times, and the log has none; use --history user.")
    if options.history == "user" and "part" not in columns:
        database.execute("CREATE VIEW queries AS SELECT *, person AS history FROM cleaned")
        return Step("histories", n_people, "histories", "user")
    cut = "person, part, bucket" if "part" in columns else "person, bucket"
    database.execute(
        f"CREATE TABLE queries AS SELECT * EXCLUDE (bucket),"
        f" (dense_rank() OVER (ORDER BY {cut}) - 1)::INTEGER AS history"
        f" FROM ({_with_bucket(options.history, options)})"
    )
    database.execute("DROP TABLE cleaned")
    note = f"session, gap {options.session_gap}" if options.history == "session" else options.history
    if "part" in columns:
        note += f", {count(database, 'SELECT count(DISTINCT part) FROM queries'):,} parts by {options.partition_by}"
    return Step("histories", 1 + count(database, "SELECT max(history) FROM queries"), "histories", note)
