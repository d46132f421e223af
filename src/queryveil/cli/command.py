"""Typer commands made from declared options."""

import inspect
import pkgutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from queryveil.cli.output import progress_bar, timings_printed
from queryveil.core.names import Flag, Integer, Real, Text, Word
from queryveil.core.options import LocalPath, Option, OptionGroup

Request = TypeVar("Request", bound=OptionGroup)
Result = TypeVar("Result")
Command = Callable[..., int]
_TYPES: dict[type, type] = {Flag: bool, Integer: int, Real: float, LocalPath: Path}  # of one value; a text otherwise
_TIMINGS = Option("timings", Flag(), "Print on stderr what each stage took, in seconds.", False, flag="--timings")


def command(request: type[Request], *, json: str = "") -> Callable[[Callable[[Request, bool], int]], Command]:
    """Make a command of a function that takes a request, and whether to print its result as JSON."""

    def decorate(function: Callable[[Request, bool], int]) -> Command:
        def run(*, as_json: bool = False, **values: Any) -> int:
            return function(request.from_values(values), as_json)

        return _with_options(run, function, request, json)

    return decorate


def workflow_command(
    request: type[Request], workflow: str, *, json: str
) -> Callable[[Callable[[Result, Request, bool], int | None]], Command]:
    """Make a command of a function that prints what a workflow returned and gives the exit code, 0 unless it does.

    The workflow is named as "module:function" and imported when the command is run.
    """

    def decorate(show: Callable[[Result, Request, bool], int | None]) -> Command:
        def run(*, as_json: bool = False, **values: Any) -> int:
            given = request.from_values(values)
            with progress_bar() as progress:
                result = pkgutil.resolve_name(workflow)(given, progress=progress)
            return show(result, given, as_json) or 0

        return _with_options(run, show, request, json)

    return decorate


def _with_options(run: Command, documented: Callable[..., Any], request: type[OptionGroup], json: str) -> Command:
    """Declare the options of a request as those of a command; `json` is the help of `--json`, absent without one."""

    def timed(*, timings: bool = False, **values: Any) -> int:
        with timings_printed() if timings else nullcontext():
            return run(**values)

    options = [each for each in request.options() if not each.is_python_only]
    if json:
        options.append(Option("as_json", Flag(), json, False, flag="--json"))
    parameters = [_parameter(each) for each in (*options, _TIMINGS)]
    timed.__name__, timed.__doc__ = documented.__name__, documented.__doc__
    timed.request = request  # type: ignore[attr-defined]  # for tests that compare the front ends
    timed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    timed.__annotations__ = {each.name: each.annotation for each in parameters}
    return timed


def _parameter(option: Option) -> inspect.Parameter:
    """Return an option as Typer reads it from a function's signature."""
    one = _TYPES.get(type(option.type), str)
    kind: Any = list[one] if option.is_repeatable else one  # type: ignore[valid-type]
    is_on = isinstance(option.type, Flag) and option.default  # and can be switched off
    flags = [f"{option.flag}/--no-{option.flag[2:]}" if is_on else option.flag, option.short]
    metavar = "N" if isinstance(option.type, Integer) else "TEXT" if isinstance(option.type, Text | Word) else None
    shown: dict[str, Any] = {
        "help": option.help,
        "show_default": option.default_text or option.default not in (None, "", ()),
        "metavar": option.metavar or metavar,
        "parser": whole_number if one is int else None,
    }
    info = typer.Argument(**shown) if option.is_argument else typer.Option(*filter(None, flags), **shown)
    default = option.default if option.default not in ("", ()) else None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if option.is_required else default,
        annotation=Annotated[kind if option.is_required or default is not None else kind | None, info],
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
