"""Guarantees: one declaration each, with the promise and its limits in plain words."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from queryveil.core.display import counted
from queryveil.core.names import Declaration, Integer, Parameter, Real, ResolvedName, Value, Word

COMMON_LIMITS = (
    "The guarantee holds for this release alone: two releases of the same or overlapping logs may together reveal "
    "more than each does.",
    "It covers the columns it names; order, times and clicks are outside it.",
    "It holds against the attacker it names, not against every attacker.",
)
CONTENT_FILTER = "content filter, no anonymity"
NOTHING_PROMISED = "no anonymity: nothing is promised"
GLOBAL_MEAN = "mean of all people"
ROUNDING = 1e-9  # a quotient that is a whole number but for rounding counts as that number


@dataclass(frozen=True)
class Principle:
    """One of several forms of a guarantee: its promise, and the limits that it alone has."""

    promise: str  # a sentence with {parameter} in it, or {members} or {people}: the smallest crowd
    limits: tuple[str, ...] = ()  # likewise


@dataclass(frozen=True)
class Guarantee(Declaration):
    """A guarantee: the declaration, its promise as a sentence and what it does not cover.

    If it has several forms, a parameter (and `average`, if there is one) selects the form.
    """

    promise: str = ""  # a sentence with {parameter} in it
    limits: tuple[str, ...] = ()  # likewise
    principles: Mapping[str, Principle] = field(default_factory=dict)
    principle_parameter: str = "principle"  # whose value names the form
    kinds: tuple[str, ...] = ()  # the kinds of release it can be claimed of
    is_anonymity: bool = True  # people are hidden among others; else it is only about what the release holds
    unit: Literal["term", "query"] = "term"  # what it counts in a file that is not a release
    inputs: tuple[str, ...] = ()  # what a verifier needs besides the release, such as word lists
    includes: tuple[str, ...] = ()  # the guarantees of which it promises everything, with the same parameters
    shared_items: int = 0  # how many items k people must share, unless m says it; 0: it promises something else
    stronger_when: Mapping[str, Literal["larger", "smaller"]] = field(default_factory=dict)
    # parameter → the direction in which the promise gets stronger; a sweep starts runs along the last one

    def smallest_crowd(self, claim: ResolvedName) -> int:
        """Return the smallest number of people who share what is published."""
        if "k" in claim.values:
            return claim.integer("k")
        return math.ceil(1 / claim.real("p") * (1 - ROUNDING)) if "p" in claim.values else 1

    def caution(self, claim: ResolvedName | None = None) -> str:
        """Return a short label if a claim, or every claim of the guarantee, gives no anonymity; "" if it does."""
        if not self.is_anonymity:
            return CONTENT_FILTER
        if claim is None or not {"k", "p"} & set(claim.values):
            return ""
        return NOTHING_PROMISED if self.smallest_crowd(claim) == 1 else ""

    def largest_shared(self, claim: ResolvedName) -> int:
        """Return how many items of a history k people share at least; 0 if the claim promises something else."""
        return claim.integer("m") if "m" in claim.values else self.shared_items

    def floor(self, claim: ResolvedName, parameters: Mapping[str, Value]) -> int:
        """Return how many people must hold each published term: the method's `floor`, else the smallest crowd."""
        return int(parameters.get("floor", self.smallest_crowd(claim)))

    def is_no_stronger(self, weaker: ResolvedName, claim: ResolvedName) -> bool:
        """Return whether a claim promises no more than another of the same guarantee in every parameter."""
        signs = {name: 1 if way == "larger" else -1 for name, way in self.stronger_when.items()}
        return bool(signs) and all(sign * weaker.real(name) <= sign * claim.real(name) for name, sign in signs.items())

    def sentences(self, claim: ResolvedName) -> tuple[str, tuple[str, ...]]:
        """Return the promise of a claim and what it does not cover, its own limits first, with parameters filled in."""
        form = Principle(self.promise)
        if self.principles:
            name = claim.word(self.principle_parameter)
            is_global = name == "mean" and claim.word("average") == "global"
            form = self.principles[GLOBAL_MEAN if is_global else name]
        crowd = self.smallest_crowd(claim)
        numbers = {"members": counted(crowd, "members"), "people": counted(crowd, "people")}
        values = {**claim.values, **numbers}
        sentences = (form.promise, *form.limits, *self.limits, *COMMON_LIMITS)
        if claim.values.get("m") == 1:
            sentences = tuple(sentence.replace("{m} terms", "{m} term") for sentence in sentences)
        promise, *limits = (sentence.format(**values) for sentence in sentences)
        return promise, tuple(limits)


