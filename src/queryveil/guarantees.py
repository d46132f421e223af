"""What a release can promise: one declaration each, with the promise and its limits in plain words."""

from dataclasses import dataclass

from queryveil.spec import Bound, Declaration, Integer, Parameter

COMMON_LIMITS = (
    "The guarantee holds for this release alone: two releases of the same or overlapping logs may together reveal "
    "more than each does.",
    "It covers the columns it names; order, counts, times and clicks are outside it.",
    "It holds against the attacker it names, not against every attacker.",
)


@dataclass(frozen=True)
class GuaranteeDeclaration(Declaration):
    """A guarantee: besides the declaration, its promise as a sentence and what it does not cover."""

    promise: str = ""  # a sentence with {parameter} in it
    limits: tuple[str, ...] = ()  # likewise

    def limit_sentences(self, bound: Bound) -> list[str]:
        """Return what the guarantee does not cover, its own limits first."""
        return [limit.format(**bound.values) for limit in (*self.limits, *COMMON_LIMITS)]

    def sentence(self, bound: Bound) -> str:
        """Return the promise with its parameters filled in."""
        return self.promise.format(**bound.values)


KM = GuaranteeDeclaration(
    name="km",
    purpose="every combination of at most m terms of a history is in the histories of at least k people",
    parameters=(
        Parameter("k", Integer(minimum=2), "how many people must share every combination"),
        Parameter("m", Integer(minimum=1, maximum=4), "how many terms the attacker may know"),
    ),
    paper="Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010",
    functions={"local": "queryveil.verifiers.km:verify"},
    promise="Whoever knows up to {m} terms of a released history finds at least {k} people who share all of them.",
    limits=(
        "An attacker who knows more than {m} terms of a person may single that person out.",
        "All people who share the known terms may also share another, sensitive term; it is then learnt.",
        "A history of fewer than {m} terms is protected only up to its own length.",
    ),
)

DECLARATIONS = (KM,)
