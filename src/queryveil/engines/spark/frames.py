"""Data frames that stand for profiles, released histories and groups on a cluster."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class ReleasedHistoryFrame:
    """Released histories: `user, owner, term, partition`, each term of a history once."""

    rows: "DataFrame"
    is_linked: bool  # the owner is a person; else the history itself


def history_counts(histories: "DataFrame") -> tuple[int, int, int, int, int]:
    """Count people, histories, distinct terms, pairs and occurrences of `person, entries, counts`."""
    from pyspark.sql import functions as f

    full = histories.where("size(entries) > 0")
    row = full.agg(
        f.countDistinct("person"),
        f.count(f.lit(1)),
        f.sum(f.size("entries")),
        f.sum(f.expr("aggregate(counts, 0L, (total, each) -> total + each)")),
    ).collect()[0]
    terms = full.select(f.explode("entries").alias("term")).distinct().count()
    return int(row[0]), int(row[1]), int(terms), int(row[2] or 0), int(row[3] or 0)
