"""What measures of terms look at on a cluster: an original log beside what was released of it."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from queryveil.kinds.base import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Counted:
    """What is counted of histories."""

    people: int
    histories: int
    entries: int  # different ones
    pairs: int
    occurrences: int


@dataclass(frozen=True)
class DistributedComparison:
    """An original log beside what was released of it: `owner, history, entries, counts` of each history.

    The owner is the person, in the release the history itself where the private folder is not given.
    """

    kind: Kind  # says what an item is: a term or a whole query
    original: "DataFrame"
    released: "DataFrame"
    is_linked: bool  # it is known who is behind the released histories
    seed: int = 0  # of random draws, which are made by hashes

    @cached_property
    def before(self) -> Counted:
        """Count the original."""
        return _counted(self.original)

    @cached_property
    def after(self) -> Counted:
        """Count the release."""
        return _counted(self.released)

    @property
    def one_history_each(self) -> bool:
        """Say whether every person of the original has one history, so that a released history is a person."""
        return self.before.histories == self.before.people

    @property
    def counts_people(self) -> bool:
        """Say whether it is known which released histories belong to the same person."""
        return self.is_linked or self.one_history_each

    def released_occurrences(self) -> int | None:
        """Return how often what is released is in the log; None where that cannot be told."""
        if self.kind.has_occurrences:
            return self.after.occurrences
        if not self.is_linked:
            return None
        before, after = (_pairs(frame) for frame in (self.original, self.released))
        both = before.join(after.select("owner", "history", "entry"), ["owner", "history", "entry"])
        return int(both.agg({"n": "sum"}).collect()[0][0] or 0)


def _counted(histories: "DataFrame") -> Counted:
    from pyspark.sql import functions as f

    occurrences = f.expr("aggregate(counts, 0L, (total, each) -> total + each)")
    row = histories.agg(
        f.countDistinct("owner"), f.count(f.lit(1)), f.sum(f.size("entries")), f.sum(occurrences)
    ).collect()[0]
    entries = histories.selectExpr("explode(entries)").distinct().count()
    people, n_histories, pairs, total = (int(figure or 0) for figure in row)
    return Counted(people, n_histories, entries, pairs, total)


def _pairs(histories: "DataFrame") -> "DataFrame":
    zipped = histories.selectExpr("owner", "history", "explode(arrays_zip(entries, counts)) AS pair")
    return zipped.selectExpr("owner", "history", "pair.entries AS entry", "pair.counts AS n")
