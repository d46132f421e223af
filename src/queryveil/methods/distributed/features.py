"""What people are compared by, on a cluster: terms are weighed and read in their senses block by block.

What a dimension says depends on how many of all people have it. For terms that is known before; the nodes of the
network are counted over all blocks, and weighed then.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.rows import indptr_of, row_numbers, select_entries
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.histories.profiles import Profiles, Vocabulary
from queryveil.methods.distributed.blocks import arrays_of
from queryveil.methods.distributed.encoding import PIECE_SCHEMA, Piece, piece_batch, piece_row, read_piece, rows_of
from queryveil.semantics.augmentation import augment_part, information_content
from queryveil.semantics.network import Network

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

_COUNTED_SCHEMA = f"{PIECE_SCHEMA}, nodes BINARY, people BINARY"


@dataclass(frozen=True)
class Comparing:
    """How people are compared."""

    given: Network | None  # None: WordNet, which every machine has
    weights: str  # paper, counts or tfidf
    a: int
    by_content: bool
    n_people: int
    floor: int

    @property
    def network(self) -> Network:
        """Return the network of meaning."""
        from queryveil.semantics.network import wordnet

        return self.given or wordnet()

    def weigh(self, counts: NDArray[np.int32], people: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of terms by the queries of the profile that contain them and the people who hold them."""
        return _frequency(self.weights, counts) * self.rarity(people)

    def rarity(self, people: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the inverse document frequency of terms, or 1 without tf-idf weights."""
        if self.weights != "tfidf":
            return np.ones(len(people))
        factor: NDArray[np.float64] = np.log((self.n_people + 1) / np.maximum(people, 1))
        return factor


def _frequency(weights: str, counts: NDArray[np.int32]) -> NDArray[np.float64]:
    if weights == "paper":
        return np.ones(len(counts))
    frequency: NDArray[np.float64] = counts.astype(np.float64) if weights == "counts" else 1.0 + np.log(counts)
    return frequency


def known_only(histories: "DataFrame", network: Network | None) -> "DataFrame":
    """Return the histories without the terms that the network does not know."""
    schema = "person STRING, history INT, part STRING, entries ARRAY<STRING>, counts ARRAY<INT>"
    return histories.mapInArrow(_Known(network), schema)


def with_totals(raw: "DataFrame", terms: "DataFrame", weights: str) -> "DataFrame":
    """Return the terms with `total`, the sum of each term's weight over all profiles, without its rarity."""
    if weights != "tfidf":
        return terms.selectExpr("*", f"DOUBLE({'people' if weights == 'paper' else 'occurrences'}) AS total")
    sums = raw.mapInArrow(_frequencies, "term STRING, total DECIMAL(30, 12)").groupBy("term")
    # decimals, because their sum does not depend on the order
    return terms.join(sums.agg({"total": "sum"}).selectExpr("term", "DOUBLE(`sum(total)`) AS total"), "term")


def weighed(raw: "DataFrame", known: "DataFrame", comparing: Comparing) -> "DataFrame":
    """Return `person, weights` of all people: the weight of each of a person's terms, in the order of `entries`."""
    blocks = raw.groupBy("block").cogroup(known.groupBy("block"))
    return blocks.applyInArrow(_weighing(comparing), "person STRING, weights ARRAY<DOUBLE>")


def augmented(work: ScratchTables, raw: "DataFrame", known: "DataFrame", comparing: Comparing) -> "DataFrame":
    """Return one row per block: its people with their features, and the number of people at each node.

    `known` has the columns `block, entry, number, people, total` of the terms of every block.
    """
    blocks = raw.groupBy("block").cogroup(known.groupBy("block"))
    return work.keep(blocks.applyInArrow(_augmenting(comparing), _COUNTED_SCHEMA), "augmented")


def pieces_of(work: ScratchTables, counted: "DataFrame", comparing: Comparing) -> "DataFrame":
    """Return one row per block: its people with their final features."""
    if not comparing.by_content:
        return counted.drop("nodes", "people")
    sums = counted.select("nodes", "people").mapInArrow(_nodes, "node INT, people LONG").groupBy("node").sum("people")
    people = np.zeros(comparing.network.n_nodes, np.int64)  # as long as the network, whatever the number of people
    for node, n in sums.collect():
        people[node] = n
    content = work.spark.sparkContext.broadcast(information_content(people, comparing.n_people).tobytes())
    return counted.drop("nodes", "people").mapInArrow(_Content(content), PIECE_SCHEMA)


@dataclass(frozen=True)
class _Known:
    network: Network | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from queryveil.semantics.network import wordnet

        network = self.network or wordnet()
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


def _frequencies(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for row in rows_of(batches):
        _, ids, counts, _ = arrays_of(row)
        sums = np.bincount(ids, _frequency("tfidf", counts), minlength=len(row["entries"]))
        total = pa.array(np.round(sums, 9)).cast(pa.decimal128(30, 12), safe=False)
        yield pa.RecordBatch.from_pydict({"term": pa.array(row["entries"], pa.string()), "total": total})


def _by_entry(row: dict[str, Any], known: pa.Table, name: str, nothing: float) -> NDArray[Any]:
    """Return what is known of every entry of a block."""
    values = known[name].to_numpy()
    by_entry = np.full(len(row["entries"]), nothing, values.dtype)
    by_entry[known["entry"].to_numpy()] = values
    return by_entry


def _weighing(comparing: Comparing) -> Callable[[pa.Table, pa.Table], pa.Table]:
    def weigh(raw: pa.Table, known: pa.Table) -> pa.Table:
        (row,) = raw.to_pylist()
        indptr, ids, counts, _ = arrays_of(row)
        weights = comparing.weigh(counts, _by_entry(row, known, "people", 1)[ids])
        lists = pa.ListArray.from_arrays(pa.array(indptr.astype(np.int32)), pa.array(weights))
        return pa.table({"person": pa.array(row["person"], pa.string()), "weights": lists})

    return weigh


def _augmenting(comparing: Comparing) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """Return a function that augments the people of a block.

    Spark inspects the arity, so this must be a plain function, not a callable object.
    """

    def augment(raw: pa.Table, known: pa.Table) -> pa.Table:
        rows = [] if not len(raw) else [_augmented(raw.to_pylist()[0], known, comparing)]
        return pa.Table.from_pylist(rows, _counted_schema())

    return augment


def _counted_schema() -> pa.Schema:
    schema = piece_batch([]).schema
    return schema.append(pa.field("nodes", pa.binary())).append(pa.field("people", pa.binary()))


def _augmented(row: dict[str, Any], known: pa.Table, comparing: Comparing) -> dict[str, Any]:
    """Return the people of a block who hold a publishable term as a row, with the number of people at each node."""
    number, people = _by_entry(row, known, "number", -1), _by_entry(row, known, "people", 0)
    total = _by_entry(row, known, "total", 0.0) * comparing.rarity(people)
    # entries: the publishable ones of the block, in the order of their global numbers
    entries = np.flatnonzero(people >= comparing.floor)
    entries = entries[np.argsort(number[entries], kind="stable")]
    profiles, holders = _publishable_profiles(row, entries, people, comparing)
    held = entries[profiles.ids]
    network, content = comparing.network, np.ones(len(entries))
    if comparing.by_content:
        content = information_content(people[entries], comparing.n_people)
    part = augment_part(
        profiles, network, a=comparing.a, weighting="content" if comparing.by_content else "paper", content=content
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
    row: dict[str, Any], entries: NDArray[np.int64], people: NDArray[np.int64], comparing: Comparing
) -> tuple[Profiles, NDArray[np.int64]]:
    """Return the profiles of a block over its publishable entries, and which of its people hold any of these."""
    indptr, ids, counts, _ = arrays_of(row)
    local = np.full(len(row["entries"]), -1, np.int32)
    local[entries] = np.arange(len(entries), dtype=np.int32)
    history = row_numbers(indptr)
    pairs = np.flatnonzero(local[ids] >= 0)
    pairs = pairs[np.lexsort((local[ids[pairs]], history[pairs]))]
    lengths = np.bincount(history[pairs], minlength=len(indptr) - 1)
    holders = np.flatnonzero(lengths)
    profiles = Profiles(
        Vocabulary(tuple(row["entries"][entry] for entry in entries)),
        indptr_of(lengths[holders]),
        local[ids[pairs]],
        counts[pairs],
        np.arange(len(holders), dtype=np.int32),
        (),
        weights=comparing.weigh(counts[pairs], people[ids[pairs]]),
    )
    return profiles, holders


def _nodes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for row in rows_of(batches):
        columns = {"node": np.frombuffer(row["nodes"], np.int32), "people": np.frombuffer(row["people"], np.int64)}
        yield pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True, eq=False)
class _Content:
    """Weigh the nodes by what they say."""

    content: "Broadcast[bytes]"  # a number for every node: goes to every executor once, not with every task

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        content = np.frombuffer(self.content.value)
        for row in rows_of(batches):
            dimensions, values = np.frombuffer(row["dimensions"], np.int32), np.frombuffer(row["values"])
            is_node = dimensions < len(content)
            factor = np.where(is_node, content[np.where(is_node, dimensions, 0)], 1.0)
            yield piece_batch([piece_row(row["block"], read_piece({**row, "values": (values * factor).tobytes()}))])
