"""Blocks of people on a cluster: from histories to blocks over numbered terms, and back to the kept histories."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.core.rows import Int32Array, IntArray, indptr_of, row_numbers
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.kernels.histories import count_people
from queryveil.methods.distributed import encoding
from queryveil.methods.rounds.blocks import Block

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PEOPLE = 20_000  # per block
MOST_BLOCKS = 10_000  # each writes to each bucket, so messages grow with the square: beyond that, blocks grow
RAW_SCHEMA = (
    "block INT, person ARRAY<STRING>, history ARRAY<INT>, part ARRAY<STRING>, entries ARRAY<STRING>, "
    "indptr BINARY, ids BINARY, counts BINARY, owner BINARY"
)
KEPT_SCHEMA = "person STRING, history INT, part STRING, entries ARRAY<STRING>, counts ARRAY<INT>"
_PART_END = "\x1f"
_HISTORY_SCHEMA = f"block INT, {KEPT_SCHEMA}"


def block_of(person: str, n_blocks: int) -> int:
    """Return the block of a person, by a hash that is the same everywhere."""
    digest = hashlib.blake2b(person.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % n_blocks


def raw_blocks(work: ScratchTables, histories: "DataFrame", n_blocks: int) -> "DataFrame":
    """Return the histories of each block as one row, sorted by person and history."""

    def place(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            number = [block_of(person, n_blocks) for person in batch["person"].to_pylist()]
            columns = {"block": pa.array(number, pa.int32())}
            columns |= {name: batch[name] for name in batch.schema.names}
            columns["entries"] = _with_part(batch["entries"], batch["part"])
            yield pa.RecordBatch.from_pydict(columns, encoding.arrow_schema(_HISTORY_SCHEMA))

    placed = histories.mapInArrow(place, _HISTORY_SCHEMA)
    return work.keep(placed.groupBy("block").applyInArrow(_gather_block, RAW_SCHEMA), "raw")


def numbered_terms(work: ScratchTables, raw: "DataFrame", k: int) -> "DataFrame":
    """Return the terms that at least k people hold: `term, people, occurrences, number`, numbered as on one machine."""
    counted = encoding.explode_rows(raw, "term STRING, people LONG, occurrences LONG", _count_terms)
    summed = counted.groupBy("term").agg({"people": "sum", "occurrences": "sum"})
    named = summed.selectExpr("term", "`sum(people)` AS people", "`sum(occurrences)` AS occurrences")
    frequent = named.where(named["people"] >= k).withColumn("falling", -named["people"])
    return work.numbered(frequent, ("falling", "term"), "terms").drop("falling")


def blocks(work: ScratchTables, raw: "DataFrame", terms: "DataFrame") -> "DataFrame":
    """Return the blocks over the numbers of frequent terms."""
    known = terms_of_blocks(raw, terms).selectExpr("block", "entry", "CAST(number AS INT) AS number", "occurrences")
    return work.keep(
        encoding.map_blocks(raw, known, encoding.BLOCK_SCHEMA, lambda row, table: [_block_of_row(row, table)]), "turn-0"
    )


def terms_of_blocks(raw: "DataFrame", terms: "DataFrame") -> "DataFrame":
    """Return `block, entry` and the columns of `terms` for the terms that each block holds."""
    return encoding.explode_rows(raw, "block INT, entry INT, term STRING", _terms_of).join(terms, "term")


def kept_histories(raw: "DataFrame", state: "DataFrame") -> "DataFrame":
    """Return the kept pairs of every history that is not empty, entries sorted by text."""
    return raw.groupBy("block").cogroup(state.groupBy("block")).applyInArrow(_kept, KEPT_SCHEMA)


def _with_part(entries: pa.ListArray, part: pa.StringArray) -> pa.ListArray:
    """Put the part before every entry of a partitioned log, so that entries of different parts are distinct."""
    if part.null_count:
        return entries
    whose = part.take(pc.list_parent_indices(entries))
    named = pc.binary_join_element_wise(whose, entries.flatten(), _PART_END)
    return pa.ListArray.from_arrays(pa.array(_offsets(entries).astype(np.int32)), named)


def _without_part(entries: pa.StringArray, part: pa.StringArray) -> pa.StringArray:
    """Return entries without their parts, which end at the last separator: no term holds one."""
    if part.null_count:
        return entries
    return pa.array([entry[entry.rindex(_PART_END) + 1 :] for entry in entries.to_pylist()], pa.string())


def _gather_block(table: pa.Table) -> pa.Table:
    """Return the histories of a block as one row."""
    table = table.sort_by([("person", "ascending"), ("history", "ascending")]).combine_chunks()
    entries = table["entries"].combine_chunks()
    words = entries.flatten().dictionary_encode()
    order = np.argsort(words.dictionary.to_numpy(zero_copy_only=False), kind="stable")  # by code point
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    owner = table["person"].combine_chunks().dictionary_encode().indices.to_numpy()
    row: encoding.Row = {
        "block": table["block"][0].as_py(),
        "person": table["person"].to_pylist(),
        "history": table["history"].to_pylist(),
        "part": table["part"].to_pylist(),
        "entries": words.dictionary.take(pa.array(order)).to_pylist(),
        "indptr": _offsets(entries).tobytes(),
        "ids": rank[words.indices.to_numpy()].tobytes(),
        "counts": table["counts"].combine_chunks().flatten().to_numpy().astype(np.int32).tobytes(),
        "owner": owner.astype(np.int32).tobytes(),
    }
    return pa.Table.from_pylist([row], encoding.arrow_schema(RAW_SCHEMA))


def _offsets(lists: pa.ListArray) -> IntArray:
    return indptr_of(lists.value_lengths().to_numpy())


def arrays_of(row: encoding.Row) -> tuple[IntArray, Int32Array, Int32Array, Int32Array]:
    """Return indptr, ids, counts and owner of a raw block."""
    indptr = np.frombuffer(row["indptr"], np.int64)
    ids, counts, owner = (np.frombuffer(row[name], np.int32) for name in ("ids", "counts", "owner"))
    return indptr, ids, counts, owner


def by_entry(row: encoding.Row, known: pa.Table, name: str, missing: float) -> NDArray[Any]:
    """Return a column of the known terms of a block for every entry, `missing` for unknown ones."""
    values = known[name].to_numpy()
    found = np.full(len(row["entries"]), missing, values.dtype)
    found[known["entry"].to_numpy()] = values
    return found


def _count_terms(row: encoding.Row) -> dict[str, Any]:
    """Return the people and occurrences of every term of a block."""
    indptr, ids, counts, owner = arrays_of(row)
    n = len(row["entries"])
    people = count_people(indptr, ids, owner, n).astype(np.int64)
    occurrences = np.bincount(ids, weights=counts, minlength=n).astype(np.int64)
    return {"term": pa.array(row["entries"], pa.string()), "people": people, "occurrences": occurrences}


def _terms_of(row: encoding.Row) -> dict[str, Any]:
    """Return the terms of a block with their local numbers."""
    n = len(row["entries"])
    numbers = {"block": np.full(n, row["block"], np.int32), "entry": np.arange(n, dtype=np.int32)}
    return {**numbers, "term": pa.array(row["entries"], pa.string())}


def _block_of_row(row: encoding.Row, known: pa.Table) -> encoding.Row:
    """Return a block of the frequent terms only, ascending by their numbers within a history."""
    indptr, ids, counts, owner = arrays_of(row)
    number, occurrences = by_entry(row, known, "number", -1), by_entry(row, known, "occurrences", 0)
    history = row_numbers(indptr)
    place = np.flatnonzero(number[ids] >= 0)
    place = place[np.lexsort((number[ids[place]], history[place]))]
    lengths = np.bincount(history[place], minlength=len(indptr) - 1)
    block = Block(
        indptr_of(lengths),
        number[ids[place]].astype(np.int32),
        counts[place],
        occurrences[ids[place]],
        owner,
        place.astype(np.int32),
        np.ones(len(place), np.bool_),
        np.zeros(len(place), np.bool_),
        np.zeros(len(place), np.bool_),
    )
    return encoding.block_row(row["block"], block)


def _kept(raw: pa.Table, state: pa.Table) -> pa.Table:
    (row,), (other,) = raw.to_pylist(), state.to_pylist()
    (indptr, ids, counts, _), block = arrays_of(row), encoding.read_block(other)
    mask = np.zeros(len(ids), np.bool_)
    mask[block.position[block.kept]] = True
    history = row_numbers(indptr)
    chosen = np.flatnonzero(mask)
    chosen = chosen[np.lexsort((ids[chosen], history[chosen]))]  # numbers within a block are in the order of the texts
    full, lengths = np.unique(history[chosen], return_counts=True)
    offsets = pa.array(indptr_of(lengths).astype(np.int32))
    words = pa.array(row["entries"], pa.string()).take(pa.array(ids[chosen]))
    columns = {name: pa.array(row[name]).take(pa.array(full)) for name in ("person", "history", "part")}
    words = _without_part(words, columns["part"])
    return pa.table(
        {
            **columns,
            "entries": pa.ListArray.from_arrays(offsets, words),
            "counts": pa.ListArray.from_arrays(offsets, pa.array(counts[chosen])),
        }
    ).cast(encoding.arrow_schema(KEPT_SCHEMA))
