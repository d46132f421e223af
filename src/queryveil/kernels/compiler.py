"""How kernels are compiled: numba's pipeline without the work whose results nobody uses.

Numba optimises every function and makes it executable before it is linked into its callers, where it is inlined and
optimised again. What only kernels call needs neither: it is optimised once, as a part of the kernel that Python calls.
"""
# mypy: disable-error-code="no-untyped-call"

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from numba.core import ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typed_passes import AnnotateTypes

from queryveil.kernels import watchers

_seconds = [0.0]  # spent compiling so far


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


@register_pass(mutates_CFG=False, analysis_only=True)
class SkipReferenceCounts(AnalysisPass):
    """Has a kernel that neither makes nor returns an array lowered without counting references to those it is given."""

    _name = "queryveil_skip_reference_counts"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Replace the context of the lowering if that is possible."""
        if not any(_is_counted(state, each) for each in _owned_types(state)):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


_READING = {"getattr", "getitem", "static_getitem", "cast", "build_tuple", "exhaust_iter", "getiter", "pair_first"}


def _owned_types(state: Any) -> Iterator[Any]:
    """Yield the types of what the kernel may have to free: what it returns, and what is not read from an argument."""
    yield state.return_type
    for block in state.func_ir.blocks.values():
        for each in block.body:
            if isinstance(each, ir.SetItem | ir.StaticSetItem):
                yield state.typemap[each.value.name]  # numba copies rows by way of new arrays
            elif isinstance(each, ir.Assign) and isinstance(each.value, ir.Expr):
                yield from _types_of(each.value, state.typemap, state.typemap[each.target.name])


def _types_of(value: Any, typemap: Any, result: Any) -> Sequence[Any]:
    if value.op == "call":
        function = typemap[value.func.name]
        is_ours = isinstance(function, types.Dispatcher) and isinstance(function.dispatcher, KernelDispatcher)
        others = [] if is_ours or function.name == "Function(<built-in function len>)" else value.list_vars()
        return [result, *(typemap[each.name] for each in others)]
    is_method = isinstance(result, types.BoundFunction)
    is_new = value.op == "getitem" and isinstance(typemap[value.index.name], types.Array)
    return [result] if value.op not in _READING or is_method or is_new else []


def _is_counted(state: Any, each: Any) -> bool:
    return bool(state.targetctx.data_model_manager[each].contains_nrt_meminfo())


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


class KernelCompiler(Compiler):
    """Compiles a kernel that Python calls, and meanwhile what it calls to code that is only linked."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes and ours."""
        (passes,) = super().define_pipelines()
        passes.add_pass_after(SkipReferenceCounts, AnnotateTypes)
        passes.finalize()
        return [passes]

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Return the compiled function; numba's lock is held."""
        self.state.flags = KernelFlags(self.state.flags)
        codegen = self.state.targetctx.codegen()
        if codegen._library_class is LinkedLibrary:
            return super().compile_extra(function)
        self.state.library = JITCodeLibrary(codegen, function.__qualname__)
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
