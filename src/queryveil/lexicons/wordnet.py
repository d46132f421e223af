"""WordNet 3.0: lemmas, their synsets in sense order, and the hypernyms of every synset.

A synset is a number below 117,659: nouns first, then verbs, adjectives and adverbs, each in the order of WordNet's
own files. Lemmas are lower case with spaces ("new york", "java"). One-to-many relations are compressed sparse rows:
the entries of row r are `values[indptr[r]:indptr[r + 1]]`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from queryveil.core.rows import BoolArray, Int32Array, IntArray, indptr_of_sorted, row_numbers
from queryveil.lexicons import read_column, read_table

NOUN, VERB, ADJECTIVE, ADVERB = range(4)

_NONE = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class WordNet:
    """WordNet in arrays; `load_wordnet` reads it once and caches it."""

    lemmas: tuple[str, ...] = field(repr=False)  # sorted; a lemma's id is its position
    gloss_counts: Int32Array  # (lemmas,): how often the glosses use it, which tells how familiar it is
    sense_indptr: IntArray  # (lemmas + 1,): lemma → its senses, nouns first, then by falling frequency
    sense_synsets: Int32Array  # (senses,)
    sense_counts: Int32Array  # (senses,): how often the sense was tagged in the concordance texts
    word_indptr: IntArray  # (synsets + 1,): synset → its lemmas in WordNet's order
    word_lemmas: Int32Array  # (senses,)
    parts: Int32Array  # (synsets,): NOUN, VERB, ADJECTIVE or ADVERB
    offsets: Int32Array  # (synsets,): the byte offset that identifies the synset in WordNet 3.0's files
    hypernym_indptr: IntArray  # (synsets + 1,): synset → what it is a kind or an instance of
    hypernym_synsets: Int32Array  # (edges,)
    hypernym_is_instance: BoolArray  # (edges,)
    exceptions: Mapping[str, tuple[str, ...]] = field(repr=False)  # irregular form → base forms

    @property
    def n_synsets(self) -> int:
        """Count the synsets."""
        return len(self.parts)

    @cached_property
    def lemma_ids(self) -> Mapping[str, int]:
        """Map every lemma to its id."""
        return MappingProxyType({lemma: number for number, lemma in enumerate(self.lemmas)})

    def synsets(self, text: str, part: int | None = None) -> Int32Array:
        """Return the synsets of a lemma in sense order, nouns first; none for an unknown lemma."""
        lemma = self.lemma_ids.get(text.replace("_", " ").casefold())
        if lemma is None:
            return _NONE
        found = self.sense_synsets[self.sense_indptr[lemma] : self.sense_indptr[lemma + 1]]
        return found if part is None else found[self.parts[found] == part]

    def words(self, synset: int) -> tuple[str, ...]:
        """Return the lemmas of a synset, the usual one first."""
        ids = self.word_lemmas[self.word_indptr[synset] : self.word_indptr[synset + 1]]
        return tuple(self.lemmas[lemma] for lemma in ids)

    def is_instance(self, synset: int) -> bool:
        """Return whether a synset is an individual (Paris) rather than a class (city)."""
        return bool(self.hypernym_is_instance[self.hypernym_indptr[synset] : self.hypernym_indptr[synset + 1]].any())

    def gloss(self, synset: int) -> str:
        """Return a synset's definition and examples; the first call reads all glosses."""
        return str(glosses()[synset])

    @cached_property
    def _hyponyms(self) -> tuple[IntArray, Int32Array]:
        """Invert the hypernym edges: synset → its direct hyponyms, as boundaries and values of sparse rows."""
        children = row_numbers(self.hypernym_indptr, dtype=np.int32)
        order = np.argsort(self.hypernym_synsets, kind="stable")
        return _boundaries(self.hypernym_synsets, self.n_synsets), children[order]

    def hyponyms(self, synset: int) -> Int32Array:
        """Return the direct hyponyms of a synset, instances included."""
        indptr, below = self._hyponyms
        return below[indptr[synset] : indptr[synset + 1]]


def _boundaries(rows: Int32Array, n_rows: int) -> IntArray:
    """Return the row boundaries of entries sorted by row, as a read-only array."""
    indptr = indptr_of_sorted(rows, n_rows)
    indptr.flags.writeable = False
    return indptr


@cache
def load_wordnet() -> WordNet:
    """Return WordNet; the first call reads its tables."""
    tables = (read_table(f"wordnet-{name}") for name in ("lemmas", "senses", "synsets", "hypernyms"))
    lemmas, senses, synsets, edges = tables
    sense_lemmas, sense_synsets = read_column(senses, "lemma"), read_column(senses, "synset")
    by_synset = np.lexsort((read_column(senses, "position"), sense_synsets))
    exceptions: dict[str, tuple[str, ...]] = {}  # irregular form → base forms of all parts of speech, nouns first
    irregular = read_table("wordnet-exceptions")
    for form, base in zip(irregular["form"].to_pylist(), irregular["base"].to_pylist(), strict=True):
        known = exceptions.get(form, ())
        exceptions[form] = known if base in known else (*known, base)
    return WordNet(
        lemmas=tuple(lemmas["lemma"].to_pylist()),
        gloss_counts=read_column(lemmas, "gloss_count"),
        sense_indptr=_boundaries(sense_lemmas, len(lemmas)),
        sense_synsets=sense_synsets,
        sense_counts=read_column(senses, "count"),
        word_indptr=_boundaries(sense_synsets, len(synsets)),
        word_lemmas=sense_lemmas[by_synset],
        parts=read_column(synsets, "part"),
        offsets=read_column(synsets, "offset"),
        hypernym_indptr=_boundaries(read_column(edges, "synset"), len(synsets)),
        hypernym_synsets=read_column(edges, "hypernym"),
        hypernym_is_instance=read_column(edges, "is_instance"),
        exceptions=MappingProxyType(exceptions),
    )


@cache
def load_relations() -> tuple[IntArray, Int32Array]:
    """Return synset → all synsets that any relation connects it with, as boundaries and values of sparse rows."""
    wordnet, table = load_wordnet(), read_table("wordnet-relations")
    ones = np.concatenate((row_numbers(wordnet.hypernym_indptr, np.int32), read_column(table, "synset")))
    others = np.concatenate((wordnet.hypernym_synsets, read_column(table, "related")))
    rows, values = np.append(ones, others), np.append(others, ones)
    order = np.lexsort((values, rows))
    return _boundaries(rows[order], wordnet.n_synsets), values[order]


@cache
def glosses() -> pa.StringArray:
    """Read the glosses of all synsets, once; they need more memory than everything else."""
    return read_table("wordnet-glosses")["gloss"].combine_chunks()
