"""Signatures and docstrings of the Python API, made from the declared options of requests."""

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from queryveil.core.errors import InputError, QueryveilError
from queryveil.core.options import OptionGroup

Function = TypeVar("Function", bound=Callable[..., Any])
_PARAMETER = inspect.Parameter
_PROGRESS = "Called as progress(stage, done, total) while the work goes on."
_EXAMPLE = "\n\nExample:\n"


def with_options(
    request: type[OptionGroup], *, returns: str, raises: Sequence[type[Exception]] = (InputError,)
) -> Callable[[Function], Function]:
    """Decorate a function that takes `**options`: its signature and docstring list the options of a request.

    The docstring of the function is a summary and, below the line `Example:`, a doctest. Errors name keywords where
    those of the command line name flags.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            try:
                return function(*arguments, **options)
            except QueryveilError as error:
                sentence = re.sub(r"queryveil list (\w+)", r'queryveil.names("\1")', str(error))
                error.args = (request.with_keywords(sentence),)
                raise

        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not _PARAMETER.VAR_KEYWORD]
        named = {each.name for each in own}
        added = [
            _PARAMETER(each.name, _PARAMETER.KEYWORD_ONLY, default=each.default, annotation=each.annotation)
            for each in request.options()
            if each.name not in named
        ]
        parameters = sorted([*own, *added], key=lambda each: (each.kind, each.name == "progress"))
        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.request = request  # type: ignore[attr-defined]  # for the reference page
        call.__doc__ = "\n".join(_docstring(function, parameters, request, returns, raises))
        return call  # type: ignore[return-value]

    return decorate


def _docstring(
    function: Callable[..., Any],
    parameters: Sequence[inspect.Parameter],
    request: type[OptionGroup],
    returns: str,
    raises: Sequence[type[Exception]],
) -> Iterator[str]:
    """Yield the lines of a docstring: summary, parameters, return value, errors and example."""
    purposes = {each.name: each.keyword_help for each in request.options()} | {"progress": _PROGRESS}
    summary, _, example = inspect.cleandoc(function.__doc__ or "").partition(_EXAMPLE)
    if ">>> " not in example:
        raise TypeError(f"{function.__name__} has no example: add a doctest below a line `Example:` of its docstring")
    yield f"{summary}\n\nParameters:"
    for each in parameters:
        yield from textwrap.wrap(
            f"{each.name}: {purposes[each.name]}", 110, initial_indent="    ", subsequent_indent="        "
        )
    yield f"\nReturns:\n    {returns}\n\nRaises:"
    yield from (f"    {error.__name__}: {inspect.getdoc(error)}" for error in raises)
    yield f"{_EXAMPLE[1:]}{example}"
