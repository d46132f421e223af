"""Commands made from declared options: flags, help, defaults and how values arrive."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from queryveil.cli.command import add_command, command, read_config, save_config, workflow_command
from queryveil.core.errors import InputError, OutputError
from queryveil.core.names import Flag, Integer, Real, Text, Word
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
    advice: str = option("none", Word(("none", "much")), "advice to take", panel="Advice")


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


@dataclass(frozen=True)
class Done:
    """The result of an errand."""

    request: Errand
    exit_code: int = 3

    def record(self) -> str:
        """Return everything for JSON."""
        GIVEN.append((self.request, True))
        return "done"


def run_errand(request: Errand, progress: object) -> Done:
    return Done(request)


@workflow_command(Errand, f"{__name__}:run_errand", json="Print JSON.", example="shop run milk --shop corner")
def run(result: Done, request: Errand) -> None:
    """Run an errand as a workflow: with configuration files."""
    GIVEN.append((result.request, False))


app = typer.Typer(rich_markup_mode=None, add_completion=False)
for name, function in {"errand": errand, "quiet": quiet, "run": run}.items():
    add_command(app, name, function)


def call(*arguments: str, command: str = "errand") -> tuple[Errand, bool]:
    GIVEN.clear()
    assert CliRunner().invoke(app, [command, *arguments], standalone_mode=False).return_value == 3
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
        (["--shop", "s"], "GOODS"),
    ],
)
def test_wrong_values_are_refused(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(app, ["errand", *arguments], standalone_mode=False)
    error = result.exception
    assert sentence in (error.format_message() if isinstance(error, typer.TyperException) else str(error))


def test_help_has_a_section_per_panel_and_ends_with_the_example() -> None:
    shown = CliRunner().invoke(app, ["run", "--help"], terminal_width=200).output
    headings = [line[:-1] for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Arguments", "Options", "Advice", "This command"]
    assert shown.rstrip().endswith("Example:\n    shop run milk --shop corner")


def test_a_configuration_file_gives_defaults_and_the_command_line_takes_precedence(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(
        'goods = ["milk", "tea"]\nshop = "corner"\nnotes = ["a"]\ncolours = ["red", "blue"]\namount = 5\nbag = false\n'
    )
    request, _ = call("--config", str(file), command="run")
    assert request == Errand(
        goods=(Path("milk"), Path("tea")),
        shop=Path("corner"),
        notes=("a",),
        colours=("red", "blue"),
        amount=5,
        bag=False,
    )
    request, _ = call("bread", "--config", str(file), "--amount", "7", "--bag", command="run")
    assert (request.goods, request.amount, request.bag, request.notes) == ((Path("bread"),), 7, True, ("a",))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("amuont = 3", "there is no option 'amuont'; did you mean amount?"),
        ("friend = 3", "there is no option 'friend'"),
        ("amount = 0", "amount must be a whole number of at least 1, not 0"),
        ('amount = "many"', "amount must be a whole number of at least 1, not many"),
        ("fast = 1", "fast must be true or false, not 1"),
        ("shop = 7", "shop must be a path, not 7"),
        ("amount == 3", "is not TOML: Invalid value"),
    ],
)
def test_wrong_configuration_files_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        read_config(file, Errand)
    assert str(refused.value).startswith(f"--config: {file}")
    assert sentence in str(refused.value)


def test_a_missing_configuration_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file or directory; check the path"):
        read_config(tmp_path / "none.toml", Errand)


def test_saved_options_give_the_same_run_again(tmp_path: Path) -> None:
    file, awkward = tmp_path / "run.toml", 'a "quoted" \\ path\x7f\n'
    given = [awkward, "tea", "--shop", "corner", "--note", "a", "--colours", "red, blue", "--price", "1.5", "--no-bag"]
    first, _ = call(*given, "--save-config", str(file), command="run")
    again, _ = call("--config", str(file), command="run")
    assert again == first
    assert "amount" not in file.read_text()  # a default
    with pytest.raises(OutputError, match="exists already"):
        save_config(file, first, {}, overwrite=False)


def test_words_and_names_are_completed() -> None:
    parameters = {each.name: each for each in typer.main.get_command(app).commands["run"].params}  # type: ignore[attr-defined]
    context = typer.Context(typer.main.get_command(app))
    assert [item.value for item in parameters["advice"].shell_complete(context, "m")] == ["much"]
