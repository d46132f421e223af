"""Command-line options made from declared parameters, so that both say the same in the same words."""

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from queryveil.core.names import Flag, Integer
from queryveil.core.options import Option


def with_parameters(*groups: Sequence[Option]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add an option for every parameter to a command that takes `**options`."""

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        signature = inspect.signature(command)
        own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        added = [_option(parameter) for group in groups for parameter in group if not parameter.is_path]

        def wrapper(**arguments: Any) -> int:
            return command(**arguments)

        wrapper.__name__, wrapper.__doc__ = command.__name__, command.__doc__
        wrapper.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in (*own, *added)}
        return wrapper

    return decorate


def _option(parameter: Option) -> inspect.Parameter:
    flag = "--" + parameter.name.replace("_", "-")
    name = f"{flag}/--no-{flag[2:]}" if isinstance(parameter.type, Flag) else flag
    kind: type = bool if isinstance(parameter.type, Flag) else int if isinstance(parameter.type, Integer) else str
    parser = whole_number if kind is int else None
    option = typer.Option(
        name,
        help=parameter.help,
        show_default=parameter.default not in ("", None),
        metavar=None if isinstance(parameter.type, Flag) else "N" if kind is int else "TEXT",
        parser=parser,
    )
    return inspect.Parameter(
        parameter.name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default, annotation=Annotated[kind, option]
    )


def whole_number(text: str) -> int:
    """Read a whole number of at least 0, or say what was given instead."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise typer.BadParameter(f"it must be a whole number of at least 0, not {text!r}; give another value.")
    return number
