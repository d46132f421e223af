"""Write the generated reference pages: the help of every command, and everything that has a name.

`python scripts/build_docs.py` writes docs/reference/; a test compares what stands there with what this makes.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from queryveil.core.names import KINDS, Declaration, Parameter, declarations, plural
from queryveil.guarantees import GuaranteeDeclaration
from queryveil.logs.options import Cleaning, Reading
from queryveil.semantics.options import SemanticOptions

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
COMMANDS = (
    "anonymize",
    "verify",
    "measure",
    "attack",
    "sensitivity",
    "compare",
    "why",
    "profiles",
    "index",
    "search",
    "serve",
    "reproduce",
    "generate",
    "list",
)
NOTE = "<!-- Made by scripts/build_docs.py from the declarations; do not edit. -->\n"


def pages() -> dict[str, str]:
    """Return every generated page by file name."""
    return {"commands.md": commands_page(), "names.md": names_page(), "options.md": options_page()}


def commands_page() -> str:
    """Return the help text of every command."""
    parts = [
        NOTE,
        "# Commands\n\n"
        "Results go to stdout, everything else to stderr. Exit codes: 0 done or yes, 1 the answer is no (a claim is\n"
        "violated), 2 bad input or cannot be checked, 70 a bug of queryveil, 130 interrupted.\n",
    ]
    for command in ((), *((name,) for name in COMMANDS)):
        parts.append(f"\n## {' '.join(('queryveil', *command))}\n\n```text\n{_help(command)}```\n")
    return "".join(parts)


def _help(command: tuple[str, ...]) -> str:
    environment = {**os.environ, "COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1"}
    output = subprocess.run(
        [sys.executable, "-m", "queryveil", *command, "--help"], check=True, capture_output=True, env=environment
    ).stdout.decode()
    lines = [line.rstrip() for line in output.replace("python -m queryveil", "queryveil").strip().splitlines()]
    return "\n".join(lines) + "\n"


def names_page() -> str:
    """Return everything that has a name, kind by kind."""
    parts = [NOTE, "# Names\n\nWhat can stand in a text name such as `km(k=10, m=2, target=users)`.\n"]
    for kind in KINDS:
        parts.append(f"\n## {plural(kind)}\n")
        parts += [_declaration(declaration) for declaration in declarations(kind).values()]
    return "".join(parts)


def _declaration(declaration: Declaration) -> str:
    text = f"\n### `{declaration.signature()}`\n\n{_sentence(declaration.purpose)}\n"
    if declaration.parameters:
        text += "\n| parameter | values | default | purpose |\n|---|---|---|---|\n"
        text += "".join(_parameter_row(parameter) for parameter in declaration.parameters)
    if isinstance(declaration, GuaranteeDeclaration):
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
    if parameter.is_optional:
        default = "none"
    return f"| `{parameter.name}` | {parameter.type.describe()} | {default} | {parameter.purpose} |\n"


def options_page() -> str:
    """Return the options of reading, cleaning and meaning."""
    parts = [
        NOTE,
        "# Options of reading, cleaning and meaning\n\n"
        'On the command line with two dashes (`--bot-session gap`), in Python as keywords (`bot_session="gap"`).\n',
    ]
    for title, group in (("Reading", Reading), ("Cleaning", Cleaning), ("Meaning", SemanticOptions)):
        parts.append(f"\n## {title}\n\n| option | default | what it does |\n|---|---|---|\n")
        for parameter in group.options():
            default = "" if parameter.default in ("", None) else f"`{parameter.default}`"
            parts.append(f"| `{parameter.flag}` | {default} | {parameter.help.replace('|', chr(92) + '|')} |\n")
    return "".join(parts)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


if __name__ == "__main__":
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, page in pages().items():
        (REFERENCE / name).write_text(page)
        print(f"wrote docs/reference/{name}")
