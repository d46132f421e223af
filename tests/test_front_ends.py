"""The front ends offer the same options: those that the requests declare."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import typer.main

import queryveil
from queryveil.cli import COMMANDS, app
from queryveil.core.options import OptionGroup

FUNCTIONS: dict[str, Callable[..., Any]] = {  # command → function of the Python API, where the command has one
    "anonymize": queryveil.anonymize,
    "verify": queryveil.verify,
    "measure": queryveil.measure,
    "attack": queryveil.attack,
    "compare": queryveil.compare,
    "why": queryveil.why,
    "profiles": queryveil.write_profiles,
    "index": queryveil.index,
    "reproduce": queryveil.reproduce,
    "warm": queryveil.warm,
}
ONLY_COMMANDS = {"sensitivity", "search", "serve", "list", "generate"}


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
    assert set(found) - {"as_json"} == set(options)
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
