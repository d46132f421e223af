import math

import numpy as np
import pytest

from queryveil.semantics.weights import weighted
from tests.builders import profiles_of


def test_every_term_counts_as_1_in_the_paper() -> None:
    profiles = weighted(profiles_of([["a", "a", "b"]]), "counts")
    assert weighted(profiles, "paper").weights is None


def test_counts_are_the_queries_that_hold_the_term() -> None:
    profiles = weighted(profiles_of([["a", "a", "b"], ["b"]]), "counts")
    assert [profiles.vocabulary[i] for i in profiles.ids] == ["b", "a", "b"]
    assert profiles.weights is not None
    assert profiles.weights.tolist() == [1.0, 2.0, 1.0]


def test_tfidf_counts_people_not_histories() -> None:
    profiles = weighted(profiles_of([["a", "a", "b"], ["a"], ["b"]], owners=[0, 0, 1]), "tfidf")
    weights = np.asarray(profiles.weights)
    by_term = {profiles.vocabulary[i]: w for i, w in zip(profiles.ids[:2], weights[:2], strict=True)}
    assert by_term["a"] == pytest.approx((1 + math.log(2)) * math.log(3 / 1))
    assert by_term["b"] == pytest.approx(math.log(3 / 2))
    assert (weights > 0).all()