KM = Guarantee(
    name="km",
    purpose="every combination of at most m terms of a history is in the histories of at least k people",
    parameters=(
        Parameter("k", Integer(minimum=2), "how many people must share every combination"),
        Parameter("m", Integer(minimum=1, maximum=4), "how many terms the attacker may know"),
    ),
    paper="Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010",
    functions={"local": "queryveil.verifiers.km:verify", "spark": "queryveil.verifiers.spark_km:verify"},
    kinds=("histories", "log"),
    stronger_when={"k": "larger", "m": "larger"},
    promise="Whoever knows up to {m} terms of a released history finds at least {k} people who share all of them.",
    limits=(
        "An attacker who knows more than {m} terms of a person may single that person out.",
        "All people who share the known terms may also share another, sensitive term; it is then learnt.",
        "A history of fewer than {m} terms is protected only up to its own length.",
        "How often a term occurs in a history is outside it.",
        "Which term was deleted can often be told: nothing is deleted without need, so whoever knows which history is "
        "a person's can rule out the terms that could have stayed.",
    ),
)

COHERENCE = Guarantee(
    name="coherence",
    purpose="km(k, m), and of the people who share a combination at most a share h hold any one sensitive term besides",
    parameters=(
        *KM.parameters,
        Parameter(
            "h",
            Real(0, 1, excludes_minimum=True),
            "the largest share of the people who share a combination that may hold one sensitive term besides",
        ),
        Parameter(
            "threshold",
            Real(0, 1, excludes_minimum=True),
            "terms that the bundled sensitivity model scores so much or more are sensitive; without it, those of a "
            "list (--sensitive)",
            is_optional=True,
        ),
    ),
    paper="Xu, Wang, Fu, Yu: Anonymizing Transaction Databases for Publication, 2008",
    functions={"local": "queryveil.verifiers.coherence:verify", "spark": "queryveil.verifiers.spark_coherence:verify"},
    kinds=KM.kinds,
    inputs=("sensitive_terms",),
    includes=(KM.name,),
    stronger_when=KM.stronger_when,
    promise=KM.promise.removesuffix(".")
    + ", and at most a share of {h} of these people hold any one sensitive term besides.",
    limits=(
        KM.limits[0],
        "Terms that are sensitive and not known to be are not bounded: a model or a list says which are, and neither "
        "knows all.",
        "Sensitive terms are bounded one by one: that somebody has one of several may be certain.",
        "The bound is on what the histories of the release show; how common a term is among all people, and what "
        "follows from other knowledge, is outside it.",
        *KM.limits[2:],
    ),
)

_CROWD = "Every group has at least {members}"
_MISSING_TERM = (
    "That a term is missing from a group may mean that too many members hold it; the promise is about the terms that "
    "are published."
)

LINKABILITY_PRINCIPLES = {
    "mean": Principle(
        "Averaged over the terms of a published group, at most a share of {p} of its members hold a term.",
        (
            "The bound is only an average: single terms may be held by far more than a share of {p} of the members, "
            "and a term that all members hold is learnt of each of them.",
        ),
    ),
    "posterior": Principle(
        _CROWD + ", and of every term that is published for a group at most a share of {p} of the members hold it.",
        (_MISSING_TERM,),
    ),
    "belief": Principle(
        _CROWD + ", and of every term that is published for a group the share of the members who hold it exceeds "
        "the share of all people who do by at most {p}.",
        (
            "A term that is common among all people may be held by more than a share of {p} of the members: the bound "
            "is on what the release adds to knowing how common a term is.",
            _MISSING_TERM,
        ),
    ),
    "diversity": Principle(
        _CROWD + ", and the terms of a group are as diverse as {l} equally frequent ones (the exponential of "
        "their entropy).",
        ("Diversity says nothing of a single term: one that all members hold is learnt of each of them.",),
    ),
    "closeness": Principle(
        _CROWD + ", and the terms of a group are distributed as those of all people, up to a total variation "
        "distance of {t}.",
        ("Closeness is a sum over terms: single rare terms may be much more frequent in a group than among all.",),
    ),
}

