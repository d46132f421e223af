"""Anonymisation methods: one declaration each; the code that does it is imported when it runs."""

from dataclasses import dataclass

from queryveil.guarantees import KM as KM_GUARANTEE
from queryveil.guarantees import LINKABILITY as LINKABILITY_GUARANTEE
from queryveil.spec import Bound, Declaration, Integer, Name, Parameter, Real, Word, declarations, resolve


@dataclass(frozen=True)
class Method(Declaration):
    """A method: besides the declaration, the guarantee it claims and the kinds of release it can make."""

    guarantee: str = ""
    kinds: tuple[str, ...] = ()

    def claim(self, bound: Bound) -> Bound:
        """Return the guarantee that a run with these parameters claims."""
        parameters = declarations("guarantee")[self.guarantee].parameters
        shared = tuple((p.name, bound[p.name]) for p in parameters if p.name in bound.values)
        return resolve("guarantee", Name(self.guarantee, shared))


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
    functions={"local": "queryveil.methods.km:run", "spark": "queryveil.methods.distributed.km:run"},
    guarantee="km",
    kinds=("histories", "log"),
)

_BOUND, *_PRINCIPLES = LINKABILITY_GUARANTEE.parameters

LINKABILITY = Method(
    name="linkability",
    purpose="publish people in groups alike in meaning, so that nobody can be tied to a term beyond p",
    parameters=(
        _BOUND,
        Parameter("a", Integer(minimum=0), "by how many steps of more general meanings profiles are compared too", 1),
        Parameter("closest", Word(("centroid", "seed")), "to what of a group the next member is closest", "centroid"),
        *_PRINCIPLES,
        Parameter(
            "weighting",
            Word(("content", "paper")),
            "what a more general meaning weighs: by how much it says, or as much as its term as in the paper",
            "content",
        ),
        Parameter(
            "representative",
            Word(("centroid", "union")),
            "what is published of a group: its terms by their mean weight over all members, or over their holders",
            "centroid",
        ),
        Parameter("shrink", Real(0, 1), "how far the smallest group's weights go towards all people's", optional=True),
        Parameter(
            "min_similarity", Real(0, 1), "nobody is put into a group less alike than this cosine", optional=True
        ),
        Parameter(
            "floor",
            Integer(minimum=1),
            "terms held by fewer people are left out; 1/p rounded up if not given, 1 as in the paper",
            optional=True,
        ),
    ),
    paper=LINKABILITY_GUARANTEE.paper,
    functions={"local": "queryveil.methods.linkability:run"},
    guarantee="linkability",
    kinds=("groups",),
)

DECLARATIONS = (KM, LINKABILITY)
