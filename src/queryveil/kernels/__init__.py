"""Compiled inner loops; nothing else in queryveil imports numba.

A kernel takes typed arrays and returns arrays. `jit` is the only use of numba, which is imported when a kernel is first
called: importing a kernel costs nothing. For input so small that starting numba would take longer than the work,
`uncompiled` runs the same functions as plain Python.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

NOT_NEGATIVE = (1 << 62) - 1  # a mask that tells the compiler that an index does not count from the end
Function = TypeVar("Function", bound=Callable[..., Any])


class Kernel:
    """A function that is compiled with the kernels it calls when it is first called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._dispatchers: dict[bool, Callable[..., Any]] = {}  # by whether Python calls it, or only other kernels
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel."""
        if _IS_DISABLED or _is_uncompiled.get():
            with np.errstate(over="ignore"):  # hashes wrap around, as they do in machine code
                return self.function(*arguments)
        return self.compiled()(*arguments)

    def compiled(self, *, is_entry: bool = True) -> Callable[..., Any]:
        """Return the numba function that Python calls, or the one that other kernels call.

        Machine code of the first kind is cached and includes that of the kernels it calls. The second kind needs
        neither a cache nor wrappers for Python, which take a seventh of the time of compiling.
        """
        if _IS_DISABLED:
            return self
        if is_entry not in self._dispatchers:
            with _lock:
                self._dispatchers.setdefault(is_entry, self._compile(is_entry))
        return self._dispatchers[is_entry]

    def _compile(self, is_entry: bool) -> Callable[..., Any]:
        from queryveil.kernels.cache import KernelCache
        from queryveil.kernels.compiler import KernelCompiler, KernelDispatcher

        scope = dict(self.function.__globals__)
        for name in self.function.__code__.co_names:
            if isinstance(scope.get(name), Kernel):
                scope[name] = scope[name].compiled(is_entry=False)
        function = FunctionType(self.function.__code__, scope, self.function.__name__, self.function.__defaults__)
        options = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": not is_entry}
        dispatcher: Any = KernelDispatcher(function, {}, options, pipeline_class=KernelCompiler)
        if is_entry:
            dispatcher._cache = KernelCache(function)  # type: ignore[no-untyped-call]
        return cast(Callable[..., Any], dispatcher)


_IS_DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")  # for stepping through kernels
watchers: list[Callable[[bool, float], None]] = []  # told whether a kernel is being compiled, and seconds taken so far
compiles_everything = False  # even for small input, to have it compiled for large input
_lock = RLock()  # kernels are called from several threads
_is_uncompiled: ContextVar[bool] = ContextVar("_is_uncompiled", default=False)


@contextmanager
def uncompiled(is_wanted: bool = True) -> Iterator[None]:
    """Run kernels as plain Python inside the block, if that is wanted; threads begun in it run them compiled."""
    token = _is_uncompiled.set(is_wanted and not compiles_everything)
    try:
        yield
    finally:
        _is_uncompiled.reset(token)


def jit(function: Function) -> Function:
    """Make a kernel: compiled on first use, its machine code kept between runs."""
    return cast(Function, Kernel(function))
