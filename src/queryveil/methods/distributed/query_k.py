"""Query k-anonymity on a cluster: people are counted by a shuffle; what stays is the same as on one machine."""

from typing import TYPE_CHECKING

from queryveil.core.errors import GuaranteeError
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.methods.distributed.outcomes import KeptOnCluster, SparkTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run(task: SparkTask) -> KeptOnCluster:
    """Run the method as declared."""
    return anonymize(task.histories, task.method, work=task.work, progress=task.progress)


def anonymize(
    histories: "DataFrame", method: ResolvedName, *, work: ScratchTables, progress: Progress = silent
) -> KeptOnCluster:
    """Return the queries of every history that at least k people issued."""
    from pyspark.sql import functions as f

    pairs = histories.select("person", "history", "part", f.explode(f.arrays_zip("entries", "counts")).alias("pair"))
    pairs = pairs.selectExpr("person", "history", "part", "pair.entries AS query", "pair.counts AS n")
    progress("counting people", 0, 1)
    people = pairs.groupBy("query").agg(f.countDistinct("person").alias("people"), f.sum("n").alias("issues"))
    counted = work.keep(people, "queries")
    k, remedy = _k_and_remedy(method, histories, counted)
    progress("counting people", 1, 1)
    row = counted.where(counted["people"] < k).agg(f.count(f.lit(1)), f.sum("issues")).collect()[0]
    left = pairs.join(counted.where(counted["people"] >= k).select("query"), "query")
    gathered = left.groupBy("person", "history", "part").agg(
        f.array_sort(f.collect_list(f.struct("query", "n"))).alias("pairs")
    )
    kept = work.keep(
        gathered.selectExpr("person", "history", "part", "pairs.query AS entries", "pairs.n AS counts"), "kept"
    )
    if kept.isEmpty():
        raise GuaranteeError(f"{method}: nothing would be left of the log; {remedy}")
    summary = {
        "different queries left out": int(row[0]),
        "issued queries left out": int(row[1] or 0),
        "people must have issued a query (k)": k,
    }
    return KeptOnCluster(kept, summary, {"k": k})


def _k_and_remedy(method: ResolvedName, histories: "DataFrame", counted: "DataFrame") -> tuple[int, str]:
    """Return k, given or found by the share, and what to do if nothing is left."""
    if "k" not in method.values:
        by_people = counted.groupBy("people").sum("issues").collect()
        remedy = "its commonest queries alone are a larger share; take a larger one."
        return _smallest_k({int(row[0]): int(row[1]) for row in by_people}, method.real("share")), remedy
    k, n_people = method.integer("k"), histories.select("person").distinct().count()
    if k > n_people:
        raise GuaranteeError(
            f"{method}: k = {k:,} is larger than the number of people in the log ({n_people:,}); lower k."
        )
    return k, "lower k."


def _smallest_k(issues: dict[int, int], share: float) -> int:
    """Return the smallest k for which queries that k people issued make up at most a share of all issues."""
    total = released = sum(issues.values())
    k = 1
    for people in sorted(issues):
        if released <= share * total:
            break
        k, released = people + 1, released - issues[people]
    return k
