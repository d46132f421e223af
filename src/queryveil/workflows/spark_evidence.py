"""The evidence that a verifier uses on a cluster: data frames, and SQL tables of them."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

from queryveil.core.errors import ReleaseError
from queryveil.core.evidence import Evidence, Floor
from queryveil.engines.spark.frames import ReleasedHistoryFrame
from queryveil.engines.spark.sql import SparkSqlSession
from queryveil.engines.sql import GroupTables, HistoryTables
from queryveil.kinds.base import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def distinct_items(rows: "DataFrame") -> "DataFrame":
    """Return what each history holds, once: `user, term, partition`; the term may be a query."""
    part = "partition" if "partition" in rows.columns else "'' AS partition"
    return rows.selectExpr("user", f"{rows.columns[1]} AS term", part).distinct()


def history_evidence(rows: "DataFrame", floor: Floor, owners: "DataFrame | None", stack: ExitStack) -> Evidence:
    """Return released histories with their owners (`user, owner`), where these are known."""
    items = distinct_items(rows)
    items = items.selectExpr("*", "user AS owner") if owners is None else items.join(owners, "user")
    items = items.persist()
    stack.callback(items.unpersist)
    is_linked = owners is not None
    table = items.selectExpr("owner", "term AS item", "partition AS part")
    tables = HistoryTables(lambda: SparkSqlSession(rows.sparkSession, items=table), is_linked)
    return Evidence.of(ReleasedHistoryFrame(items, is_linked), tables, floor)


def group_evidence(
    kind: Kind, rows: "DataFrame", floor: Floor, members: "DataFrame | None", pairs: "DataFrame | None"
) -> Evidence:
    """Return released groups with `history, group` of everybody and `history, term` of what they hold."""
    if rows.columns != list(kind.columns):
        raise ReleaseError("the data of the release has not the columns of its kind; it is damaged.")
    if not rows.where(" OR ".join(f"{name} IS NULL" for name in kind.columns)).isEmpty():
        raise ReleaseError("the release has rows in which something is missing; it is damaged.")
    place = ("_metadata.file_path AS file", "_metadata.row_index AS place")
    tables = {"released": rows.selectExpr("group AS group_id", "term", "weight", *place)}
    has_members = members is not None and pairs is not None
    if members is not None and pairs is not None:
        tables |= {"members": members.selectExpr("history", "group AS group_id"), "pairs": pairs}
    return Evidence.of(GroupTables(lambda: SparkSqlSession(rows.sparkSession, **tables), has_members), floor)
