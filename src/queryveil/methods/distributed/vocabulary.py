"""SSC on a cluster: blocks of vocabularies of similar length, each clustered by the method for one machine.

What concerns the log as a whole is counted first, in blocks of people: who holds each term, which form of a word most
people hold, and how many people hold a term below a node. The vocabularies are then sorted by length and cut into
blocks as on one machine (docs/decisions/0042), so that no task holds more than one block of them.
"""

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from queryveil.core.names import ResolvedName
from queryveil.core.progress import silent
from queryveil.core.rows import IntArray, indptr_of, ranges, row_sums
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import count_people
from queryveil.methods.distributed import blocks, features
from queryveil.methods.distributed.encoding import Row, explode_rows, map_blocks, map_groups
from queryveil.methods.distributed.outcomes import PublishedOnCluster, SparkTask
from queryveil.methods.vocabularies import floor_of, refuse_nothing, require_people
from queryveil.methods.vocabulary import cluster_blocks, refuse_network
from queryveil.methods.vocabulary.clustering import STAGE, prepare, rule_of
from queryveil.methods.vocabulary.names import BagNames
from queryveil.semantics.network import Network, ancestry_of, wordnet
from queryveil.semantics.taxonomy import check_coverage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SIZED_SCHEMA = (
    "person STRING, history INT, falling LONG, common INT, entries ARRAY<STRING>, numbers ARRAY<INT>, "
    "people ARRAY<INT>, counts ARRAY<INT>"
)
_PUBLISHED_SCHEMA = (
    "person STRING, history INT, entries ARRAY<STRING>, counts ARRAY<INT>, levels ARRAY<INT>, clusters INT, hollow INT"
)


@dataclass(frozen=True)
class _LogCounts:
    """What a block must know of the whole log."""

    numbers: IntArray  # of the terms that may stand for rarer ones: of each word the form that most people hold
    texts: tuple[str, ...]
    people: IntArray  # how many people hold each of them
    below: IntArray  # (nodes,): how many people hold a term below each; empty if nothing is generalised


