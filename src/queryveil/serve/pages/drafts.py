"""Pages of drafts: how a log would be read, and its columns to be corrected, before it is added."""

from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import QueryveilError
from queryveil.core.names import declarations
from queryveil.logs.options import ROLES, ReadingOptions
from queryveil.serve.access import OWNER_ONLY
from queryveil.serve.context import ContextDep, FormDep, ServerContext
from queryveil.serve.fields import form_field, with_fields
from queryveil.serve.rendering import page, redirect, status_of
from queryveil.serve.store import DraftRow

router = APIRouter(dependencies=[OWNER_ONLY])
_FORMAT = next(each for each in ReadingOptions.options() if each.name == "format")


@router.get("/drafts/{draft}")
def show_draft(request: Request, context: ContextDep, draft: str) -> HTMLResponse:
    """Show how a draft would be read."""
    return _draft_page(request, context, context.store.draft(draft))


@router.post("/drafts/{draft}")
def change_draft(request: Request, context: ContextDep, form: FormDep, draft: str) -> Response:
    """Read a draft differently, and show it again or add it as a log."""
    row = context.store.draft(draft)
    try:
        context.drafts.change(draft, name=form.get("name", "").strip() or row.name, reading=_reading(form))
        if form.get("action") == "add":
            return redirect(f"/logs/{context.drafts.add(draft).id}")
    except QueryveilError as error:
        return _draft_page(request, context, context.store.draft(draft), form, error)
    return redirect(f"/drafts/{draft}")


@router.post("/drafts/{draft}/discard")
def discard_draft(context: ContextDep, draft: str) -> Response:
    """Delete a draft and the server's copy of its file."""
    context.drafts.discard(draft)
    return redirect("/logs")


@router.post("/logs/{log}/reopen")
def reopen_log(context: ContextDep, log: str) -> Response:
    """Make a log of which nothing was made a draft again."""
    return redirect(f"/drafts/{context.drafts.reopen(log).id}")


def _reading(form: Mapping[str, str]) -> dict[str, str]:
    """Return the reading options of a form: the format, and the column of each role."""
    columns = ",".join(f"{role}={form[role].strip()}" for role in ROLES if form.get(role, "").strip())
    return {"format": form.get("format", ""), "columns": columns}


def _draft_page(
    request: Request,
    context: ServerContext,
    row: DraftRow,
    form: Mapping[str, str] | None = None,
    error: QueryveilError | None = None,
) -> HTMLResponse:
    """Return the page of a draft, with the values and the error of the form that was refused, if any."""
    found, formats = context.drafts.preview(row), declarations("format")
    pairs = (pair.partition("=") for pair in row.reading.get("columns", "").split(",") if pair)
    values = {"name": row.name, "format": row.reading.get("format", ""), **{role: name for role, _, name in pairs}}
    sentence, field = (found.problem, found.field) if error is None else (str(error), error.field)
    errors = {field if field in ("name", "format", "columns") else "file": sentence} if sentence else {}
    return page(
        request,
        "draft.html",
        status=200 if error is None else status_of(error),
        draft=row,
        found=found,
        values={**values, **(form or {})},
        errors=errors,
        roles=ROLES,
        format_field=form_field(_FORMAT, tuple(formats)),
        formats={name: f"{name}: {with_fields(declared.purpose)}" for name, declared in formats.items()},
    )
