"""HTML by function calls: plain text is always escaped, so that no section can forget to."""

from collections.abc import Iterable, Sequence
from html import escape

VOID = frozenset({"meta"})


class Markup(str):
    """Text that is HTML already and must not be escaped again."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: str) -> Markup:
    """Return an element; `class_` stands for class, an underscore within a name for a hyphen."""
    shown = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    if name in VOID:
        return Markup(f"<{name}{shown} />")
    return Markup(f"<{name}{shown}>{join(children)}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Put parts one after the other, escaping those that are plain text."""
    return Markup(between.join(part if isinstance(part, Markup) else escape(part) for part in parts))


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()) -> Markup:
    """Return a table whose first column names the row; `numbers` are the columns to set flush right."""
    classes = ["number" if column in numbers else "words" for column in range(len(heads))]
    head = [tag("th", text, scope="col", class_=css) for text, css in zip(heads, classes, strict=True)]
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(tag("td", cell, class_=css) for cell, css in zip(row[1:], classes[1:], strict=True)),
        )
        for row in rows
    ]
    return tag("table", tag("caption", caption), tag("thead", tag("tr", *head)), tag("tbody", *body))


def facts(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Return a list of names and their values."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs))
