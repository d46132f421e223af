"""Compiling kernels ahead."""

import pytest

from queryveil import kernels
from queryveil.api import warm
from queryveil.core.errors import InputError
from queryveil.workflows.warm import _run


def test_kernels_of_a_named_method_are_compiled_and_found_again() -> None:
    first = warm("query_k(k=2)")
    again = warm(["query_k(k=2)"])
    assert first.kernels == again.kernels > 0
    assert again.added == 0
    assert again.folder.is_dir()


def test_a_guarantee_that_the_tiny_log_cannot_give_is_run_with_an_easier_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernels, "compiles_everything", kernels.compiles_everything)
    _run("linkability(p=0.4)", is_asked_for=True)
    with pytest.raises(InputError, match="p must be a number above 0 and at most 1"):
        _run("linkability(p=4)", is_asked_for=True)


def test_a_run_that_is_asked_for_and_cannot_be_made_is_refused() -> None:
    with pytest.raises(InputError, match="target=bid needs a market table"):
        warm("km(k=2, m=2, target=bid)")