LINKABILITY = Guarantee(
    name="linkability",
    purpose="people are published in groups, of whose members at most a share p hold a term: on average over the "
    "group's terms, or every single term (belief, posterior)",
    parameters=(
        Parameter("p", Real(0, 1, excludes_minimum=True), "how likely a member of a group may be tied to a term"),
        Parameter(
            "principle",
            Word(tuple(LINKABILITY_PRINCIPLES)),
            "what is bounded: the mean over a group's terms as in the paper, every term (posterior, or belief beyond "
            "what is known of all people; take one of these for publication), or the distribution of the terms",
            "mean",
        ),
        Parameter(
            "average",
            Word(("group", "global")),
            "whose mean profile size the mean principle uses; global as in the paper, with at least 1/p members",
            "group",
        ),
        Parameter("l", Real(1), "how diverse the terms of a group must be", goes_with=("principle", "diversity")),
        Parameter(
            "t",
            Real(0, 1),
            "how far a group's terms may be from those of all people",
            goes_with=("principle", "closeness"),
        ),
    ),
    paper="Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010",
    functions={"local": "queryveil.verifiers.linkability:verify", "spark": "queryveil.verifiers.linkability:verify"},
    kinds=("groups",),
    stronger_when={"p": "smaller"},
    limits=(
        "An attacker who knows all other members of a group can compute what the remaining one contributed.",
        "It is about terms one by one: what follows from several terms of a group together is not bounded.",
        "When groups are made anew after people joined or left, two releases may together reveal who did and "
        "with which terms.",
    ),
    principles={
        **LINKABILITY_PRINCIPLES,
        GLOBAL_MEAN: Principle(
            _CROWD
            + ", and at least as many terms are published for it as a profile of all people has on average, divided "
            "by {p}.",
            (
                "The bound is on the number of a group's terms: of people with longer profiles than usual more than a "
                "share of {p} may hold a term of their group, on average too.",
            ),
        ),
    },
)

VOCABULARY_K = Guarantee(
    name="vocabulary_k",
    purpose="every published vocabulary, a bag of terms with their counts, is that of at least k people",
    parameters=(Parameter("k", Integer(minimum=2), "how many people must share every vocabulary"),),
    paper="Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010",
    functions={
        "local": "queryveil.verifiers.vocabulary:verify",
        "spark": "queryveil.verifiers.spark_vocabulary:verify",
    },
    kinds=("vocabularies", "histories", "log"),
    stronger_when={"k": "larger"},
    promise="Every published vocabulary, with the counts of its terms, is published alike for at least {k} people: "
    "whatever is known of a person's searches, at least {k} people remain behind the vocabulary that fits.",
    limits=(
        "Each published term says that all of the at least {k} people behind the vocabulary searched for it or for "
        "something near it in meaning: where that is sensitive, it is learnt of each of them.",
        "A published term need not be the word that a person typed: it may stand for one near it in meaning, and "
        "terms that found no like are missing. Counts are those of the vocabulary that is shared, not of the person.",
        "Whoever knows all but one of the people behind a vocabulary, and their searches, can narrow down what the "
        "remaining one searched for.",
    ),
)

QUERY_K = Guarantee(
    name="query_k",
    purpose="every released query was issued by at least k people",
    parameters=(Parameter("k", Integer(minimum=1), "how many people must have issued a query"),),
    paper="Adar: User 4XXXXX9: Anonymizing Query Logs, 2007",
    functions={"local": "queryveil.verifiers.query_k:verify", "spark": "queryveil.verifiers.query_k:verify"},
    kinds=("queries",),
    unit="query",
    shared_items=1,
    stronger_when={"k": "larger"},
    promise="Every query in the release, in the same words, was issued by at least {people}, all of whom are in it.",
    limits=(
        "Queries are protected one by one: two or three queries of a person, each of them common, may single that "
        "person out, and all other queries of the person are then learnt.",
        "A sensitive query that {people} issued is released of each of them.",
        "Nothing is promised of a query's meaning: many people may have issued a name or an address.",
    ),
)

PPP = Guarantee(
    name="ppp",
    purpose="what released queries hold: no person name, place or private word, or one each",
    is_anonymity=False,
    parameters=(
        Parameter(
            "release", Word(("none", "only")), "none: queries without such words are released; only: those with one"
        ),
    ),
    paper="Carpineto, Romano: Sensitive-aware Privacy Index for Sanitized Text Data, 2018",
    functions={"local": "queryveil.verifiers.ppp:verify"},
    kinds=("queries",),
    unit="query",
    inputs=("places",),
    principles={
        "none": Principle("No query in the release holds a person name, a place or a private word of the lists used."),
        "only": Principle(
            "Every query in the release holds a person name, a place or a private word of the lists used.",
            ("These are the queries that give most away; such a release is for comparison, not for publication.",),
        ),
    },
    limits=(
        "This is a claim about content, not about anonymity: how many people issued a query is not looked at, and a "
        "released query may be one person's alone.",
        "The lists are of English words, of names common in the United States and of places in WordNet; names, places "
        "and private words that are spelt otherwise or not listed are not found.",
        "What a query says without such a word is not looked at.",
    ),
    principle_parameter="release",
)

DECLARATIONS = (KM, COHERENCE, LINKABILITY, VOCABULARY_K, QUERY_K, PPP)


def guarantee_of(claim: ResolvedName) -> Guarantee:
    """Return the declaration of a claimed guarantee."""
    if not isinstance(claim.declaration, Guarantee):
        raise TypeError(f"{claim.declaration.name} is registered as a guarantee but is not a Guarantee")
    return claim.declaration
