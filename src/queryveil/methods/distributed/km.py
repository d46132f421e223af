"""(k,m)-anonymity on a cluster, by rounds (`methods.rounds`)."""

from typing import TYPE_CHECKING

from queryveil.core.errors import GuaranteeError
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.methods.distributed.blocks import MOST_BLOCKS, PEOPLE, blocks, kept_histories, numbered_terms, raw_blocks
from queryveil.methods.distributed.exchange import SparkExchange
from queryveil.methods.distributed.outcomes import KeptOnCluster, SparkTask
from queryveil.methods.rounds.protocol import run_rounds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run(task: SparkTask) -> KeptOnCluster:
    """Run the method as declared."""
    return anonymize(task.histories, task.method, work=task.work, progress=task.progress)


def anonymize(
    histories: "DataFrame",
    method: ResolvedName,
    *,
    work: ScratchTables,
    people_per_block: int = PEOPLE,
    progress: Progress = silent,
) -> KeptOnCluster:
    """Return what stays of every history so that the log is (k,m)-anonymous."""
    k, m = method.integer("k"), method.integer("m")
    n_people = histories.select("person").distinct().count()
    if k > n_people:
        raise GuaranteeError(
            f"{method}: k = {k:,} is larger than the number of people in the log ({n_people:,}); lower k."
        )
    n_blocks = min(-(-n_people // people_per_block), MOST_BLOCKS)
    progress("blocks", 0, 1)
    raw = raw_blocks(work, histories, n_blocks)
    state = blocks(work, raw, numbered_terms(work, raw, k))
    progress("blocks", 1, 1)
    exchange = SparkExchange(work, state, n_blocks)
    summary = run_rounds(exchange, k=k, m=m, progress=progress)
    kept, n_kept = work.keep_counting(kept_histories(raw, exchange.state), "kept", "1")
    if not n_kept:
        raise GuaranteeError(f"{method}: nothing would be left of the log; lower k or m, or give a larger log.")
    return KeptOnCluster(kept, summary)
