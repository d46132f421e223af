"""What the method for groups makes holds by the verifier, and any one cell that breaks the claim is found."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import queryveil.verifiers.linkability as linkability
from queryveil.core.errors import GuaranteeError
from queryveil.core.names import ResolvedName, declarations, resolve
from queryveil.core.results import Verdict
from queryveil.histories.outcomes import Grouping
from queryveil.histories.profiles import Profiles
from queryveil.methods.linkability import group_profiles as run
from queryveil.semantics.augmentation import FeatureMatrix
from queryveil.verifiers import group_arrays
from queryveil.verifiers.group_tables import exact
from tests.builders import profiles_of, rows
from tests.twins.linkability import Person, Row, arrays, count_violations

PRINCIPLES = ("mean", "mean, average=global", "posterior", "belief", "diversity, l=3", "closeness, t=0.45")


def weighed_log(n_people: int, n_terms: int, seed: int) -> Profiles:
    """Make profiles with weights, of which some terms are much commoner than others."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(2, n_terms + 2)
    sizes = 1 + rng.geometric(0.25, n_people)
    made = profiles_of([[f"t{i}" for i in rng.choice(n_terms, size, p=share / share.sum())] for size in sizes])
    return replace(made, weights=rng.uniform(0.1, 2, len(made.ids)))


def grouped_by(profiles: Profiles, method: ResolvedName, seed: int, exact_up_to: int = 1000) -> Grouping:
    """Run the method with profiles compared by their own weights."""
    assert profiles.weights is not None
    features = FeatureMatrix(profiles.indptr, profiles.ids, profiles.weights, len(profiles.vocabulary))
    return run(profiles, features, method, rng=np.random.default_rng(seed), exact_up_to=exact_up_to)


def written(profiles: Profiles, grouped: Grouping) -> tuple[list[Row], list[Person]]:
    """Return what is published and what is kept in private; a group without a row is not published."""
    assert profiles.weights is not None
    entries, bounds = profiles.vocabulary, profiles.indptr
    published = [
        (group, entries[grouped.ids[i]], float(grouped.weights[i]))
        for group in range(grouped.n_groups)
        for i in range(grouped.indptr[group], grouped.indptr[group + 1])
    ]
    people: list[Person] = [
        (
            None if group < 0 else group,
            {entries[term]: float(profiles.weights[bounds[h] + i]) for i, term in enumerate(row)},
        )
        for h, (group, row) in enumerate(zip(grouped.group.tolist(), rows(profiles), strict=True))
    ]
    return sorted(published), people


