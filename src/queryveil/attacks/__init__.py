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
_OF = "what terms are known of: all that a person searched for, or those that the release still shows of it"
_FOUND = "If the person is among the people found, success is one divided by their number, else nothing."

KNOWN_TERMS = Attack(
    name="known_terms",
    purpose="find a person of whom m, m + 1 and m + 2 terms are known, and with wrong ones among them",
    parameters=(
        _KNOWN,
        Parameter("wrong", Integer(0, 3), "how many wrong terms the scoring attacker believes besides", 1),
        Parameter("of", Word(("log", "release")), _OF, "log"),
    ),
    functions={"local": "queryveil.attacks.finding:attack_by_terms"},
    defaults_to_claimed_m=True,
    risk_of="singling out",
    threat=(
        "Somebody knows a few random terms that a person searched for, and looks for those who share all of them; who "
        "is not sure of them scores everybody by the known terms, rarer ones counting more, and takes the best. "
        f"{_FOUND}"
    ),
)

INFER = Attack(
    name="infer",
    purpose="learn another term of a person of whom m terms are known",
    parameters=(_KNOWN,),
    paper="Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010",
    functions={"local": "queryveil.attacks.infer:infer"},
    defaults_to_claimed_m=True,
    risk_of="inference",
    threat=(
        "Somebody knows a few random terms that a person searched for, finds those who match them best, and believes "
        "of any other term what is true of these people. It is told how surely a further term of the person is "
        "believed, and how often the term is right in which belief has grown most."
    ),
)

MULTIPLICITY = Attack(
    name="multiplicity",
    purpose="find a person of whom it is known how often m terms were searched for",
    parameters=(Parameter("m", Integer(1, MAX_KNOWN), "how many terms and numbers are known", 2),),
    functions={"local": "queryveil.attacks.finding:attack_by_counts"},
    defaults_to_claimed_m=True,
    risk_of="linkability",
    threat=(
        "Somebody has another record of a person, such as the counters of a web site, and knows of a few random terms "
        f"in how many queries the person used each; the best matches are taken. {_FOUND}"
    ),
    kinds=("log", "queries", "vocabularies"),
    needs="counts",
)

TIME = Attack(
    name="time",
    purpose="find a person of whom m moments of searching are known",
    parameters=(
        Parameter("m", Integer(1, MAX_KNOWN), "how many moments are known", 1),
        Parameter("unit", Word(("second", "minute", "hour", "day")), "how precisely they are known", "minute"),
    ),
    functions={"local": "queryveil.attacks.finding:attack_by_moments"},
    risk_of="linkability",
    threat=(
        "Somebody has another record of a person, such as a provider's log of connections, and knows of a few random "
        f"moments when the person searched; the best matches are taken. {_FOUND}"
    ),
    kinds=("log", "queries"),
    needs="time",
)

URL = Attack(
    name="url",
    purpose="find a person of whom m URLs are known that were clicked on",
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
    purpose="find a person whose name is known by a search for that name",
    parameters=(Parameter("shared", Integer(1, 100), "a name that more people searched for is taken for famous", 3),),
    functions={"local": "queryveil.attacks.finding:attack_by_names"},
    risk_of="singling out",
    threat=(
        "Somebody knows a person's name, and that people search for themselves, and looks for those with both names. "
        "For want of true names, the name that a person searched for most often and few others did is taken to be the "
        f"person's own. {_FOUND}"
    ),
    needs="names",
)

MINIMALITY = Attack(
    name="minimality",
    purpose="learn which term was deleted from a history by knowing that none is deleted without need",
    paper="Wong, Fu, Wang, Pei: Minimality Attack in Privacy Preserving Data Publishing, 2007",
    functions={"local": "queryveil.attacks.minimality:find_deleted"},
    risk_of="inference",
    threat=(
        "Somebody knows which history is a person's, the method and its parameters, and wonders which of two published "
        "terms was deleted from it: one was, the other was never there. A term that could have stayed was never "
        "there, since nothing is deleted without need. Success is to be right; where both look alike it is a half."
    ),
    kinds=("histories", "log"),
    guarantee="km",
)

DECLARATIONS = (KNOWN_TERMS, INFER, MULTIPLICITY, TIME, URL, VANITY, MINIMALITY)


def attack_of(attack: ResolvedName) -> Attack:
    """Return the declaration of an attack by its resolved name."""
    if not isinstance(attack.declaration, Attack):
        raise InputError(f"the attack {attack.declaration.name} is not declared as an attack; mend its package.")
    return attack.declaration
