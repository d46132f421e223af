"""The bundled corpus: the 117,659 glosses of WordNet, with the words they explain as titles."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import per_entry, row_numbers
from queryveil.search.corpora.base import Corpus, Document

if TYPE_CHECKING:
    from queryveil.lexicons.wordnet import WordNet

_PARTS = "nvar"  # noun, verb, adjective, adverb, as WordNet writes them

WORDNET = Corpus(
    "wordnet",
    "the bundled corpus: 117,659 definitions with examples, the words they explain as titles",
    functions={"local": "queryveil.search.corpora.wordnet:read"},
    is_bundled=True,
)


def read() -> Iterator[Document]:
    """Yield every synset; its id is WordNet's own: the part of speech and the offset.

    First meanings of their words come first, then second ones, so that of two documents that a query finds equally
    good (the island of Java, the language) the more usual one has the lower number.
    """
    from queryveil.lexicons.wordnet import glosses, load  # listing the corpora must not read tables

    wordnet = load()
    texts = glosses().to_pylist()
    lemmas = wordnet.lemmas
    words = wordnet.word_lemmas.tolist()
    starts = wordnet.word_indptr.tolist()
    for synset in np.argsort(_sense_numbers(wordnet), kind="stable").tolist():
        name = f"{_PARTS[wordnet.parts[synset]]}{wordnet.offsets[synset]:08d}"
        title = ", ".join(lemmas[lemma] for lemma in words[starts[synset] : starts[synset + 1]])
        yield Document(name, title, texts[synset], f"WordNet, {name}")


def _sense_numbers(wordnet: "WordNet") -> NDArray[np.int64]:
    """Return which sense of its usual word each synset is, from 0."""
    sense = np.arange(len(wordnet.sense_synsets)) - per_entry(wordnet.sense_indptr[:-1], wordnet.sense_indptr)
    lemma = row_numbers(wordnet.sense_indptr)
    is_usual = lemma == wordnet.word_lemmas[wordnet.word_indptr[wordnet.sense_synsets]]
    numbers = np.zeros(wordnet.n_synsets, np.int64)
    numbers[wordnet.sense_synsets[is_usual]] = sense[is_usual]
    return numbers
