"""Text names: what is read, what is written, what is refused."""

import pytest

from queryveil.core.errors import UnknownNameError
from queryveil.core.names import (
    CATEGORIES,
    Declaration,
    Flag,
    Integer,
    Name,
    Parameter,
    Real,
    ResolvedName,
    Text,
    Word,
    declarations,
    nearest,
    parse,
    parse_sweep,
    resolve,
)
from queryveil.guarantees import CONTENT_FILTER, KM, NOTHING_PROMISED, QUERY_K, Guarantee
from queryveil.methods.base import Method


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("km", Name("km")),
        ("km()", Name("km")),
        ("  km ( k = 10 , m=2 ) ", Name("km", (("k", 10), ("m", 2)))),
        ("km(k=10,\n m=2)", Name("km", (("k", 10), ("m", 2)))),
        ('km(target="clicks")', Name("km", (("target", "clicks"),))),
        ("km(target='clicks')", Name("km", (("target", "clicks"),))),
        ("x(a=true, b=false)", Name("x", (("a", True), ("b", False)))),
        ("x(a=-1, b=+2, c=0.5, d=1e-3, e=.5)", Name("x", (("a", -1), ("b", 2), ("c", 0.5), ("d", 0.001), ("e", 0.5)))),
        ("x(a=two-words)", Name("x", (("a", "two-words"),))),
    ],
)
def test_names_are_read(text: str, name: Name) -> None:
    assert parse(text) == name
    assert parse(str(name)) == name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a name"),
        ("10", "is not a name"),
        ("km(k=10", "is not a name"),
        ("km)k=10(", "is not a name"),
        ("k m", "is not a name"),
        ("../km", "is not a name"),
        ("km(10)", "'10' is not key=value"),
        ("km(k=10,)", "'' is not key=value"),
        ("km(k=)", "'k=' is not key=value"),
        ("km(=10)", "'=10' is not key=value"),
        ("km(k=10, k=11)", "k is given twice"),
        ("km(k=__import__('os'))", "is not a value"),
        ("km(k=/etc/passwd)", "is not a value"),
        ("km(k=10;m=2)", "is not a value"),
        ("km(k='10)", "is not a value"),
        ("km(k=10||20)", "is not a value"),
        ("km(k=2|10)", "alternatives"),
    ],
)
def test_garbage_is_refused_with_what_was_wrong(text: str, says: str) -> None:
    with pytest.raises(UnknownNameError, match=says.replace("(", r"\(").replace("|", r"\|")):
        parse(text)


def test_alternatives_make_every_combination_in_order() -> None:
    names = parse_sweep("km(k=2|10, m=1, target=users|fis)")
    assert [str(name) for name in names] == [
        "km(k=2, m=1, target=users)",
        "km(k=2, m=1, target=fis)",
        "km(k=10, m=1, target=users)",
        "km(k=10, m=1, target=fis)",
    ]
    assert parse_sweep(names[0]) == [names[0]]


def test_sweeps_have_a_limit() -> None:
    values = "|".join(map(str, range(100)))
    assert len(parse_sweep(f"km(k={values}, m=1|2|3|4|5|6|7|8|9|10)")) == 1_000
    with pytest.raises(UnknownNameError, match="a sweep of 1,100 runs is too large; give at most 1,000 combinations"):
        parse_sweep(f"km(k={values}, m=1|2|3|4|5|6|7|8|9|10|11)")
    with pytest.raises(UnknownNameError, match="a sweep of 1,000,000,000,000 runs is too large"):
        parse_sweep(f"km({', '.join(f'p{i}={values}' for i in range(6))})")  # never written out


def test_a_name_writes_itself_as_text_and_as_python() -> None:
    name = Name("km", (("k", 10), ("m", 2), ("target", "clicks"), ("bags", True)))
    assert str(name) == "km(k=10, m=2, target=clicks, bags=true)"
    assert repr(name) == "km(k=10, m=2, target='clicks', bags=True)"
    assert (str(Name("km")), repr(Name("km"))) == ("km", "km()")


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("km(m=2, k=10)", "km(k=10, m=2)"),
        ("km(k=10, m=2, target=logsize)", "km(k=10, m=2)"),
        ("km(target=users, k=10, m=2)", "km(k=10, m=2, target=users)"),
        ("linkability(a=1, p=0.40)", "linkability(p=0.4)"),
        ("linkability(p=1.0, floor=1, shrink=.5)", "linkability(p=1, shrink=0.5, floor=1)"),
        ("linkability(l=20, principle=diversity, p=1e-1)", "linkability(p=0.1, principle=diversity, l=20)"),
    ],
)
def test_the_canonical_text_holds_required_and_other_than_default_parameters(given: str, canonical: str) -> None:
    bound = resolve("method", given)
    assert str(bound) == canonical
    assert str(resolve("method", str(bound))) == canonical


