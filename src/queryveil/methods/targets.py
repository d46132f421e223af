"""Target functions: what an anonymisation tries to keep (Burghardt et al. 2010, section 4.1)."""

from queryveil.core.names import Declaration

_HERE = "queryveil.methods.utilities"


def _ranking(name: str, purpose: str) -> Declaration:
    """Declare a target that ranks terms by a function of its own name."""
    return Declaration(name, purpose, functions={"local": f"{_HERE}:{name}"})


DECLARATIONS = (
    _ranking("logsize", "occurrences of terms in the log"),
    _ranking("users", "people with something left"),
    _ranking("distinct", "distinct terms"),
    _ranking("bid", "what advertisers bid for terms (--market)"),
    _ranking("clicks", "clicks on the ads of terms (--market)"),
    _ranking("impressions", "how often the ads of terms are shown (--market)"),
    _ranking("revenue", "clicks · bid of terms (--market)"),
    _ranking("file", "the value of terms in a file (--values: term, value)"),
    Declaration("fis", "frequent combinations: the term in the fewest of them goes"),
    Declaration("random", "nothing: a random term of the combination goes"),
)
