"""Compile WordNet and the US Census name lists into the tables that ship in queryveil.lexicons.

    python scripts/build_lexicons.py --wordnet /usr/share/wordnet --names DIR --out src/queryveil/lexicons/data

WordNet 3.0 comes from Debian's package wordnet-base. DIR holds the Census Bureau's lists of 1990, gzipped:
dist.all.last.gz, dist.female.first.gz and dist.male.first.gz. The same input and the same pyarrow give the same bytes.
"""

import argparse
import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

PARTS = ("noun", "verb", "adj", "adv")  # the order of synset ids, and of a lemma's senses
HYPERNYM, INSTANCE_HYPERNYM = "@", "@i"
PART_LETTERS = {"n": 0, "v": 1, "a": 2, "s": 2, "r": 3}  # of pointers; s is a satellite adjective
NAME_LISTS = {"last": "dist.all.last.gz", "female": "dist.female.first.gz", "male": "dist.male.first.gz"}

# A place is an instance of one of these; the first that fits names its kind. Written as lemma and noun sense.
PLACE_KINDS = (
    ("imaginary place", 1, ""),  # heavens and fairylands are nowhere
    ("sign of the zodiac", 1, ""),
    ("state", 1, "state"),
    ("province", 1, "state"),
    ("city", 1, "city"),
    ("national capital", 1, "city"),
    ("state capital", 1, "city"),
    ("provincial capital", 1, "city"),
    ("town", 1, "city"),
    ("country", 2, "country"),
    ("island", 1, "island"),
    ("body of water", 1, "water"),
    ("natural elevation", 1, "mountain"),
    ("mountain peak", 1, "mountain"),
    ("location", 1, "region"),
    ("land", 4, "region"),
)

_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # where an adjective may stand; no part of the word


@dataclass
class Synsets:
    """The synsets of all data files; a synset's id is its position, parts of speech in the order of `PARTS`."""

    ids: dict[tuple[int, int], int] = field(default_factory=dict)  # (part, byte offset) → id
    parts: list[int] = field(default_factory=list)
    topics: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    words: list[list[str]] = field(default_factory=list)
    pointers: list[list[tuple[str, int]]] = field(default_factory=list)  # (symbol, byte offset), hypernyms only
    related: list[list[tuple[int, int]]] = field(default_factory=list)  # (part, byte offset), of every pointer
    glosses: list[str] = field(default_factory=list)


def fold(word: str) -> str:
    """Write a lemma the way it is looked up: lower case, spaces for underscores, no adjective marker."""
    return _MARKER.sub("", word).replace("_", " ").casefold()


def lines(path: Path) -> Iterator[str]:
    """Yield the entries of a WordNet file, without the licence that stands indented at its top."""
    with path.open(encoding="ascii") as stream:
        yield from (line for line in stream if not line.startswith("  "))


def read_synsets(folder: Path) -> Synsets:
    """Read the four data files (format: wndb(5WN))."""
    synsets = Synsets()
    for part, suffix in enumerate(PARTS):
        for line in lines(folder / f"data.{suffix}"):
            add_synset(synsets, part, line)
    return synsets


def add_synset(synsets: Synsets, part: int, line: str) -> None:
    """Read one line of a data file."""
    head, _, gloss = line.partition(" | ")
    offset, topic, _, n_words, *rest = head.split()
    end = 2 * int(n_words, 16)  # the number of words is hexadecimal; each has a sense distinguisher after it
    pointers = rest[end + 1 : end + 1 + 4 * int(rest[end])]
    synsets.ids[part, int(offset)] = len(synsets.parts)
    synsets.parts.append(part)
    synsets.topics.append(int(topic))
    synsets.offsets.append(int(offset))
    synsets.words.append(list(dict.fromkeys(fold(word) for word in rest[:end:2])))
    synsets.glosses.append(gloss.strip())
    found = zip(pointers[::4], pointers[1::4], strict=True)
    synsets.pointers.append([(symbol, int(at)) for symbol, at in found if symbol in (HYPERNYM, INSTANCE_HYPERNYM)])
    related = zip(pointers[2::4], pointers[1::4], strict=True)
    synsets.related.append([(PART_LETTERS[letter], int(at)) for letter, at in related])