def floor_of(method: ResolvedName) -> int:
    return int(method.values.get("floor", -(-1 // exact(method.real("p")))))


def verify(method: ResolvedName, published: Sequence[Row], people: Sequence[Person]) -> Verdict:
    """Verify what a run of the method claims."""
    claim = declarations("method")["linkability"].claim(method)  # type: ignore[attr-defined]
    released, members = arrays(published, people)
    return linkability.check_groups(claim, released, members, floor=floor_of(method))


@st.composite
def names(draw: st.DrawFn, principle: str) -> str:
    p = draw(st.sampled_from((0.1, 0.2, 0.29, 0.3, 0.4, 0.5, 0.57, 0.7, 1)))
    options = [
        draw(st.sampled_from(("", ", closest=seed"))),
        draw(st.sampled_from(("", ", representative=union"))),
        draw(st.sampled_from(("", ", shrink=0.5"))),
        draw(st.sampled_from(("", "", ", min_similarity=0.2"))),
        draw(st.sampled_from(("", ", floor=1", ", floor=4"))),
    ]
    return f"linkability(p={p}, principle={principle}{''.join(options)})"


@pytest.mark.parametrize("principle", PRINCIPLES)
@settings(max_examples=20)
@given(st.data(), st.integers(0, 10**6), st.booleans(), st.integers(1, 200))
def test_what_the_method_makes_holds(
    principle: str, data: st.DataObject, seed: int, in_blocks: bool, pairs_at_once: int
) -> None:
    method = resolve("method", data.draw(names(principle)))
    profiles = weighed_log(data.draw(st.integers(30, 150)), 60, seed)
    try:
        grouped = grouped_by(profiles, method, seed, 0 if in_blocks else 1000)
    except GuaranteeError:
        assume(False)
    published, people = written(profiles, grouped)
    assume(published)  # of groups in which all hold the same, nothing can be
    with patch.object(group_arrays, "PAIRS_AT_ONCE", pairs_at_once):
        verdict = verify(method, published, people)
    assert verdict.holds, verdict.reason
    assert verdict.checked == len(published)
    assert count_violations(method, published, people, floor_of(method), method.word("average")) == 0


def single_cells(published: Sequence[Row], people: Sequence[Person]) -> Iterator[tuple[list[Row], list[Person]]]:
    """Yield the release and its members with one cell changed, in every way."""
    terms = sorted({term for _, profile in people for term in profile})
    groups = sorted({group for group, _, _ in published})
    for i, (group, term, weight) in enumerate(published):
        yield [*published[:i], *published[i + 1 :]], list(people)
        others = [(group, other, weight) for other in terms if other != term]
        others += [(other, term, weight) for other in groups if other != group]
        others += [(group, term, wrong) for wrong in (0.0, -weight, float("nan"), float("inf"))]
        for row in others:
            yield [*published[:i], row, *published[i + 1 :]], list(people)
            yield sorted([*published, row]), list(people)
    for i, (member_of, profile) in enumerate(people):
        changed: list[Person] = [(other, profile) for other in (None, *groups) if other != member_of]
        for term in terms:
            toggled = {t: w for t, w in profile.items() if t != term} if term in profile else {**profile, term: 1.0}
            changed.append((member_of, toggled))
        for person in changed:
            yield list(published), [*people[:i], person, *people[i + 1 :]]


@pytest.mark.parametrize(
    ("principle", "p"),
    [*((principle, 0.5) for principle in PRINCIPLES), ("mean", 0.6), ("posterior", 0.3), ("belief", 0.3)],
)
def test_every_cell_that_breaks_the_claim_is_found(principle: str, p: float) -> None:
    method = resolve("method", f"linkability(p={p}, principle={principle}, floor=2)")
    profiles = weighed_log(14, 12, 5)
    published, people = written(profiles, grouped_by(profiles, method, 1))
    n_broken = n_whole = 0
    for tampered, with_members in single_cells(published, people):
        expected = count_violations(method, tampered, with_members, 2, method.word("average"))
        verdict = verify(method, tampered, with_members)
        assert (verdict.state == "violated", verdict.violations) == (expected > 0, expected), verdict.reason
        n_broken += expected > 0
        n_whole += expected == 0
    assert n_broken > 100 and n_whole > 10


profile = st.dictionaries(st.sampled_from("abcdefgh"), st.just(1.0), max_size=5)
member = st.tuples(st.sampled_from((None, 2, 5, 9)), profile)
anything = st.tuples(st.sampled_from((2, 5, 9)), st.sampled_from("abcdefghz"), st.sampled_from((1.0, 1.0, 1.0, 0.0)))


@settings(max_examples=300)
@given(st.data(), st.lists(member, max_size=30), st.sampled_from(PRINCIPLES), st.integers(1, 3))
def test_the_verdict_is_the_twins(data: st.DataObject, people: list[Person], principle: str, floor: int) -> None:
    p = data.draw(st.sampled_from((0.2, 0.29, 0.3, 0.5, 0.7, 1)))
    method = resolve("method", f"linkability(p={p}, principle={principle}, floor={floor})")
    held = {(group, term) for group, terms in people for term in terms if group is not None}
    published = sorted((group, term, 1.0) for group, term in held if data.draw(st.booleans()))
    if data.draw(st.booleans()):
        published = sorted([*published, data.draw(anything)])
    verdict = verify(method, published, people)
    if not published:
        assert verdict.state == "unchecked"
        return
    expected = count_violations(method, published, people, floor, method.word("average"))
    assert (verdict.state == "violated", verdict.violations) == (expected > 0, expected), verdict.reason
