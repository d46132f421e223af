"""Compiling kernels ahead."""

import pytest

from queryveil.api import warm
from queryveil.core.errors import InputError


def test_kernels_of_a_named_method_are_compiled_and_found_again() -> None:
    first = warm("query_k(k=2)")
    again = warm(["query_k(k=2)"])
    assert first.kernels == again.kernels > 0
    assert again.added == 0
    assert again.folder.is_dir()


def test_a_run_that_is_asked_for_and_cannot_be_made_is_refused() -> None:
    with pytest.raises(InputError, match="target=bid needs a market table"):
        warm("km(k=2, m=2, target=bid)")
