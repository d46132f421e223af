"""km with `split` on a cluster: what does not fit is anonymised again as a log of its own, layer by layer.

As on one machine (`methods.pieces`) each layer gives a new piece of every history, and `split=all` publishes what is
left of terms that k people hold term by term. Terms do not join pieces across layers here: that would need the
combinations of all pieces at every block once more.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from queryveil.core.errors import GuaranteeError
from queryveil.methods.distributed.outcomes import KeptOnCluster, SparkTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMNS = ("person", "history", "part", "entries", "counts")


def split_on_cluster(task: SparkTask, make_layer: Callable[["DataFrame"], KeptOnCluster], split: str) -> KeptOnCluster:
    """Return the pieces of all histories; `make_layer` anonymises histories in one piece each."""
    first = make_layer(task.histories)
    layer, left, n_layers = first.frame, task.histories, 0
    pieces: DataFrame | None = None
    while True:
        n_layers += 1
        layer = task.work.keep(layer.select(*_COLUMNS), f"layer-{n_layers}")
        pieces = layer if pieces is None else pieces.unionByName(layer)
        left = task.work.keep(_without(left, layer), f"left-{n_layers}")
        try:
            layer = make_layer(left).frame
        except GuaranteeError:  # too few people have something left
            break
        if layer.where("size(entries) > 1").isEmpty():
            break
    if split == "all":
        pieces = pieces.unionByName(_single_terms(task, left))
    frame = task.work.keep(pieces, "pieces")
    return KeptOnCluster(frame, {**first.summary, "layers": n_layers, "histories": frame.count()}, first.found)


def _without(histories: "DataFrame", layer: "DataFrame") -> "DataFrame":
    """Return histories without the terms that a layer has of them; empty ones are left out."""
    kept = layer.selectExpr("person", "history", "entries AS kept")
    pairs = "filter(arrays_zip(entries, counts), each -> kept IS NULL OR NOT array_contains(kept, each.entries))"
    rest = histories.join(kept, ["person", "history"], "left").selectExpr("person", "history", "part", f"{pairs} AS p")
    return rest.where("size(p) > 0").selectExpr(
        "person", "history", "part", "p.entries AS entries", "p.counts AS counts"
    )


def _single_terms(task: SparkTask, left: "DataFrame") -> "DataFrame":
    """Return what is left of terms that k people of a part of the log hold, term by term."""
    entry = "explode(arrays_zip(entries, counts)) AS pair"
    holders = task.histories.selectExpr("part", "person", "explode(entries) AS entry").distinct()
    common = holders.groupBy("part", "entry").count().where(f"count >= {task.method.integer('k')}")
    common = common.selectExpr("part AS common_part", "entry AS common_entry")
    single = left.selectExpr("person", "history", "part", entry)
    matched = single.join(
        common, (single["part"].eqNullSafe(common["common_part"])) & (single["pair.entries"] == common["common_entry"])
    )
    return matched.selectExpr(
        "person", "history", "part", "array(pair.entries) AS entries", "array(pair.counts) AS counts"
    )
