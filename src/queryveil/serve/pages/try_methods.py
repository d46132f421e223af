"""The page to try methods on a log: a form made from the declarations, the queue, and a comparison of all runs."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import InputError, QueryveilError
from queryveil.core.names import Integer, Name, Parameter, Real, nearest, parse_sweep, resolve
from queryveil.kinds.base import kind_of
from queryveil.kinds.log import KEEPABLE
from queryveil.methods.base import Method
from queryveil.serve.context import ContextDep, FormDep, ServerContext
from queryveil.serve.declarations import (
    CLEANING,
    SEMANTICS,
    SUGGESTED_VALUES,
    form_fields,
    local_methods,
    read_options,
    suggested_value,
)
from queryveil.serve.pages.comparison import compare_runs
from queryveil.serve.records import LogRow, free_name
from queryveil.serve.rendering import page, redirect
from queryveil.serve.run_specs import AnonymizeSpec
from queryveil.serve.store import ConflictError
from queryveil.workflows.requests import ReleaseRequest

router = APIRouter()
MOST_RUNS = 60  # of one sweep
_FILE_HELP = {each.name: each.help for each in ReleaseRequest.options() if each.name in AnonymizeSpec.file_fields}
FILES = {name: _FILE_HELP[name] for name in AnonymizeSpec.file_fields}
_OPTIONS = (*CLEANING, *SEMANTICS)
_NO_VALUES: Mapping[str, str] = {}


@router.get("/try")
def show_form(
    request: Request, context: ContextDep, log: Annotated[str, Query()] = "", method: Annotated[str, Query()] = ""
) -> HTMLResponse:
    """Show the form of a method, and the runs on the log."""
    logs = context.store.logs()
    if not logs:
        return page(request, "try_nothing.html")
    chosen = context.store.log(log) if log else logs[0]
    return _page(request, context, chosen, _method(method) if method else local_methods()[0])


@router.post("/try")
def submit_form(request: Request, context: ContextDep, form: FormDep) -> Response:
    """Start the run, or all runs of the sweep, that the form describes."""
    log, method = context.store.log(form.get("log", "")), _method(form.get("method", ""))
    try:
        for name, asked in _read_form(context, method, form):
            context.jobs.start(asked, name, log=log.id)
    except QueryveilError as error:
        return _page(request, context, log, method, form, error)
    return redirect(f"/try?log={log.id}&method={method.name}#runs")


def _page(
    request: Request,
    context: ServerContext,
    log: LogRow,
    method: Method,
    values: Mapping[str, str] = _NO_VALUES,
    error: QueryveilError | None = None,
) -> HTMLResponse:
    rows = context.store.runs(log=log.id, kind="anonymize")
    fields = form_fields(method.parameters)
    shown = [each for each in fields if each.required or each.name in ("target", *method.one_of)]
    needs_semantics = bool({"network", "hierarchy"} & set(method.inputs))
    keepable = dict.fromkeys(column for name in method.kinds for column in kind_of(name).keepable)
    return page(
        request,
        "try.html",
        status=200 if error is None else 409 if isinstance(error, ConflictError) else 422,
        logs=context.store.logs(),
        log=log,
        methods=local_methods(),
        method=method,
        shown=shown,
        more=[each for each in fields if each not in shown],
        cleaning=form_fields(CLEANING),
        meaning=form_fields(SEMANTICS) if needs_semantics else [],
        keepable=tuple(keepable),
        files=[path for path, _ in context.logs.files()],
        file_options=FILES,
        values={**_initial_values(method), **values},
        was_sent=bool(values),
        error=error,
        errors={} if error is None else {error.field: str(error)},
        rows=rows,
        families=compare_runs(rows, context.jobs),
    )


def _method(name: str) -> Method:
    methods = {method.name: method for method in local_methods()}
    if name not in methods:
        raise InputError(f"there is no method {name!r}; {nearest(name, methods)}", field="method")
    return methods[name]


def _initial_values(method: Method) -> dict[str, str]:
    """Return the texts of the form's fields before anything is filled in."""
    values = {parameter.name: suggested_value(parameter) for parameter in (*method.parameters, *_OPTIONS)}
    return values | {name: str(SUGGESTED_VALUES[name]) for name in method.one_of[:1] if name in SUGGESTED_VALUES}


def _read_form(context: ServerContext, method: Method, form: Mapping[str, str]) -> list[tuple[str, AnonymizeSpec]]:
    """Return the name and the spec of each run that a form describes, or raise if one is not valid."""
    names = parse_sweep(_text_name(method, form))
    if len(names) > MOST_RUNS:
        raise InputError(f"a sweep of {len(names):,} runs is too large here; ask for at most {MOST_RUNS} at once.")
    methods = [resolve("method", name) for name in names]
    for resolved in methods:
        method.check(resolved)
    taken = {run.name for run in context.store.runs(kind="anonymize")}
    prefix = " ".join(form.get("name", "").split())
    common = _common_spec(method, form)
    found = []
    for resolved, name in zip(methods, names, strict=True):
        run_name = _run_name(prefix, name, len(names)) if prefix else free_name(str(resolved), taken)
        if run_name in taken:
            raise ConflictError(f"there is a run named {run_name} already; give another name.", field="name")
        taken.add(run_name)
        found.append((run_name, common.model_copy(update={"method": str(resolved)})))
    return found


def _run_name(prefix: str, name: Name, n_runs: int) -> str:
    """Return the name that was given, followed by the run's parameters if it is one of a sweep."""
    return prefix if n_runs == 1 else f"{prefix}: {', '.join(f'{key}={value}' for key, value in name.arguments)}"


def _text_name(method: Method, form: Mapping[str, str]) -> str:
    """Return the text name that the fields of a form make; several numbers in a field make a sweep (`5|10`)."""
    given = ((parameter.name, _argument(parameter, form)) for parameter in method.parameters)
    return str(Name(method.name, tuple((key, text) for key, text in given if text)))


def _argument(parameter: Parameter, form: Mapping[str, str]) -> str:
    """Return a field as an argument of a text name: several numbers, `2, 5, 10`, become alternatives."""
    text = form.get(parameter.name, "").strip()
    if text == suggested_value(parameter) and parameter.default is not None:
        return ""  # keeps the name short: without default values
    if isinstance(parameter.type, Integer | Real):
        text = "|".join(text.replace("|", ",").replace(",", " ").split())
    return text


def _common_spec(method: Method, form: Mapping[str, str]) -> AnonymizeSpec:
    """Return what the specs of all runs of a form have in common."""
    options = read_options(_OPTIONS, form)
    defaults = {parameter.name: parameter.default for parameter in _OPTIONS}
    files: dict[str, Any] = {name: form.get(name) for name in FILES}
    return AnonymizeSpec(
        method=method.name,
        kind=form.get("kind") if len(method.kinds) > 1 else None,
        keep=[column for column in KEEPABLE if form.get(f"keep_{column}")],
        seed=_seed(form.get("seed", "").strip()),
        options={name: value for name, value in options.items() if value != defaults[name]},
        **files,
    )


def _seed(text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or len(text) > 18:
        raise InputError(f"seed must be a whole number of at least 0, not {text!r}; give another.", field="seed")
    return int(text)
