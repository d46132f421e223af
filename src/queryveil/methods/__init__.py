"""Anonymisation methods: one declaration each; the code that does it is imported when it runs."""

from dataclasses import replace

import queryveil.guarantees as guarantees
from queryveil.core.names import Flag, Integer, Parameter, Real, Word
from queryveil.methods.base import Method, Refinement, Suggestion

_INFERENCE = tuple(
    replace(parameter, is_optional=True, goes_with=("split", "none"))
    for parameter in guarantees.COHERENCE.parameters
    if parameter.name not in "km"
)

KM = Method(
    name="km",
    purpose="delete terms from single histories until every combination of at most m terms is shared by k people",
    parameters=(
        *guarantees.KM.parameters,
        Parameter("target", Word(category="target"), "what is kept as much as possible", "logsize"),
        Parameter(
            "algorithm", Word(("best", "paper")), "best: as much as possible is kept; paper: Algorithm 1", "best"
        ),
        Parameter(
            "ties",
            Word(("last", "random")),
            "which of equally useful terms is deleted: the last, held by the fewest people, or a random one as in the "
            "paper; last if not given",
            is_optional=True,
            goes_with=("algorithm", "paper"),
        ),
        Parameter(
            "ranking",
            Word(("frequency", "value")),
            "how useful a term is: its value times its occurrences, or its value alone as in the paper's Example 8; "
            "frequency if not given",
            is_optional=True,
            goes_with=("algorithm", "paper"),
        ),
        *_INFERENCE,
        Parameter(
            "split",
            Word(("none", "layers", "all", "pairs")),
            "what becomes of terms that do not fit into a person's history: none: they are deleted; layers: they are "
            "published as further histories, unlinked to it, of two terms or more; all: every term that k people hold "
            "is published, if need be as a history of its own; pairs: as all, and a person's terms are grouped so that "
            "as many pairs as possible stay together, frequent or not, which takes longer; take all to learn from "
            "single terms, pairs to see most pairs of a person's terms, none to read histories as people (the measure "
            "together shows what each keeps)",
            "none",
        ),
        Parameter(
            "thin",
            Real(0, 0.5, excludes_minimum=True),
            "at most this share of what is kept is deleted without need, at random, so that a term which could have "
            "stayed may have been there",
            is_optional=True,
            goes_with=("split", "none"),
        ),
    ),
    paper=guarantees.KM.paper,
    functions={"local": "queryveil.methods.km:run", "spark": "queryveil.methods.distributed.km:run"},
    guarantee="km",
    refinements={
        "h": Refinement(
            "coherence",
            {
                "local": "queryveil.methods.coherence:bound_inference",
                "spark": "queryveil.methods.distributed.coherence:bound_inference",
            },
        )
    },
    kinds=("histories", "log"),
    inputs=("term_values", "sensitive_terms", "weaker_release"),
    spark_only={"target": ("logsize",), "algorithm": ("best",), "split": ("none", "layers", "all"), "thin": (0,)},
    suggestions=(
        Suggestion(
            "publish",
            "km(k=10, m=2)",
            "histories stay together, so that researchers see which terms occur together; whoever knows two terms of a "
            "person finds at least ten people who share them",
        ),
        Suggestion(
            "ads",
            "km(k=5, m=2, target=revenue)",
            "terms are kept by what they are worth to advertisers, which a market table tells; the demo log has one",
        ),
    ),
)

_BOUND, *_PRINCIPLES = guarantees.LINKABILITY.parameters

LINKABILITY = Method(
    name="linkability",
    purpose="publish people in groups alike in meaning, of whose members at most a share p hold a term: on average "
    "over the group's terms, or every single term (principle=belief or posterior, for publication)",
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
        Parameter(
            "shrink", Real(0, 1), "how far the smallest group's weights go towards all people's", is_optional=True
        ),
        Parameter(
            "min_similarity",
            Real(0, 1),
            "nobody is in a group whose centroid is less alike than this cosine",
            is_optional=True,
        ),
        Parameter(
            "floor",
            Integer(minimum=1),
            "terms held by fewer people are left out; 1/p rounded up if not given, 1 as in the paper",
            is_optional=True,
        ),
        Parameter(
            "blocks",
            Word(("auto", "none")),
            "auto: more than 12,000 people are grouped in blocks of about 6,000; none: all at once, as in the paper",
            "auto",
        ),
    ),
    paper=guarantees.LINKABILITY.paper,
    functions={"local": "queryveil.methods.linkability:run", "spark": "queryveil.methods.distributed.linkability:run"},
    guarantee="linkability",
    kinds=("groups",),
    inputs=("network", "weights", "previous_groups"),
    spark_only={"blocks": ("auto",)},
    suggestions=(
        Suggestion(
            "personalise",
            "linkability(p=0.4)",
            "people are published in groups alike in meaning; an application ranks answers by the profile of a group "
            "and never learns who asks",
        ),
        Suggestion(
            "ads",
            "linkability(p=0.4)",
            "the profiles of groups tell what kinds of people search for, with weights, and hold no person",
        ),
    ),
)

