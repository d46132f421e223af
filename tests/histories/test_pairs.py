"""Two logs compared: counts against a plain twin, and which query a released one stands for."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.errors import InputError
from queryveil.core.evidence import LogPair
from queryveil.histories.pairs import LogDocuments, Match, documents_of_texts, pair_logs

WORDS = "abcd"
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
issued = st.lists(st.tuples(st.sampled_from("uvw"), queries), max_size=25)
some = issued.filter(bool)
Queries = Sequence[tuple[str, str]]


def side(queries: Queries, known: pa.Array) -> tuple[LogDocuments, pa.Array]:
    persons = tuple(sorted({person for person, _ in queries}))
    numbers = np.array([persons.index(person) for person, _ in queries], np.int64)
    return documents_of_texts(numbers, pa.array([text for _, text in queries], pa.large_string()), persons, known)


def surprise(texts: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Make longer texts more sensitive, so that a test can tell which one was classified."""
    return np.array([0.5 + len(text) / 100 for text in texts.to_pylist()], np.float64)


def paired(before: Queries, after: Queries, match: Match, original_of: Mapping[str, str] | None = None) -> LogPair:
    original, texts = side(before, pa.array([], pa.large_string()))
    released, texts = side(after, texts)
    return pair_logs(original, released, texts, match=match, original_of=original_of, sensitivity=surprise)


Row = tuple[str, int, int, float, float]


def rows_of(pair: LogPair) -> list[Row]:
    """Return the rows without the documents' numbers, which are nobody's business."""
    assert pair.sensitivity is not None
    assert pair.own_sensitivity is not None
    columns = (pair.before, pair.after, pair.sensitivity.round(6), pair.own_sensitivity.round(6))
    persons = [pair.persons[person] for person in pair.person]
    return sorted(zip(persons, *(column.tolist() for column in columns), strict=True))


def twin(before: Queries, after: Queries, match: Match) -> list[Row]:
    """Say the same of every person with sets and plain searching."""
    found: list[Row] = []
    for person in {person for person, _ in before}:
        own = Counter(form(text, match) for who, text in before if who == person)
        shown = Counter(form(text, match) for who, text in after if who == person)
        forms: dict[str, list[str]] = {}
        for text in shown:
            forms.setdefault(stands_for(text, own) if match == "partial" else text, []).append(text)
        for text in {*own, *forms}:
            seen = forms.get(text, [])
            highest = max((level(form) for form in seen), default=level(text))
            found.append((person, own[text], sum(shown[form] for form in seen), highest, level(text)))
    return sorted(found)


def level(text: str) -> float:
    return round(0.5 + len(text) / 100, 6)


def form(text: str, match: Match) -> str:
    return text if match == "exact" else " ".join(sorted(set(text.split())))


def stands_for(text: str, own: Counter[str]) -> str:
    words = set(text.split())
    holding = [other for other in own if words <= set(other.split())]
    return min(holding, key=lambda other: (len(other.split()), -own[other], other), default=text)


@pytest.mark.parametrize("match", ["exact", "words", "partial"])
@given(some, issued)
@settings(max_examples=80)
def test_pairing_equals_the_slow_twin(match: Match, before: Queries, after: Queries) -> None:
    if after and not {person for person, _ in before} & {person for person, _ in after}:
        with pytest.raises(InputError, match="no person of the release is in the original log; give --map"):
            paired(before, after, match)
        return
    pair = paired(before, after, match)
    assert rows_of(pair) == twin(before, after, match)
    assert pair.n_strangers == len({person for person, _ in after} - {person for person, _ in before})
    assert (np.diff(pair.indptr) > 0).all()
    for a, b in zip(pair.indptr, pair.indptr[1:], strict=False):
        assert (np.diff(pair.ids[a:b]) > 0).all()


def test_order_and_repetition_matter_only_to_exact() -> None:
    before, after = [("u", "red shoes")], [("u", "shoes red red")]
    assert paired(before, after, "exact").before.tolist() in ([1, 0], [0, 1])
    assert (paired(before, after, "words").before.tolist(), paired(before, after, "words").after.tolist()) == ([1], [1])


def test_partial_matching_prefers_the_shortest_then_the_most_frequent_query() -> None:
    before = [("u", "a b"), ("u", "a c"), ("u", "a c"), ("u", "a b c d"), ("v", "a")]
    pair = paired(before, [("u", "a")], "partial")
    by_count = dict(zip(pair.before.tolist(), pair.after.tolist(), strict=True))
    assert by_count[2] == 1  # "a c": as short as "a b", more frequent; v's "a" is not u's


def test_people_missing_from_the_map_are_strangers() -> None:
    before, after = [("u", "a"), ("v", "b")], [("1", "a"), ("2", "b"), ("3", "a")]
    pair = paired(before, after, "exact", {"1": "u", "3": "v"})
    assert [(row[0], *row[1:3]) for row in rows_of(pair)] == [("u", 1, 1), ("v", 0, 1), ("v", 1, 0)]
    assert pair.n_strangers == 1
    with pytest.raises(InputError, match="no person of the release is in the original log; check --map"):
        paired(before, after, "exact", {"1": "x"})


def test_the_histories_of_a_person_are_joined() -> None:
    pair = paired([("u", "a"), ("u", "a")], [("1", "a"), ("2", "a")], "exact", {"1": "u", "2": "u"})
    assert (pair.before.tolist(), pair.after.tolist()) == ([2], [2])


def test_stop_words_of_the_release_are_in_no_set_of_words() -> None:
    original, texts = side([("u", "the red shoes")], pa.array([], pa.large_string()))
    released, texts = side([("u", "red shoes")], texts)
    pair = pair_logs(original, released, texts, match="words", stop_words="english")
    assert (pair.before.tolist(), pair.after.tolist()) == ([1], [1])
