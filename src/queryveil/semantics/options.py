"""How profiles are weighed and compared by meaning, declared once."""

from dataclasses import dataclass
from pathlib import Path

from queryveil.core.errors import InputError
from queryveil.core.names import Parameter, Word

MEANING: tuple[Parameter, ...] = (
    Parameter("network", Word(kind="network"), "what tells how terms are related in meaning", "wordnet"),
    Parameter(
        "weights",
        Word(("paper", "counts", "tfidf")),
        "how much of a profile each of its terms is: 1, its queries, or tf-idf; a profile file has its own",
        "paper",
    ),
    Parameter("unknown_terms", Word(("keep", "drop")), "what becomes of terms that the network does not know", "keep"),
)


@dataclass(frozen=True)
class Meaning:
    """How profiles are weighed and compared; the fields are the parameters of `MEANING`, and a file."""

    network: str = "wordnet"
    weights: str = "paper"
    unknown_terms: str = "keep"
    taxonomy: Path | None = None  # a file of child,parent lines: then the network is this

    def __post_init__(self) -> None:
        for parameter in MEANING:
            parameter.check(getattr(self, parameter.name), "--" + parameter.name.replace("_", "-"))
        if self.taxonomy is not None and self.network not in ("wordnet", "taxonomy"):
            raise InputError(f"--taxonomy and --network {self.network} exclude each other; leave one of them out.")

    @property
    def chosen(self) -> str:
        """Return the network to use: a taxonomy that is given is meant to be used."""
        return self.network if self.taxonomy is None else "taxonomy"

    def as_record(self) -> dict[str, str]:
        """Return the options by name, for a manifest."""
        return {"network": self.chosen, "weights": self.weights, "unknown_terms": self.unknown_terms}
