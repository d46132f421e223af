"""The front ends offer the same options: those that the requests declare."""

import inspect
import shlex
from collections.abc import Callable
from typing import Any

import pytest
import typer.main

import queryveil
from queryveil.cli import COMMANDS, app, run
from queryveil.core.options import OptionGroup

FUNCTIONS: dict[str, Callable[..., Any]] = {  # command → function of the Python API, where the command has one
    "describe": queryveil.describe,
    "anonymize": queryveil.anonymize,
    "verify": queryveil.verify,
    "export": queryveil.export,
    "datasheet": queryveil.datasheet,
    "measure": queryveil.measure,
    "attack": queryveil.attack,
    "compare": queryveil.compare,
    "why": queryveil.why,
    "profiles": queryveil.write_profiles,
    "index": queryveil.index,
    "reproduce": queryveil.reproduce,
    "search": queryveil.search_index,
    "search-body": queryveil.search_body,
    "sensitivity": queryveil.sensitivity_model,
    "warm": queryveil.warm,
}
OF_THE_COMMAND_LINE = {"as_json", "config", "save_config", "dry_run", "timings"}
ONLY_COMMANDS = {"serve", "list", "generate"}


def request_of(name: str) -> type[OptionGroup]:
    request: type[OptionGroup] = COMMANDS[name].request  # type: ignore[attr-defined]
    return request


def parameters(name: str) -> dict[str, Any]:
    command: Any = typer.main.get_command(app)
    return {each.name: each for each in command.commands[name].params}


def test_every_command_is_a_function_too_or_known_to_have_none() -> None:
    assert set(COMMANDS) == set(FUNCTIONS) | ONLY_COMMANDS


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"generate"}))
def test_the_options_of_a_command_are_those_of_its_request(name: str) -> None:
    options = {each.name: each for each in request_of(name).options() if not each.is_python_only}
    found = parameters(name)
    assert set(found) - OF_THE_COMMAND_LINE == set(options)
    for option in options.values():
        assert found[option.name].required == option.is_required
        assert found[option.name].help.startswith(option.help)
        assert option.is_argument or found[option.name].opts[0].split("/")[0] == option.flag


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_keywords_of_a_function_are_the_options_of_its_command(name: str) -> None:
    signature = inspect.signature(FUNCTIONS[name]).parameters
    options = {each.name: each for each in request_of(name).options()}
    assert set(signature) - {"progress"} == set(options)
    for option in options.values():
        default = signature[option.name].default
        assert default == (inspect.Parameter.empty if option.is_required else option.default) or default is None
        assert f"\n    {option.name}: " in str(FUNCTIONS[name].__doc__)


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"generate"}))
def test_no_option_is_declared_twice_in_a_request(name: str) -> None:
    for spelling in ("name", "flag"):
        spellings = [getattr(each, spelling) for each in request_of(name).options() if getattr(each, spelling)]
        assert len(spellings) == len(set(spellings))


def test_helps_are_sentences() -> None:
    helps = [each.help for name in set(COMMANDS) - {"generate"} for each in request_of(name).options()]
    assert [text for text in helps if not text.endswith((".", "…"))] == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_example_of_a_command_is_a_valid_request(name: str) -> None:
    program, command, *arguments = shlex.split(COMMANDS[name].example)  # type: ignore[attr-defined]
    assert (program, command) == ("queryveil", name)
    parsed: Any = typer.main.get_command(app)
    context = parsed.commands[name].make_context(name, arguments)
    values = {key: value for key, value in context.params.items() if key not in OF_THE_COMMAND_LINE}
    assert isinstance(request_of(name).from_values(values), OptionGroup)


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown.split("Commands:")[1] for name in COMMANDS)
