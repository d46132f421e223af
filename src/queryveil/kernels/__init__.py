"""Compiled inner loops; nothing else in queryveil imports numba.

A kernel takes typed arrays and returns arrays. `jit` is the one door to numba, and opens it when a kernel is first
called: importing a kernel costs nothing. For input so small that starting numba would take longer than the work,
`uncompiled` runs the same functions as plain Python.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Any, TypeVar, cast

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


class Kernel:
    """A function that is compiled with the kernels it calls when it is first called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._compiled: Callable[..., Any] | None = None
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel."""
        if _IS_DISABLED:
            with np.errstate(over="ignore"):  # hashes wrap around, as they do in machine code
                return self.function(*arguments)
        if _is_uncompiled.get():
            return self.function(*arguments)
        return self.compiled()(*arguments)

    def compiled(self) -> Callable[..., Any]:
        """Return the numba function; the kernels it calls stand in its globals, where numba must find theirs."""
        if _IS_DISABLED:
            return self
        if self._compiled is None:
            with _lock:
                self._compile()
        return cast(Callable[..., Any], self._compiled)

    def _compile(self) -> None:
        if self._compiled is None:
            import numba

            import queryveil.kernels.cache  # noqa: F401  (it tells numba where to store compiled kernels)

            scope = self.function.__globals__
            for name in self.function.__code__.co_names:
                if isinstance(scope.get(name), Kernel):
                    scope[name] = scope[name].compiled()
            self._compiled = cast(Callable[..., Any], numba.njit(cache=True, nogil=True)(self.function))


_IS_DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")  # for stepping through kernels
_lock = RLock()  # kernels are called from several threads
_is_uncompiled: ContextVar[bool] = ContextVar("_is_uncompiled", default=False)


@contextmanager
def uncompiled(is_wanted: bool = True) -> Iterator[None]:
    """Run kernels as plain Python inside the block, if that is wanted; those compiled already stay so."""
    token = _is_uncompiled.set(is_wanted)
    try:
        yield
    finally:
        _is_uncompiled.reset(token)


def jit(function: Function) -> Function:
    """Make a kernel: compiled on first use, its machine code kept between runs."""
    return cast(Function, Kernel(function))
