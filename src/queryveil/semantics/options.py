"""How profiles are weighted and compared by meaning."""

from dataclasses import dataclass
from pathlib import Path

from queryveil.core.errors import InputError
from queryveil.core.names import Word
from queryveil.core.options import LocalPath, OptionGroup, option


@dataclass(frozen=True)
class WeightOptions(OptionGroup):
    """How the terms of a profile are weighted."""

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
    taxonomy: Path | None = option(
        None, LocalPath(), "A taxonomy of your own (lines of child,parent) in place of WordNet."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.taxonomy is not None and self.network not in ("wordnet", "taxonomy"):
            raise InputError(f"--taxonomy and --network {self.network} exclude each other; leave one of them out.")

    @property
    def chosen(self) -> str:
        """Return the network to use: a taxonomy that is given is meant to be used."""
        return self.network if self.taxonomy is None else "taxonomy"

    def as_record(self) -> dict[str, str]:
        """Return the options by name, for a manifest."""
        return {"network": self.chosen, "weights": self.weights, "unknown_terms": self.unknown_terms}
