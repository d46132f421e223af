"""Bounding inference on a cluster: sensitive terms that follow too surely are deleted from all histories.

On one machine only some holders of a combination lose a sensitive term (`methods.coherence`). Who does depends on all
other combinations, and rarer terms make new ones too rare: on a cluster that would be rounds of joins. If all histories
lose it, everything else stays as it was, and one step is enough.
"""

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from queryveil.lexicons.sensitive_terms import SensitiveTerms
from queryveil.methods.distributed.outcomes import SparkTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def bound_inference(task: SparkTask, kept: "DataFrame") -> tuple["DataFrame", dict[str, float], dict[str, object]]:
    """Return `person, history, part, entries, counts` without the sensitive terms that follow too surely.

    Besides, return the threshold of the model if there is one, and a summary.
    """
    from pyspark.sql import functions as f

    work, progress, terms = task.work, task.progress, task.inputs.get(SensitiveTerms)
    m, share = task.method.integer("m"), Fraction(str(task.method.real("h")))
    threshold = {} if terms.threshold is None else {"threshold": terms.threshold}
    rows = kept.selectExpr("person", "history", "coalesce(part, '') AS part", "explode(entries) AS term").persist()
    texts = [str(row[0]) for row in rows.select("term").distinct().collect()]
    listed = [(text,) for text, is_sensitive in zip(texts, terms.mark(texts), strict=True) if is_sensitive]
    sensitive = work.spark.createDataFrame(listed, "other STRING")
    held = rows.selectExpr("person", "history", "term AS other").join(sensitive, "other")
    found = set[tuple[str, str]]()
    for size in range(1, m + 1):
        progress("bounding inference", size - 1, m)
        found |= _follow_too_surely(rows, held, size, share)
    rows.unpersist()
    progress("bounding inference", m, m)
    summary: dict[str, object] = {
        "sensitive terms": len(listed),
        "sensitive terms deleted from all histories": len(found),
    }
    if not found:
        return kept, threshold, summary
    gone = work.spark.createDataFrame(sorted(found), "its_part STRING, term STRING")
    gone = gone.groupBy("its_part").agg(f.collect_set("term").alias("gone"))
    joined = kept.join(f.broadcast(gone), f.expr("coalesce(part, '') = its_part"), "left")
    joined = joined.withColumn("gone", f.expr("coalesce(gone, array())"))
    left = joined.selectExpr(
        "person",
        "history",
        "part",
        "filter(entries, each -> NOT array_contains(gone, each)) AS entries",
        "filter(counts, (each, i) -> NOT array_contains(gone, entries[i])) AS counts",
    )
    return left.where("size(entries) > 0"), threshold, summary


def _follow_too_surely(rows: "DataFrame", held: "DataFrame", size: int, share: Fraction) -> set[tuple[str, str]]:
    """Return the parts and sensitive terms that too many holders of some combination of a size have besides."""
    from pyspark.sql import functions as f

    names = [f"term{i}" for i in range(size)]
    combinations = rows.withColumnRenamed("term", names[0])
    for before, name in pairwise(names):
        more = rows.selectExpr("person", "history", f"term AS {name}")
        combinations = combinations.join(more, ["person", "history"]).where(f"{before} < {name}")
    people, histories = f.countDistinct("person"), f.countDistinct("person", "history")
    keys = ["part", *names]
    holders = combinations.groupBy(*keys).agg(people.alias("people"), histories.alias("histories"))
    joined = combinations.join(held, ["person", "history"]).where(" AND ".join(f"other <> {name}" for name in names))
    counted = joined.groupBy(*keys, "other").agg(people.alias("of_people"), histories.alias("of_histories"))
    too_many = " OR ".join(
        f"of_{unit} * {share.denominator} > {unit} * {share.numerator}" for unit in ("people", "histories")
    )
    wrong = counted.join(holders, keys).where(too_many).select("part", "other").distinct()
    return {(str(row[0]), str(row[1])) for row in wrong.collect()}
