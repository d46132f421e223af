"""Published vocabularies on Spark as evidence: of a release that is being made, or of one that is read."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from queryveil.core.errors import ReleaseError
from queryveil.core.evidence import Evidence, Floor, MethodParameters
from queryveil.core.files import scratch, write_file
from queryveil.engines.spark.sql import VocabularyFrames, count_columns
from queryveil.kinds.base import wrong_counts
from queryveil.kinds.private_folder import OTHER_HISTORIES, TAXONOMY
from queryveil.methods.distributed.features import network_of
from queryveil.semantics import SemanticOptions
from queryveil.semantics.network import Network, wordnet
from queryveil.workflows.excluded import recorded_terms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from queryveil.workflows.spark_verify import ClusterRelease


def open_network(meaning: SemanticOptions, excluded: frozenset[str]) -> Network:
    """Return the network that a method on Spark compares terms by; it publishes no excluded term."""
    network = network_of(meaning) or wordnet()
    return network.hide_names(excluded) if excluded else network


def published_frames(
    rows: "DataFrame", behind: "DataFrame | None", held: "DataFrame | None" = None
) -> VocabularyFrames:
    """Return published rows with those behind them (`user, owner`), where known; refuse damaged rows."""
    names = ("user", "term", "count", "level")
    if not rows.where(" OR ".join(f"{name} IS NULL" for name in names)).isEmpty():
        raise ReleaseError("the release has rows in which something is missing; it is damaged.")
    if not rows.where("count < 1 OR level < 0").isEmpty():
        raise ReleaseError("the release has rows with a count below 1 or a level below 0; it is damaged.")
    if not rows.groupBy("user", "term", "level").count().where("count > 1").isEmpty():
        raise ReleaseError("the release has the same term of a history twice; it is damaged.")
    owned = rows.selectExpr("*", "user AS owner") if behind is None else rows.join(behind, "user")
    return VocabularyFrames(owned.select("owner", *names), behind is not None, held)


def check_vocabularies(folder: "ClusterRelease", private: str | None, stack: ExitStack) -> tuple[Evidence, list[str]]:
    """Return released vocabularies with their owners, and where the folders contradict each other."""
    rows, after, manifest = folder.rows(), folder.manifest.counts["after"], folder.manifest
    if rows.columns != list(folder.kind.columns):
        raise ReleaseError("the data of the release does not have the columns of its kind; it is damaged.")
    faults = folder.file_faults() or folder.row_faults()
    if not faults:
        n_rows, n_histories, n_terms = count_columns(rows, "1", "DISTINCT user", "DISTINCT term")
        n_occurrences = int(rows.selectExpr("SUM(count)").collect()[0][0] or 0)
        counts = {"histories": n_histories, "terms": n_terms, "pairs": n_rows, "occurrences": n_occurrences}
        faults = wrong_counts(counts, after, "rows")
    if private is None:
        return Evidence(published_frames(rows, None), Floor(manifest.floor)), faults
    run, membership, pairs, found = folder.private_side(private)
    held = membership.join(pairs, "history").selectExpr("release_id AS user", "person AS owner", "term", "count")
    behind = membership.where("release_id IS NOT NULL").selectExpr("release_id AS user", "person AS owner")
    users = rows.select("user").distinct()
    if not users.join(behind, "user", "anti").isEmpty() or behind.count() != users.count():
        raise ReleaseError(OTHER_HISTORIES.format(private))
    found += wrong_counts({"people": count_columns(behind, "DISTINCT owner")[0]}, after, "private folder")
    evidence = Evidence(published_frames(rows, behind, held), Floor(manifest.floor))
    evidence.add(MethodParameters, lambda: MethodParameters(run.parameters))
    if manifest.cleaning.meaning is not None:
        meaning = SemanticOptions(
            network=manifest.cleaning.meaning["network"], taxonomy=_copy_taxonomy(folder, private, stack)
        )
        evidence.add(Network, partial(open_network, meaning, recorded_terms(manifest, run)))
    return evidence, faults + found


def _copy_taxonomy(folder: "ClusterRelease", private: str, stack: ExitStack) -> Path | None:
    """Return a copy on this machine of the taxonomy in a private folder, removed at the end; None without one."""
    data = folder.read_private(private, TAXONOMY)
    if data is None:
        return None
    copy = stack.enter_context(scratch("taxonomy")) / TAXONOMY
    write_file(copy, data, 0o600)
    return copy
