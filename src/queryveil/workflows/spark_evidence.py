"""What a verifier looks at on a cluster."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

from queryveil.core.errors import ReleaseError
from queryveil.core.evidence import Evidence, Floor
from queryveil.engines.spark.frames import GroupMemberFrames, ReleasedGroupFrame, ReleasedHistoryFrame
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
    return Evidence.of(ReleasedHistoryFrame(items, owners is not None), floor)


def group_evidence(
    kind: Kind, rows: "DataFrame", floor: Floor, members: "DataFrame | None", pairs: "DataFrame | None"
) -> Evidence:
    """Return released groups with `history, group` of everybody and `history, term` of what they hold."""
    if rows.columns != list(kind.columns):
        raise ReleaseError("the data of the release has not the columns of its kind; it is damaged.")
    if not rows.where(" OR ".join(f"{name} IS NULL" for name in kind.columns)).isEmpty():
        raise ReleaseError("the release has rows in which something is missing; it is damaged.")
    placed = rows.selectExpr("*", "_metadata.file_path AS file", "_metadata.row_index AS row")
    evidence = Evidence.of(ReleasedGroupFrame(placed), floor)
    if members is not None and pairs is not None:
        frames = GroupMemberFrames(members, pairs)
        evidence.add(GroupMemberFrames, lambda: frames)
    return evidence
