"""Row methods of `Profiles` give what plain lists give."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from queryveil.core.rows import row_numbers
from tests.builders import profiles_of

HISTORIES = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=5), min_size=1, max_size=8)


@given(HISTORIES)
def test_rows_owners_and_holders(histories: list[list[str]]) -> None:
    owners = [h // 2 for h in range(len(histories))]  # two histories per person
    profiles = profiles_of(histories, owners)
    distinct = [set(history) for history in histories]
    assert np.diff(profiles.indptr).tolist() == [len(terms) for terms in distinct]
    assert row_numbers(profiles.indptr, np.int32).tolist() == [h for h, terms in enumerate(distinct) for _ in terms]
    assert profiles.owner_per_pair().tolist() == [owners[h] for h, terms in enumerate(distinct) for _ in terms]
    people = {term: {owners[h] for h, terms in enumerate(distinct) if term in terms} for term in "abcde"}
    assert profiles.holder_counts().tolist() == [len(people[term]) for term in profiles.vocabulary]
    assert profiles.n_people == len(set(owners))


@given(HISTORIES)
def test_selected_pairs_stay_in_their_histories(histories: list[list[str]]) -> None:
    profiles = profiles_of(histories)
    mask = profiles.ids % 2 == 0
    kept = profiles.select(mask)
    assert kept.n_histories == profiles.n_histories
    assert row_numbers(kept.indptr).tolist() == row_numbers(profiles.indptr)[mask].tolist()
    assert (kept.ids.tolist(), kept.counts.tolist()) == (profiles.ids[mask].tolist(), profiles.counts[mask].tolist())


def test_profiles_are_shown_as_a_table() -> None:
    profiles = profiles_of([["a", "a", "b"], ["b"]])
    rows = profiles.to_arrow().to_pylist()
    assert [(row["history"], row["entry"], row["count"]) for row in rows] == [(0, "b", 1), (0, "a", 2), (1, "b", 1)]
    assert "2 histories of 2 people, 2 distinct entries, 3 pairs" in profiles._repr_html_()