def test_values_come_as_what_they_are_and_what_was_left_out_has_none() -> None:
    bound = resolve("method", "linkability(p=1, a=0, min_similarity=0.25)")
    assert (bound.real("p"), bound.integer("a"), bound.word("closest")) == (1.0, 0, "centroid")
    assert bound.real("min_similarity") == 0.25
    assert {"shrink", "floor", "l", "t"} & set(bound.values) == set()


@pytest.mark.parametrize(
    ("kind", "text", "says"),
    [
        ("method", "kn(k=2, m=1)", "there is no method 'kn'; did you mean km?"),
        ("method", "km(k=2, m=1, tarjet=users)", "km has no parameter 'tarjet'; did you mean target?"),
        ("method", "km(k=2)", "m is missing; give a whole number from 1 to 4"),
        ("method", "km(k=1, m=1)", "k must be a whole number"),
        ("method", "km(k=true, m=1)", "k must be a whole number"),
        ("method", "km(k=2.5, m=1)", "not 2.5"),
        ("method", "km(k=ten, m=1)", "not ten"),
        ("method", "km(k=2, m=5)", "m must be a whole number from 1 to 4, not 5"),
        ("method", "km(k=2, m=1, target=user)", "not user; did you mean users?"),
        ("measure", "retention(x=1)", "has no parameter 'x'; it takes none"),
        ("method", "linkability", "p is missing; give a number above 0 and at most 1"),
        ("method", "linkability(p=0)", "p must be a number above 0 and at most 1, not 0"),
        ("method", "linkability(p=1.01)", "not 1.01"),
        ("method", "linkability(p=true)", "not true"),
        ("method", "linkability(p=0.4, a=-1)", "a must be a whole number of at least 0, not -1"),
        (
            "method",
            "linkability(p=0.4, principle=diversity)",
            "l is missing with principle=diversity; give a number of",
        ),
        ("method", "linkability(p=0.4, principle=closeness)", "t is missing with principle=closeness; give a number f"),
        ("method", "linkability(p=0.4, l=3)", "l is only for principle=diversity; leave it out."),
        ("method", "km(k=2, m=2, ties=random)", "ties is only for algorithm=paper; leave it out."),
        ("method", "km(k=2, m=2, ranking=value, algorithm=best)", "ranking is only for algorithm=paper; leave it out."),
        (
            "guarantee",
            "linkability(p=0.4, principle=belief, t=0.5)",
            "t is only for principle=closeness; leave it out.",
        ),
    ],
)
def test_a_name_that_is_not_declared_so_is_refused(kind: str, text: str, says: str) -> None:
    with pytest.raises(UnknownNameError) as refused:
        resolve(kind, text)
    assert says in str(refused.value)
    assert str(refused.value)[-1] in ".?"


@pytest.mark.parametrize("kind", CATEGORIES)
def test_everything_declared_has_a_purpose_and_loads(kind: str) -> None:
    found = declarations(kind)
    assert found
    for name, declaration in found.items():
        assert name == declaration.name
        assert declaration.purpose
        assert all(callable(declaration.load(engine)) for engine in declaration.functions)
        assert declaration.signature().startswith(name)


def test_types_describe_and_accept_their_values() -> None:
    assert Integer(maximum=3).describe() == "a whole number of at most 3"
    assert [Integer(1, 3).accepts(value) for value in (0, 1, 3, 4, True, 1.0)] == [
        False,
        True,
        True,
        False,
        False,
        False,
    ]
    assert Real(0, 1, excludes_minimum=True).describe() == "a number above 0 and at most 1"
    assert Real(0.5, excludes_minimum=True).describe() == "a number above 0.5"
    assert Real(0, 1).describe() == "a number from 0 to 1"
    share = Real(0, 1, excludes_minimum=True)
    assert [share.accepts(value) for value in (0, 0.0, 1e-9, 1, 1.0)] == [False, False, True, True, True]
    assert [share.accepts(value) for value in (1.1, True, "x", float("nan"))] == [False] * 4
    assert not Real().accepts(float("inf"))
    assert [Flag().accepts(value) for value in (True, 1, "true")] == [True, False, False]
    assert [Word(("a",)).accepts(value) for value in ("a", "b", 1)] == [True, False, False]
    assert [Text(r"\d+[mh]", "a duration").accepts(value) for value in ("3h", "h", "3h ")] == [True, False, False]


