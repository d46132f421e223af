"""Typer commands made from declared options, and configuration files of these: TOML under the names of the keywords."""

import inspect
import json
import pkgutil
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from queryveil.cli.output import print_json, progress_bar, timings_printed
from queryveil.core.errors import InputError
from queryveil.core.files import read_input, write_new_file
from queryveil.core.names import Flag, Integer, Real, Word, declarations, nearest
from queryveil.core.options import CommaSeparated, EnginePath, LocalPath, Option, OptionGroup, TextName

Request = TypeVar("Request", bound=OptionGroup)
Result = TypeVar("Result")
Command = Callable[..., int]
_TYPES: dict[type, type] = {Flag: bool, Integer: int, Real: float, LocalPath: Path}  # of one value; a text otherwise
_METAVARS = {Flag: "", Integer: "N", Real: "X", LocalPath: "PATH", EnginePath: "PATH", TextName: "NAME"}
_PANEL = "This command"
_JSON = "as_json"
_CONFIG = Option(
    name="config",
    type=LocalPath(),
    purpose="A TOML file of options; those of the command line take precedence.",
    is_optional=True,
    flag="--config",
    panel=_PANEL,
)
_SAVE_CONFIG = replace(
    _CONFIG,
    name="save_config",
    purpose="Write the options of this run to a TOML file, for --config.",
    flag="--save-config",
)
_DRY_RUN = Option(
    name="dry_run",
    type=Flag(),
    purpose="Check everything, try the method on a sample, and estimate result, time and memory; write nothing.",
    default=False,
    flag="--dry-run",
    panel=_PANEL,
)
_TIMINGS = replace(
    _DRY_RUN, name="timings", purpose="Print on stderr what each stage took, in seconds.", flag="--timings"
)


class PanelCommand(TyperCommand):
    """A command whose help shows options under the headings they declare."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, one section per heading, in the order of first occurrence."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            heading = "Arguments" if parameter.param_type_name == "argument" else ""
            heading = heading or getattr(parameter, "rich_help_panel", None) or _PANEL
            if (row := parameter.get_help_record(ctx)) is not None:
                sections.setdefault(heading, []).append(row)
        for heading, rows in sorted(sections.items(), key=lambda section: section[0] == _PANEL):
            with formatter.section(heading):
                formatter.write_dl(rows)


def command(
    request: type[Request], *, json: str = "", example: str = ""
) -> Callable[[Callable[[Request, bool], int]], Command]:
    """Make a command of a function that takes a request, and whether to print its result as JSON."""

    def decorate(function: Callable[[Request, bool], int]) -> Command:
        def run(*, as_json: bool = False, **values: Any) -> int:
            return function(request.from_values(values), as_json)

        return _with_options(run, function, request, json, example)

    return decorate


def workflow_command(
    request: type[Request],
    workflow: str,
    *,
    json: str = "Print the result as JSON.",
    record: Callable[[Any], Any] = methodcaller("record"),
    remarks: Callable[[Any, Any], Iterable[str]] = lambda result, request: (),
    example: str = "",
    dry_run: str = "",
) -> Callable[[Callable[[Result, Request], None]], Command]:
    """Make a command of a function that prints what a workflow returned as text; with `--json`, `record` of it is.

    The workflows are named as "module:function" and imported when the command is run; the one of `dry_run` estimates
    what the other would do. A result may have an `exit_code`; `remarks` on it are printed on stderr in either form.
    """

    def decorate(show: Callable[[Result, Request], None]) -> Command:
        def run(*, as_json: bool = False, **values: Any) -> int:
            values.pop(_CONFIG.name)  # it has set the defaults of the other options
            config_file, is_estimate = values.pop(_SAVE_CONFIG.name), values.pop(_DRY_RUN.name, False)
            given = request.from_values(values)
            if config_file is not None:
                save_config(config_file, given, values, overwrite=bool(values.get("force")))
            with progress_bar() as progress:
                result = pkgutil.resolve_name(dry_run if is_estimate else workflow)(given, progress=progress)
            if as_json:
                print_json(result.record() if is_estimate else record(result))
            elif is_estimate:
                typer.echo("\n".join(result.sentences()))
            else:
                show(result, given)
            for remark in remarks(result, given):
                typer.echo(remark, err=True)
            return getattr(result, "exit_code", 0)

        return _with_options(run, show, request, json, example, *([_DRY_RUN] if dry_run else []), _CONFIG, _SAVE_CONFIG)

    return decorate


def _with_options(
    run: Command, documented: Callable[..., Any], request: type[OptionGroup], json: str, example: str, *added: Option
) -> Command:
    """Declare the options of a request as those of a command; `json` is the help of `--json`, absent without one."""

    def timed(*, timings: bool = False, **values: Any) -> int:
        with timings_printed() if timings else nullcontext():
            return run(**values)

    options = [each for each in request.options() if not each.is_python_only]
    own = [*added, *([Option(_JSON, Flag(), json, False, flag="--json", panel=_PANEL)] if json else []), _TIMINGS]
    parameters = [_parameter(each, request) for each in (*options, *own)]
    timed.__name__, timed.__doc__ = documented.__name__, documented.__doc__
    timed.request, timed.example = request, example  # type: ignore[attr-defined]  # for the command and for tests
    timed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    timed.__annotations__ = {each.name: each.annotation for each in parameters}
    return timed


def add_command(app: typer.Typer, name: str, function: Command) -> None:
    """Add a command made here to an application; its help ends with the example."""
    example = getattr(function, "example", "")
    epilog = f"\b\nExample:\n  {example}" if example else None
    short = re.split(r"[:;(]", inspect.getdoc(function) or "")[0].strip().rstrip(".")
    app.command(name, cls=PanelCommand, epilog=epilog, short_help=f"{short}.")(function)


def _parameter(option: Option, request: type[OptionGroup]) -> inspect.Parameter:
    """Return an option as Typer reads it from a function's signature."""
    one = _TYPES.get(type(option.type), str)
    kind: Any = list[one] if option.is_repeatable else one  # type: ignore[valid-type]
    is_on = isinstance(option.type, Flag) and option.default  # and can be switched off
    flags = [f"{option.flag}/--no-{option.flag[2:]}" if is_on else option.flag, option.short]
    metavar = option.name.upper() if option.is_argument else _METAVARS.get(type(option.type), "TEXT")
    shown: dict[str, Any] = {
        "help": option.help,
        "show_default": option.default_text or option.default not in (None, "", ()),
        "metavar": option.metavar or metavar or None,
        "parser": whole_number if one is int else _word_reader(option) if isinstance(option.type, Word) else None,
        "autocompletion": _completion(option),
        "rich_help_panel": option.panel,
    }
    if option is _CONFIG:  # read before the others, whose defaults it sets
        shown |= {"is_eager": True, "callback": config_loader(request)}
    info = typer.Argument(**shown) if option.is_argument else typer.Option(*filter(None, flags), **shown)
    default = option.default if option.default not in ("", ()) else None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if option.is_required else default,
        annotation=Annotated[kind if option.is_required or default is not None else kind | None, info],
    )


