"""How kernels are compiled: numba's pipeline without the work whose results nobody uses.

Numba optimises every function and makes it executable before it is linked into its callers, where it is inlined and
optimised again. What only kernels call needs neither: it is optimised once, as a part of the kernel that Python calls.
"""
# mypy: disable-error-code="no-untyped-call"

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite.binding import Linkage  # type: ignore[import-untyped]
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.registry import CPUDispatcher, cpu_target
from numba.np import linalg

from queryveil.kernels import watchers

_seconds = [0.0]  # spent compiling so far


def _load_array_functions() -> None:
    """Load numba's functions of arrays without SciPy, which takes as long as all else and which no kernel needs.

    They import it once to see whether it is there; whoever needs it then still gets it.
    """

    def refuse() -> None:
        raise ImportError

    ensure_blas, linalg.ensure_blas = linalg.ensure_blas, refuse
    try:
        from numba.np import arraymath
    finally:
        linalg.ensure_blas = ensure_blas
    arraymath._HAVE_BLAS = True


_load_array_functions()


class KernelFlags(Flags):
    """Flags that compare quickly; numba looks up every operation of a function by its flags."""

    def __hash__(self) -> int:
        return 0  # numba's own hash is a constant too, computed from the names of all options each time

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KernelFlags) and self._values == other._values


class KernelDispatcher(CPUDispatcher):
    """A kernel with its compiled versions, one for each combination of types."""

    def get_call_template(self, args: Sequence[Any], kws: Any) -> Any:
        """Return what types a call by another kernel: the same ones for a constant as for any other number."""
        return super().get_call_template([types.unliteral(each) for each in args], kws)


class LinkedLibrary(JITCodeLibrary):
    """Code that is linked into a kernel and not executed by itself."""

    @property
    def codegen(self) -> "LinkedLibrary":
        """Return what takes the address of the function's constants (`set_env`): this, which needs none."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Ignore the constants; `KernelCompiler` sets those of all functions that are linked."""

    def _optimize_final_module(self) -> None: ...

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class KernelLibrary(JITCodeLibrary):
    """Code of a kernel that Python calls, and of what it calls.

    That nobody else calls the latter lets LLVM inline what is called once, and leave out counting references to arrays.
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()


class KernelCompiler(Compiler):
    """Compiles a kernel that Python calls, and meanwhile what it calls to code that is only linked."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Return the compiled function; numba's lock is held."""
        self.state.flags = KernelFlags(self.state.flags)
        codegen = self.state.targetctx.codegen()
        if codegen._library_class is LinkedLibrary:
            return super().compile_extra(function)
        self.state.library = KernelLibrary(codegen, function.__qualname__)
        self.state.library.enable_object_caching()
        is_collecting = gc.isenabled()
        gc.disable()  # what the compiler allocates lives on, and going through it takes a seventh of the time
        codegen._library_class = LinkedLibrary
        cpu_target.target_context.create_cfunc_wrapper = lambda *_: None  # numba's own functions get one unasked
        started = time.monotonic()
        _notify(True)
        try:
            result = super().compile_extra(function)
        finally:
            del codegen._library_class, cpu_target.target_context.create_cfunc_wrapper
            if is_collecting:
                gc.enable()
            _seconds[0] += time.monotonic() - started
            _notify(False)
        for environment in result._find_referenced_environments():
            codegen.set_env(environment.env_name, environment)
        return result


def _notify(is_compiling: bool) -> None:
    for watch in watchers:
        watch(is_compiling, _seconds[0])