def test_a_default_is_left_out_of_the_text_of_any_declaration() -> None:
    flag = Parameter("bags", Flag(), "several", True)
    declaration = Declaration("x", "a test", (Parameter("k", Integer(), "how many"), flag))
    assert str(ResolvedName(declaration, {"k": 1, "bags": True})) == "x(k=1)"
    assert str(ResolvedName(declaration, {"k": 1, "bags": False})) == "x(k=1, bags=false)"
    assert declaration.signature() == "x(k, bags=true)"


def test_a_parameter_that_may_be_left_out_is_shown_so() -> None:
    declaration = Declaration("x", "a test", (Parameter("k", Integer(), "how many", is_optional=True),))
    assert declaration.signature() == "x(k=…)"
    assert str(ResolvedName(declaration, {})) == "x"


def test_a_method_claims_its_guarantee_without_what_was_left_out() -> None:
    for name, claim in (
        ("linkability(p=0.4, a=3, shrink=0.5)", "linkability(p=0.4)"),
        ("linkability(p=0.1, principle=closeness, t=0.2)", "linkability(p=0.1, principle=closeness, t=0.2)"),
    ):
        bound = resolve("method", name)
        assert isinstance(bound.declaration, Method)
        assert str(bound.declaration.claim(bound)) == claim


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("linkability(p=0.25)", ("Averaged over the terms", "0.25")),
        ("linkability(p=0.4, principle=posterior)", ("at least 3 members", "every term that is published")),
        ("linkability(p=0.25, principle=posterior)", ("at least 4 members", "a share of 0.25")),
        ("linkability(p=0.25, principle=belief)", ("exceeds the share of all people", "by at most 0.25")),
        ("linkability(p=1, principle=posterior)", ("at least 1 member,",)),
        ("linkability(p=0.25, principle=diversity, l=40)", ("as diverse as 40",)),
        ("linkability(p=0.25, principle=closeness, t=0.3)", ("distance of 0.3",)),
    ],
)
def test_every_principle_has_its_own_promise_and_limits(name: str, says: tuple[str, ...]) -> None:
    claim = resolve("guarantee", name)
    assert isinstance(claim.declaration, Guarantee)
    promise, limits = claim.declaration.sentences(claim)
    assert all(part in promise for part in says)
    assert len(limits) > len(claim.declaration.limits)
    assert not any("{" in sentence for sentence in (promise, *limits))


@pytest.mark.parametrize(
    ("name", "caution"),
    [
        ("km(k=2, m=1)", ""),
        ("query_k(k=2)", ""),
        ("query_k(k=1)", NOTHING_PROMISED),
        ("linkability(p=0.9)", ""),
        ("linkability(p=1)", NOTHING_PROMISED),
        ("ppp(release=none)", CONTENT_FILTER),
    ],
)
def test_a_claim_that_is_no_anonymity_is_marked(name: str, caution: str) -> None:
    claim = resolve("guarantee", name)
    assert isinstance(claim.declaration, Guarantee)
    assert claim.declaration.caution(claim) == caution
    method = resolve("method", name)
    assert isinstance(method.declaration, Method)
    assert method.declaration.caution(method) == caution
    is_filter = caution == CONTENT_FILTER
    for declaration in (claim.declaration, method.declaration):
        assert declaration.marked_purpose.endswith(f"({CONTENT_FILTER})") == is_filter


def test_limits_say_what_minimality_reveals_and_nothing_about_another_k() -> None:
    km, query_k = (resolve("guarantee", name) for name in ("km(k=5, m=2)", "query_k(k=5)"))
    assert any("Which term was deleted can often be told" in limit for limit in KM.sentences(km)[1])
    assert not any("k = 1" in limit for limit in QUERY_K.sentences(query_k)[1])
    assert "at least 5 people" in QUERY_K.sentences(query_k)[0]
    assert "at least 1 person," in QUERY_K.sentences(resolve("guarantee", "query_k(k=1)"))[0]


def test_similar_names_are_suggested_else_all() -> None:
    assert nearest("usres", ("users", "fis")) == "did you mean users?"
    assert nearest("zzz", ("users", "fis")) == "there are fis, users."