def _completion(option: Option) -> Callable[[str], list[str]] | None:
    """Return the function that completes the value of an option in a shell; None where files are completed."""
    kind = option.type
    if not isinstance(kind, TextName | Word):
        return None

    def complete(incomplete: str) -> list[str]:
        words = kind.words() if isinstance(kind, Word) else declarations(kind.category)
        return [word for word in words if word.startswith(incomplete)]

    return complete


def _word_reader(option: Option) -> Callable[[str], str]:
    """Return a function that refuses a wrong word while the command line is read, before options that are missing."""

    def read(text: str) -> str:
        option.check(text, option.flag or option.name)
        return text

    return read


def whole_number(text: str) -> int:
    """Read a whole number of at least 0, or say what was given instead."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise typer.BadParameter(f"it must be a whole number of at least 0, not {text!r}; give another value.")
    return number


def config_loader(request: type[OptionGroup]) -> Callable[[typer.Context, Path | None], Path | None]:
    """Return a callback of Typer that makes the options of a configuration file the defaults of a command's options."""

    def load(context: typer.Context, path: Path | None) -> Path | None:
        if path is not None and not context.resilient_parsing:  # the latter while a shell completes words
            context.default_map = read_config(path, request)
        return path

    return load


def read_config(path: Path, request: type[OptionGroup]) -> dict[str, Any]:
    """Return the options of a configuration file by name; refuse names and values that the request does not allow."""
    try:
        values = tomllib.loads(read_input(path, "--config").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--config: {path} is not TOML: {error}; correct it.") from None
    options = {each.name: each for each in request.options() if not each.is_python_only}
    for name, value in values.items():
        if name not in options:
            raise InputError(f"--config: {path}: there is no option {name!r}; {nearest(name, options)}")
        option = options[name]
        is_list = isinstance(value, list) and (option.is_repeatable or isinstance(option.type, CommaSeparated))
        if isinstance(option.type, CommaSeparated) and is_list:
            values[name] = ",".join(map(str, value))
        for one in value if is_list and option.is_repeatable else [values[name]]:
            option.check(option.type.convert(one), f"--config: {path}: {name}")
    return values


def save_config(path: Path, request: OptionGroup, values: Mapping[str, Any], *, overwrite: bool) -> None:
    """Write the options of a run that differ from their defaults."""
    lines = [f"# {type(request).__doc__} Paths are relative to the folder in which the command is run."]
    for each in request.options():
        value = values.get(each.name)
        if value is not None and value != each.default and not (each.is_repeatable and not value):
            lines.append(f"{each.name} = {_toml(value)}")
    write_new_file(path, "\n".join((*lines, "")).encode(), overwrite=overwrite)


def _toml(value: Any) -> str:
    """Return a value as TOML, whose texts, numbers, truth values and lists are written as in JSON."""
    return json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")
