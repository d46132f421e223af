"""The verifier of p-linkability on examples whose answer is known by hand, and on releases damaged in every way."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import queryveil.verifiers.linkability as linkability
from queryveil.core.errors import InternalError, ReleaseError
from queryveil.core.names import resolve
from queryveil.core.results import Verdict, Violation
from queryveil.guarantees import LINKABILITY
from queryveil.verifiers import group_arrays
from queryveil.verifiers.group_tables import exact
from tests.twins.linkability import Person, Row, arrays


def people(group: int | None, *profiles: str) -> list[Person]:
    """Return members of a group; a profile is its terms, of a letter each."""
    return [(group, dict.fromkeys(profile, 1.0)) for profile in profiles]


def rows(group: int, terms: str) -> list[Row]:
    return [(group, term, 0.5) for term in terms]


def verify(claim: str, some: Sequence[Row], everybody: Sequence[Person], floor: int = 1, **options: Any) -> Verdict:
    released, members = arrays(some, everybody)
    return linkability.check_groups(resolve("guarantee", claim), released, members, floor=floor, **options)


# four people in group 3 hold each of four terms twice, four in group 7 each of another four
SQUARE = ("ab", "cd", "ac", "bd")
OTHERS = ("ef", "gh", "eg", "fh")
RELEASED = [*rows(3, "abcd"), *rows(7, "efgh")]
PEOPLE = [*people(3, *SQUARE), *people(7, *OTHERS)]


def violated(claim: str, violations: int, reason: str) -> Verdict:
    return Verdict(claim, "violated", "people", len(RELEASED), violations, None, reason)


def test_the_declared_function_is_this_verifier() -> None:
    assert LINKABILITY.load() is linkability.verify


def test_without_members_nothing_can_be_checked() -> None:
    released, _ = arrays(RELEASED, PEOPLE)
    verdict = linkability.check_groups(resolve("guarantee", "linkability(p=0.5)"), released, None, floor=2)
    assert (verdict.state, verdict.checked) == ("unchecked", 0)
    assert verdict.sentence() == (
        "linkability(p=0.5) could not be checked: who is in a group is only in the private folder; give --private."
    )


def test_a_release_without_rows_is_not_checked() -> None:
    verdict = verify("linkability(p=0.5)", [], people(None, "ab", "c"))
    assert (verdict.state, verdict.reason) == ("unchecked", "the release has no rows")


def test_the_mean_is_met_exactly() -> None:
    claim = "linkability(p=0.5)"
    verdict = verify(claim, RELEASED, PEOPLE, 2)
    assert replace(verdict, warnings=()) == Verdict(claim, "holds", "people", checked=8)


def test_a_bound_that_is_not_on_every_term_says_so_with_the_share_of_the_commonest() -> None:
    everybody = [*people(3, "ab", "ac", "ad", "ae"), *people(7, "fg", "fh", "gi", "j")]  # all hold a, two f and g
    for principle in ("principle=mean", "average=global", "principle=diversity, l=2", "principle=closeness, t=0.9"):
        verdict = verify(f"linkability(p=0.5, {principle})", [*rows(3, "abcde"), *rows(7, "fghij")], everybody)
        assert verdict.holds
        (warning,) = verdict.warnings
        assert "the commonest term of a group is held by 75.0 % of its members, averaged over groups" in warning
        assert "take principle=belief or principle=posterior" in warning
    for principle in ("posterior", "belief"):
        assert verify(f"linkability(p=0.5, principle={principle})", RELEASED, PEOPLE, 2).warnings == ()


def test_the_mean_is_above() -> None:
    assert verify("linkability(p=0.49)", RELEASED, PEOPLE) == violated(
        "linkability(p=0.49)",
        2,
        "the 4 members of group 3 hold its 4 terms 8 times, at most 7 times are allowed (and 1 more such)",
    )


def test_the_mean_is_of_the_terms_that_are_published() -> None:
    everybody = people(3, "a", "ab", "ac", "ad")
    assert verify("linkability(p=0.5)", rows(3, "abcd"), everybody).holds  # 7 of 16
    verdict = verify("linkability(p=0.5)", rows(3, "ab"), everybody)  # 5 of 8
    assert verdict.reason == "the 4 members of group 3 hold its 2 terms 5 times, at most 4 times are allowed"


def test_the_mean_profile_size_of_all_people() -> None:
    # profiles of 2, 2, 2 and 1 published terms (rare ones do not count): 1.75 on average, over 0.5 it is 3.5
    everybody = [*people(3, "ab", "ab"), *people(None, "ab", "az", "x")]
    heavy = [*people(3, "abcd", "abcd"), *people(None, "a", "b", "cz")]  # 11 / 5, over 0.5 it is 4.4
    assert verify("linkability(p=0.5, average=global)", rows(3, "ab"), everybody, 2).reason == (
        "group 3 has 2 terms, at least 4 must be published for it, since profiles have 1.75 on average"
    )
    assert verify("linkability(p=0.5, average=global)", rows(3, "abcd"), heavy, 2).reason == (
        "group 3 has 4 terms, at least 5 must be published for it, since profiles have 2.2 on average"
    )
    assert verify("linkability(p=0.55, average=global)", rows(3, "abcd"), heavy, 2).holds  # 4 exactly
    assert not verify("linkability(p=0.55)", rows(3, "abcd"), heavy, 2).holds


def test_posterior_is_met_exactly_and_missed() -> None:
    assert verify("linkability(p=0.5, principle=posterior)", RELEASED, PEOPLE, 2).holds
    claim = "linkability(p=0.4, principle=posterior)"
    reason = "2 of the 4 members of group 3 hold 'a', at most 1 may (and 7 more such)"
    assert verify(claim, RELEASED, PEOPLE) == violated(claim, 8, reason)


def test_posterior_is_about_published_terms_only() -> None:
    everybody = people(3, "ab", "ac", "ad", "ae")
    assert verify("linkability(p=0.25, principle=posterior)", rows(3, "bcde"), everybody).holds
    assert verify("linkability(p=0.25, principle=posterior)", rows(3, "abcde"), everybody).reason == (
        "4 of the 4 members of group 3 hold 'a', at most 1 may"
    )


def test_belief_is_beyond_what_is_known_of_all_people() -> None:
    # 3 of 4 members and 5 of 10 people hold a: 0.25 more
    everybody = [*people(3, "a", "a", "a", "b"), *people(None, "a", "a", "b", "b", "b", "")]
    assert verify("linkability(p=0.25, principle=belief)", rows(3, "ab"), everybody).holds
    verdict = verify("linkability(p=0.25, principle=belief)", rows(3, "ab"), [*everybody, *people(None, "b")])
    assert verdict.reason == "3 of the 4 members of group 3 hold 'a', at most 2 may"


def test_diversity_of_equally_frequent_terms_is_their_number() -> None:
    assert verify("linkability(p=0.5, principle=diversity, l=4)", RELEASED, PEOPLE).holds
    claim = "linkability(p=0.5, principle=diversity, l=4.001)"
    reason = "the terms of group 3 are as diverse as 4 equally frequent ones, not 4.001 (and 1 more such)"
    assert verify(claim, RELEASED, PEOPLE) == violated(claim, 2, reason)


def test_diversity_of_terms_that_are_not_equally_frequent() -> None:
    everybody = people(3, "a", "a", "a", "b")
    found = math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))  # 1.7548
    assert verify(f"linkability(p=0.5, principle=diversity, l={found - 1e-6})", rows(3, "ab"), everybody).holds
    verdict = verify(f"linkability(p=0.5, principle=diversity, l={found + 1e-6})", rows(3, "ab"), everybody)
    assert verdict.reason == "the terms of group 3 are as diverse as 1.75477 equally frequent ones, not 1.75477"


def test_closeness_is_half_the_sum_of_differences() -> None:
    # of all pairs an eighth each; in a group a quarter or nothing
    assert verify("linkability(p=0.5, principle=closeness, t=0.5)", RELEASED, PEOPLE).holds
    claim = "linkability(p=0.5, principle=closeness, t=0.49)"
    found = "the terms of group 3 are 0.5 from those of all people by total variation, at most 0.49 is allowed"
    assert verify(claim, RELEASED, PEOPLE) == violated(claim, 2, f"{found} (and 1 more such)")


def test_closeness_is_to_the_terms_that_may_be_published() -> None:
    everybody = [*people(3, "ab", "abx"), *people(None, "ay")]
    verdict = verify("linkability(p=0.5, principle=closeness, t=0.1)", rows(3, "ab"), everybody, 2)
    assert verdict.holds  # a is 3 of 5 among all, x and y left out, and 2 of 4 in the group
    assert not verify("linkability(p=0.5, principle=closeness, t=0.1)", rows(3, "ab"), everybody, 1).holds


@pytest.mark.parametrize(
    ("p", "n_members", "n_holders"), [("0.1", 10, 1), ("0.29", 100, 29), ("0.7", 10, 7), ("0.57", 100, 57)]
)
def test_decimals_are_compared_as_they_are_written(p: str, n_members: int, n_holders: int) -> None:
    claim = f"linkability(p={p}, principle=posterior)"
    profiles = ["a"] * n_holders + ["b"] * (n_members - n_holders)
    assert verify(claim, rows(3, "a"), people(3, *profiles)).holds
    assert not verify(claim, rows(3, "a"), people(3, *profiles[:-1], "a")).holds
    assert verify(f"linkability(p={p})", rows(3, "a"), people(3, *profiles)).holds


def test_a_third_is_a_third() -> None:
    everybody = people(3, "a", "b", "c")
    assert verify("linkability(p=0.3333333333333333, principle=posterior)", rows(3, "abc"), everybody).holds
    assert not verify("linkability(p=0.333, principle=posterior)", rows(3, "abc"), everybody).holds
    assert str(exact(1e-12)) == "1/1000000000000"
    assert str(exact(0.123456789012)) == "30864197253/250000000000"


def test_a_group_is_too_small() -> None:
    everybody = [*people(3, *SQUARE), *people(7, *OTHERS[:3])]
    claim = "linkability(p=0.25, principle=posterior)"
    verdict = verify(claim, RELEASED, everybody)
    assert verdict == violated(claim, 1, "group 7 has 3 members, at least 4 must be in it")


def test_a_group_without_members() -> None:
    verdict = verify("linkability(p=0.5)", RELEASED, people(3, *SQUARE))
    assert verdict.reason == "group 7 has 0 members, at least 2 must be in it"


def test_who_holds_nothing_that_may_be_published_is_no_member() -> None:
    everybody = [*people(3, "a", "b", "c", "x", ""), *people(None, "a", "b", "c")]
    claim = "linkability(p=0.34, principle=posterior)"
    assert verify(claim, rows(3, "abc"), everybody, 2).holds
    assert verify("linkability(p=0.25, principle=posterior)", rows(3, "abc"), everybody, 2).reason == (
        "group 3 has 3 members, at least 4 must be in it"
    )
    assert not verify("linkability(p=0.333, principle=posterior)", rows(3, "abc"), everybody, 2).holds


def test_a_published_term_is_held_by_too_few_people() -> None:
    verdict = verify("linkability(p=0.5)", RELEASED, [*PEOPLE, *people(None, "abcde")], 3)
    assert verdict.counterexample == Violation(("f",), support=2, required=3)
    assert (verdict.state, verdict.violations, verdict.reason) == ("violated", 3, "")
    assert "{f}: 2 holders have it, at least 3 must" in verdict.sentence()


def test_a_term_is_invented() -> None:
    claim = "linkability(p=0.5)"
    elsewhere = verify(claim, [*rows(3, "abcde"), *rows(7, "efgh")], PEOPLE, 2)
    assert elsewhere.reason == "'e' is published for group 3, but no member holds it"
    nowhere = verify(claim, [*rows(3, "abcdz"), *rows(7, "efgh")], PEOPLE, 2)
    assert nowhere.counterexample == Violation(("z",), support=0, required=2)


def test_a_term_is_listed_twice() -> None:
    verdict = verify("linkability(p=0.5)", [*rows(3, "abbcdd"), *rows(7, "efgh")], PEOPLE)
    assert (verdict.violations, verdict.reason) == (2, "group 3 has the term 'b' twice (and 1 more such)")


def test_terms_are_not_in_order() -> None:
    verdict = verify("linkability(p=0.5)", [*rows(3, "abcd"), *rows(7, "egfh")], PEOPLE)
    assert verdict.reason == "the terms of group 7 are not in the order of their texts"
    assert verify("linkability(p=0.5)", [*rows(7, "efgh"), *rows(3, "abcd")], PEOPLE).holds


@pytest.mark.parametrize("weight", [0.0, -0.5, math.nan, math.inf, -math.inf])
def test_a_weight_is_no_number_above_0(weight: float) -> None:
    tampered = [*RELEASED[:5], (7, "f", weight), *RELEASED[6:]]
    verdict = verify("linkability(p=0.5)", tampered, PEOPLE)
    assert verdict.reason == f"the term 'f' of group 7 has the weight {weight}, which is not a number above 0"


def test_a_group_has_no_rows() -> None:
    released, members = arrays(RELEASED, PEOPLE)
    lost = replace(released, groups=np.array([3, 5, 7]), indptr=np.array([0, 4, 4, 8]))
    of_lost = replace(members, group=np.where(members.group == 1, 2, members.group).astype(np.int32))
    verdict = linkability.check_groups(resolve("guarantee", "linkability(p=0.5)"), lost, of_lost, floor=2)
    assert verdict == violated("linkability(p=0.5)", 1, "group 5 has no rows")


@pytest.mark.parametrize("place", [2, -2])
def test_people_are_in_groups_that_are_not_released(place: int) -> None:
    released, members = arrays(RELEASED, PEOPLE)
    group = members.group.copy()
    group[:3] = place
    verdict = linkability.check_groups(
        resolve("guarantee", "linkability(p=0.5)"), released, replace(members, group=group), floor=2
    )
    assert verdict == violated("linkability(p=0.5)", 3, "3 people are in groups that are not released")


def test_texts_cannot_steer_a_terminal() -> None:
    everybody: list[Person] = [(3, {"\x1b[2J": 1.0})] * 2
    verdict = verify("linkability(p=0.5, principle=posterior)", [(3, "\x1b[2J", 1.0)], everybody)
    assert verdict.reason == "2 of the 2 members of group 3 hold '\\x1b[2J', at most 1 may"


def test_a_private_folder_that_lists_a_term_of_a_person_twice_is_refused() -> None:
    released, members = arrays(RELEASED, PEOPLE)
    ids = members.ids.copy()
    ids[1] = ids[0]
    with pytest.raises(ReleaseError, match="a term of a person twice; it is damaged, check --private"):
        linkability.check_groups(
            resolve("guarantee", "linkability(p=0.5)"), released, replace(members, ids=ids), floor=2
        )


@pytest.mark.parametrize(
    ("of_release", "of_members"),
    [
        ({"groups": np.array([7, 3])}, {}),
        ({"groups": np.array([3])}, {}),
        ({"indptr": np.array([0, 4, 7])}, {}),
        ({"indptr": np.array([0, 9, 8])}, {}),
        ({"indptr": np.array([], np.int64)}, {}),
        ({"weights": np.ones(7)}, {}),
        ({"ids": np.array([0, 1, 2, 3, 4, 5, 6, 8], np.int32)}, {}),
        ({"ids": np.array([-1, 1, 2, 3, 4, 5, 6, 7], np.int32)}, {}),
        ({"terms": tuple("bacdefgh")}, {"terms": tuple("bacdefgh")}),
        ({}, {"terms": tuple("bacdefgh")}),
        ({}, {"terms": tuple("abcdefgha")}),
        ({}, {"group": np.zeros(7, np.int32)}),
        ({}, {"ids": np.full(16, 8, np.int32)}),
    ],
)
def test_arrays_that_make_no_release_are_refused(of_release: dict[str, Any], of_members: dict[str, Any]) -> None:
    released, members = arrays(RELEASED, PEOPLE)
    with pytest.raises(InternalError, match="please report this"):
        linkability.check_groups(
            resolve("guarantee", "linkability(p=0.5)"),
            replace(released, **of_release),
            replace(members, **of_members),
            floor=2,
        )


def test_progress_rises_to_its_total_whatever_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_arrays, "PAIRS_AT_ONCE", 3)
    reports: list[tuple[str, int, int]] = []
    verdict = verify(
        "linkability(p=0.5, principle=posterior)", RELEASED, PEOPLE, progress=lambda *report: reports.append(report)
    )
    assert verdict.holds
    assert reports == [("verifying", 1, 2), ("verifying", 2, 2)]
