"""Query k-anonymity on a cluster: people are counted by a shuffle; what stays is the same as on one machine."""

from typing import TYPE_CHECKING

import numpy as np

from queryveil.core.errors import GuaranteeError
from queryveil.core.names import ResolvedName
from queryveil.methods.distributed.outcomes import KeptOnCluster, SparkTask
from queryveil.methods.query_k import smallest_k

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run(task: SparkTask) -> KeptOnCluster:
    """Return the queries of every history that at least k people issued."""
    from pyspark.sql import functions as f

    histories, method, work = task.histories, task.method, task.work
    pairs = histories.select("person", "history", "part", f.explode(f.arrays_zip("entries", "counts")).alias("pair"))
    pairs = pairs.selectExpr("person", "history", "part", "pair.entries AS query", "pair.counts AS n")
    task.progress("counting people", 0, 1)
    people = pairs.groupBy("query").agg(f.countDistinct("person").alias("people"), f.sum("n").alias("issues"))
    counted = work.keep(people, "queries")
    k, remedy = _k_and_remedy(method, histories, counted)
    task.progress("counting people", 1, 1)
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
        people, issues = np.array(counted.groupBy("people").sum("issues").collect(), np.int64).T
        remedy = "its commonest queries alone are a larger share; take a larger one."
        return smallest_k(people, issues, method.real("share")), remedy
    k, n_people = method.integer("k"), histories.select("person").distinct().count()
    if k > n_people:
        raise GuaranteeError(
            f"{method}: k = {k:,} is larger than the number of people in the log ({n_people:,}); lower k."
        )
    return k, "lower k."
