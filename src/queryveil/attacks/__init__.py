"""Attacks: what somebody with some knowledge of a person learns from a release; one declaration each.

Every attack yields three numbers, as in Anonymeter (Giomi, Boenisch, Wehmeyer, Tasnádi: A Unified Framework for
Quantifying Privacy Risk in Synthetic Data, 2023): its success, that of the same attack on people who are not in the
release, and that of a guess. A fourth is its success on the log with pseudonyms: an attack that fails there proves
nothing.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from queryveil.core.errors import InputError
from queryveil.core.names import Declaration, Integer, Parameter, ResolvedName, Word

if TYPE_CHECKING:  # listing attacks imports nothing heavy
    from queryveil.core.results import Risk
    from queryveil.kinds.base import Kind

TERM_KINDS = ("histories", "log", "queries", "vocabularies")
MAX_KNOWN = 6  # terms: more would find nearly everybody in any log


@dataclass(frozen=True)
class Attack(Declaration):
    """An attack: the declaration, its risk, the threat in plain words, and what it can be run on."""

    risk_of: "Risk" = "singling out"
    threat: str = ""  # who attacks, knowing what, and what counts as success
    kinds: tuple[str, ...] = (*TERM_KINDS, "groups")
    needs: Literal["", "counts", "time", "url", "names"] = ""  # what the log must have besides terms
    guarantee: str = ""  # the guarantee whose method it exploits; "": none
    defaults_to_claimed_m: bool = False  # by default the attacker knows as many items as the guarantee covers

    def applies_to(self, kind: "Kind") -> bool:
        """Return whether a kind of release can be attacked in this way."""
        return kind.name in self.kinds or self.name in kind.attacks


_KNOWN = Parameter("m", Integer(1, MAX_KNOWN - 2), "how many terms of a person are known")
_OF = "where the known terms come from: all that a person searched for, or what the release still shows of it"
_FOUND = "If the person is among the c people found, the success is 1/c, otherwise 0."

KNOWN_TERMS = Attack(
    name="known_terms",
    purpose="find a person from m, m + 1 and m + 2 known terms, also if some of them are wrong",
    parameters=(
        _KNOWN,
        Parameter("wrong", Integer(0, 3), "how many wrong terms the scoring attacker believes in addition", 1),
        Parameter("of", Word(("log", "release")), _OF, "log"),
    ),
    functions={"local": "queryveil.attacks.finding:attack_by_terms"},
    defaults_to_claimed_m=True,
    risk_of="singling out",
    threat=(
        "Somebody knows a few random terms that a person searched for and looks for everybody who shares all of them. "
        "An attacker who is unsure of the terms scores everybody by them, rarer terms counting more, and takes the "
        f"best. {_FOUND}"
    ),
)

INFER = Attack(
    name="infer",
    purpose="learn another term of a person from m known terms",
    parameters=(_KNOWN,),
    paper="Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010",
    functions={"local": "queryveil.attacks.infer:infer"},
    defaults_to_claimed_m=True,
    risk_of="inference",
    threat=(
        "Somebody knows a few random terms that a person searched for, finds the people who match them best, and "
        "assumes of every other term what is true of these people. The success is the probability that the attacker "
        "gives to another term of the person, and how often the term whose probability rose most is right."
    ),
)

MULTIPLICITY = Attack(
    name="multiplicity",
    purpose="find a person from how often m terms were searched for",
    parameters=(Parameter("m", Integer(1, MAX_KNOWN), "how many terms and numbers are known", 2),),
    functions={"local": "queryveil.attacks.finding:attack_by_counts"},
    defaults_to_claimed_m=True,
    risk_of="linkability",
    threat=(
        "Somebody has another record of a person, such as the counters of a web site, and knows for a few random terms "
        f"how many of the person's queries had each; the best matches are taken. {_FOUND}"
    ),
    kinds=("log", "queries", "vocabularies"),
    needs="counts",
)

TIME = Attack(
    name="time",
    purpose="find a person from m known times of searching",
    parameters=(
        Parameter("m", Integer(1, MAX_KNOWN), "how many times are known", 1),
        Parameter("unit", Word(("second", "minute", "hour", "day")), "how precisely they are known", "minute"),
    ),
    functions={"local": "queryveil.attacks.finding:attack_by_moments"},
    risk_of="linkability",
    threat=(
        "Somebody has another record of a person, such as a provider's log of connections, and knows a few random "
        f"times at which the person searched; the best matches are taken. {_FOUND}"
    ),
    kinds=("log", "queries"),
    needs="time",
)

URL = Attack(
    name="url",
    purpose="find a person from m clicked URLs",
    parameters=(Parameter("m", Integer(1, MAX_KNOWN), "how many URLs are known", 1),),
    functions={"local": "queryveil.attacks.finding:attack_by_urls"},
    risk_of="linkability",
    threat=(
        "Somebody has another record of a person, such as a proxy's log, and knows a few random URLs that the person "
        f"clicked on, or domains where the release has only these; the best matches are taken. {_FOUND}"
    ),
    kinds=("log", "queries"),
    needs="url",
)

VANITY = Attack(
    name="vanity",
    purpose="find a person by a search for the person's own name",
    parameters=(Parameter("shared", Integer(1, 100), "a name that more people searched for counts as famous", 3),),
    functions={"local": "queryveil.attacks.finding:attack_by_names"},
    risk_of="singling out",
    threat=(
        "Somebody knows a person's name and that people search for themselves, and looks for histories with both "
        "names. The log has no true names, so the name that a person searched for most often, and few others did, "
        f"stands for the person's own. {_FOUND}"
    ),
    needs="names",
)

MINIMALITY = Attack(
    name="minimality",
    purpose="learn which term was deleted from a history from the rule that none is deleted without need",
    paper="Wong, Fu, Wang, Pei: Minimality Attack in Privacy Preserving Data Publishing, 2007",
    functions={"local": "queryveil.attacks.minimality:find_deleted"},
    risk_of="inference",
    threat=(
        "Somebody knows which history is a person's, the method and its parameters, and wonders which of two published "
        "terms was deleted from it: one was, the other was never there. A term that could have stayed was never "
        "there, since nothing is deleted without need. A right answer is a success; where both terms look alike, half "
        "of one."
    ),
    kinds=("histories", "log"),
    guarantee="km",
)

DECLARATIONS = (KNOWN_TERMS, INFER, MULTIPLICITY, TIME, URL, VANITY, MINIMALITY)


def attack_of(attack: ResolvedName) -> Attack:
    """Return the declaration of an attack by its resolved name."""
    if not isinstance(attack.declaration, Attack):
        raise InputError(f"the attack {attack.declaration.name} is not declared as an attack; correct its package.")
    return attack.declaration
