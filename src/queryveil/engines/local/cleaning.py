"""Cleans `raw` into the table `queries` (person, history, query and the other columns) and reports every step."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pyarrow as pa

from queryveil.core.arrow import arrow_texts
from queryveil.core.errors import LogError
from queryveil.engines import BATCH_ROWS, Step
from queryveil.engines.local.connection import fetch_number
from queryveil.engines.local.files import sql_literal
from queryveil.logs.options import CleaningOptions, seconds
from queryveil.logs.scrub import ASCII_CANDIDATE, KINDS, OTHER_CANDIDATE, scrub

# People are numbered in the order of their first rows in the log.
_NUMBER_PEOPLE = (
    "CREATE TABLE people AS SELECT (row_number() OVER (ORDER BY first) - 1)::INTEGER AS id, person"
    " FROM (SELECT person, min(rowid) AS first FROM raw GROUP BY person)"
)

Scrubber = Callable[[str], tuple[str, Counter[str]]]


def clean(
    database: duckdb.DuckDBPyConnection,
    columns: tuple[str, ...],
    options: CleaningOptions,
    *,
    baskets: bool = False,
    may_be_empty: bool = False,
) -> list[Step]:
    """Run all cleaning steps in order and return their effects; the items of baskets are scrubbed one by one."""
    has_times = "time" in columns
    with ThreadPoolExecutor(1) as thread:  # numbering is SQL and scrubbing mostly Python, so both run at once
        numbered = thread.submit(database.cursor().execute, _NUMBER_PEOPLE)
        steps = [_find_scrubbed(database, options, _scrub_items if baskets else scrub)]
        numbered.result()
    steps.append(_create_cleaned(database, columns, options, has_times))
    bots = _drop_bots(database, options, has_times)
    n_people = fetch_number(database, "SELECT count(*) FROM people") - bots.count
    if n_people == 0 and not may_be_empty:
        raise LogError("all users of the log are bots by --bots; raise it, or give 0 to keep everybody.")
    return [*steps, bots, _number_histories(database, columns, options, has_times, n_people)]


def _find_scrubbed(database: duckdb.DuckDBPyConnection, options: CleaningOptions, scrubber: Scrubber) -> Step:
    """Fill `scrubbed` with the queries that hold direct identifiers, and what replaces them."""
    database.execute("CREATE TABLE scrubbed (query VARCHAR, clean VARCHAR)")
    if not options.scrub:
        return Step("scrub", 0, "direct identifiers taken out", "off")
    kinds: Counter[str] = Counter()
    is_ascii = "strlen(query) = length(query)"
    reader = database.cursor()  # a separate one, so that rows can be inserted while it is read
    candidates = reader.sql(
        f"SELECT query, count(*) AS rows FROM raw WHERE CASE WHEN {is_ascii}"
        f" THEN regexp_matches(query, {sql_literal(ASCII_CANDIDATE)})"
        f" ELSE regexp_matches(query, {sql_literal(OTHER_CANDIDATE)}) END GROUP BY query"
    )
    for batch in candidates.to_arrow_reader(BATCH_ROWS):
        changed: list[tuple[str, str]] = []
        for text, rows in zip(batch["query"].to_pylist(), batch["rows"].to_pylist(), strict=True):
            scrubbed, found = scrubber(text)
            if found:
                changed.append((text, scrubbed))
                kinds.update({kind: number * rows for kind, number in found.items()})
        if changed:
            texts, cleaned = zip(*changed, strict=True)
            database.register("changed", pa.table({"query": arrow_texts(texts), "clean": arrow_texts(cleaned)}))
            database.execute("INSERT INTO scrubbed SELECT * FROM changed")
            database.unregister("changed")
    reader.close()
    note = ", ".join(f"{kinds[kind]:,} {kind}" for kind in KINDS if kinds[kind])
    return Step("scrub", kinds.total(), "direct identifiers taken out", note)


def _scrub_items(basket: str) -> tuple[str, Counter[str]]:
    """Scrub the items of a basket separately: two adjacent short numbers are not a phone number."""
    parts = [scrub(item) for item in basket.split()]
    return " ".join(text for text, _ in parts), sum((found for _, found in parts), Counter())


def _create_cleaned(
    database: duckdb.DuckDBPyConnection, columns: tuple[str, ...], options: CleaningOptions, has_times: bool
) -> Step:
    """Create `cleaned` from `raw`: number people, replace scrubbed queries, and merge clicks if wanted."""
    merging = options.duplicates == "merge" and has_times
    joined = "raw JOIN people USING (person)"
    query = "query"
    if fetch_number(database, "SELECT count(*) FROM scrubbed"):
        joined += " LEFT JOIN scrubbed USING (query)"
        query = "coalesce(scrubbed.clean, raw.query)"
    keys = f"people.id AS person, {query} AS query" + (", raw.time" if has_times else "")
    if "part" in columns:
        keys += ", coalesce(raw.part, '') AS part"
    click, group = ("arg_min(raw.{0}, raw.rowid) AS {0}", "GROUP BY ALL") if merging else ("raw.{0}", "")
    clicks = "".join(f", {click.format(name)}" for name in ("rank", "url") if name in columns)
    database.execute(f"CREATE TABLE cleaned AS SELECT {keys}{clicks} FROM {joined} {group}")
    merged = fetch_number(database, "SELECT (SELECT count(*) FROM raw) - (SELECT count(*) FROM cleaned)")
    database.execute("DROP TABLE raw; DROP TABLE scrubbed")
    note = "" if merging else "off" if options.duplicates == "keep" else "skipped: the log has no times"
    return Step("duplicates", merged, "rows merged into the query they belong to", note, -merged)


def _drop_bots(database: duckdb.DuckDBPyConnection, options: CleaningOptions, has_times: bool) -> Step:
    """Delete the queries of people who have a session with too many queries."""
    unit = "users left out as bots"
    if options.bots == 0 or not has_times:
        return Step("bots", 0, unit, "off" if options.bots == 0 else "skipped: the log has no times")
    session = "day" if options.bot_session == "day" else "session"
    # only people with that many queries in total can have so long a session
    database.execute(
        "CREATE TEMP TABLE busy AS SELECT person, time FROM cleaned SEMI JOIN"
        f" (SELECT person FROM cleaned GROUP BY person HAVING count(*) > {options.bots}) USING (person)"
    )
    database.execute(
        f"CREATE TABLE bots AS SELECT DISTINCT person FROM ({_with_bucket(session, options, 'busy')})"
        f" GROUP BY person, bucket HAVING count(*) > {options.bots}"
    )
    n_queries = fetch_number(database, "SELECT count(*) FROM cleaned SEMI JOIN bots USING (person)")
    n_people = fetch_number(database, "SELECT count(*) FROM bots")
    if n_people:
        database.execute("DELETE FROM cleaned WHERE person IN (SELECT person FROM bots)")
    database.execute("DROP TABLE bots; DROP TABLE busy")
    return Step("bots", n_people, unit, f"{n_queries:,} queries" if n_people else "", -n_queries, -n_people)


def _with_bucket(history: str, options: CleaningOptions, rows: str = "cleaned") -> str:
    """Return SQL that adds a number `bucket`, which identifies a history among those of a person.

    In a log with times, a person's queries without a time are a separate history: their bucket is NULL.
    """
    if history == "user":
        return f"SELECT *, 0 AS bucket FROM {rows}"
    if history != "session":
        length = seconds("1d" if history == "day" else history.removeprefix("window:")) * 1_000_000
        since = "epoch_us(time)"  # `//` rounds towards zero, and times before 1970 are negative
        return f"SELECT *, {since} // {length} - ({since} % {length} < 0)::INTEGER AS bucket FROM {rows}"
    # a new session starts where the pause since the person's previous query is strictly longer than the gap
    gap = seconds(options.session_gap) * 1_000_000
    before = "lag(time) OVER (PARTITION BY person ORDER BY time)"
    paused = f"SELECT *, coalesce(epoch_us(time) - epoch_us({before}) > {gap}, false)::INTEGER AS pause FROM {rows}"
    number = "sum(pause) OVER (PARTITION BY person ORDER BY time ROWS UNBOUNDED PRECEDING)"
    return f"SELECT * EXCLUDE (pause), CASE WHEN time IS NOT NULL THEN {number} END AS bucket FROM ({paused})"


def _number_histories(
    database: duckdb.DuckDBPyConnection,
    columns: tuple[str, ...],
    options: CleaningOptions,
    has_times: bool,
    n_people: int,
) -> Step:
    """Create `queries`: the cleaned rows with the number of their history."""
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
        n_parts = fetch_number(database, "SELECT count(DISTINCT part) FROM queries")
        note += f", {n_parts:,} parts by {options.partition_by}"
    return Step("histories", 1 + fetch_number(database, "SELECT max(history) FROM queries"), "histories", note)
