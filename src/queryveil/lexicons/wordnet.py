"""WordNet 3.0: lemmas, their synsets in sense order, and the hypernyms of every synset.

A synset is a number below 117,659: nouns first, then verbs, adjectives and adverbs, each in the order of WordNet's
own files. Lemmas are lower case with spaces ("new york", "java"). What is one-to-many is held in compressed sparse
rows: the entries of row r are `values[indptr[r]:indptr[r + 1]]`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.rows import row_numbers
from queryveil.lexicons.tables import column, offsets, read_table

NOUN, VERB, ADJECTIVE, ADVERB = range(4)

_NONE = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class WordNet:
    """The whole network in arrays; get it from `load`, which reads it once."""

    lemmas: tuple[str, ...] = field(repr=False)  # sorted; a lemma's id is its position
    gloss_counts: NDArray[np.int32]  # (lemmas,): how often the glosses use it, so how familiar it is
    sense_indptr: NDArray[np.int64]  # (lemmas + 1,): lemma → its senses, nouns first, the most frequent first
    sense_synsets: NDArray[np.int32]  # (senses,)
    sense_counts: NDArray[np.int32]  # (senses,): how often the sense was tagged in the concordance texts
    word_indptr: NDArray[np.int64]  # (synsets + 1,): synset → its lemmas in WordNet's order
    word_lemmas: NDArray[np.int32]  # (senses,)
    parts: NDArray[np.int32]  # (synsets,): NOUN, VERB, ADJECTIVE or ADVERB
    topics: NDArray[np.int32]  # (synsets,): the lexicographers' file, e.g. 13 is noun.food
    offsets: NDArray[np.int32]  # (synsets,): the byte offset by which WordNet 3.0 itself names the synset
    hypernym_indptr: NDArray[np.int64]  # (synsets + 1,): synset → what it is a kind or an instance of
    hypernym_synsets: NDArray[np.int32]  # (edges,)
    hypernym_is_instance: NDArray[np.bool_]  # (edges,)
    exceptions: Mapping[str, tuple[str, ...]] = field(repr=False)  # irregular form → base forms

    @property
    def n_synsets(self) -> int:
        """Count the synsets."""
        return len(self.parts)

    @cached_property
    def lemma_ids(self) -> Mapping[str, int]:
        """Map every lemma to its id."""
        return MappingProxyType({lemma: number for number, lemma in enumerate(self.lemmas)})

    def __contains__(self, text: object) -> bool:
        """Say whether a text is a lemma."""
        return isinstance(text, str) and _folded(text) in self.lemma_ids

    def synsets(self, text: str, part: int | None = None) -> NDArray[np.int32]:
        """Return the synsets of a lemma in sense order, nouns first; none if WordNet does not know it."""
        lemma = self.lemma_ids.get(_folded(text))
        if lemma is None:
            return _NONE
        found = self.sense_synsets[self.sense_indptr[lemma] : self.sense_indptr[lemma + 1]]
        return found if part is None else found[self.parts[found] == part]

    def words(self, synset: int) -> tuple[str, ...]:
        """Return the lemmas of a synset, the usual one first."""
        ids = self.word_lemmas[self.word_indptr[synset] : self.word_indptr[synset + 1]]
        return tuple(self.lemmas[lemma] for lemma in ids)

    def hypernyms(self, synset: int) -> NDArray[np.int32]:
        """Return what a synset is a kind of or an instance of."""
        return self.hypernym_synsets[self.hypernym_indptr[synset] : self.hypernym_indptr[synset + 1]]

    def is_instance(self, synset: int) -> bool:
        """Say whether a synset is one single thing (Paris) rather than a kind of thing (city)."""
        return bool(self.hypernym_is_instance[self.hypernym_indptr[synset] : self.hypernym_indptr[synset + 1]].any())

    def bases(self, form: str) -> tuple[str, ...]:
        """Return the base forms of an irregular form (geese: goose); none where the form is regular."""
        return self.exceptions.get(_folded(form), ())

    def gloss(self, synset: int) -> str:
        """Return a synset's definition and examples; the first call reads all of them."""
        return str(glosses()[synset])

    @cached_property
    def _hyponyms(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Turn the hypernym edges round: synset → what is directly below it."""
        children = row_numbers(self.hypernym_indptr, dtype=np.int32)
        order = np.argsort(self.hypernym_synsets, kind="stable")
        return offsets(self.hypernym_synsets, self.n_synsets), children[order]

    def hyponyms(self, synset: int) -> NDArray[np.int32]:
        """Return what is directly below a synset: kinds and instances of it."""
        indptr, below = self._hyponyms
        return below[indptr[synset] : indptr[synset + 1]]


def _folded(text: str) -> str:
    return text.replace("_", " ").casefold()


@cache
def load() -> WordNet:
    """Read WordNet's tables, once."""
    words = read_table("wordnet-lemmas")
    senses, synsets, edges = (read_table(f"wordnet-{name}") for name in ("senses", "synsets", "hypernyms"))
    sense_lemmas, sense_synsets = column(senses, "lemma"), column(senses, "synset")
    by_synset = np.lexsort((column(senses, "position"), sense_synsets))
    return WordNet(
        lemmas=tuple(words["lemma"].to_pylist()),
        gloss_counts=column(words, "gloss_count"),
        sense_indptr=offsets(sense_lemmas, len(words)),
        sense_synsets=sense_synsets,
        sense_counts=column(senses, "count"),
        word_indptr=offsets(sense_synsets, len(synsets)),
        word_lemmas=sense_lemmas[by_synset],
        parts=column(synsets, "part"),
        topics=column(synsets, "topic"),
        offsets=column(synsets, "offset"),
        hypernym_indptr=offsets(column(edges, "synset"), len(synsets)),
        hypernym_synsets=column(edges, "hypernym"),
        hypernym_is_instance=column(edges, "is_instance"),
        exceptions=_exceptions(),
    )


def _exceptions() -> Mapping[str, tuple[str, ...]]:
    """Collect the base forms of every irregular form over all parts of speech, nouns first."""
    found: dict[str, tuple[str, ...]] = {}
    table = read_table("wordnet-exceptions")
    for form, base in zip(table["form"].to_pylist(), table["base"].to_pylist(), strict=True):
        known = found.get(form, ())
        found[form] = known if base in known else (*known, base)
    return MappingProxyType(found)


@cache
def glosses() -> pa.StringArray:
    """Read the glosses of all synsets, once; they take more room than everything else."""
    return read_table("wordnet-glosses")["gloss"].combine_chunks()
