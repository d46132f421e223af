"""The features by which people are compared, on a cluster: computed block by block.

The weight of a dimension depends on how many of all people have it. For terms that is known beforehand; the nodes of
the network are counted over all blocks, and weighted then.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from queryveil.core.errors import InputError
from queryveil.core.names import declarations
from queryveil.core.rows import FloatArray, Int32Array, IntArray, indptr_of, row_numbers, select_entries
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.histories.profiles import Profiles
from queryveil.methods.distributed.blocks import KEPT_SCHEMA, arrays_of, by_entry
from queryveil.methods.distributed.encoding import (
    PIECE_SCHEMA,
    Piece,
    Row,
    explode_rows,
    map_blocks,
    map_rows,
    piece_row,
)
from queryveil.semantics import SemanticOptions
from queryveil.semantics.augmentation import augment_part, information_content, inverse_frequency, term_frequency
from queryveil.semantics.network import Network, wordnet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COUNTED_SCHEMA = f"{PIECE_SCHEMA}, nodes BINARY, people BINARY"


@dataclass(frozen=True)
class FeatureOptions:
    """How people are compared."""

    given: Network | None  # None: WordNet, which every machine has
    weights: str  # paper, counts or tfidf
    a: int
    by_content: bool
    n_people: int
    floor: int

    @property
    def network(self) -> Network:
        """Return the semantic network."""
        return self.given or wordnet()

    def weigh(self, counts: Int32Array, people: IntArray) -> FloatArray:
        """Return the weights of terms by their counts in the profile and the number of people who hold them."""
        return term_frequency(self.weights, counts) * inverse_frequency(self.weights, people, self.n_people)


def network_of(meaning: SemanticOptions) -> Network | None:
    """Return the network of meaning; None for WordNet, which every machine has."""
    if meaning.network_name == "wordnet":
        return None
    if meaning.network_name != "taxonomy":
        raise InputError(
            f"--network {meaning.network_name} has no Spark form; use wordnet or taxonomy, or --engine local."
        )
    network: Network = declarations("network")["taxonomy"].load()(None, meaning.taxonomy)
    return network


def known_only(histories: "DataFrame", given: Network | None) -> "DataFrame":
    """Return the histories without the terms that the network does not know."""

    def select(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        network = given or wordnet()
        for batch in batches:
            entries = batch["entries"]
            words = entries.flatten().dictionary_encode()
            is_known = (network.find_all(words.dictionary.to_pylist()) >= 0)[words.indices.to_numpy()]
            indptr = select_entries(indptr_of(entries.value_lengths().to_numpy()), is_known)
            offsets, mask = pa.array(indptr.astype(np.int32)), pa.array(is_known)
            columns = {name: batch[name] for name in ("person", "history", "part")}
            for name in ("entries", "counts"):
                columns[name] = pa.ListArray.from_arrays(offsets, batch[name].flatten().filter(mask))
            yield pa.RecordBatch.from_pydict(columns)

    return histories.mapInArrow(select, KEPT_SCHEMA)


def with_totals(raw: "DataFrame", terms: "DataFrame", weights: str) -> "DataFrame":
    """Return the terms with `total`, the sum of each term's weight over all profiles, without its rarity."""
    if weights != "tfidf":
        return terms.selectExpr("*", f"DOUBLE({'people' if weights == 'paper' else 'occurrences'}) AS total")

    def frequencies(row: Row) -> dict[str, Any]:
        _, ids, counts, _ = arrays_of(row)
        sums = np.bincount(ids, term_frequency(weights, counts), minlength=len(row["entries"]))
        total = pa.array(np.round(sums, 9)).cast(pa.decimal128(30, 12), safe=False)
        return {"term": pa.array(row["entries"], pa.string()), "total": total}

    # decimals, because their sum does not depend on the order
    sums = explode_rows(raw, "term STRING, total DECIMAL(30, 12)", frequencies).groupBy("term").agg({"total": "sum"})
    return terms.join(sums.selectExpr("term", "DOUBLE(`sum(total)`) AS total"), "term")


def person_weights(raw: "DataFrame", known: "DataFrame", options: FeatureOptions) -> "DataFrame":
    """Return `person, weights` of all people: the weight of each of a person's terms, in the order of `entries`."""

    def weigh(row: Row, terms: pa.Table) -> Iterator[Row]:
        indptr, ids, counts, _ = arrays_of(row)
        weights = options.weigh(counts, by_entry(row, terms, "people", 1)[ids])
        for person, each in zip(row["person"], np.split(weights, indptr[1:-1]), strict=True):
            yield {"person": person, "weights": each.tolist()}

    return map_blocks(raw, known, "person STRING, weights ARRAY<DOUBLE>", weigh)


