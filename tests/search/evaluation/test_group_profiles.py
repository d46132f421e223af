"""Published group profiles: equal to those of the method, and with one person removed from the log."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.evidence import GroupMembers
from queryveil.core.names import resolve
from queryveil.core.rows import indptr_of
from queryveil.histories.profiles import Profiles
from queryveil.methods.linkability.principles import representatives, without_rare
from queryveil.search.evaluation.group_profiles import (
    EverybodyVectors,
    PublicationRule,
    TermMapping,
    WeightedRows,
    publish,
    publish_without_self,
    sum_members,
)

METHODS = (
    "linkability(p=0.5)",
    "linkability(p=0.5, floor=1, representative=union)",
    "linkability(p=0.4, shrink=0.7)",
    "linkability(p=0.4, shrink=1, representative=union, floor=1)",
    "linkability(p=0.5, principle=posterior, floor=1)",
    "linkability(p=0.3, principle=belief, floor=2)",
)
N_TERMS = 12


def people(seed: int, n_people: int = 20, n_groups: int = 4) -> GroupMembers:
    """Return random people in random groups; some are in none, some hold nothing."""
    rng = np.random.default_rng(seed)
    held = rng.random((n_people, N_TERMS)) < rng.random(N_TERMS) * 0.6
    group = rng.permutation(np.arange(n_people) % (n_groups + 1) - 1).astype(np.int32)
    return GroupMembers(
        group,
        indptr_of(held.sum(axis=1)),
        np.nonzero(held)[1].astype(np.int32),
        rng.integers(1, 5, int(held.sum())).astype(np.float64),
        tuple(map(str, range(N_TERMS))),
    )


def as_dicts(rows: WeightedRows) -> list[dict[int, float]]:
    bounds = zip(rows.indptr, rows.indptr[1:], strict=False)
    return [dict(zip(rows.ids[a:b].tolist(), rows.weights[a:b].tolist(), strict=True)) for a, b in bounds]


def released(members: GroupMembers, method: str) -> list[dict[int, float]]:
    """Return what the method itself publishes of the groups."""
    n_people = len(members.group)
    profiles = Profiles(
        members.terms,
        members.indptr,
        members.ids,
        np.ones(len(members.ids), np.int32),
        np.arange(n_people, dtype=np.int32),
        ("",) * n_people,
        weights=members.weights,
    )
    linkability = resolve("method", method)
    made = representatives(without_rare(profiles, linkability), members.group, linkability)
    return as_dicts(WeightedRows(made.indptr, made.ids, made.weights))


@pytest.mark.parametrize("method", METHODS)
@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_profiles_equal_those_of_the_method(method: str, seed: int) -> None:
    members = people(seed)
    rule = PublicationRule.of(resolve("method", method))
    found = as_dicts(publish(sum_members(members, members.group.astype(np.int64)), members, rule))
    expected = released(members, method)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other)


def remove(members: GroupMembers, person: int) -> GroupMembers:
    """Return the people without one of them."""
    kept = np.repeat(np.arange(len(members.group)) != person, np.diff(members.indptr))
    lengths = np.delete(np.diff(members.indptr), person)
    return replace(
        members,
        group=np.delete(members.group, person),
        indptr=indptr_of(lengths),
        ids=members.ids[kept],
        weights=members.weights[kept],
    )


@pytest.mark.parametrize("method", METHODS)
@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_without_self_equals_publishing_a_log_without_the_person(method: str, seed: int) -> None:
    members = people(seed)
    group, rule = members.group.astype(np.int64), PublicationRule.of(resolve("method", method))
    everyone = np.arange(len(group))
    found = as_dicts(publish_without_self(sum_members(members, group), group, everyone, members, rule))
    for person in everyone.tolist():
        others = remove(members, person)
        expected = as_dicts(publish(sum_members(others, others.group.astype(np.int64)), others, rule))
        assert found[person] == pytest.approx({} if group[person] < 0 else expected[group[person]])


def test_without_self_a_group_of_one_is_empty() -> None:
    members = replace(people(3), group=np.arange(20, dtype=np.int32))
    sums = sum_members(members, np.arange(20))
    left = publish_without_self(sums, np.arange(20), np.array([4, 2]), members, PublicationRule(0.5))
    assert left.indptr.tolist() == [0, 0, 0]


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_everybody_is_the_sum_of_the_groups_with_one_replaced(seed: int) -> None:
    members = people(seed)
    group, rule = members.group.astype(np.int64), PublicationRule(0.5, floor=1)
    sums = sum_members(members, group)
    published = publish(sums, members, rule)
    same = TermMapping(np.arange(N_TERMS + 1), np.arange(N_TERMS, dtype=np.int32), np.ones(N_TERMS), N_TERMS)
    everybody, rows = EverybodyVectors(same, published), as_dicts(published)
    person = int(np.flatnonzero(group >= 0)[0])
    left = publish_without_self(sums, group, np.array([person]), members, rule)
    replaced = [as_dicts(left)[0] if number == group[person] else row for number, row in enumerate(rows)]
    for found, expected in ((everybody.vector(), rows), (everybody.replacing(int(group[person]), *left[1:]), replaced)):
        totals = np.array([sum(row.get(term, 0.0) for row in expected) for term in range(N_TERMS)])
        assert found.ids.tolist() == np.flatnonzero(totals).tolist()
        assert found.weights.tolist() == pytest.approx((totals / np.linalg.norm(totals))[found.ids].tolist(), rel=1e-5)
