"""Profile files: `user, term, weight`, a row for every term of a person; CSV, TSV or Parquet.

Terms are taken as they stand. A file without a weight column is a log, not a profile file.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from queryveil.core.errors import LogError
from queryveil.histories.build import entry_order
from queryveil.histories.profiles import Profiles, Vocabulary

COLUMNS = ("user", "term", "weight")
_PARQUET = b"PAR1"


def is_profile_file(path: Path) -> bool:
    """Say whether a file has the columns of profiles; what cannot be read is left to the reader of logs."""
    try:
        with path.open("rb") as stream:
            if stream.read(4) == _PARQUET:
                names = pq.read_schema(path).names
            else:
                with pa.input_stream(str(path), compression="detect") as text:
                    names = _header(text.read(1 << 12).split(b"\n")[0])[1]
    except (OSError, ValueError, pa.ArrowException):
        return False
    return set(COLUMNS) <= set(map(str.lower, names))


def read_profiles(path: Path) -> Profiles:
    """Read profiles; people stand in the order of their first row, terms by falling number of people."""
    table = _table(path)
    user, term, weight = (table[name] for name in COLUMNS)
    for name, column in (("user", user), ("term", term)):
        _refuse(path, pc.equal(pc.fill_null(pc.utf8_trim_whitespace(column), ""), ""), f"has no {name}", "give one")
    weights = _weights(path, weight)
    people, words = user.combine_chunks().dictionary_encode(), term.combine_chunks().dictionary_encode()
    history, word = np.asarray(people.indices), np.asarray(words.indices)
    pairs = history.astype(np.int64) * len(words.dictionary) + word
    order = np.argsort(pairs, kind="stable")
    again = np.zeros(len(pairs), np.bool_)
    again[order[1:]] = pairs[order[1:]] == pairs[order[:-1]]
    _refuse(path, pa.array(again), "repeats a user and a term", "list each term of a user once")
    return _assemble(history, word, weights, words.dictionary, people.dictionary)


def profile_bytes(profiles: Profiles, path: Path) -> bytes:
    """Return a profile file as bytes, in the form that its name asks for."""
    rows = profiles.to_arrow()
    weights = np.ones(len(profiles.ids)) if profiles.weights is None else profiles.weights
    table = pa.table({"user": rows["person"], "term": rows["entry"], "weight": weights})
    sink = pa.BufferOutputStream()
    if path.suffix == ".parquet":
        pq.write_table(table, sink, compression="zstd")
    else:
        options = csv.WriteOptions(delimiter="\t" if path.suffix == ".tsv" else ",", quoting_style="needed")
        csv.write_csv(table, sink, options)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _header(line: bytes) -> tuple[str, list[str]]:
    """Return the delimiter and the names of a first line."""
    text = line.decode().strip("\ufeff\r\n")
    delimiter = "\t" if "\t" in text else ","
    return delimiter, [name.strip().strip('"') for name in text.split(delimiter)]


def _table(path: Path) -> pa.Table:
    """Return the three columns as texts, named in lower case."""
    try:
        with path.open("rb") as stream:
            is_parquet = stream.read(4) == _PARQUET
        if is_parquet:
            table = pq.read_table(path)
        else:
            with pa.input_stream(str(path), compression="detect") as text:
                delimiter, names = _header(text.read(1 << 12).split(b"\n")[0])
            table = csv.read_csv(
                pa.input_stream(str(path), compression="detect"),
                parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
            )
    except (OSError, ValueError, pa.ArrowException):
        raise LogError(f"{path} cannot be read as a profile file; give CSV, TSV or Parquet in UTF-8.") from None
    table = table.rename_columns([name.strip().lower() for name in table.column_names])
    if table.num_rows == 0:
        raise LogError(f"{path} has no rows; give profiles with at least one term.")
    return pa.table({name: table[name].cast(pa.string()) for name in COLUMNS})


def _weights(path: Path, column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return the weights as numbers, or refuse the first that is none."""
    texts = column.to_pylist()
    weights = np.array([_number(text) for text in texts])
    _refuse(path, pa.array(np.isnan(weights)), "has a weight that is missing or no number", "give a number")
    _refuse(path, pa.array(weights < 0), "has a negative weight", "give 0 or more")
    _refuse(path, pa.array(np.isinf(weights)), "has an infinite weight", "give a number")
    return weights


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


def _refuse(path: Path, is_bad: pa.Array | pa.ChunkedArray, fault: str, remedy: str) -> None:
    """Refuse a file by its first bad row, if it has one; the rows of a text follow its header."""
    bad = np.flatnonzero(np.asarray(is_bad))
    if len(bad):
        what = f"row {bad[0] + 1:,}" if path.suffix == ".parquet" else f"line {bad[0] + 2:,}"
        raise LogError(f"{path}, {what} {fault}; {remedy}.")


def _assemble(
    history: NDArray[np.int32],
    word: NDArray[np.int32],
    weights: NDArray[np.float64],
    words: pa.Array,
    people: pa.Array,
) -> Profiles:
    """Put rows into profiles; a term of weight 0 is none of the person's."""
    held = weights > 0
    order = np.flatnonzero(held)[np.argsort(history[held], kind="stable")]
    indptr = np.searchsorted(history[order], np.arange(len(people) + 1)).astype(np.int64)
    owner = np.arange(len(people), dtype=np.int32)
    by_rank, rank = entry_order(indptr, word[order], owner, words.cast(pa.large_string()))
    order = order[np.lexsort((rank[word[order]], history[order]))]
    return Profiles(
        Vocabulary(tuple(words.take(pa.array(by_rank)).to_pylist())),
        indptr,
        rank[word[order]],
        np.ones(len(order), np.int32),
        owner,
        tuple(people.to_pylist()),
        np.arange(len(people)),
        weights=weights[order],
    )
