"""Profile files: `user, term, weight`, one row per user and term; CSV, TSV or Parquet, or a table in memory.

Terms are used unchanged. A file without a weight column is a log, not a profile file.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq

from queryveil.core.arrow import csv_bytes, parquet_bytes
from queryveil.core.errors import LogError, NoTermsError
from queryveil.core.rows import FloatArray, Int32Array, indptr_of_sorted
from queryveil.engines import LogSource
from queryveil.histories.build import entry_order
from queryveil.histories.profiles import Profiles
from queryveil.logs.terms import hold_excluded

COLUMNS = ("user", "term", "weight")


def is_profile_file(path: Path) -> bool:
    """Return whether a file has the columns of a profile file; unreadable files are left to the log reader."""
    try:
        _, names = _read_header(path)
    except (OSError, ValueError, pa.ArrowException):
        return False
    return _has_columns(names)


def profiles_of(source: LogSource) -> Profiles | None:
    """Return the profiles of a profile file or of a table with its columns; None of a log."""
    if source.table is not None:
        is_profile = _has_columns(source.table.column_names)
        return _profiles(_texts("the table", source.table), None, source.excluded) if is_profile else None
    is_profile = len(source.paths) == 1 and is_profile_file(source.paths[0])
    return read_profiles(source.paths[0], source.excluded) if is_profile else None


def _has_columns(names: Sequence[str]) -> bool:
    return set(COLUMNS) <= {name.strip().lower() for name in names}


def read_profiles(path: Path, excluded: frozenset[str] = frozenset()) -> Profiles:
    """Read a profile file without excluded terms; people are in the order of their first rows."""
    return _profiles(_texts(path, _read_table(path)), path, excluded)


def _profiles(table: pa.Table, path: Path | None = None, excluded: frozenset[str] = frozenset()) -> Profiles:
    """Return the profiles of rows `user, term, weight` without excluded terms; messages name the lines of a file."""
    user, term, weight = (table[name] for name in COLUMNS)
    for name, column in (("user", user), ("term", term)):
        _refuse_rows(
            path, pc.equal(pc.fill_null(pc.utf8_trim_whitespace(column), ""), ""), f"has no {name}", "give one"
        )
    weights = np.array([_parse_number(text) for text in weight.to_pylist()])
    _refuse_rows(path, pa.array(np.isnan(weights)), "has a weight that is missing or no number", "give a number")
    _refuse_rows(path, pa.array(weights < 0), "has a negative weight", "give 0 or more")
    _refuse_rows(path, pa.array(np.isinf(weights)), "has an infinite weight", "give a number")
    people, words = user.combine_chunks().dictionary_encode(), term.combine_chunks().dictionary_encode()
    history, word = np.asarray(people.indices), np.asarray(words.indices)
    pairs = history.astype(np.int64) * len(words.dictionary) + word
    order = np.argsort(pairs, kind="stable")
    is_repeated = np.zeros(len(pairs), np.bool_)
    is_repeated[order[1:]] = pairs[order[1:]] == pairs[order[:-1]]
    _refuse_rows(path, pa.array(is_repeated), "repeats a user and a term", "list each term of a user once")
    profiles = _assemble(history, word, weights, words.dictionary, people.dictionary)
    if not excluded:
        return profiles
    is_kept = ~np.array(hold_excluded(profiles.vocabulary, excluded), np.bool_)
    if not is_kept.any():
        raise NoTermsError(
            f"{path or 'the table'} has no term besides excluded ones; shorten the list of --exclude-terms."
        )
    return profiles.select(is_kept[profiles.ids])


def profile_bytes(profiles: Profiles, path: Path) -> bytes:
    """Return the bytes of a profile file in the format of its file extension."""
    rows = profiles.to_arrow()
    weights = np.ones(len(profiles.ids)) if profiles.weights is None else profiles.weights
    table = pa.table({"user": rows["person"], "term": rows["entry"], "weight": weights})
    if path.suffix == ".parquet":
        return parquet_bytes(table, use_dictionary=True, dictionary_pagesize_limit=None)
    return csv_bytes(table, delimiter="\t" if path.suffix == ".tsv" else ",", quoting_style="needed")


def _read_header(path: Path) -> tuple[str, list[str]]:
    """Return the delimiter of a text file ("" for Parquet) and the column names."""
    with path.open("rb") as stream:
        if stream.read(4) == b"PAR1":
            return "", pq.read_schema(path).names
    with pa.input_stream(str(path), compression="detect") as stream:
        line = stream.read(1 << 12).split(b"\n")[0].decode().strip("\ufeff\r\n")
    delimiter = "\t" if "\t" in line else ","
    return delimiter, [name.strip().strip('"') for name in line.split(delimiter)]


def _read_table(path: Path) -> pa.Table:
    """Return all columns of a profile file, those of text files as texts."""
    try:
        delimiter, names = _read_header(path)
        if not delimiter:
            return pq.read_table(path)
        return csv.read_csv(
            pa.input_stream(str(path), compression="detect"),
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except (OSError, ValueError, pa.ArrowException):
        raise LogError(f"{path} cannot be read as a profile file; give CSV, TSV or Parquet in UTF-8.") from None


def _texts(name: Path | str, table: pa.Table) -> pa.Table:
    """Return the three columns as texts, with names in lower case."""
    table = table.rename_columns([name.strip().lower() for name in table.column_names])
    if table.num_rows == 0:
        raise LogError(f"{name} has no rows; give profiles with at least one term.")
    return pa.table({name: table[name].cast(pa.string()) for name in COLUMNS})


def _parse_number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


def _refuse_rows(path: Path | None, is_bad: pa.Array | pa.ChunkedArray, fault: str, remedy: str) -> None:
    """Raise an error about the first bad row, if there is one; a text file has a header line before its rows."""
    bad = np.flatnonzero(np.asarray(is_bad))
    if len(bad):
        is_text = path is not None and path.suffix != ".parquet"
        what = f"line {bad[0] + 2:,}" if is_text else f"row {bad[0] + 1:,}"
        raise LogError(f"{path or 'the table'}, {what} {fault}; {remedy}.")


def _assemble(
    history: Int32Array, word: Int32Array, weights: FloatArray, words: pa.Array, people: pa.Array
) -> Profiles:
    """Return the profiles of rows; terms with weight 0 are left out."""
    is_held = weights > 0
    order = np.flatnonzero(is_held)[np.argsort(history[is_held], kind="stable")]
    indptr = indptr_of_sorted(history[order], len(people))
    owner = np.arange(len(people), dtype=np.int32)
    by_rank, rank = entry_order(indptr, word[order], owner, words.cast(pa.large_string()))
    order = order[np.lexsort((rank[word[order]], history[order]))]
    return Profiles(
        tuple(words.take(pa.array(by_rank)).to_pylist()),
        indptr,
        rank[word[order]],
        np.ones(len(order), np.int32),
        owner,
        tuple(people.to_pylist()),
        np.arange(len(people)),
        weights=weights[order],
    )
