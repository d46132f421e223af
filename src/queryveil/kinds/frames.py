"""How the rows of each kind are made on a cluster, from data frames."""

from dataclasses import dataclass, replace

_ISSUED = "flatten(transform(arrays_zip(entries, counts), each -> array_repeat(each.entries, each.counts)))"


@dataclass(frozen=True)
class FrameLayout:
    """How rows are made from a data frame of a cluster that has one record per history or group, items as arrays."""

    arrays: tuple[str, ...]  # the columns after the id, with their types
    order: tuple[str, ...]  # the columns that the canonical order sorts by
    select: tuple[str, ...] = ("*",)  # expressions that turn what a method keeps into these columns


HISTORIES = FrameLayout(
    arrays=("entries ARRAY<STRING>", "part STRING"),
    order=("part", "entries", "person", "history"),
    select=("person", "history", "part", "entries"),
)
QUERIES = replace(HISTORIES, select=("person", "history", "part", f"{_ISSUED} AS entries"))
GROUPS = FrameLayout(
    arrays=("entries ARRAY<STRING>", "weights ARRAY<DOUBLE>"), order=("entries", "weights", "block", "group")
)
VOCABULARIES = FrameLayout(
    arrays=("entries ARRAY<STRING>", "counts ARRAY<INT>", "levels ARRAY<INT>"),
    order=("cells", "person", "history"),
    select=("*", "arrays_zip(entries, levels, counts) AS cells"),
)
