"""Verify query k-anonymity: every released query was issued by at least k owners.

Adar: User 4XXXXX9: Anonymizing Query Logs, 2007. Owners are people where that is known, else released histories. The
release holds all issues of every query that it contains, so the owners are counted in the release itself, by SQL that
DuckDB and Spark run unchanged.
"""

from typing import Literal

import numpy as np
import pyarrow as pa

from queryveil.core.evidence import Evidence, Owners, ReleasedHistories
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict, Violation
from queryveil.engines.sql import HistoryTables, SqlSession, open_sql_session


def verify(claim: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Return whether a claim query_k(k) holds; the counterexample has the fewest owners, then the first text."""
    tables = evidence.find(HistoryTables)
    if tables is None:
        released, owners = evidence.get(ReleasedHistories), evidence.find(Owners)
        terms = released.terms
        order = sorted(range(len(terms)), key=terms.__getitem__)  # an item is its rank among the texts
        tables = HistoryTables(
            lambda: _open_arrays(released, owners, order), owners is not None, lambda rank: terms[order[rank]]
        )
    k = claim.integer("k")
    counted: Literal["people", "histories"] = "people" if tables.is_linked else "histories"
    progress("verifying", 0, 1)
    with tables.open() as session:
        session.create(
            "supports", "SELECT part, item, COUNT(DISTINCT owner) AS support FROM {items} GROUP BY part, item"
        )
        ((checked,),) = session.query("SELECT COUNT(*) FROM {supports}")
        short = "SELECT item, support FROM {supports} WHERE support < {k}"
        n_short, worst = session.first(short, "support, item", k=k)
    progress("verifying", 1, 1)
    if not checked:
        return Verdict(str(claim), "unchecked", counted, reason="the release has no rows")
    if not n_short:
        return Verdict(str(claim), "holds", counted, checked, unit="queries")
    violation = Violation((tables.text_of(worst[0]),), int(worst[1]), k)
    return Verdict(str(claim), "violated", counted, checked, n_short, violation, unit="queries")


def _open_arrays(released: ReleasedHistories, owners: Owners | None, order: list[int]) -> SqlSession:
    n_histories, sizes = len(released.users), np.diff(released.indptr)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    part = np.zeros(n_histories, np.int32) if released.partition is None else released.partition
    owner = np.arange(n_histories, dtype=np.int32) if owners is None else owners.person
    items = {"owner": np.repeat(owner, sizes), "item": rank[released.ids], "part": np.repeat(part, sizes)}
    return open_sql_session(items=pa.table(items))
