"""Rendering of the reports' Jinja templates, with the filters that write figures and sentences."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from queryveil.core import display
from queryveil.core.display import counted

if TYPE_CHECKING:
    from jinja2 import Environment

UNKNOWN = "unknown"
_TEXT_NAME = re.compile(r"[a-z_]+\(")


def number(value: int | None) -> str:
    """Return a count with thousands separators."""
    return UNKNOWN if value is None else f"{value:,}"


def percent(value: float | None) -> str:
    """Return a percentage with one decimal, as reports write it."""
    return UNKNOWN if value is None else display.percent(value, gap="")


def amount(value: float | None, unit: str) -> str:
    """Return a figure with its unit; a unit of % gives a percentage."""
    if unit == "%" or value is None:
        return percent(value)
    return f"{value:,.4g} {unit}".rstrip()


def plural(count: int, one: str, many: str) -> str:
    """Return a count followed by the singular or the plural form of what is counted."""
    return f"{number(count)} {one if count == 1 else many}"


def count_range(low: int, high: int | None) -> str:
    """Return a range of counts in words; `high` is None if it is open."""
    if high is None:
        return f"{low:,} or more"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def capitalize_first(text: str) -> str:
    """Return the text with its first letter in upper case; a text name at its beginning, such as km(k=5), stays."""
    return text if _TEXT_NAME.match(text) else f"{text[:1].upper()}{text[1:]}"


def option_value(value: object) -> str:
    """Return the value of an option, which may be nested, in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == "":
        return "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {option_value(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(option_value, value)) or "none"
    return str(value)


def group_notes(notes: Iterable[tuple[str, str]], n_subjects: int, separator: str = ", ") -> list[tuple[str, str]]:
    """Return each distinct note once with its subjects, joined; with "" where it applies to all `n_subjects`.

    `notes` are pairs of a note and its subject; pairs with an empty note are left out.
    """
    subjects: dict[str, list[str]] = {}
    for note, subject in notes:
        if note:
            subjects.setdefault(note, []).append(subject)
    return [(separator.join(about) if len(about) < n_subjects else "", note) for note, about in subjects.items()]


def markdown(text: object) -> Markup:
    """Return a text on one line that Markdown shows as it is; HTML in it is shown, not used."""
    escaped = re.sub(r"([\\`*_{}\[\]<>#|~&!])", r"\\\1", " ".join(str(text).split()))
    return Markup(re.sub(r"^(?=[-+=])|^\d+(?=[.)](?: |$))", r"\g<0>\\", escaped))


FILTERS = (number, percent, amount, plural, counted, capitalize_first, option_value, markdown)


def render(template: str, *, title: str, version: str, **context: Any) -> str:
    """Return a document made from a template; `version` is that of queryveil."""
    return environment().get_template(template).render(title=title, tool=f"queryveil {version}", **context)


@cache
def environment() -> "Environment":
    """Return the Jinja environment: everything is escaped, and a missing variable is an error."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # slow to import, and few commands write a report

    made = Environment(
        loader=FunctionLoader(_read_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update({function.__name__: function for function in FILTERS})
    return made


def _read_template(name: str) -> str | None:
    """Return the source of a template: of ours, or of another package's as "package:path in its templates folder"."""
    package, _, path = name.rpartition(":")
    file = files(package or "queryveil.report").joinpath("templates", *path.split("/"))
    return file.read_text(encoding="utf-8") if file.is_file() else None