def read_senses(folder: Path, synsets: Synsets) -> dict[str, list[list[int]]]:
    """Read the index files: lemma → for each part of speech its synsets, the most frequent sense first."""
    senses: dict[str, list[list[int]]] = {}
    for part, suffix in enumerate(PARTS):
        for line in lines(folder / f"index.{suffix}"):
            lemma, _, n_synsets, *rest = line.split()
            offsets = rest[len(rest) - int(n_synsets) :]
            senses.setdefault(fold(lemma), [[] for _ in PARTS])[part] = [synsets.ids[part, int(at)] for at in offsets]
    return senses


def read_counts(folder: Path) -> dict[tuple[str, int, int], int]:
    """Read how often each sense was tagged in the concordance texts: (lemma, part, sense number from 1) → count."""
    parts = {"1": 0, "2": 1, "3": 2, "4": 3, "5": 2}  # 5 is a satellite adjective
    counts = {}
    for line in lines(folder / "cntlist.rev"):
        key, number, count = line.split()
        lemma, _, place = key.partition("%")
        counts[fold(lemma), parts[place[0]], int(number)] = int(count)
    return counts


def senses_table(folder: Path, synsets: Synsets, lemmas: list[str], senses: dict[str, list[list[int]]]) -> pa.Table:
    """Make one row per sense, in the order of lemmas, parts of speech and sense numbers."""
    counts = read_counts(folder)
    rows = [
        (lemma_id, synset, synsets.words[synset].index(lemma), counts.get((lemma, part, number), 0))
        for lemma_id, lemma in enumerate(lemmas)
        for part in range(len(PARTS))
        for number, synset in enumerate(senses[lemma][part], start=1)
    ]
    lemma, synset, position, count = zip(*rows, strict=True)
    return pa.table(
        {"lemma": int32(lemma), "synset": int32(synset), "position": int32(position), "count": int32(count)}
    )


def hypernyms_table(synsets: Synsets) -> pa.Table:
    """Make one row per hypernym edge, by synset, in WordNet's order."""
    rows = [
        (synset, synsets.ids[synsets.parts[synset], offset], symbol == INSTANCE_HYPERNYM)
        for synset, pointers in enumerate(synsets.pointers)
        for symbol, offset in pointers
    ]
    synset, hypernym, is_instance = zip(*rows, strict=True)
    return pa.table({"synset": int32(synset), "hypernym": int32(hypernym), "is_instance": pa.array(is_instance)})


def relations_table(synsets: Synsets, edges: pa.Table) -> pa.Table:
    """Make one row per pair of synsets that only other relations than hypernyms connect, the smaller id first.

    A relation between two words, such as antonyms, connects their synsets.
    """
    hypernyms = zip(edges["synset"].to_pylist(), edges["hypernym"].to_pylist(), strict=True)
    pairs = {
        tuple(sorted((synset, synsets.ids[place])))
        for synset, related in enumerate(synsets.related)
        for place in related
    }
    found = sorted(pair for pair in pairs - {tuple(sorted(edge)) for edge in hypernyms} if pair[0] != pair[1])
    synset, other = zip(*found, strict=True)
    return pa.table({"synset": int32(synset), "related": int32(other)})


def exceptions_table(folder: Path) -> pa.Table:
    """Make one row per irregular form and base form, by part of speech."""
    rows = [
        (part, fold(form), fold(base))
        for part, suffix in enumerate(PARTS)
        for line in lines(folder / f"{suffix}.exc")
        for form, *bases in [line.split()]
        for base in bases
    ]
    part, form, base = zip(*rows, strict=True)
    return pa.table({"part": int32(part), "form": pa.array(form), "base": pa.array(base)})


def places_table(synsets: Synsets, senses: dict[str, list[list[int]]], edges: pa.Table) -> pa.Table:
    """Make one row per name of a place, by name, with its synset and its kind."""
    parents: dict[int, list[int]] = {}
    for synset, hypernym in zip(edges["synset"].to_pylist(), edges["hypernym"].to_pylist(), strict=True):
        parents.setdefault(synset, []).append(hypernym)
    roots = [(senses[lemma][0][number - 1], kind) for lemma, number, kind in PLACE_KINDS]
    instances = set(edges.filter(edges["is_instance"])["synset"].to_pylist())
    rows = []
    for synset in instances:
        above = ancestors(synset, parents)
        kind = next((kind for root, kind in roots if root in above), "")
        rows += [(word, synset, kind) for word in synsets.words[synset] if kind]
    name, synset_ids, kinds = zip(*sorted(rows), strict=True)
    return pa.table({"name": pa.array(name), "synset": int32(synset_ids), "kind": pa.array(kinds)})


