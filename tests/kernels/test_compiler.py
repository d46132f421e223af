"""Kernels are compiled once for each combination of types, and free what they make."""
# mypy: disable-error-code="attr-defined,no-untyped-call"

import subprocess
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from queryveil.kernels.compiler import KernelCompiler, KernelDispatcher

VALUES = np.arange(10, dtype=np.int64)


def compiled(function: Callable[..., Any], **called: Any) -> Any:
    """Return a kernel that calls others by these names."""
    options = {"nopython": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": False}
    scope = {**function.__globals__, **called}
    return KernelDispatcher(
        FunctionType(function.__code__, scope, function.__name__),
        {},
        options,
        pipeline_class=KernelCompiler,
    )


def last_of(values: Any, first: int) -> Any:
    return values[first:]


def sum_from(values: Any, first: int) -> int:
    part, total = values[first:], 0
    for value in part:
        total += value
    return total


def sum_twice(values: Any) -> int:
    first = 0
    for _ in range(2):
        first += sum_from(values, 1) + sum_from(values, first)
    return first


def sum_of_copy(values: Any) -> int:
    copied = np.empty(len(values), np.int64)
    copied[:] = values
    return sum_from(copied, 0) + sum_from(last_of(values[values > 3], 1), 0)


def copy_row(table: Any) -> None:
    table[0] = table[1]


def test_constants_have_the_type_of_other_numbers() -> None:
    called = compiled(sum_from)
    assert compiled(sum_twice, sum_from=called)(VALUES) == 45 + 45 + 45 + 0
    assert len(called.overloads) == 1


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        (sum_from, (VALUES, 1), 45),
        (sum_of_copy, (VALUES,), 45 + 35),
        (last_of, (VALUES, 9), [9]),
        (copy_row, (VALUES.reshape(2, 5).copy(),), None),
    ],
)
def test_nothing_is_freed_twice_or_never(function: Any, arguments: Any, result: Any) -> None:
    kernel = compiled(function, sum_from=compiled(sum_from), last_of=compiled(last_of))
    assert kernel(*arguments) == result
    _nrt_python.memsys_enable_stats()
    references, before = sys.getrefcount(arguments[0]), rtsys.get_allocation_stats()
    for _ in range(20):
        assert kernel(*arguments) == result
    references_after, after = sys.getrefcount(arguments[0]), rtsys.get_allocation_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
    assert references_after == references


WITHOUT_SCIPY = """
import subprocess
import sys
import numpy as np
from numba.np import linalg
from queryveil.kernels.order import maximum_of

assert maximum_of(np.arange(3)) == 2
assert "scipy.linalg" not in sys.modules
linalg.ensure_blas()
assert "scipy.linalg" in sys.modules
"""


def test_kernels_load_without_scipy_which_others_still_get_from_numba() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_SCIPY], check=True)
