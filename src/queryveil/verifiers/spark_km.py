"""Verify (k, m)-anonymity on Spark: rows are joined with themselves, and the holders of each combination counted.

Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010, definition 1;
understood as in the verifier for one machine (`verifiers.km`), by other means.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from queryveil.core.errors import InternalError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict, Violation
from queryveil.engines.spark.sql import ReleasedHistoryFrame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def verify(claim: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Return whether a claim km(k, m) holds for the rows `user, owner, term, partition`, in each partition.

    The figures are those of the verifier for one machine: all combinations up to the size at which the check ended,
    the violations of that size, and of these the one with the lowest support that is first in the order of the texts.
    """
    k, m = claim.integer("k"), claim.integer("m")
    released = evidence.get(ReleasedHistoryFrame)
    rows = released.rows
    counted: Literal["people", "histories"] = "people" if released.is_linked else "histories"
    checked = 0
    for size in range(1, m + 1):
        progress("verifying", size - 1, m)
        n_found, n_short, worst = _count_combinations(rows, size, k)
        checked += n_found
        if not checked:
            return Verdict(str(claim), "unchecked", counted, reason="the release has no rows")
        if worst is not None:
            return Verdict(str(claim), "violated", counted, checked, n_short, worst)
    progress("verifying", m, m)
    return Verdict(str(claim), "holds", counted, checked)


def _count_combinations(rows: "DataFrame", size: int, k: int) -> tuple[int, int, Violation | None]:
    """Count the combinations of a size and those that too few hold, and find the worst."""
    from pyspark.sql import functions as f

    names = [f"term{i}" for i in range(size)]
    found = (
        combinations(rows, names)
        .groupBy("partition", *names)
        .agg(f.countDistinct("owner").alias("support"), f.count(f.lit(1)).alias("occurrences"))
    )
    found = found.persist()
    try:
        is_short = f.col("support") < k
        figures = found.agg(f.count(f.lit(1)), f.sum("occurrences"), f.count_if(is_short)).collect()[0]
        total, seen, n_short = (int(figure or 0) for figure in figures)
        _refuse_incomplete(rows, size, seen)
        if not n_short:
            return total, 0, None
        row = found.where(is_short).orderBy("support", *names).first()
    finally:
        found.unpersist()
    if row is None:
        raise InternalError("combinations that were counted are gone; please report this.")
    entries = tuple(str(row[name]) for name in names)
    return total, n_short, Violation(entries, int(row["support"]), k)


def combinations(rows: "DataFrame", names: list[str]) -> "DataFrame":
    """Return every combination of terms within a history, in the order of their texts."""
    joined = rows.withColumnRenamed("term", names[0])
    for before, name in pairwise(names):
        more = rows.selectExpr("user", f"term AS {name}")
        joined = joined.join(more, "user").where(f"{before} < {name}")
    return joined


def _refuse_incomplete(rows: "DataFrame", size: int, seen: int) -> None:
    """Raise if fewer combinations were seen than the lengths of the histories imply: that would certify nothing."""
    from pyspark.sql import functions as f

    choices = "1L"
    for i in range(size):
        choices = f"({choices} * (n - {i})) div {i + 1}"
    lengths = rows.groupBy("user").agg(f.count(f.lit(1)).alias("n"))
    expected = lengths.where(f.col("n") >= size).agg(f.sum(f.expr(choices))).collect()[0][0]
    if int(expected or 0) != seen:
        raise InternalError(
            f"the verifier looked at {seen} of {expected} combinations of {size} terms; please report this."
        )