def run(task: SparkTask) -> PublishedOnCluster:
    """Return, for every history, the typical vocabulary of its cluster."""
    method, work, rule = task.method, task.work, rule_of(task.method)
    given = features.network_of(task.meaning)
    network = given or wordnet()
    refuse_network(network, method)
    if task.meaning.excluded:
        network = given = network.hide_names(task.meaning.excluded)
    task.progress("blocks", 0, 1)
    n_people = task.histories.select("person").distinct().count()
    raw = blocks.raw_blocks(work, task.histories, -(-n_people // blocks.PEOPLE))
    terms = work.keep(_with_words(blocks.numbered_terms(work, raw, 1), given), "words")
    summary = _coverage(task, terms)
    sized, n = work.keep_counting(_vocabularies(raw, terms, task), "sized", "1")
    require_people(sized.select("person").distinct().count() if n else 0, method)
    placed, sizes = _cut_by_length(work, sized, n, method)
    task.progress("blocks", 1, 1)
    names_terms = method.word("typical") in ("vote", "bags")  # and no meanings above them
    below = np.empty(0, np.int64) if names_terms else _people_below(raw, given, rule.eps)
    counts = pickle.dumps(_LogCounts(*_common_forms(terms, floor_of(method)), below))
    broadcast = work.spark.sparkContext.broadcast(counts)  # of bytes: encrypted streams take no arrays
    task.progress(STAGE, 0, 1)

    def publish(rows: list[Row]) -> list[Row]:
        return publish_block(rows, method, given or wordnet(), pickle.loads(broadcast.value))

    made = work.keep(map_groups(placed, "block", _PUBLISHED_SCHEMA, publish), "published")
    n_clusters, n_hollow = map(int, made.selectExpr("SUM(clusters)", "SUM(hollow)").collect()[0])
    task.progress(STAGE, 1, 1)
    published = made.where("size(entries) > 0").drop("clusters", "hollow")
    refuse_nothing(n_clusters - n_hollow, method)
    seen = features.known_only(task.histories, given) if task.meaning.unknown_terms == "drop" else task.histories
    summary |= {"clusters": n_clusters - n_hollow, "clusters with nothing to publish": n_hollow}
    summary["empty vocabularies"] = seen.where("size(entries) = 0").count()
    if len(sizes) > 1:
        summary["vocabularies clustered"] = f"in {len(sizes):,} blocks of at most {max(sizes):,}"
    return PublishedOnCluster(published, summary, seen=seen)


def publish_block(rows: list[Row], method: ResolvedName, network: Network, counts: _LogCounts) -> list[Row]:
    """Return the typical vocabulary of every history of a block; a cluster is counted at its first member."""
    rule = rule_of(method)
    rows = sorted(rows, key=lambda row: (row["person"], row["history"]))
    profiles, people = _profiles_of(rows, counts)
    clusters = cluster_blocks(profiles, network, rule, [np.arange(len(rows))], silent)
    prepared = prepare(profiles, network, rule.eps)
    names = BagNames(profiles.vocabulary, *prepared, network, floor_of(method), people, counts.below.__getitem__)
    made: list[Row] = []
    for cluster in clusters:
        vocabulary = sorted((*name, n) for name, n in names.typical_vocabulary(cluster, method.word("typical")).items())
        texts, levels, numbers = (list(column) for column in zip(*vocabulary, strict=True)) if vocabulary else ([],) * 3
        shared = {"entries": texts, "counts": numbers, "levels": levels}
        for place, member in enumerate(cluster.members.tolist()):
            whose = {name: rows[member][name] for name in ("person", "history")}
            made.append({**whose, **shared, "clusters": int(not place), "hollow": int(not place and not vocabulary)})
    return made


def _profiles_of(rows: Sequence[Row], counts: _LogCounts) -> tuple[Profiles, IntArray]:
    """Return the profiles of a block over its terms and the common ones of the log, and how many people hold each."""
    held = np.array([number for row in rows for number in row["numbers"]], np.int64)
    texts = [*(text for row in rows for text in row["entries"]), *counts.texts]
    people = np.array([n for row in rows for n in row["people"]], np.int64)
    numbers, first = np.unique(np.concatenate((held, counts.numbers)), return_index=True)
    owners = {person: number for number, person in enumerate(dict.fromkeys(row["person"] for row in rows))}
    profiles = Profiles(
        tuple(texts[place] for place in first),
        indptr_of([len(row["numbers"]) for row in rows]),
        np.searchsorted(numbers, held).astype(np.int32),
        np.array([n for row in rows for n in row["counts"]], np.int32),
        np.array([owners[row["person"]] for row in rows], np.int32),
        tuple(owners),
    )
    return profiles, np.concatenate((people, counts.people))[first]


def _with_words(terms: "DataFrame", given: Network | None) -> "DataFrame":
    """Return the terms with `word`, the number of the word that each is a form of, −1 if the network has none."""

    def find(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        network = given or wordnet()
        for batch in batches:
            yield batch.append_column("word", pa.array(network.find_all(batch["term"].to_pylist()), pa.int32()))

    schema = ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in terms.schema.fields)
    return terms.mapInArrow(find, f"{schema}, word INT")


def _coverage(task: SparkTask, terms: "DataFrame") -> dict[str, Any]:
    """Return how much of the log the network knows; refuse a taxonomy that is not about this log."""
    is_known = "INT(word >= 0)"
    row = terms.selectExpr(
        f"SUM({is_known})", "COUNT(*)", f"SUM({is_known} * occurrences)", "SUM(occurrences)"
    ).collect()[0]
    return check_coverage(task.meaning.taxonomy, *(int(n or 0) for n in row))


def _vocabularies(raw: "DataFrame", terms: "DataFrame", task: SparkTask) -> "DataFrame":
    """Return the vocabularies that are clustered, each with its length and the number of its most common term."""
    known = blocks.terms_of_blocks(raw, terms).selectExpr(
        "block", "entry", "CAST(number AS INT) AS number", "people", "word"
    )
    k, takes_rare = task.method.integer("k"), task.method.word("terms") == "all"
    drops_unknown = task.meaning.unknown_terms == "drop"

    def size(row: Row, table: pa.Table) -> Iterator[Row]:
        indptr, ids, counts, _ = blocks.arrays_of(row)
        number, people = blocks.by_entry(row, table, "number", -1), blocks.by_entry(row, table, "people", 0)
        is_known = blocks.by_entry(row, table, "word", -1) >= 0
        takes_part = is_known | (not drops_unknown and (takes_rare | (people >= k)))
        for place, (person, history) in enumerate(zip(row["person"], row["history"], strict=True)):
            pairs = np.arange(indptr[place], indptr[place + 1])[takes_part[ids[indptr[place] : indptr[place + 1]]]]
            pairs = pairs[np.argsort(number[ids[pairs]])]
            held = ids[pairs]
            if len(held):
                yield {
                    "person": person,
                    "history": history,
                    "falling": -int(counts[pairs].sum()),
                    "common": int(number[held[0]]),
                    "entries": [row["entries"][entry] for entry in held],
                    "numbers": number[held].tolist(),
                    "people": people[held].tolist(),
                    "counts": counts[pairs].tolist(),
                }

    return map_blocks(raw, known, _SIZED_SCHEMA, size)


def _cut_by_length(
    work: ScratchTables, sized: "DataFrame", n: int, method: ResolvedName
) -> tuple["DataFrame", list[int]]:
    """Return the vocabularies with their `block`, and the sizes of the blocks; every block has k people."""
    from pyspark.sql import functions as f

    limit = method.integer("block")
    n_blocks = -(-n // limit) if limit else 1
    placed = work.numbered(sized, ("falling", "common", "person", "history"), "by-length")
    small, n_large = divmod(n, n_blocks)  # the first so many blocks have one more
    end = n_large * (small + 1)
    block = f"IF(number < {end}, number div {small + 1}, {n_large} + (number - {end}) div {max(1, small)})"
    placed = placed.withColumn("block", f.expr(f"INT({block})"))
    while True:
        counted = placed.groupBy("block").agg(f.countDistinct("person"), f.count(f.lit(1))).collect()
        people = {int(block): int(n_people) for block, n_people, _ in counted}
        target: dict[Any, Any] = plan_joins(people, method.integer("k"))
        if not target:
            return placed, [int(size) for _, _, size in counted]
        placed = placed.na.replace(target, subset=["block"])


def plan_joins(people: Mapping[int, int], k: int) -> dict[int, int]:
    """Return the block that each block of fewer than k people is joined to: the next one, the last to one before it."""
    target: dict[int, int] = {}
    waiting: list[int] = []
    full: list[int] = []
    for block in sorted(people):
        waiting.append(block)
        if sum(people[each] for each in waiting) >= k:
            target |= dict.fromkeys(waiting[:-1], block)
            full.append(block)
            waiting = []
    last = full[-1] if full else waiting[0]
    return target | {block: last for block in waiting if block != last}


def _common_forms(terms: "DataFrame", floor: int) -> tuple[IntArray, tuple[str, ...], IntArray]:
    """Return number, text and people of the form of every word that most people hold, where that may be published.

    There are no more of them than the network has words, whatever the size of the log.
    """
    from pyspark.sql import functions as f

    first = (
        terms.where(f"word >= 0 AND people >= {floor}")
        .groupBy("word")
        .agg(f.min(f.struct("number", "term", "people")).alias("form"))
    )
    rows = first.select("form.*").orderBy("number").collect()
    numbers, people = (np.array([row[column] for row in rows], np.int64) for column in (0, 2))
    return numbers, tuple(row[1] for row in rows), people


def _people_below(raw: "DataFrame", given: Network | None, eps: int) -> IntArray:
    """Return how many people of the log hold a term below each node, no farther below than terms are matched."""

    def count(row: Row) -> dict[str, Any]:
        indptr, ids, _, owner = blocks.arrays_of(row)
        network = given or wordnet()
        above = ancestry_of(network, network.find_all(row["entries"]), limit=eps)
        sizes = np.diff(above.indptr)[ids]
        nodes = above.nodes[ranges(above.indptr[ids], sizes)]
        people = count_people(indptr_of(row_sums(sizes, indptr)), nodes, owner, network.n_nodes)
        found = np.flatnonzero(people)
        return {"node": found.astype(np.int32), "people": people[found]}

    return features.sum_of_nodes(explode_rows(raw, "node INT, people LONG", count), (given or wordnet()).n_nodes)
