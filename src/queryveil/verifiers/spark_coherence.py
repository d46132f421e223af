"""Verify coherence on Spark: combinations are joined with the sensitive terms of their histories, and owners counted.

Xu, Wang, Fu, Yu: Anonymizing Transaction Databases for Publication, 2008; understood as in the verifier for one machine
(`verifiers.coherence`), by other means.
"""

from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.engines.spark.sql import ReleasedHistoryFrame
from queryveil.lexicons.sensitive_terms import SensitiveTerms
from queryveil.verifiers import spark_km
from queryveil.verifiers.coherence import InferenceViolation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def verify(claim: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Return whether a claim coherence(k, m, h) holds for rows `user, owner, term, partition`, in each partition."""
    verdict = spark_km.verify(claim, evidence, progress=progress)
    if not verdict.holds:
        return verdict
    released, m = evidence.get(ReleasedHistoryFrame), claim.integer("m")
    rows, session = released.rows, released.rows.sparkSession
    terms = [str(row[0]) for row in rows.select("term").distinct().collect()]
    marked = evidence.get(SensitiveTerms).mark(terms)
    listed = [(term,) for term, is_sensitive in zip(terms, marked, strict=True) if is_sensitive]
    held = rows.selectExpr("user", "term AS other").join(session.createDataFrame(listed, "other STRING"), "other")
    people: tuple[str, Literal["people", "histories"]] = "owner", "people"
    histories: tuple[str, Literal["people", "histories"]] = "user", "histories"
    for owner, counted in (people, histories) if released.is_linked else (histories,):
        checked = 0
        for size in range(1, m + 1):
            progress("verifying inference", size - 1, m)
            n_found, n_wrong, worst = _check(rows, held, owner, size, Fraction(str(claim.real("h"))))
            checked += n_found
            if worst is not None:
                return Verdict(str(claim), "violated", counted, checked, n_wrong, worst)
    progress("verifying inference", m, m)
    return verdict


def _check(
    rows: "DataFrame", held: "DataFrame", owner: str, size: int, share: Fraction
) -> tuple[int, int, InferenceViolation | None]:
    """Count the combinations of a size, and those with a sensitive term that too many holders have; find the worst."""
    from pyspark.sql import functions as f

    names = [f"term{i}" for i in range(size)]
    keys = ["partition", *names]
    combinations = spark_km.combinations(rows, names)
    holders = combinations.groupBy(*keys).agg(f.countDistinct(owner).alias("holders")).persist()
    try:
        joined = combinations.join(held, "user").where(" AND ".join(f"other <> {name}" for name in names))
        having = joined.groupBy(*keys, "other").agg(f.countDistinct(owner).alias("having"))
        wrong = having.join(holders, keys).where(f"having * {share.denominator} > holders * {share.numerator}")
        wrong = wrong.withColumn("share", f.col("having") / f.col("holders"))
        n_found, n_wrong = holders.count(), wrong.count()
        row = wrong.orderBy(f.desc("share"), *names, "other").first() if n_wrong else None
    finally:
        holders.unpersist()
    if row is None:
        return n_found, 0, None
    entries = (*(str(row[name]) for name in names), str(row["other"]))
    n_having, n_holders = int(row["having"]), int(row["holders"])
    return n_found, n_wrong, InferenceViolation(entries, n_having, int(share * n_holders), holders=n_holders)