_FLOOR = Parameter(
    "floor",
    Integer(minimum=1),
    "terms held by fewer people are not published; k if not given, 1 as in the paper",
    is_optional=True,
)

VOCABULARY = Method(
    name="vocabulary",
    purpose="publish one typical vocabulary for every cluster of at least k people whose terms are near in meaning",
    parameters=(
        *guarantees.VOCABULARY_K.parameters,
        Parameter("eps", Integer(minimum=0, maximum=100), "terms more steps apart than this are never matched"),
        Parameter(
            "omega",
            Integer(minimum=1, maximum=1_000),
            "what an unmatched term costs, far more than eps as in the paper; if not given 100, or ten times eps if "
            "that is more",
            is_optional=True,
        ),
        Parameter(
            "model",
            Word(("perfect", "maximum")),
            "perfect: unmatched terms cost omega each; maximum: as many are matched as can be, and only these count",
            "perfect",
        ),
        Parameter(
            "seed_rule",
            Word(("farthest", "first")),
            "which vocabulary begins a cluster: the farthest from where the last one began, or the first of the log",
            "farthest",
        ),
        Parameter(
            "typical",
            Word(("vote", "bags", "generalize")),
            "what is published for terms that were matched: the one closest to the others, all of them, or what "
            "they have in common",
            "vote",
        ),
        Parameter(
            "terms",
            Word(("all", "matchable")),
            "which terms take part: all, or those that some cluster may publish, without those that the network does "
            "not know and fewer than k people hold",
            "all",
        ),
        _FLOOR,
        Parameter(
            "block",
            Integer(minimum=0),
            "more vocabularies than this are clustered in blocks of similar length, of at most so many; 0: all at "
            "once, as in the paper",
            5_000,
        ),
    ),
    paper=guarantees.VOCABULARY_K.paper,
    functions={"local": "queryveil.methods.vocabulary:run", "spark": "queryveil.methods.distributed.vocabulary:run"},
    suggestions=(
        Suggestion(
            "publish",
            "vocabulary(k=10, eps=8)",
            "how often terms are searched for stays visible, since terms near in meaning are published as one; nobody "
            "differs from nine others in anything, whatever is known of them",
        ),
    ),
    guarantee="vocabulary_k",
    kinds=("vocabularies",),
    inputs=("hierarchy",),
)

GENERALIZE = Method(
    name="generalize",
    purpose="generalise terms, in some histories more than in others, until every vocabulary is that of k people",
    parameters=(
        *guarantees.VOCABULARY_K.parameters,
        Parameter("bags", Flag(), "keep how often a generalised term occurs, as far as it is shared", True),
        _FLOOR,
    ),
    paper="He, Naughton: Anonymization of Set-Valued Data via Top-Down, Local Generalization, 2009",
    functions={"local": "queryveil.methods.generalize:run"},
    suggestions=(
        Suggestion(
            "publish",
            "generalize(k=10)",
            "rare terms become more general ones instead of vanishing, and every vocabulary is that of ten people",
        ),
    ),
    guarantee="vocabulary_k",
    kinds=("vocabularies",),
    inputs=("hierarchy",),
)

SUPPRESS = Method(
    name="suppress",
    purpose="delete terms from the whole log, those of fewest people first, until every vocabulary is that of k people",
    parameters=(*guarantees.VOCABULARY_K.parameters, _FLOOR),
    paper=guarantees.VOCABULARY_K.paper,
    functions={"local": "queryveil.methods.suppress:run"},
    suggestions=(
        Suggestion(
            "statistics",
            "suppress(k=5)",
            "it is the simplest method, which deletes terms from the whole log; compare others with it",
        ),
    ),
    guarantee="vocabulary_k",
    kinds=("vocabularies",),
    inputs=("hierarchy",),
)

QUERY_K = Method(
    name="query_k",
    purpose="release the queries that at least k people issued, each as one whole",
    parameters=(
        Parameter("k", Integer(minimum=1), "how many people must have issued a query", is_optional=True),
        Parameter(
            "share",
            Real(0, 1, excludes_minimum=True),
            "instead of k: the smallest k that releases at most this share of all issued queries",
            is_optional=True,
        ),
    ),
    paper=guarantees.QUERY_K.paper,
    functions={"local": "queryveil.methods.query_k:run", "spark": "queryveil.methods.distributed.query_k:run"},
    suggestions=(
        Suggestion(
            "statistics",
            "query_k(k=10)",
            "whole queries are released as they were typed, with how often, if ten people issued them, which is what "
            "suggestions and trends need",
        ),
    ),
    guarantee="query_k",
    kinds=("queries",),
    one_of=("k", "share"),
)

PPP = Method(
    name="ppp",
    purpose="release only the queries without a person name, place or private word, or only those with one",
    parameters=guarantees.PPP.parameters,
    paper=guarantees.PPP.paper,
    functions={"local": "queryveil.methods.ppp:run"},
    guarantee="ppp",
    kinds=("queries",),
    inputs=("places",),
)

DECLARATIONS = (KM, LINKABILITY, VOCABULARY, GENERALIZE, SUPPRESS, QUERY_K, PPP)
