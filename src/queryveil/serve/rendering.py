"""Pages from templates: escaped, with the token of their forms; static files under names that change with them."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.templating import Jinja2Templates
from starlette.responses import HTMLResponse, JSONResponse, Response

from queryveil._version import __version__
from queryveil.serve.words import FILTERS

HERE = Path(__file__).resolve().parent
TEMPLATES, STATIC = HERE / "templates", HERE / "static"


def make_templates() -> Jinja2Templates:
    """Return the templates, with what all of them may use."""
    templates = Jinja2Templates(TEMPLATES, context_processors=[_base])
    templates.env.globals["static"] = static
    templates.env.filters.update(FILTERS)
    templates.env.trim_blocks = templates.env.lstrip_blocks = True
    return templates


def _base(request: Request) -> dict[str, Any]:
    """Return what every page knows: the token of its forms, the version, whether there is a login."""
    return {
        "csrf": request.state.csrf,
        "version": __version__,
        "has_login": request.app.state.settings.token is not None,
        "settings": request.app.state.settings,
    }


@cache
def static(name: str) -> str:
    """Return the address of a static file, which changes with its content, so that it may be cached for good."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def page(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """Return a page made from a template."""
    templates: Jinja2Templates = request.app.state.templates
    return templates.TemplateResponse(request, template, context, status_code=status)


def problem(request: Request, status: int, sentence: str, field: str = "") -> Response:
    """Say what went wrong: to programs as JSON, to people as a page."""
    sentence = sentence.encode(errors="replace").decode()  # half a character cannot be sent
    if request.url.path.startswith("/api/") or not (TEMPLATES / "error.html").exists():
        return JSONResponse({"error": sentence, "field": field or None}, status)
    return page(request, "error.html", status=status, sentence=sentence, field=field, code=status)
