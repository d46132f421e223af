"""Retention, worked by hand."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from queryveil.core.evidence import Evidence
from queryveil.core.names import resolve
from queryveil.core.results import Score
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import kind_of
from queryveil.measures import RETENTION
from queryveil.measures.base import UNKNOWN_OCCURRENCES, Comparison
from queryveil.measures.utility.retention import HISTORIES_COUNTED, measure_retention
from tests.builders import profiles_of

# 10 occurrences, 8 pairs, 4 distinct terms, 4 histories
LOG = (["car", "car", "loan"], ["car", "loan", "loan", "wig"], ["car", "rare"], ["loan"])


def as_histories(profiles: Profiles) -> Profiles:
    """Forget the counts, as a release of kind histories does."""
    return replace(profiles, counts=np.ones_like(profiles.counts))


def measure(
    kind: str,
    released: Sequence[Iterable[str]],
    history_of: Sequence[int] | None = None,
    owners: Sequence[int] | None = None,
) -> dict[str, Score]:
    profiles = profiles_of(released)
    comparison = Comparison(
        kind_of(kind),
        profiles_of(LOG, owners),
        profiles if kind == "log" else as_histories(profiles),
        None if history_of is None else np.array(history_of, np.int64),
    )
    scores = measure_retention(Evidence(comparison), resolve("measure", "retention"), rng=np.random.default_rng(0))
    assert [score.label for score in scores] == ["distinct terms", "log size", "users", "pairs"]
    assert all((s.measure, s.original, s.unit, s.better) == ("retention", 100.0, "%", "higher") for s in scores)
    return {score.label: score for score in scores}


def test_a_release_of_kind_log_is_counted_from_itself() -> None:
    scores = measure("log", [["car", "car", "loan"], ["car", "loan", "loan"]])
    assert {label: (score.value, score.basis()) for label, score in scores.items()} == {
        "distinct terms": (50.0, "4 terms"),
        "log size": (60.0, "10 occurrences"),
        "users": (50.0, "4 people"),
        "pairs": (50.0, "8 pairs"),
    }
    assert all(score.note == "" for score in scores.values())


def test_histories_take_their_occurrences_from_the_original() -> None:
    # released: the second person's loan and car (3 occurrences), the first one's car (2), the fourth one's loan (1)
    scores = measure("histories", [["car"], ["car", "loan"], ["loan"]], history_of=[0, 1, 3])
    assert scores["log size"].value == 60.0
    assert scores["pairs"].value == 50.0
    assert scores["users"].value == 75.0


def test_a_term_or_pair_the_original_lacks_adds_no_occurrences() -> None:
    scores = measure("histories", [["vehicle", "loan"], ["wig"]], history_of=[0, 3])
    assert scores["log size"].value == 10.0


def test_log_size_of_histories_is_unknown_without_the_private_folder() -> None:
    score = measure("histories", [["car", "loan"]])["log size"]
    assert (score.value, score.note, score.units_counted) == (None, UNKNOWN_OCCURRENCES, 10)


def test_histories_of_a_person_are_one_user_if_owners_are_known() -> None:
    scores = measure("histories", [["car"], ["car"], ["loan"]], history_of=[0, 1, 3], owners=[0, 0, 0, 1])
    assert (scores["users"].value, scores["users"].units_counted, scores["users"].note) == (100.0, 2, "")


def test_histories_are_counted_if_owners_are_unknown() -> None:
    scores = measure("histories", [["car"], ["car"], ["loan"]], owners=[0, 0, 0, 1])
    assert (scores["users"].value, scores["users"].units_counted) == (75.0, 4)
    assert scores["users"].note == HISTORIES_COUNTED


@pytest.mark.parametrize("history_of", [None, np.empty(0, np.int64)])
def test_nothing_released_is_nothing_kept(history_of: np.ndarray | None) -> None:
    original = profiles_of(LOG)
    none = np.empty(0, np.int32)
    empty = Profiles((), np.zeros(1, np.int64), none, none, none, ())
    comparison = Comparison(kind_of("histories"), original, empty, history_of)
    scores = measure_retention(Evidence(comparison), resolve("measure", "retention"), rng=np.random.default_rng(0))
    assert [score.value for score in scores] == [0.0, None if history_of is None else 0.0, 0.0, 0.0]


def test_the_declared_function_is_this_measure() -> None:
    assert RETENTION.load() is measure_retention
