"""Verified runs: what was kept is confirmed by the verifier of its guarantee, or an internal error is raised."""

import numpy as np
import pytest

from queryveil.core.errors import InternalError
from queryveil.core.names import resolve
from queryveil.experiments.runs import confirm_kept, example_log, mean_figures

LOG = example_log([("a", "b"), ("a", "b", "b"), ("c",)], ["x", "y", "z"])
QUERY_K = resolve("method", "query_k(k=2)")


def test_an_example_log_has_one_history_per_person() -> None:
    assert LOG.persons == ("x", "y", "z")
    assert LOG.vocabulary.entries == ("a", "b", "c")
    assert (LOG.indptr.tolist(), LOG.ids.tolist(), LOG.counts.tolist()) == (
        [0, 2, 4, 5],
        [0, 1, 0, 1, 2],
        [1, 1, 1, 2, 1],
    )


def test_kept_pairs_are_verified() -> None:
    kept = np.array([True, True, True, True, False])
    assert confirm_kept(QUERY_K, LOG, kept) == 2
    assert confirm_kept(resolve("method", "km(k=2, m=2)"), LOG, kept) == 3
    assert confirm_kept(QUERY_K, LOG, np.zeros(5, np.bool_)) == 0


def test_a_refused_result_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match=r"the result of query_k\(k=2\) was refused by its verifier \(violated\)"):
        confirm_kept(QUERY_K, LOG, np.ones(5, np.bool_))


def test_figures_are_averaged_by_name() -> None:
    assert mean_figures([{"spi": 1.0, "jsd": 0.0}, {"spi": 2.0, "jsd": 0.5}]) == {"spi": 1.5, "jsd": 0.25}