def ancestors(synset: int, parents: dict[int, list[int]]) -> set[int]:
    """Return all synsets above one."""
    above: set[int] = set()
    frontier = [synset]
    while frontier:
        fresh = [parent for child in frontier for parent in parents.get(child, []) if parent not in above]
        above.update(fresh)
        frontier = fresh
    return above


def names_table(folder: Path) -> pa.Table:
    """Make one row per name and list, by name; shares are in thousandths of a per cent, as the Census rounds them."""
    rows = []
    for kind, file in NAME_LISTS.items():
        with gzip.open(folder / file, "rt", encoding="ascii") as stream:
            for line in stream:
                name, percent, _, _ = line.split()
                rows.append((kind, name.casefold(), round(float(percent) * 1000)))
    kinds, names, shares = zip(*sorted(rows), strict=True)
    return pa.table({"list": pa.array(kinds), "name": pa.array(names), "share": int32(shares)})


def gloss_counts(lemmas: list[str], glosses: list[str]) -> list[int]:
    """Count how often each lemma of up to three words stands in the glosses: a measure of how familiar it is."""
    counts = dict.fromkeys(lemmas, 0)
    for gloss in glosses:
        words = re.findall(r"[a-z0-9'.-]*[a-z0-9]", gloss.casefold())
        for length in (1, 2, 3):
            for first in range(len(words) - length + 1):
                lemma = " ".join(words[first : first + length])
                if lemma in counts:
                    counts[lemma] += 1
    return list(counts.values())


def int32(values: Any) -> pa.Array:
    """Make a column of 32-bit whole numbers."""
    return pa.array(values, pa.int32())


def write(table: pa.Table, path: Path, rising: tuple[str, ...] = ()) -> None:
    """Write a table as small as Parquet goes: rising columns as differences, other numbers byte by byte, then zstd."""
    encodings = {pa.string(): "DELTA_BYTE_ARRAY", pa.int32(): "BYTE_STREAM_SPLIT"}
    chosen = {column.name: encodings[column.type] for column in table.schema if column.type in encodings}
    temporary = path.with_name(f"{path.name}.tmp")
    pq.write_table(
        table,
        temporary,
        compression="zstd",
        compression_level=19,
        use_dictionary=False,
        column_encoding=chosen | dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
        write_statistics=False,
        row_group_size=1 << 20,
        data_page_size=1 << 24,
    )
    temporary.replace(path)
    print(f"{path.name}: {table.num_rows:,} rows, {path.stat().st_size:,} bytes")


def build(wordnet: Path, names: Path, out: Path) -> None:
    """Compile all tables."""
    synsets = read_synsets(wordnet)
    senses = read_senses(wordnet, synsets)
    lemmas = sorted(senses)
    edges = hypernyms_table(synsets)
    out.mkdir(parents=True, exist_ok=True)
    columns = {"part": int32(synsets.parts), "topic": int32(synsets.topics), "offset": int32(synsets.offsets)}
    familiar = int32(gloss_counts(lemmas, synsets.glosses))
    write(pa.table({"lemma": pa.array(lemmas), "gloss_count": familiar}), out / "wordnet-lemmas.parquet")
    write(senses_table(wordnet, synsets, lemmas, senses), out / "wordnet-senses.parquet", ("lemma",))
    write(pa.table(columns), out / "wordnet-synsets.parquet", ("part", "topic", "offset"))
    write(edges, out / "wordnet-hypernyms.parquet", ("synset",))
    write(relations_table(synsets, edges), out / "wordnet-relations.parquet", ("synset",))
    write(exceptions_table(wordnet), out / "wordnet-exceptions.parquet")
    write(pa.table({"gloss": pa.array(synsets.glosses)}), out / "wordnet-glosses.parquet")
    write(places_table(synsets, senses, edges), out / "places.parquet")
    write(names_table(names), out / "names.parquet")


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description="Compile the lexicons that ship with queryveil.")
    parser.add_argument("--wordnet", type=Path, required=True, help="the folder of WordNet 3.0's database files")
    parser.add_argument("--names", type=Path, required=True, help="the folder of the Census Bureau's name lists")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write the tables to")
    options = parser.parse_args()
    build(options.wordnet, options.names, options.out)


if __name__ == "__main__":
    main()
