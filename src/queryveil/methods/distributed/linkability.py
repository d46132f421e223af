"""p-linkability on a cluster: people in blocks, each grouped by the method for one machine (`methods.linkability`).

Counts over all people (holders and total weights of terms, lengths of profiles) are computed once and sent to the
blocks. If similar people should be grouped, blocks consist of similar people (`similar_blocks`); under posterior,
belief and closeness random blocks are as good, so people are assigned to blocks by hash. Blocks without a legal group
are merged.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from queryveil.core.errors import GuaranteeError
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import Int32Array
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.histories.outcomes import Grouping
from queryveil.histories.profiles import Profiles
from queryveil.methods.distributed import features as feature_blocks
from queryveil.methods.distributed.blocks import PEOPLE, numbered_terms, raw_blocks, terms_of_blocks
from queryveil.methods.distributed.encoding import Piece, Row, join_pieces, map_groups
from queryveil.methods.distributed.outcomes import GroupedOnCluster, SparkTask
from queryveil.methods.distributed.similar_blocks import cut_into_blocks
from queryveil.methods.linkability import principles
from queryveil.methods.linkability.blocks import EXACT_UP_TO, GROWTH, group_all
from queryveil.methods.linkability.greedy import task_of
from queryveil.semantics import SemanticOptions
from queryveil.semantics.augmentation import FeatureMatrix

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_GROUPS_SCHEMA = "block INT, group INT, person ARRAY<STRING>, numbers ARRAY<INT>, weights ARRAY<DOUBLE>, hidden LONG"
_KNOWN = "block", "entry", "CAST(number AS INT) AS number", "people", "total"
_NOBODY = -1  # the group of people who fit nowhere
_DECIMALS = 9  # of a published weight, as on one machine


class _PeopleCounts(NamedTuple):
    """Counts over all people."""

    n_people: int
    n_holders: int
    n_pairs: int


def run(task: SparkTask) -> GroupedOnCluster:
    """Run the method as declared."""
    return group_profiles(
        task.histories, task.method, work=task.work, meaning=task.meaning, seed=task.seed, progress=task.progress
    )


def group_profiles(
    histories: "DataFrame",
    method: ResolvedName,
    *,
    work: ScratchTables,
    meaning: SemanticOptions,
    seed: int,
    people_per_block: int = PEOPLE,
    progress: Progress = silent,
) -> GroupedOnCluster:
    """Return groups of the people, all legal by the principle, and what is published of each."""
    network = feature_blocks.network_of(meaning)
    if meaning.unknown_terms == "drop":
        histories = work.keep(feature_blocks.known_only(histories, network), "known")
    n_people, n_all_pairs = map(int, histories.selectExpr("COUNT(*)", "SUM(size(entries))").collect()[0])
    progress("blocks", 0, 1)
    raw = raw_blocks(work, histories, -(-n_people // people_per_block))
    terms = numbered_terms(work, raw, 1 if meaning.weights == "tfidf" else principles.floor_of(method))
    by_content = method.word("weighting") == "content"
    options = feature_blocks.FeatureOptions(
        network, meaning.weights, method.integer("a"), by_content, n_people, principles.floor_of(method)
    )
    known = terms_of_blocks(raw, feature_blocks.with_totals(raw, terms, meaning.weights)).selectExpr(*_KNOWN)
    counted = feature_blocks.augment_blocks(work, raw, known, options)
    n_holders, n_bytes = counted.selectExpr("SUM(n)", "SUM(length(ids))").collect()[0]
    everybody = _PeopleCounts(n_people, int(n_holders or 0), int(n_bytes or 0) // np.dtype(np.int32).itemsize)
    pieces = feature_blocks.weight_nodes(work, counted, options)
    progress("blocks", 1, 1)
    if principles.prefers_similar(method) and everybody.n_holders > 2 * people_per_block:
        pieces = cut_into_blocks(work, pieces, everybody.n_holders, people_per_block, seed, progress)
    groups, results = _group_blocks(work, pieces, method, seed, everybody, progress)
    summary = _summary(method, results, everybody, n_all_pairs)
    weights = feature_blocks.person_weights(raw, known, options) if meaning.weights == "tfidf" else None
    return GroupedOnCluster(
        _published_rows(groups, terms),
        groups.where(f"group > {_NOBODY}").selectExpr("block", "group", "explode(person) AS person"),
        everybody.n_holders - summary["people who fit nowhere"],
        _with_weights(histories, weights, meaning.weights),
        summary,
    )


def _summary(
    method: ResolvedName, results: Sequence["_BlockResult"], everybody: _PeopleCounts, n_all_pairs: int
) -> dict[str, Any]:
    """Return what describes the run, and refuse one without a group; `n_all_pairs` counts rare terms too."""
    n_groups = sum(block.groups for block in results)
    if not n_groups:
        raise GuaranteeError(
            f"{method}: the {everybody.n_holders:,} people with terms to publish make no legal group; "
            "take a larger p, a weaker principle or more people."
        )
    return {
        "groups": n_groups,
        "people grouped": f"in {len(results):,} blocks on Spark, cut further above {EXACT_UP_TO:,} people",
        "people without a usable term": everybody.n_people - everybody.n_holders,
        "people who fit nowhere": sum(block.nowhere for block in results),
        "pairs below the floor": n_all_pairs - everybody.n_pairs,
        "terms of groups suppressed": sum(block.hidden for block in results),
    }


class _BlockResult(NamedTuple):
    """The result of grouping a block."""

    block: int
    groups: int
    nowhere: int  # people in no group
    hidden: int  # terms of groups that are not published


def _group_blocks(
    work: ScratchTables,
    pieces: "DataFrame",
    method: ResolvedName,
    seed: int,
    everybody: _PeopleCounts,
    progress: Progress,
) -> tuple["DataFrame", list[_BlockResult]]:
    """Group every block; blocks without a legal group are merged, the last one with a block that has groups."""
    from pyspark.sql import functions as f

    def group(rows: list[Row]) -> list[Row]:
        block, people = rows[0]["block"], join_pieces(rows)
        made, numbers = group_piece(people, method, np.random.default_rng([seed, block]), everybody)
        return _rows(block, people, made, numbers)

    is_open = "min_similarity" not in method.values  # anybody may be in a group with anybody
    progress("grouping", 0, 1)
    turn = 0
    groups = work.keep(map_groups(pieces, "block", _GROUPS_SCHEMA, group), "groups-0")
    while True:
        flags = groups.selectExpr(
            "block", "INT(group >= 0) AS is_group", "IF(group >= 0, 0, size(person)) AS n", "hidden"
        )
        rows = flags.groupBy("block").sum().select("block", "sum(is_group)", "sum(n)", "sum(hidden)").collect()
        results = sorted(_BlockResult(*map(int, row)) for row in rows)
        failed = [block.block for block in results if not block.groups]
        target = plan_merges(failed, [block.block for block in results if block.groups] if is_open else [])
        if not target:
            progress("grouping", 1, 1)
            return groups, results
        turn += 1
        again = sorted({*target, *target.values()})
        pieces = pieces.na.replace(target, subset=["block"])
        regrouped = map_groups(pieces.where(f.col("block").isin(again)), "block", _GROUPS_SCHEMA, group)
        rest = groups.where(~f.col("block").isin(again))
        groups = work.keep(rest.unionByName(regrouped), f"groups-{turn}")


def plan_merges(failed: Sequence[int], others: Sequence[int]) -> dict[Any, Any]:
    """Return the block into which each block without a legal group is merged; empty if nothing can be merged.

    A few of them at a time are merged; a single one goes into the first of the others, if there are any.
    """
    if len(failed) == 1:
        return {failed[0]: others[0]} if others else {}
    return {block: failed[i - i % GROWTH] for i, block in enumerate(failed) if i % GROWTH}


def group_piece(
    people: Piece, method: ResolvedName, rng: np.random.Generator, everybody: _PeopleCounts
) -> tuple[Grouping, Int32Array]:
    """Return the groups of some people over locally numbered terms, and the global number of each local one."""
    numbers, first, ids = np.unique(people.ids, return_index=True, return_inverse=True)
    local, owner = ids.astype(np.int32), np.arange(len(people), dtype=np.int32)
    profiles = Profiles(
        ("",) * len(numbers), people.indptr, local, np.ones_like(local), owner, (), weights=people.weights
    )
    dimensions, feature_ids = np.unique(people.dimensions, return_inverse=True)
    features = FeatureMatrix(people.feature_indptr, feature_ids.astype(np.int32), people.values, len(dimensions))
    population = principles.Population(*everybody, people.holders[first].astype(np.int64), people.totals[first])
    task = task_of(profiles, features, method, people=population)
    group, _ = group_all(task, np.arange(len(people)), rng, EXACT_UP_TO, silent)
    made = principles.representatives(profiles, group, method, people=population)
    made, _ = principles.without_groups(made, np.diff(made.indptr) == 0)  # nothing may be published of them
    return made, numbers


def _rows(block: int, people: Piece, made: Grouping, numbers: Int32Array) -> list[Row]:
    """Return a row for every group and one for people in no group."""
    order = np.argsort(made.group, kind="stable")
    ends = np.searchsorted(made.group[order], np.arange(-1, made.n_groups), "right")
    persons = [part.tolist() for part in np.split(people.person[order], ends[:-1])]
    weights = np.maximum(np.round(made.weights, _DECIMALS), 10.0**-_DECIMALS)
    terms = [
        {"numbers": numbers[made.ids[begin:end]].tolist(), "weights": weights[begin:end].tolist(), "hidden": 0}
        for begin, end in pairwise(made.indptr)
    ]
    nothing = {"numbers": [], "weights": [], "hidden": int(made.summary["terms of groups suppressed"])}
    return [
        {"block": block, "group": group, "person": members, **columns}
        for group, members, columns in zip(range(_NOBODY, made.n_groups), persons, [nothing, *terms], strict=True)
    ]


def _published_rows(groups: "DataFrame", terms: "DataFrame") -> "DataFrame":
    """Return the published rows of groups: `block, group, entries, weights`, entries in the order of their texts."""
    from pyspark.sql import functions as f

    pairs = groups.select("block", "group", f.explode(f.arrays_zip("numbers", "weights")).alias("pair"))
    named = pairs.selectExpr("block", "group", "pair.numbers AS number", "pair.weights AS weight").join(
        terms.selectExpr("CAST(number AS INT) AS number", "term"), "number"
    )
    gathered = named.groupBy("block", "group").agg(
        f.array_sort(f.collect_list(f.struct("term", "weight"))).alias("rows")
    )
    return gathered.selectExpr("block", "group", "rows.term AS entries", "rows.weight AS weights")


def _with_weights(histories: "DataFrame", weights: "DataFrame | None", kind: str) -> "DataFrame":
    """Return the profiles as they were grouped, with weights."""
    if weights is not None:
        return histories.join(weights, "person")
    return histories.selectExpr("*", f"transform(counts, c -> {'1D' if kind == 'paper' else 'DOUBLE(c)'}) AS weights")
