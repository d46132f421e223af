"""Checks the columns that a release has besides its queries: their form, how many people share a value, whom they show.

No guarantee covers them, so that a verdict on one comes with a warning that says how many histories they tell apart.
"""

from collections.abc import Sequence

from queryveil.core.evidence import Evidence, KeptValues
from queryveil.engines.kept_columns import KeptColumn, KeptColumns
from queryveil.engines.sql import KeptTables, SqlSession, open_sql_session
from queryveil.release.manifest import Manifest


def check_kept_columns(evidence: Evidence) -> tuple[list[str], list[str]]:
    """Return where kept columns are not what the manifest says, and a warning about what they give away."""
    manifest, tables, values = evidence.find(Manifest), evidence.find(KeptTables), evidence.find(KeptValues)
    if values is not None:
        tables = KeptTables(lambda: open_sql_session(kept=values.table), values.is_linked)
    if manifest is None or manifest.kept is None or tables is None:
        return [], []
    counted = "people" if tables.is_linked else "histories"
    with tables.open() as session:
        faults = [
            fault for column in manifest.kept.columns for fault in _faults(session, column, manifest.kept, counted)
        ]
        return faults, [_warning(session, manifest.kept)]


def _faults(session: SqlSession, column: KeptColumn, kept: KeptColumns, counted: str) -> list[str]:
    """Return whether a column has values of another form, or values that too few share."""
    name = column.name
    ((n_other,),) = session.query(
        f"SELECT COUNT(*) FROM {{kept}} WHERE {name} IS NOT NULL AND COALESCE({name} <> {column.sql}, TRUE)"
    )
    ((n_rare,),) = session.query(
        f"SELECT COUNT(*) FROM (SELECT part, {name} FROM {{kept}} WHERE {name} IS NOT NULL GROUP BY part, {name}"
        f" HAVING COUNT(DISTINCT owner) < {kept.floor}) AS rare"
    )
    faults = [f"{n_other:,} rows have a {name} that is not of the form {column}"] if n_other else []
    rare = (
        f"{n_rare:,} values of the column {name} are of fewer than {kept.floor:,} {counted}, the floor of kept values"
    )
    return [*faults, rare] if n_rare else faults


def _warning(session: SqlSession, kept: KeptColumns) -> str:
    """Return a sentence about how many histories show a kept value, or values of one query, that nobody else has."""
    ((n_histories,),) = session.query("SELECT COUNT(DISTINCT history) FROM {kept}")
    several = len(kept.columns) > 1
    text = (
        f"The guarantee does not cover the column{'s' if several else ''} {_listed(list(map(str, kept.columns)))}: of "
        f"{n_histories:,} histories, {_count_own(session, [[name] for name in kept.names]):,} have a value there that "
        "nobody else has"
    )
    if several:
        text += f", and {_count_own(session, [kept.names]):,} have a query whose values there nobody else has together"
    return f"{text}. Several values of a history together may single out more."


def _count_own(session: SqlSession, keys: Sequence[Sequence[str]]) -> int:
    """Count the histories with values, under one of the keys, that only one owner in the partition has."""
    own = " UNION ".join(
        "SELECT history FROM (SELECT history, MIN(owner) OVER alike AS lowest, MAX(owner) OVER alike AS highest"
        f" FROM {{kept}} WHERE {' OR '.join(f'{name} IS NOT NULL' for name in key)}"
        f" WINDOW alike AS (PARTITION BY part, {', '.join(key)})) AS owners WHERE lowest = highest"
        for key in keys
    )
    ((n_own,),) = session.query(f"SELECT COUNT(DISTINCT history) FROM ({own}) AS own")
    return int(n_own)


def _listed(words: Sequence[str]) -> str:
    """Return words as "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
