"""Every release verifies, every tampering that breaks the claim is found, and no order of the log shows."""

from collections import defaultdict
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.errors import GuaranteeError
from queryveil.core.results import Verdict
from queryveil.histories.pieces import Occurrences
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import ReleaseContent
from queryveil.kinds.histories import decode_histories
from queryveil.kinds.log import encode_log
from tests.builders import encode_histories, profiles_of, run_method, verify_histories
from tests.twins.content import Row, histories_rows, log_contents

WORDS = ("pear", "Zebra", "apple", "éclair", "fig", "\U0001f34e", "a\tb")
PARTS = ("", "de", "fr")

queries = st.frozensets(st.sampled_from(WORDS), min_size=1, max_size=4)
people = st.lists(
    st.tuples(st.sampled_from(range(3)), st.lists(queries, min_size=1, max_size=4)), min_size=2, max_size=9
)
People = list[tuple[int, list[frozenset[str]]]]  # everybody's part of the log, and queries
urls = st.one_of(st.none(), st.sampled_from(["", "a", "a\0", "b"]))


def profiles_in(log: People, *, cut: bool) -> Profiles:
    """Return the profiles of a log, in parts or not."""
    profiles = profiles_of([[word for query in person for word in query] for _, person in log])
    if not cut:
        return profiles
    return replace(profiles, partition=np.array([part for part, _ in log], np.int32), partition_values=PARTS)


def occurrences_in(log: People, profiles: Profiles, kept_urls: list[str | None] | None) -> Occurrences:
    """Return every term of every query by its pair, and the queries' URLs where they are kept."""
    history = [person for person, (_, queries) in enumerate(log) for _ in queries]
    flat = [query for _, queries in log for query in queries]
    number = {word: entry for entry, word in enumerate(profiles.vocabulary)}
    pairs = []
    for query, words in enumerate(flat):
        begin, end = profiles.indptr[history[query]], profiles.indptr[history[query] + 1]
        row = profiles.ids[begin:end].tolist()
        pairs += [(query, begin + row.index(number[word])) for word in words]
    query_of, pair = zip(*pairs, strict=True)
    extra = {} if kept_urls is None else {"url": pa.array(kept_urls, pa.string())}
    return Occurrences(np.array(history), np.array(query_of, np.int32), np.array(pair, np.int64), extra)


def rows(content: ReleaseContent) -> list[Row]:
    return [tuple(row.values()) for row in content.rows.to_pylist()]


@st.composite
def masked(draw: st.DrawFn) -> tuple[People, dict[tuple[int, str], bool], bool]:
    """Draw a log, which (person, word) is kept, and whether it is cut into parts."""
    log = draw(people)
    return (
        log,
        {(person, word): draw(st.booleans()) for person in range(len(log)) for word in WORDS},
        draw(st.booleans()),
    )


def mask_of(profiles: Profiles, kept: dict[tuple[int, str], bool], order: list[int]) -> list[bool]:
    history = np.repeat(np.arange(profiles.n_histories), np.diff(profiles.indptr))
    return [kept[order[h], profiles.vocabulary[i]] for h, i in zip(history, profiles.ids, strict=True)]


@settings(max_examples=150)
@given(masked(), st.data())
def test_histories_are_the_twins_in_whatever_order_people_come(
    drawn: tuple[People, dict[tuple[int, str], bool], bool], data: st.DataObject
) -> None:
    log, kept, cut = drawn
    order = data.draw(st.permutations(range(len(log))))
    profiles, shuffled = profiles_in(log, cut=cut), profiles_in([log[person] for person in order], cut=cut)
    mask = mask_of(profiles, kept, list(range(len(log))))
    content = encode_histories(profiles, np.array(mask))
    assert rows(content) == histories_rows(profiles, mask)
    assert rows(encode_histories(shuffled, np.array(mask_of(shuffled, kept, order)))) == rows(content)
    for person, user in enumerate(content.release_ids.tolist()):
        begin, end = profiles.indptr[person], profiles.indptr[person + 1]
        words = {profiles.vocabulary[profiles.ids[p]] for p in range(begin, end) if mask[p]}
        assert words == {row[1] for row in rows(content) if row[0] == user}
        assert (user == -1) == (not words)


