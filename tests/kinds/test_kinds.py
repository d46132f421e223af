"""Every kind of release: what is encoded can be decoded, in an order that depends on the content alone."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.errors import InputError, ReleaseError
from queryveil.core.evidence import GroupMembers, Owners, ReleasedGroups, ReleasedHistories, ReleasedVocabularies
from queryveil.core.names import declarations
from queryveil.core.rows import indptr_of
from queryveil.histories.outcomes import Grouping, KeptPairs, PublishedVocabularies
from queryveil.kinds.base import FOREIGN_LOG, Counts, Kind, kind_of
from queryveil.kinds.groups import GROUPS
from queryveil.kinds.histories import HISTORIES
from queryveil.kinds.queries import QUERIES
from queryveil.kinds.vocabularies import VOCABULARIES
from tests.builders import profiles_of

logs = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=5), min_size=1, max_size=6)


@settings(max_examples=60)
@given(logs, st.data())
def test_kept_pairs_come_back_as_they_were_encoded(log: list[list[str]], data: st.DataObject) -> None:
    profiles = profiles_of(log)
    n_pairs = len(profiles.ids)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n_pairs, max_size=n_pairs)), np.bool_)
    content = HISTORIES.encode(KeptPairs(mask), profiles)
    evidence = HISTORIES.evidence_of_profiles(content.rows, profiles, content, 1)
    released, owners = evidence.get(ReleasedHistories), evidence.get(Owners)
    left = profiles.select(mask)
    for user, history in enumerate(owners.history.tolist()):
        found = {released.terms[i] for i in released.ids[released.indptr[user] : released.indptr[user + 1]]}
        ids = left.ids[left.indptr[history] : left.indptr[history + 1]]
        assert found == {profiles.vocabulary[i] for i in ids}
    assert HISTORIES.counts(KeptPairs(mask), profiles, content) == Counts.of(profiles, mask)
    if mask.any():
        stated = Counts.of(profiles, mask).record()
        assert all(stated[name] == number for name, number in HISTORIES.count_rows(evidence).items())


def test_a_query_is_released_as_often_as_it_was_issued() -> None:
    profiles = profiles_of([["a", "a", "b"], ["a"]])
    rows = QUERIES.encode(KeptPairs(np.ones(len(profiles.ids), np.bool_)), profiles).rows.to_pylist()
    assert [(row["user"], row["query"]) for row in rows] == [(0, "a"), (1, "a"), (1, "a"), (1, "b")]


def test_groups_come_back_with_their_members() -> None:
    profiles = profiles_of([["a", "b"], ["a"], ["c"]])
    number = {term: profiles.vocabulary.index(term) for term in "abc"}
    grouping = Grouping(
        np.array([0, 0, -1], np.int32),
        np.array([0, 2]),
        np.array(sorted([number["a"], number["b"]]), np.int32),
        np.array([0.5, 0.25]),
        summary={"groups": 1},
    )
    content = GROUPS.encode(grouping, profiles)
    evidence = GROUPS.evidence_of_profiles(content.rows, profiles, content, 1)
    assert evidence.get(ReleasedGroups).terms == ("a", "b")
    assert evidence.get(GroupMembers).group.tolist() == [0, 0, -1]
    assert GROUPS.counts(grouping, profiles, content).record()["groups"] == 1


def test_groups_are_in_the_order_of_their_terms_and_then_of_their_weights() -> None:
    rng, profiles = np.random.default_rng(0), profiles_of([["a", "b", "c", "d", "e"]])
    for _ in range(50):
        lengths = rng.integers(1, 4, int(rng.integers(1, 30)))
        ids = np.concatenate([np.sort(rng.choice(5, n, replace=False)) for n in lengths]).astype(np.int32)
        grouping = Grouping(np.zeros(1, np.int32), indptr_of(lengths), ids, rng.choice([1e-9, 0.5, 2.0], len(ids)))
        rows = GROUPS.encode(grouping, profiles).rows.to_pylist()
        groups = [[row for row in rows if row["group"] == group] for group in range(len(lengths))]
        keys = [([row["term"] for row in group], [row["weight"] for row in group]) for group in groups]
        assert keys == sorted(keys)


def test_vocabularies_come_back_with_counts_and_levels() -> None:
    profiles = profiles_of([["a"], ["b"]])
    published = PublishedVocabularies(
        ("x", "a"),
        np.array([0, 2, 2]),
        np.array([0, 1], np.int32),
        np.array([3, 1], np.int32),
        np.array([2, 0], np.int32),
    )
    content = VOCABULARIES.encode(published, profiles)
    assert content.rows.to_pylist() == [
        {"user": 0, "term": "a", "count": 1, "level": 0},
        {"user": 0, "term": "x", "count": 3, "level": 2},
    ]
    assert content.release_ids.tolist() == [0, -1]
    released = VOCABULARIES.decode(content.rows)
    assert isinstance(released, ReleasedVocabularies)
    assert (released.counts.tolist(), released.levels.tolist()) == ([1, 3], [0, 2])


@pytest.mark.parametrize("name", list(declarations("kind")))
def test_rows_with_something_missing_are_damaged(name: str) -> None:
    kind = kind_of(name)
    row = {column: pa.array([None], field.type) for column, field in zip(kind.columns, kind.schema(), strict=True)}
    with pytest.raises(ReleaseError, match="it is damaged"):
        kind.read_evidence(pa.table(row, schema=kind.schema()), None, 1)


@pytest.mark.parametrize("name", list(declarations("kind")))
def test_the_schema_has_the_declared_columns(name: str) -> None:
    kind = kind_of(name)
    assert isinstance(kind, Kind)
    assert kind.schema().names == list(kind.columns)


def test_a_kind_says_how_its_queries_can_be_matched() -> None:
    assert FOREIGN_LOG.match(None) == "exact"
    assert HISTORIES.match("terms") == "terms"
    with pytest.raises(InputError, match="give terms"):
        HISTORIES.match("exact")
    with pytest.raises(InputError, match="there is no match 'exakt'"):
        QUERIES.match("exakt")
