"""What a method on a cluster returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class KeptOnCluster:
    """What a deleting method kept: `person, history, part, entries, counts` of the histories that are not empty."""

    frame: "DataFrame"
    summary: Mapping[str, Any]
    settled: Mapping[str, int] = field(default_factory=dict)  # parameters of the claim that the run has found


@dataclass(frozen=True)
class GroupedOnCluster:
    """What a grouping method made."""

    frame: "DataFrame"  # what is published: `block, group, entries, weights`, in the order of the texts
    members: "DataFrame"  # `block, group, person`
    n_people: int  # in groups
    profiles: "DataFrame"  # `person, history, part, entries, counts, weights` of everybody, as they were grouped
    summary: Mapping[str, Any]
