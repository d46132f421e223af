"""Word vectors: words by falling frequency, and a vector of bytes for each; words that are used alike point alike.

The bundled table comes from GloVe (scripts/build_vectors.py). A user's file is text as word2vec and GloVe write it, a
word and its numbers on each line with or without a first line of two counts, or a `.npy` matrix with the words, one on
each line, in a file of the same name that ends in `.txt`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.core.rows import FloatArray
from queryveil.lexicons import read_table

_LARGEST = 127  # of a component
_LEAST_SIZE = 2  # numbers of a vector
_FLAG = "--vectors:"


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors, scaled to bytes; only directions count."""

    words: tuple[str, ...] = field(repr=False)  # in lower case, by falling frequency
    rows: NDArray[np.int8]  # (words, dimensions)

    def select(self, positions: Sequence[int]) -> "WordVectors":
        """Return some of the words, in the given order."""
        return WordVectors(tuple(self.words[position] for position in positions), self.rows[np.array(positions, int)])

    def as_text(self) -> str:
        """Return the words in the form of a file of word vectors."""
        lines = (f"{word} {' '.join(map(str, row))}" for word, row in zip(self.words, self.rows.tolist(), strict=True))
        return "".join(f"{line}\n" for line in lines)


def to_bytes(vectors: FloatArray) -> NDArray[np.int8]:
    """Return vectors scaled so that the largest component of each is 127; a vector of zeros stays."""
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    return np.rint(vectors * (_LARGEST / np.where(largest > 0, largest, 1.0))[:, None]).astype(np.int8)


def cosines(some: NDArray[np.int8], others: NDArray[np.int8]) -> FloatArray:
    """Return the cosine of each vector with each of the others.

    Sums of products of bytes are exact in single precision in any order, so that every processor returns the same.
    """
    products = (some.astype(np.float32) @ others.astype(np.float32).T).astype(np.float64)
    norms = (np.sqrt((rows.astype(np.int64) ** 2).sum(axis=1)) for rows in (some, others))
    left, right = (np.where(norm > 0, norm, np.inf) for norm in norms)
    return np.asarray(products / left[:, None] / right[None, :])


@cache
def bundled_vectors() -> WordVectors:
    """Return the vectors that ship with queryveil."""
    table = read_table("word-vectors").combine_chunks()
    column = table["vector"].chunk(0)
    size = column.type.byte_width
    rows = np.frombuffer(column.buffers()[1], np.int8, len(column) * size, column.offset * size)
    return WordVectors(tuple(table["word"].to_pylist()), rows.reshape(-1, size))


def read_vectors(path: Path, is_wanted: Callable[[str], bool]) -> WordVectors:
    """Read those words of a file of vectors that are wanted, in lower case; the first of several spellings counts."""
    read = _read_matrix if path.name.endswith(".npy") else _read_text
    found: dict[str, FloatArray] = {}
    try:
        for word, vector in read(path, is_wanted):
            found.setdefault(word, vector)
    except FileNotFoundError as error:
        raise InputError(f"{_FLAG} there is no file {error.filename}; check the path.") from None
    except UnicodeDecodeError:
        text = path.with_suffix(".txt") if path.name.endswith(".npy") else path
        raise InputError(f"{_FLAG} {text} is not text in UTF-8; save it as such.") from None
    except OSError as error:
        raise InputError(f"{_FLAG} {path} cannot be read ({error.strerror}); check the path.") from None
    if not found:
        raise InputError(f"{_FLAG} {path} has none of the words to compare; give vectors of the queries' language.")
    return WordVectors(tuple(found), to_bytes(np.array(list(found.values()), np.float64)))


def _read_text(path: Path, is_wanted: Callable[[str], bool]) -> Iterator[tuple[str, FloatArray]]:
    """Yield wanted words and their vectors from a text file, every row of which must be as long as the first."""
    size = 0
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            word, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1 and word.isdigit() and numbers[0].isdigit():
                continue  # word2vec's counts of words and dimensions
            size = size or len(numbers)
            if len(numbers) != size or size < _LEAST_SIZE:
                expected = f"not {size:,} as those before it" if size >= _LEAST_SIZE else f"not {_LEAST_SIZE} or more"
                raise InputError(
                    f"{_FLAG} {path}, line {number:,} has {len(numbers):,} numbers, {expected}; correct that line."
                )
            if is_wanted(word.lower()):
                yield word.lower(), _parse(numbers, path, number)


def _parse(numbers: list[str], path: Path, line: int) -> FloatArray:
    """Return the numbers of a line."""
    try:
        vector = np.array(numbers, np.float64)
    except ValueError:
        vector = np.full(1, np.nan)
    if not np.isfinite(vector).all():
        raise InputError(f"{_FLAG} {path}, line {line:,} has a component that is no number; correct that line.")
    return vector


def _read_matrix(path: Path, is_wanted: Callable[[str], bool]) -> Iterator[tuple[str, FloatArray]]:
    """Yield wanted words and their vectors from a matrix and the list of words beside it."""
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError):
        raise InputError(f"{_FLAG} {path} is no NumPy matrix; save it by numpy.save.") from None
    listed = path.with_suffix(".txt")
    words = listed.read_text(encoding="utf-8").splitlines()
    is_matrix = matrix.ndim == 2 and matrix.dtype.kind in "fiu" and matrix.shape[1] >= _LEAST_SIZE
    if not is_matrix or len(matrix) != len(words):
        raise InputError(
            f"{_FLAG} {path} is an array of {matrix.dtype} of shape {matrix.shape}, and {listed} has {len(words):,} "
            f"words; a matrix of numbers with a row for every word, of {_LEAST_SIZE} numbers or more, is needed."
        )
    for word, row in zip(words, matrix, strict=True):
        if is_wanted(word.lower()):
            vector = np.asarray(row, np.float64)
            if not np.isfinite(vector).all():
                raise InputError(f"{_FLAG} {path} has a row with a component that is no number; correct it.")
            yield word.lower(), vector
