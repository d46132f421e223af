"""HTML pages from Jinja templates: the environment, its filters, error pages and redirects.

Templates escape all values; addresses of static files contain a digest of the file, so that browsers may cache them.
"""

import hashlib
import re
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.templating import Jinja2Templates
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from queryveil._version import __version__
from queryveil.core.errors import QueryveilError
from queryveil.core.names import resolve
from queryveil.methods.base import method_of
from queryveil.report.release_report import measure_notes
from queryveil.report.rendering import amount, capitalize_first, count_range, number, percent, plural
from queryveil.serve.access import is_by_owner, visitor_of
from queryveil.serve.context import context_of
from queryveil.serve.fields import with_fields
from queryveil.serve.progress_text import format_duration, progress_text
from queryveil.serve.store import ConflictError, QuotaError, RunRow, TooLargeError, UnknownIdError

_FOLDER = Path(__file__).resolve().parent
TEMPLATES, STATIC = _FOLDER / "templates", _FOLDER / "static"
_STATUS: dict[type[QueryveilError], int] = {
    UnknownIdError: 404,
    ConflictError: 409,
    TooLargeError: 413,
    QuotaError: 507,
}
_UNITS = ("B", "kB", "MB", "GB", "TB")
PRODUCTS = {
    "anonymize": "release",
    "verify": "verification",
    "measure": "measures",
    "attack": "attacks",
    "datasheet": "datasheet",
    "statistics": "statistics",
    "index": "index",
    "check": "verification of another's release",
    "attack_other": "attacks on another's release",
}
_OPTION_NAMES = {"keep_floor": "least people per kept value"}


def make_templates() -> Jinja2Templates:
    """Return the template environment with its globals and filters."""
    templates = Jinja2Templates(TEMPLATES, context_processors=[_common_values])
    templates.env.globals |= {"static": static_address, "zip": zip}
    texts = (with_fields, option_name, label_of, code_marks, product_of, caution_of)
    formats = (*texts, format_time, format_size, format_duration, format_amount)
    templates.env.filters["pairs"] = pairs
    for function in (*formats, measure_notes, capitalize_first, number, percent, plural, count_range):
        templates.env.filters[function.__name__] = function
    templates.env.trim_blocks = templates.env.lstrip_blocks = True
    return templates


def _common_values(request: Request) -> dict[str, Any]:
    """Return the values that every template may use: the form token, the version, the settings, who looks, progress."""
    context = context_of(request)
    return {
        "csrf": request.state.csrf,
        "version": __version__,
        "settings": context.settings,
        "progress_of": lambda run: progress_text(run, context.jobs.seconds_left(run.id)),
        "visitor": visitor_of(request),
        "is_owner": is_by_owner(request),
    }


@cache
def static_address(name: str) -> str:
    """Return the address of a static file, which changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page made from a template."""
    templates: Jinja2Templates = request.app.state.templates
    return templates.TemplateResponse(request, template, values, status_code=status)


def status_of(error: QueryveilError) -> int:
    """Return the status of the response to a request that raised an error."""
    return _STATUS.get(type(error), 422)


def problem(request: Request, status: int, sentence: str, field: str = "") -> Response:
    """Return an error as JSON to programs and as a page to browsers."""
    sentence = sentence.encode(errors="replace").decode()  # a lone surrogate cannot be encoded
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": sentence, "field": field or None}, status)
    return page(request, "error.html", status=status, sentence=sentence, field=field, code=status)


def redirect(address: str) -> RedirectResponse:
    """Redirect the browser after a form, so that a reload does not send the form twice."""
    return RedirectResponse(address, 303)


def format_time(moment: str) -> str:
    """Return a stored time in the server's time zone."""
    return datetime.fromisoformat(moment).astimezone().strftime("%-d %b %Y, %H:%M")


def format_size(n_bytes: int | None) -> str:
    """Return a number of bytes in a suitable unit."""
    if n_bytes is None:
        return "–"
    left, unit = float(n_bytes), 0
    while left >= 1000 and unit < len(_UNITS) - 1:
        left, unit = left / 1000, unit + 1
    return f"{left:.0f} {_UNITS[unit]}" if unit < 2 else f"{left:.1f} {_UNITS[unit]}"


def format_amount(value: float | None, unit: str = "%") -> str:
    """Return a figure with its unit, or a dash if there is none."""
    return "–" if value is None else amount(value, unit)


def caution_of(run: RunRow) -> str:
    """Return in a few words what the guarantee of a run that makes a release is if that is no anonymity."""
    if run.kind != "anonymize":
        return ""
    method = resolve("method", run.spec["method"])
    return method_of(method).caution(method)


def pairs(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return texts as choices of a form: value and words are the same."""
    return [(text, text) for text in texts]


def option_name(name: str) -> str:
    """Return an option's name as people read it."""
    return _OPTION_NAMES.get(name, name.replace("_", " "))


def label_of(name: str) -> str:
    """Return the label of an option's control; a parameter of one letter stays as it is in the text name."""
    return name if len(name) == 1 else capitalize_first(option_name(name))


def code_marks(text: str) -> Markup:
    """Return a text as HTML in which what stands between backticks is code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def product_of(run: RunRow) -> str:
    """Return what a run makes, in a word."""
    return PRODUCTS[run.kind]
