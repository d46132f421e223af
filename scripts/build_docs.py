"""Write the generated reference pages: commands, Python functions, options, names and the release folder.

`python -m scripts.build_docs` writes docs/reference/; a test compares what stands there with what this makes.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import queryveil
from queryveil.cli import COMMANDS, app
from queryveil.core.names import CATEGORIES, Declaration, Parameter, declarations, plural
from queryveil.core.options import Option, OptionGroup
from queryveil.engines import EngineOptions
from queryveil.guarantees import Guarantee
from queryveil.logs.options import CleaningOptions, ReadingOptions
from queryveil.semantics import SemanticOptions
from scripts.release_page import release_page

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
GROUPS: Mapping[str, type[OptionGroup]] = {
    "Reading": ReadingOptions,
    "Cleaning": CleaningOptions,
    "Meaning": SemanticOptions,
    "Engine": EngineOptions,
}
NOTE = "<!-- Made by scripts/build_docs.py from the declarations; do not edit. -->\n"


@cache
def pages() -> dict[str, str]:
    """Return every generated page by file name."""
    return {
        "commands.md": commands_page(),
        "names.md": names_page(),
        "options.md": options_page(),
        "python.md": python_page(),
        "release.md": NOTE + release_page(),
    }


def commands_page() -> str:
    """Return the help text of every command."""
    parts = [
        NOTE,
        "# Commands\n\n"
        "Results go to stdout, everything else to stderr. Exit codes: 0 done or yes, 1 the answer is no (a claim is\n"
        "violated), 2 bad input or cannot be checked, 70 a bug of queryveil, 130 interrupted, 141 nobody reads the\n"
        "output.\n",
    ]
    for command in ((), *((name,) for name in COMMANDS)):
        parts.append(f"\n## {' '.join(('queryveil', *command))}\n\n```text\n{_help(command)}```\n")
    return "".join(parts)


def _help(command: tuple[str, ...]) -> str:
    result = CliRunner().invoke(app, [*command, "--help"], prog_name="queryveil", terminal_width=98)
    if result.exit_code:
        raise RuntimeError(f"queryveil {' '.join(command)} --help fails: {result.output}")
    return "\n".join(line.rstrip() for line in result.output.strip().splitlines()) + "\n"


def names_page() -> str:
    """Return everything that has a name, kind by kind."""
    parts = [NOTE, "# Names\n\nWhat can stand in a text name such as `km(k=10, m=2, target=users)`.\n"]
    for kind in CATEGORIES:
        parts.append(f"\n## {plural(kind)}\n")
        parts += [_declaration(declaration) for declaration in declarations(kind).values()]
    return "".join(parts)


def _declaration(declaration: Declaration) -> str:
    text = f"\n### `{declaration.signature()}`\n\n{_sentence(declaration.marked_purpose)}\n"
    if declaration.parameters:
        text += "\n| parameter | values | default | purpose |\n|---|---|---|---|\n"
        text += "".join(_parameter_row(parameter) for parameter in declaration.parameters)
    if isinstance(declaration, Guarantee):
        limits = [*declaration.limits]
        for principle, form in declaration.principles.items():
            text += f"\n`{principle}`: {_without_braces(form.promise)}\n"
            limits += [f"`{principle}`: {limit}" for limit in form.limits]
        text += "\nIts limits:\n\n" + "".join(f"- {_without_braces(limit)}\n" for limit in limits)
    if declaration.paper:
        text += f"\nPaper: {declaration.paper}.\n"
    return text


def _without_braces(text: str) -> str:
    return re.sub(r"[{}]", "", text)


def _parameter_row(parameter: Parameter) -> str:
    default = "required" if parameter.default is None else f"`{parameter.default}`"
    if parameter.may_be_omitted:
        default = "none"
    return f"| `{parameter.name}` | {parameter.type.describe()} | {default} | {parameter.purpose} |\n"


def options_page() -> str:
    """Return the options that several commands share."""
    parts = [
        NOTE,
        "# Options of reading, cleaning, meaning and engines\n\n"
        'On the command line with two dashes (`--bot-session gap`), in Python as keywords (`bot_session="gap"`).\n',
    ]
    for title, group in GROUPS.items():
        parts.append(f"\n## {title}\n\n| option | default | what it does |\n|---|---|---|\n")
        for option in group.options():
            name = f"{option.name}=… (Python only)" if option.is_python_only else f"`{option.flag}`"
            parts.append(f"| {name} | {_default(option)} | {_cell(option.help)} |\n")
    return "".join(parts)


def _default(option: Option) -> str:
    if option.is_required:
        return "required"
    shown = option.default_text or option.default
    return "" if shown in ("", None, ()) else f"`{shown}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def python_page() -> str:
    """Return every public function with its parameters, what it returns and raises, and an example."""
    parts = [
        NOTE,
        "# Python\n\n"
        "The functions of `import queryveil`; `help(queryveil.anonymize)` shows all keywords of one.\n"
        "A log is a path, several paths, an opened log, or a pandas, Polars or Arrow table.\n"
        "A release is a folder, what `load` returns, or the result of `anonymize`.\n"
        "A test runs the examples in a folder with `log.tsv`, which the example of `generate` makes.\n"
        "The [notebook](../tutorial.ipynb) goes from a table to an attacked release.\n",
    ]
    for name in queryveil.__all__:
        value = getattr(queryveil, name)
        if inspect.isclass(value) and issubclass(value, Exception):
            base = "" if value.__bases__ == (Exception,) else f" It is a kind of `{value.__bases__[0].__name__}`."
            parts.append(f"\n## `{name}`\n\n{inspect.getdoc(value)}{base}\n")
        elif callable(value):
            parts.append(_function(f"## `{name}", value))
            methods = vars(value).items() if inspect.isclass(value) else ()
            shown = ((word, each) for word, each in methods if not word.startswith("_") and callable(each))
            parts += [_function(f"### `{name}.{word}", method) for word, method in shown]
    return "".join(parts)


def _function(heading: str, function: Callable[..., Any]) -> str:
    """Return the sections of a docstring as Markdown; options that many functions share are only linked."""
    summary, *rest = re.split(r"\n\n(Parameters|Returns|Raises|Example):\n", inspect.getdoc(function) or "")
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    text = f"\n{heading}{_positional(function)}`\n\n{summary}\n"
    request: type[OptionGroup] | None = getattr(function, "request", None)
    if request is not None:
        text += _option_table(request, function)
    elif "Parameters" in sections:
        rows = (line.strip().partition(": ") for line in sections["Parameters"].splitlines())
        text += "\n| parameter | what it is |\n|---|---|\n" + "".join(f"| `{a}` | {_cell(b)} |\n" for a, _, b in rows)
    for title in ("Returns", "Raises"):
        text += f"\n{title}: {_joined(sections[title])}\n" if title in sections else ""
    return text + (f"\n```pycon\n{inspect.cleandoc(sections['Example'])}\n```\n" if "Example" in sections else "")


def _option_table(request: type[OptionGroup], function: Callable[..., Any]) -> str:
    parameters = inspect.signature(function).parameters
    shared = {title: group for title, group in GROUPS.items() if set(group.options()) <= set(request.options())}
    in_groups = {option.name for group in shared.values() for option in group.options()}
    text = "\n| parameter | default | what it is |\n|---|---|---|\n"
    for option in request.options():
        if option.name not in in_groups:
            is_given = option.is_required and parameters[option.name].default is None  # or in memory, or by a result
            text += f"| `{option.name}` | {'' if is_given else _default(option)} | {_cell(option.keyword_help)} |\n"
    links = ", ".join(f"[{title.lower()}](options.md#{title.lower()})" for title in shared)
    return text + (f"\nBesides: the options of {links}.\n" if links else "")


def _positional(function: Callable[..., Any]) -> str:
    """Return the parameters that can be given by position, and … where there are keywords besides."""
    parameters = [each for name, each in inspect.signature(function).parameters.items() if name != "self"]
    shown = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    return f"({', '.join([*shown, *(['…'] if len(shown) < len(parameters) else [])])})"


def _joined(text: str) -> str:
    return " ".join(text.split())


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


if __name__ == "__main__":
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, page in pages().items():
        (REFERENCE / name).write_text(page)
        print(f"wrote docs/reference/{name}")
