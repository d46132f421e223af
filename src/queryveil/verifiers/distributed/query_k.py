"""Verify query k-anonymity on a cluster: the owners of every released query are counted.

Adar: User 4XXXXX9: Anonymizing Query Logs, 2007; read as the verifier for one machine reads it (`verifiers.query_k`).
"""

from typing import TYPE_CHECKING, Literal

from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict, Violation
from queryveil.engines.spark.frames import ReleasedHistoryFrame

if TYPE_CHECKING:
    pass


def verify(bound: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Say whether a claim query_k(k) holds for the rows `user, owner, term, partition`, the term being a query."""
    from pyspark.sql import functions as f

    claim, k = str(bound), bound.integer("k")
    released = evidence.get(ReleasedHistoryFrame)
    rows = released.rows
    counted: Literal["people", "histories"] = "people" if released.is_linked else "histories"
    progress("verifying", 0, 1)
    found = rows.groupBy("partition", "term").agg(f.countDistinct("owner").alias("support"))
    short = found.where(f.col("support") < k)
    checked, n_short, worst = found.count(), short.count(), short.orderBy("support", "term").first()
    progress("verifying", 1, 1)
    if not checked:
        return Verdict(claim, "unchecked", counted, reason="the release has no rows")
    if worst is None:
        return Verdict(claim, "holds", counted, checked, unit="queries")
    violation = Violation((str(worst["term"]),), int(worst["support"]), k)
    return Verdict(claim, "violated", counted, checked, n_short, violation, unit="queries")