def augment_blocks(work: ScratchTables, raw: "DataFrame", known: "DataFrame", options: FeatureOptions) -> "DataFrame":
    """Return one row per block: its people with their features, and the number of people at each node.

    `known` has the columns `block, entry, number, people, total` of the terms of every block.
    """
    made = map_blocks(raw, known, _COUNTED_SCHEMA, lambda row, terms: [_augment_row(row, terms, options)])
    return work.keep(made, "augmented")


def weight_nodes(work: ScratchTables, counted: "DataFrame", options: FeatureOptions) -> "DataFrame":
    """Return one row per block: its people with their final features."""
    pieces = counted.drop("nodes", "people")
    if not options.by_content:
        return pieces

    def nodes(row: Row) -> dict[str, Any]:
        return {"node": np.frombuffer(row["nodes"], np.int32), "people": np.frombuffer(row["people"], np.int64)}

    by_block = explode_rows(counted.select("nodes", "people"), "node INT, people LONG", nodes)
    people = sum_of_nodes(by_block, options.network.n_nodes)
    # a broadcast goes to every executor once, not with every task
    broadcast = work.spark.sparkContext.broadcast(information_content(people, options.n_people).tobytes())

    def weight(row: Row) -> Iterator[Row]:
        content = np.frombuffer(broadcast.value)
        dimensions, values = np.frombuffer(row["dimensions"], np.int32), np.frombuffer(row["values"])
        is_node = dimensions < len(content)
        factor = np.where(is_node, content[np.where(is_node, dimensions, 0)], 1.0)
        yield {**row, "values": (values * factor).tobytes()}

    return map_rows(pieces, PIECE_SCHEMA, weight)


def sum_of_nodes(by_block: "DataFrame", n_nodes: int) -> IntArray:
    """Return the sum of `people` for every `node`: as long as the network, whatever the number of people."""
    people = np.zeros(n_nodes, np.int64)
    for node, n in by_block.groupBy("node").sum("people").collect():
        people[node] = n
    return people


def _augment_row(row: Row, known: pa.Table, options: FeatureOptions) -> Row:
    """Return the people of a block who hold a publishable term as a row, with the number of people at each node."""
    number, people = by_entry(row, known, "number", -1), by_entry(row, known, "people", 0)
    rarity = inverse_frequency(options.weights, people, options.n_people)
    total = by_entry(row, known, "total", 0.0) * rarity
    # entries: the publishable ones of the block, in the order of their global numbers
    entries = np.flatnonzero(people >= options.floor)
    entries = entries[np.argsort(number[entries], kind="stable")]
    profiles, holders = _publishable_profiles(row, entries, people, options)
    held = entries[profiles.ids]
    network, content = options.network, np.ones(len(entries))
    if options.by_content:
        content = information_content(people[entries], options.n_people)
    part = augment_part(
        profiles, network, a=options.a, weighting="content" if options.by_content else "paper", content=content
    )
    is_node = part.dimensions < network.n_nodes
    dimensions = np.where(is_node, part.dimensions, 0)  # global: nodes, then terms by their global numbers
    dimensions[~is_node] = network.n_nodes + number[entries[part.dimensions[~is_node] - network.n_nodes]]
    piece = Piece(
        np.array(row["person"], object)[holders],
        profiles.indptr,
        number[held],
        np.asarray(profiles.weights),
        people[held].astype(np.int32),
        total[held],
        part.features.indptr,
        dimensions[part.features.ids].astype(np.int32),
        part.features.values,
    )
    counted = {"nodes": part.dimensions[is_node].tobytes(), "people": part.people[is_node].tobytes()}
    return {**piece_row(row["block"], piece), **counted}


def _publishable_profiles(
    row: Row, entries: IntArray, people: IntArray, options: FeatureOptions
) -> tuple[Profiles, IntArray]:
    """Return the profiles of a block over its publishable entries, and which of its people hold any of these."""
    indptr, ids, counts, _ = arrays_of(row)
    local = np.full(len(row["entries"]), -1, np.int32)
    local[entries] = np.arange(len(entries), dtype=np.int32)
    history = row_numbers(indptr)
    pairs = np.flatnonzero(local[ids] >= 0)
    pairs = pairs[np.lexsort((local[ids[pairs]], history[pairs]))]
    lengths = np.bincount(history[pairs], minlength=len(indptr) - 1)
    holders = np.flatnonzero(lengths)
    weights = options.weigh(counts[pairs], people[ids[pairs]])
    vocabulary = tuple(row["entries"][entry] for entry in entries)
    owner = np.arange(len(holders), dtype=np.int32)
    profiles = Profiles(
        vocabulary, indptr_of(lengths[holders]), local[ids[pairs]], counts[pairs], owner, (), weights=weights
    )
    return profiles, holders
