"""Compile kernels ahead: run methods on a tiny log, so that whatever they call is compiled and cached.

What to compile follows from the declarations of the methods: each is run with the smallest values of its parameters,
and again with every other word, flag or small number that a parameter may have.
"""

import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from queryveil import kernels
from queryveil.core.errors import GuaranteeError, QueryveilError
from queryveil.core.names import Flag, Integer, Name, Parameter, Real, Value, Word, declarations, parse, resolve
from queryveil.core.progress import Progress, silent
from queryveil.methods.base import Method
from queryveil.workflows.requests import MeasureRequest, ReleaseRequest, VerifyRequest, WarmRequest

_WORDS = ("dog", "cat", "house", "garden", "river", "music", "school", "doctor", "bread", "train", "winter", "paper")
_PEOPLE = 49  # an odd number, so that groups of two leave somebody over
_FEW = 5  # values of a whole number that are all tried


@dataclass(frozen=True)
class CompiledKernels:
    """How many kernels are compiled, how many of them were just now, how long that took, and where they are."""

    kernels: int
    added: int
    seconds: float
    folder: Path


def warm(request: WarmRequest, *, progress: Progress = silent) -> CompiledKernels:
    """Compile what `anonymize`, `verify` and `measure` need for the methods, all unless some are named."""
    from queryveil.kernels.cache import cache_folder

    started, before = time.monotonic(), len(_compiled(cache_folder()))
    names = [
        parse(method) if isinstance(method, str) else method for method in request.methods or declarations("method")
    ]
    first, *others = [(str(run), bool(name.arguments)) for name in names for run in _variants(name)]
    stage = "compiling kernels"
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        progress(stage, 0, len(others) + 1)
        pool.submit(_run, *first).result()  # alone, as all methods share kernels that need not be compiled twice
        for done, run in enumerate(as_completed([pool.submit(_run, *each) for each in others]), start=1):
            run.result()
            progress(stage, done, len(others) + 1)
    n_kernels = len(_compiled(cache_folder()))
    return CompiledKernels(n_kernels, n_kernels - before, time.monotonic() - started, cache_folder())


def _compiled(folder: Path) -> Sequence[Path]:
    return list(folder.rglob("*.nbc"))


def _variants(name: Name) -> Iterator[Name]:
    """Yield the runs of a method; there is one if its parameters are given."""
    declared = declarations("method").get(name.name)
    if name.arguments or not isinstance(declared, Method):
        resolve("method", name)
        yield name
        return
    one_of = declared.one_of[:1]
    base: dict[str, Value] = {
        p.name: _smallest(p) for p in declared.parameters if not p.signature().count("=") or p.name in one_of
    }
    yield Name(name.name, tuple(base.items()))
    for parameter in declared.parameters:
        for value in _values(parameter) if parameter.goes_with is None and parameter.name not in one_of else ():
            if value not in (parameter.default, base.get(parameter.name)):
                yield Name(name.name, tuple({**base, parameter.name: value}.items()))


def _smallest(parameter: Parameter) -> Value:
    """Return a value for a parameter that has no default: 2 where that is allowed, or the whole of a share."""
    kind = parameter.type
    if isinstance(kind, Word):
        return kind.words()[0]
    if isinstance(kind, Real):
        return 1 if kind.maximum is None else kind.maximum
    return int(max(2, getattr(kind, "minimum", 0) or 0))


def _values(parameter: Parameter) -> Sequence[Value]:
    kind = parameter.type
    if isinstance(kind, Word):
        return kind.words()
    if isinstance(kind, Flag):
        return (False, True)
    if isinstance(kind, Integer):
        values = range(int(kind.minimum or 0), int(kind.maximum or _FEW) + 1)
        return values if kind.maximum is not None and len(values) <= _FEW else ()
    return ()


def _run(method: str, is_asked_for: bool) -> None:
    """Release, verify and measure a tiny log; a run that cannot be made of it is an error only if it was asked for."""
    from queryveil.workflows.anonymize import make_release
    from queryveil.workflows.measure import measure
    from queryveil.workflows.verify import verify

    kernels.compiles_everything = True
    with tempfile.TemporaryDirectory() as folder:
        log, out, private = Path(folder, "log.tsv"), Path(folder, "release"), Path(folder, "private")
        log.write_text("user\tquery\n" + "".join(_lines()))
        try:
            make_release(ReleaseRequest.from_values({"log": log, "method": method, "out": out, "private": private}))
            verify(VerifyRequest.from_values({"release": out, "private": private}))
            measure(MeasureRequest.from_values({"release": out, "against": log, "private": private}))
        except QueryveilError as error:
            easiest = str(_easiest(parse(method)))
            if isinstance(error, GuaranteeError) and easiest != method:  # the log is too small for it; what runs is not
                _run(easiest, is_asked_for)
            elif is_asked_for:
                raise


def _easiest(name: Name) -> Name:
    """Return the method with the easiest value of every share that it is given, such as the p of linkability."""
    parameters = {each.name: each for each in getattr(declarations("method").get(name.name), "parameters", ())}
    given = ((key, parameters.get(key), value) for key, value in name.arguments)
    return Name(
        name.name,
        tuple(
            (key, _smallest(of) if of is not None and isinstance(of.type, Real) else value) for key, of, value in given
        ),
    )


def _lines() -> Iterator[str]:
    n = len(_WORDS)
    for person in range(_PEOPLE):
        for query in range(3):
            yield f"p{person}\t{_WORDS[(person + query) % n]} {_WORDS[(person // 2 + 2 * query) % n]}\n"
