"""What all our pages have in common: static, self-contained, readable in light and dark, on a phone and on paper."""

from collections.abc import Sequence
from importlib.resources import files

from queryveil.report.markup import Markup, tag

# Even if something slipped through, a browser would neither run it nor load anything for it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def document(title: str, tool: str, sections: Sequence[str], *, styles: Sequence[str] = ("style.css",)) -> str:
    """Return a whole page; `tool` names the program and its version."""
    body = tag(
        "body",
        tag("header", tag("p", tool, class_="tool"), tag("h1", title)),
        tag("main", *sections),
        tag("footer", tag("p", f"Written by {tool}. This page runs no script and loads nothing from elsewhere.")),
    )
    return f"<!DOCTYPE html>\n{tag('html', _head(title, styles), body, lang='en')}\n"


def _head(title: str, styles: Sequence[str]) -> Markup:
    # The styles are ours and hold nothing to escape; escaping would break their selectors.
    style = Markup("".join(files("queryveil.report").joinpath(name).read_text(encoding="utf-8") for name in styles))
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", style),
    )
