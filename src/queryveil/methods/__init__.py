"""Anonymisation methods: one declaration each; the code that does it is imported when it runs."""

from dataclasses import dataclass

from queryveil.guarantees import KM as KM_GUARANTEE
from queryveil.spec import Bound, Declaration, Name, Parameter, Word, declarations, resolve


@dataclass(frozen=True)
class Method(Declaration):
    """A method: besides the declaration, the guarantee it claims and the kinds of release it can make."""

    guarantee: str = ""
    kinds: tuple[str, ...] = ()

    def claim(self, bound: Bound) -> Bound:
        """Return the guarantee that a run with these parameters claims."""
        parameters = declarations("guarantee")[self.guarantee].parameters
        return resolve("guarantee", Name(self.guarantee, tuple((p.name, bound[p.name]) for p in parameters)))


KM = Method(
    name="km",
    purpose="delete terms from single histories until every combination of at most m terms is shared by k people",
    parameters=(
        *KM_GUARANTEE.parameters,
        Parameter("target", Word(kind="target"), "what is kept as much as possible", "logsize"),
        Parameter(
            "algorithm", Word(("best", "paper")), "best: as much as possible is kept; paper: Algorithm 1", "best"
        ),
    ),
    paper=KM_GUARANTEE.paper,
    functions={"local": "queryveil.methods.km:run"},
    guarantee="km",
    kinds=("histories", "log"),
)

DECLARATIONS = (KM,)
