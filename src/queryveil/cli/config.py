"""Configuration files: the options of a run as TOML, under the names of the Python keywords."""

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer

from queryveil.core.errors import InputError
from queryveil.core.files import write_new_file
from queryveil.core.names import nearest
from queryveil.core.options import CommaSeparated, OptionGroup


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
        values = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"--config: {path} cannot be read: {error.strerror}; check the path.") from None
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
