"""Semantic networks of terms, the options that choose one, and profiles augmented by them.

There is one declaration per network. Its function is imported on first use and called with the profiles, the path of
the user's taxonomy or vectors or None, and a progress callback; it returns a `Network`.
"""

from dataclasses import dataclass, field
from pathlib import Path

from queryveil.core.errors import InputError
from queryveil.core.names import Declaration, Word
from queryveil.core.options import OptionGroup, option, optional_file

_PAPER = "Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010"

WORDNET = Declaration(
    name="wordnet",
    purpose="WordNet 3.0, which comes with queryveil: English words, their synonyms and hypernyms",
    paper=_PAPER,
    functions={"local": "queryveil.semantics.network:open_wordnet"},
)

WORDNET_ALL = Declaration(
    name="wordnet_all",
    purpose="WordNet 3.0 with all its relations: terms are compared along any of them, not only through hypernyms",
    paper="Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010",
    functions={"local": "queryveil.semantics.network:open_wordnet_with_relations"},
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

VECTORS = Declaration(
    name="vectors",
    purpose="WordNet 3.0, and words that it lacks next to those of its nouns that are used most like them, by word "
    "vectors that come with queryveil or are your own (--vectors)",
    functions={"local": "queryveil.semantics.placed_words:open_placed_words"},
)

DECLARATIONS = (WORDNET, WORDNET_ALL, TAXONOMY, COOCCURRENCE, VECTORS)


@dataclass(frozen=True)
class WeightOptions(OptionGroup):
    """How the terms of a profile are weighted."""

    panel = "Meaning and weight of terms"
    weights: str = option(
        "paper",
        Word(("paper", "counts", "tfidf")),
        "how much of a profile each of its terms is: 1, its queries, or tf-idf; a profile file has its own",
    )


@dataclass(frozen=True)
class SemanticOptions(WeightOptions):
    """How profiles are weighted, and which network tells how their terms are related."""

    network: str = option("wordnet", Word(category="network"), "what tells how terms are related in meaning")
    unknown_terms: str = option("keep", Word(("keep", "drop")), "what becomes of terms that the network does not know")
    taxonomy: Path | None = optional_file("A taxonomy of your own (lines of child,parent) in place of WordNet.")
    vectors: Path | None = optional_file(
        "Word vectors of your own, by which words that WordNet lacks are compared: text as of word2vec or GloVe, or a "
        "`.npy` matrix with the words in a `.txt` file beside it."
    )
    excluded: frozenset[str] = field(default=frozenset(), repr=False)  # terms that no published name may hold

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.taxonomy is not None and self.vectors is not None:
            raise InputError("--taxonomy and --vectors exclude each other; leave one of them out.")
        for file, declaration in self._files:
            if file is not None and self.network not in (WORDNET.name, declaration.name):
                flag = f"--{declaration.name}"
                raise InputError(f"{flag} and --network {self.network} exclude each other; leave one of them out.")

    @property
    def _files(self) -> tuple[tuple[Path | None, Declaration], ...]:
        """Return the files of the user, and the network that each gives."""
        return (self.taxonomy, TAXONOMY), (self.vectors, VECTORS)

    @property
    def network_name(self) -> str:
        """Return the network to use: that of a given file takes precedence."""
        return next((declaration.name for file, declaration in self._files if file is not None), self.network)

    @property
    def network_file(self) -> Path | None:
        """Return the file of the user that gives the network, if there is one."""
        return next((file for file, _ in self._files if file is not None), None)

    def as_record(self) -> dict[str, str]:
        """Return the options by name, for a manifest."""
        return {"network": self.network_name, "weights": self.weights, "unknown_terms": self.unknown_terms}
