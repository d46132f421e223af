"""The page that examines what somebody else released: any claim about it, and attacks on it."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated

from fastapi import APIRouter, File, Request, UploadFile
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import InputError, QueryveilError
from queryveil.core.names import declarations
from queryveil.logs.options import ROLES
from queryveil.serve.access import OWNER_ONLY
from queryveil.serve.context import ContextDep, FormDep, ServerContext
from queryveil.serve.fields import suggested_name
from queryveil.serve.other_releases import NOTHING_CHOSEN, AttackOtherSpec, CheckSpec, releases_in
from queryveil.serve.rendering import page, redirect
from queryveil.serve.store import free_name

router = APIRouter(prefix="/check")
_NO_VALUES: Mapping[str, str] = {}


@router.get("")
def show_check_form(request: Request, context: ContextDep) -> HTMLResponse:
    """Offer to verify or attack what somebody else released."""
    return _form_page(request, context)


@router.post("", dependencies=[OWNER_ONLY])
def check(request: Request, context: ContextDep, form: FormDep) -> Response:
    """Start a run that checks a claim about a release, or a file, in the server's folder."""
    try:
        spec = CheckSpec.model_validate({"path": form.get("path", ""), **_check_options(form)})
        run = context.jobs.start(spec, _name(context, "check", spec.path))
    except QueryveilError as error:
        return _form_page(request, context, "folder", form, error)
    return redirect(f"/runs/{run.id}")


@router.post("/upload")
def check_upload(request: Request, context: ContextDep, form: FormDep, file: Annotated[UploadFile, File()]) -> Response:
    """Start a run that checks a claim about a file that was sent."""
    try:
        if not file.filename:
            raise InputError(NOTHING_CHOSEN, field="file")
        name = _name(context, "check", file.filename)
        run = context.jobs.start_on_upload(CheckSpec, _check_options(form), name, file.filename, file.file)
    except QueryveilError as error:
        return _form_page(request, context, "upload", form, error)
    return redirect(f"/runs/{run.id}")


@router.post("/attack", dependencies=[OWNER_ONLY])
def attack_other(request: Request, context: ContextDep, form: FormDep) -> Response:
    """Start a run that attacks a release in the server's folder."""
    try:
        spec = AttackOtherSpec(path=form.get("path", ""), private=form.get("private", ""))
        name = _name(context, "attack_other", spec.path)
        run = context.jobs.start(spec, name, log=form.get("log", ""))
    except QueryveilError as error:
        return _form_page(request, context, "attack", form, error)
    return redirect(f"/runs/{run.id}")


def _check_options(form: Mapping[str, str]) -> dict[str, str | None]:
    """Return the options of a check from a form: the claim, and how a file is read."""
    columns = ",".join(f"{role}={form[role].strip()}" for role in ROLES if form.get(role, "").strip())
    return {"claim": form.get("claim", "").strip() or None, "format": form.get("format", ""), "columns": columns}


def _name(context: ServerContext, kind: str, path: str) -> str:
    """Return a name of a run that no other of its kind has."""
    taken = {run.name for run in context.store.runs(kind=kind)}
    return free_name(PurePath(path).name[:90] or kind.replace("_", " "), taken)


def _form_page(
    request: Request,
    context: ServerContext,
    where: str = "",
    values: Mapping[str, str] = _NO_VALUES,
    error: QueryveilError | None = None,
) -> HTMLResponse:
    """Return the forms, with the values and the error of the one that was sent."""
    releases, private = releases_in(context.settings.folder)
    guarantees = [(suggested_name(each), each.purpose) for each in declarations("guarantee").values()]
    return page(
        request,
        "check.html",
        status=200 if error is None else 422,
        releases=releases,
        private=private,
        files=context.logs.files(),
        logs=context.store.logs(),
        guarantees=guarantees,
        formats=declarations("format"),
        roles=ROLES,
        where=where,
        values=values,
        error=error,
    )
