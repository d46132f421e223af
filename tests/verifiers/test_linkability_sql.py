"""The SQL of the linkability verifier, run by DuckDB, finds what the arrays do: same verdicts, same sentences."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.errors import ReleaseError
from queryveil.core.evidence import Evidence, Floor, MethodParameters
from queryveil.core.names import resolve
from queryveil.core.results import Verdict
from queryveil.engines.sql import GroupTables, SqlSession, open_sql_session
from queryveil.verifiers.linkability import check_groups, verify
from tests.twins.linkability import Person, Row, arrays

PRINCIPLES = ("mean", "mean, average=global", "posterior", "belief", "diversity, l=3", "closeness, t=0.45")


def open_tables(rows: list[Row], people: list[Person], pairs: list[tuple[int, str]] | None = None) -> SqlSession:
    groups, terms, weights = zip(*rows, strict=True) if rows else ((), (), ())
    held = [(i, term) for i, (_, profile) in enumerate(people) for term in profile] if pairs is None else pairs
    weight_of = {(i, term): value for i, (_, profile) in enumerate(people) for term, value in profile.items()}
    released = {"group_id": pa.array(groups, pa.int64()), "term": pa.array(terms, pa.string())}
    released |= {"weight": pa.array(weights, pa.float64()), "place": np.arange(len(rows)), "file": [""] * len(rows)}
    published = {group if group in groups else None for group, _ in people} - {None}
    tables = {
        "released": released,
        "members": {
            "history": np.arange(len(people)),
            "group_id": pa.array([group if group in published else None for group, _ in people], pa.int64()),
        },
        "pairs": {
            "history": pa.array([history for history, _ in held], pa.int64()),
            "term": pa.array([term for _, term in held], pa.string()),
            "weight": pa.array([weight_of.get(pair, 1.0) for pair in held], pa.float64()),
        },
    }
    session = open_sql_session()
    for name, columns in tables.items():
        session.register(name, pa.table(columns))
    return session


def judge(claim: str, rows: list[Row], people: list[Person], floor: int = 1) -> Verdict:
    tables = GroupTables(lambda: open_tables(rows, people), has_members=True)
    return verify(resolve("guarantee", claim), Evidence(tables, Floor(floor)))


profile = st.dictionaries(st.sampled_from("abcdefgé"), st.just(1.0), max_size=5)
member = st.tuples(st.sampled_from((None, 2, 5, 9)), profile)
weight = st.sampled_from((1.0, 1.0, 1.0, 1.0, 1.0, 0.0, math.nan, math.inf))
row = st.tuples(st.sampled_from((2, 5, 9)), st.sampled_from("abcdefgéz"), weight)


@pytest.mark.parametrize("principle", PRINCIPLES)
@settings(max_examples=20)
@given(st.data(), st.lists(member, max_size=25), st.integers(1, 3))
def test_sql_and_arrays_give_the_same_verdict(
    principle: str, data: st.DataObject, people: list[Person], floor: int
) -> None:
    p = data.draw(st.sampled_from((0.2, 0.29, 0.3, 0.5, 0.7, 1)))
    held = sorted({(group, term) for group, terms in people for term in terms if group is not None})
    published = [(group, term, 1.0) for group, term in held if data.draw(st.booleans())]
    published += data.draw(st.lists(row, max_size=1))
    if data.draw(st.booleans()):
        published.sort()
    claim = f"linkability(p={p}, principle={principle})"
    released, members = arrays(published, people)
    expected = check_groups(resolve("guarantee", claim), released, members, floor=floor)
    assert judge(claim, published, people, floor) == expected


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from((2, 5)), profile), min_size=1, max_size=12),
    st.sampled_from((0.0, 0.3)),
    st.sampled_from(("centroid", "union")),
    st.sampled_from((0.0, 1e-7)),
    st.sampled_from(((), (2,))),
)
def test_weights_are_those_of_the_profiles_unless_a_group_is_frozen(
    people: list[Person], shrink: float, representative: str, error: float, frozen: tuple[int, ...]
) -> None:
    people = [(group, {term: 1.0 + len(term) + i % 3 for term in terms}) for i, (group, terms) in enumerate(people)]
    parameters: dict[str, float | str] = {"p": 1.0, "shrink": shrink, "representative": representative}
    rows: list[Row] = []
    for group in (2, 5):
        members = [terms for g, terms in people if g == group and terms]
        for term in sorted({term for terms in members for term in terms}):
            inside, everywhere = (
                [terms.get(term, 0.0) for terms in some if representative == "centroid" or term in terms]
                for some in (members, [terms for _, terms in people])
            )
            pull = shrink / len(members)
            mean, mean_of_all = sum(inside) / len(inside), sum(everywhere) / len(everywhere)
            rows.append((group, term, round((1 - pull) * mean + pull * mean_of_all, 9)))
    if not rows:
        return
    group, term, value = rows[0]
    rows[0] = (group, term, value + error)
    claim = resolve("guarantee", "linkability(p=1)")
    released, members_of = arrays(rows, people)
    members_of = replace(members_of, frozen=frozen)
    here = check_groups(claim, released, members_of, floor=1, parameters=parameters)
    tables = GroupTables(lambda: open_tables(rows, people), has_members=True, frozen=frozen)
    assert verify(claim, Evidence(tables, Floor(1), MethodParameters(parameters))) == here
    assert here.holds is (error == 0 or group in frozen)
    assert here.holds or "has another weight than the profiles of its members give" in here.reason


@pytest.mark.parametrize(("p", "n_holders"), [(0.29, 29), (0.57, 57), (1 / 3, 33), (0.123456789012, 12)])
def test_shares_are_compared_exactly(p: float, n_holders: int) -> None:
    claim = f"linkability(p={p!r}, principle=posterior)"
    for n, holds in ((n_holders, True), (n_holders + 1, False)):
        people: list[Person] = [(3, {"a": 1.0} if i < n else {"b": 1.0}) for i in range(100)]
        assert judge(claim, [(3, "a", 0.5)], people).holds is holds


def test_nothing_can_be_checked_without_members_or_rows() -> None:
    claim = resolve("guarantee", "linkability(p=0.5)")
    without = GroupTables(lambda: open_tables([(3, "a", 1.0)], []), has_members=False)
    assert "give --private" in verify(claim, Evidence(without, Floor(1))).reason
    assert judge("linkability(p=0.5)", [], [(None, {"a": 1.0})]).reason == "the release has no rows"


def test_a_private_folder_that_lists_a_term_of_a_person_twice_is_refused() -> None:
    people: list[Person] = [(3, {"a": 1.0}), (3, {"b": 1.0})]
    tables = GroupTables(lambda: open_tables([(3, "a", 1.0)], people, [(0, "a"), (1, "b"), (0, "a")]), has_members=True)
    with pytest.raises(ReleaseError, match="a term of a person twice"):
        verify(resolve("guarantee", "linkability(p=0.5)"), Evidence(tables, Floor(1)))
