"""Semantic networks of terms, and profiles augmented by them.

There is one declaration per network. Its function is imported on first use and called with the profiles, the path of a
taxonomy or None, and a progress callback; it returns a `Network`.
"""

from queryveil.core.names import Declaration

_PAPER = "Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010"

WORDNET = Declaration(
    name="wordnet",
    purpose="WordNet 3.0, which comes with queryveil: English words, their synonyms and hypernyms",
    paper=_PAPER,
    functions={"local": "queryveil.semantics.network:open_wordnet"},
)

TAXONOMY = Declaration(
    name="taxonomy",
    purpose="a taxonomy of your own: a file of child,parent lines with one root (--taxonomy)",
    paper=_PAPER,
    functions={"local": "queryveil.semantics.taxonomy:open_taxonomy"},
)

COOCCURRENCE = Declaration(
    name="cooccurrence",
    purpose="learnt from the log: terms that the same people search for, names that no dictionary has among them",
    paper=_PAPER,
    functions={"local": "queryveil.semantics.cooccurrence:open_cooccurrence"},
)

DECLARATIONS = (WORDNET, TAXONOMY, COOCCURRENCE)
