"""WordNet as a network of meaning: synsets are the nodes, hypernyms the edges."""

from functools import cache

from queryveil.lexicons import wordnet as lexicon
from queryveil.semantics.lemmas import wordnet_lexicon
from queryveil.semantics.network import Network


@cache
def wordnet() -> Network:
    """Return WordNet 3.0, read once; what a synset is an instance of counts as a hypernym."""
    tables = lexicon.load_wordnet()
    return Network(
        name="wordnet",
        words=tables.lemmas,
        lexicon=wordnet_lexicon(),
        sense_indptr=tables.sense_indptr,
        senses=tables.sense_synsets,
        word_indptr=tables.word_indptr,
        node_words=tables.word_lemmas,
        edge_indptr=tables.hypernym_indptr,
        edges=tables.hypernym_synsets,
        parts=tables.parts,
    )