@settings(max_examples=150)
@given(masked(), st.booleans(), st.data())
def test_queries_are_the_twins_in_whatever_order_they_come(
    drawn: tuple[People, dict[tuple[int, str], bool], bool], with_urls: bool, data: st.DataObject
) -> None:
    log, kept, cut = drawn
    links = [[data.draw(urls) for _ in queries] for _, queries in log]
    profiles = profiles_in(log, cut=cut)
    mask = mask_of(profiles, kept, list(range(len(log))))
    flat = [link for person in links for link in person] if with_urls else None
    content = encode_log(profiles, np.array(mask), occurrences_in(log, profiles, flat))
    assert as_contents(content, cut=cut) == log_contents(profiles, mask, occurrences_in(log, profiles, flat))

    order = data.draw(st.permutations(range(len(log))))
    within = [data.draw(st.permutations(range(len(queries)))) for _, queries in log]
    other = [(log[p][0], [log[p][1][q] for q in within[p]]) for p in order]
    shuffled = profiles_in(other, cut=cut)
    flat = [links[p][q] for p in order for q in within[p]] if with_urls else None
    mask = mask_of(shuffled, kept, order)
    again = encode_log(shuffled, np.array(mask), occurrences_in(other, shuffled, flat))
    assert rows(again) == rows(content)


def as_contents(content: ReleaseContent, *, cut: bool) -> list[tuple[object, ...]]:
    """Return released rows of kind `log` as the twin gives them, checking that the ids are ranks."""
    table = content.rows.to_pydict()
    n_rows = content.rows.num_rows
    assert sorted(set(table["user"])) == list(range(len(set(table["user"]))))
    assert sorted(set(table["query_id"])) == list(range(len(set(table["query_id"]))))
    assert table["query_id"] == sorted(table["query_id"])
    terms: dict[tuple[int, int], list[str]] = defaultdict(list)
    extra: dict[tuple[int, int], tuple[str, ...]] = {}
    part: dict[int, tuple[str, ...]] = {}
    for i in range(n_rows):
        key = table["user"][i], table["query_id"][i]
        terms[key].append(table["term"][i])
        extra[key] = (str(table["url"][i]),) if "url" in table else ()
        part[key[0]] = (table["partition"][i],) if cut else ()
    histories: dict[int, list[Row]] = defaultdict(list)
    for key, words in terms.items():
        histories[key[0]].append((tuple(sorted(words)), *extra[key]))
    return sorted((part[user], tuple(sorted(content))) for user, content in histories.items())


def check(cells: set[tuple[int, str]], k: int, m: int, owner: dict[int, int]) -> Verdict:
    """Check released (user, term) cells as the workflow does."""
    ordered = sorted(cells)
    table = pa.table({"user": pa.array([u for u, _ in ordered], pa.int64()), "term": [t for _, t in ordered]})
    released = decode_histories(table, "term")
    people = np.array([owner[user] for user in released.users.tolist()], np.int32)
    return verify_histories(f"km(k={k}, m={m})", released, people)


def breaks(cells: set[tuple[int, str]], k: int, m: int, owner: dict[int, int]) -> bool:
    """Return whether some combination of at most m terms has fewer than k people, in plain Python."""
    histories: dict[int, set[str]] = defaultdict(set)
    for user, term in cells:
        histories[user].add(term)
    holders: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for user, terms in histories.items():
        for size in range(1, m + 1):
            for combination in combinations(sorted(terms), size):
                holders[combination].add(owner[user])
    return any(len(who) < k for who in holders.values())


@settings(max_examples=120)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.frozensets(st.sampled_from("abcdef"), min_size=1)), min_size=4, max_size=14
    ),
    st.integers(2, 3),
    st.integers(1, 3),
    st.data(),
)
def test_every_release_verifies_and_every_tampering_that_breaks_it_is_found(
    log: list[tuple[int, frozenset[str]]], k: int, m: int, data: st.DataObject
) -> None:
    log = sorted(log, key=lambda session: session[0])  # sessions, those of a person side by side
    number = {person: i for i, person in enumerate(sorted({person for person, _ in log}))}
    profiles = profiles_of([terms for _, terms in log], [number[person] for person, _ in log])
    try:
        kept = run_method(profiles, f"km(k={k}, m={m})")
    except GuaranteeError:
        assert k > profiles.n_people
        return
    content = encode_histories(profiles, kept.mask)
    cells = {(int(str(row[0])), str(row[1])) for row in rows(content)}
    if not cells:
        return
    owner = {int(user): int(profiles.owner[h]) for h, user in enumerate(content.release_ids) if user >= 0}
    assert check(cells, k, m, owner).holds
    cell = data.draw(st.sampled_from(sorted(cells)))
    word = data.draw(st.sampled_from([*"abcdefg"]))
    for tampered in (cells - {cell}, cells | {(cell[0], word)}, (cells - {cell}) | {(cell[0], word)}):
        if tampered:
            verdict = check(tampered, k, m, owner)
            assert verdict.holds == (not breaks(tampered, k, m, owner))
            assert verdict.holds == (verdict.counterexample is None)
