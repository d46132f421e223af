"""The task of a method on a Spark cluster, and the outcomes it may return."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from queryveil.core.evidence import Views
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.engines.spark.sql import history_counts
from queryveil.semantics import SemanticOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Figures = tuple[int, int, int, int, int]  # people, histories, terms, pairs, occurrences


@dataclass(frozen=True)
class SparkTask:
    """The histories and the parameters that a method is run with."""

    histories: "DataFrame"  # `person, history, part, entries, counts`
    method: ResolvedName  # its name and parameters
    work: ScratchTables
    seed: int = 0
    meaning: SemanticOptions = field(default_factory=SemanticOptions)
    inputs: Views = field(default_factory=Views)  # by type, as of a `MethodTask`
    progress: Progress = silent


@dataclass(frozen=True)
class KeptOnCluster:
    """The histories that a deleting method kept, without empty ones: `person, history, part, entries, counts`."""

    frame: "DataFrame"
    summary: Mapping[str, Any]
    found: Mapping[str, int | float] = field(default_factory=dict)  # parameters of the claim that the run determined

    def profiles(self, cleaned: "DataFrame") -> "DataFrame":
        """Return the profiles as the method saw them."""
        return cleaned

    def counts(self) -> tuple[Figures, Mapping[str, int]]:
        """Count what is released."""
        return history_counts(self.frame), {}

    def members(self, ranked: "DataFrame", work: ScratchTables) -> "DataFrame":
        """Return `person, history, release_id` of what is released."""
        return ranked.selectExpr("person", "history", "number AS release_id")


@dataclass(frozen=True, kw_only=True)
class PublishedOnCluster(KeptOnCluster):
    """The vocabularies that are published, without empty ones: `person, history, entries, counts, levels`."""

    seen: "DataFrame"  # the histories as the method saw them

    def profiles(self, cleaned: "DataFrame") -> "DataFrame":
        """Return the profiles as the method saw them."""
        return self.seen


@dataclass(frozen=True)
class GroupedOnCluster:
    """The groups that a grouping method made."""

    frame: "DataFrame"  # what is published: `block, group, entries, weights`, in the order of the texts
    group_members: "DataFrame"  # `block, group, person`
    n_people: int  # in groups
    weighted: "DataFrame"  # `person, history, part, entries, counts, weights` of everybody, as they were grouped
    summary: Mapping[str, Any]
    found: Mapping[str, int | float] = field(default_factory=dict)

    def profiles(self, cleaned: "DataFrame") -> "DataFrame":
        """Return the profiles as the method saw them."""
        return self.weighted

    def counts(self) -> tuple[Figures, Mapping[str, int]]:
        """Count the people in groups and what is published of these."""
        terms = self.frame.selectExpr("explode(entries) AS term")
        n_rows, n_terms = terms.count(), terms.distinct().count()
        figures = (self.n_people, self.n_people, n_terms, n_rows, n_rows)
        return figures, {"groups": int(self.summary["groups"])}

    def members(self, ranked: "DataFrame", work: ScratchTables) -> "DataFrame":
        """Return `person, history, release_id` of everybody in a group."""
        ids = ranked.selectExpr("block", "group", "number AS release_id")
        joined = self.group_members.join(ids, ["block", "group"])
        return work.keep(joined.selectExpr("person", "0 AS history", "release_id"), "members")


ClusterOutcome = KeptOnCluster | GroupedOnCluster
