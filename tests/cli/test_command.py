"""Commands made from declared options: flags, help, defaults and how values arrive."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from queryveil.cli.command import command
from queryveil.core.names import Flag, Integer, Real, Text
from queryveil.core.options import AnyObject, CommaSeparated, LocalPath, OptionGroup, option, required


@dataclass(frozen=True, kw_only=True)
class Errand(OptionGroup):
    """A request with options of every form."""

    goods: tuple[Path, ...] = required(LocalPath(), "What to get.", is_argument=True, is_repeatable=True)
    shop: Path = required(LocalPath(), "Where to.")
    notes: tuple[str, ...] = option((), Text(r"\w+", "a word"), "A note.", flag="--note", is_repeatable=True)
    colours: tuple[str, ...] = option((), CommaSeparated(), "Colours.")
    amount: int = option(3, Integer(minimum=1), "how many", short="-a")
    price: float | None = option(None, Real(), "At most.", metavar="EUR")
    bag: bool = option(True, Flag(), "take a bag")
    fast: bool = option(False, Flag(), "Run.")
    purse: Path | None = option(None, LocalPath(), "The purse.", default_text="~/purse")
    friend: Any = option(None, AnyObject(), "A friend.", is_python_only=True)


GIVEN: list[tuple[Errand, bool]] = []


@command(Errand, json="Print JSON.")
def errand(request: Errand, as_json: bool) -> int:
    """Run an errand."""
    GIVEN.append((request, as_json))
    return 3


@command(Errand)
def quiet(request: Errand, as_json: bool) -> int:
    """Run an errand without telling."""
    return 0


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command("errand")(errand)
app.command("quiet")(quiet)


def call(*arguments: str) -> tuple[Errand, bool]:
    GIVEN.clear()
    assert CliRunner().invoke(app, ["errand", *arguments], standalone_mode=False).return_value == 3
    return GIVEN[0]


def test_options_not_given_have_their_defaults() -> None:
    request, as_json = call("milk", "--shop", "corner")
    assert request == Errand(goods=(Path("milk"),), shop=Path("corner"))
    assert (request.bag, request.fast, request.notes, as_json) == (True, False, (), False)


def test_values_are_converted_to_their_types() -> None:
    arguments = ["--note", "a", "--note", "b", "--colours", "red, blue", "-a", "5", "--price", "1.5", "--purse", "p"]
    request, as_json = call("milk", "tea", "--shop", "corner", *arguments, "--no-bag", "--fast", "--json")
    assert request.goods == (Path("milk"), Path("tea"))
    assert (request.notes, request.colours, request.amount, request.price) == (("a", "b"), ("red", "blue"), 5, 1.5)
    assert (request.bag, request.fast, request.purse, as_json) == (False, True, Path("p"), True)


def test_help_shows_sentences_defaults_and_placeholders() -> None:
    shown = " ".join(CliRunner().invoke(app, ["errand", "--help"], terminal_width=200).output.split())
    for text in (
        "Run an errand.",
        "What to get. [required]",
        "Where to. [required]",
        "-a, --amount N How many (a whole number of at least 1). [default: 3]",
        "--price EUR At most.",
        "--bag / --no-bag Take a bag. [default: bag]",
        "--fast Run.",
        "--note TEXT A note.",
        "The purse. [default: (~/purse)]",
        "--json Print JSON.",
    ):
        assert text in shown
    assert "friend" not in shown
    assert "--json" not in CliRunner().invoke(app, ["quiet", "--help"]).output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["milk", "--shop", "s", "--amount", "x"], "it must be a whole number of at least 0, not 'x'; give another"),
        (["milk", "--shop", "s", "--amount", "-2"], "it must be a whole number of at least 0, not '-2'; give another"),
        (["milk", "--shop", "s", "--amount", "0"], "--amount must be a whole number of at least 1, not 0"),
        (["milk", "--shop", "s", "--note", "?"], "--note must be a word, not ?"),
        (["milk"], "--shop"),
        (["--shop", "s"], "goods"),
    ],
)
def test_wrong_values_are_refused(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(app, ["errand", *arguments], standalone_mode=False)
    error = result.exception
    assert sentence in (error.format_message() if isinstance(error, typer.TyperException) else str(error))
