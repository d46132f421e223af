"""The bundled corpus: the 117,659 glosses of WordNet, titled by the words they define."""

from collections.abc import Iterator

import numpy as np

from queryveil.core.rows import row_numbers
from queryveil.search.corpora.base import Corpus, Document

_PARTS = "nvar"  # noun, verb, adjective, adverb, as WordNet writes them

WORDNET = Corpus(
    "wordnet",
    "the bundled corpus: 117,659 definitions with examples, the words they explain as titles",
    functions={"local": "queryveil.search.corpora.wordnet:read_wordnet"},
    is_bundled=True,
)


def read_wordnet() -> Iterator[Document]:
    """Yield one document per synset; its id is the part of speech and the offset, as in WordNet.

    First senses of words come first, then second senses, so that of two documents with equal scores (Java the island,
    Java the language) the more common sense has the lower number.
    """
    from queryveil.lexicons.wordnet import glosses, load_wordnet  # deferred: listing the corpora must not load WordNet

    wordnet = load_wordnet()
    texts = glosses().to_pylist()
    lemmas = wordnet.lemmas
    words = wordnet.word_lemmas.tolist()
    starts = wordnet.word_indptr.tolist()
    sense = np.arange(len(wordnet.sense_synsets)) - np.repeat(wordnet.sense_indptr[:-1], np.diff(wordnet.sense_indptr))
    is_first = row_numbers(wordnet.sense_indptr) == wordnet.word_lemmas[wordnet.word_indptr[wordnet.sense_synsets]]
    sense_numbers = np.zeros(wordnet.n_synsets, np.int64)  # which sense of its first word each synset is, from 0
    sense_numbers[wordnet.sense_synsets[is_first]] = sense[is_first]
    for synset in np.argsort(sense_numbers, kind="stable").tolist():
        name = f"{_PARTS[wordnet.parts[synset]]}{wordnet.offsets[synset]:08d}"
        title = ", ".join(lemmas[lemma] for lemma in words[starts[synset] : starts[synset + 1]])
        yield Document(name, title, texts[synset], f"WordNet, {name}")
