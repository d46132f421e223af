"""The page to try methods on a log: a form made from the declarations, the queue, and a comparison of all runs."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import InputError, QueryveilError
from queryveil.core.names import Integer, Name, Parameter, Real, nearest, parse_sweep, resolve
from queryveil.core.options import CommaSeparated
from queryveil.engines.kept_columns import FORMS, KeptColumn
from queryveil.kinds.base import kind_of
from queryveil.methods.base import Method
from queryveil.serve import fields
from queryveil.serve.access import is_by_owner
from queryveil.serve.context import ContextDep, FormDep, ServerContext, check_files
from queryveil.serve.pages.comparison import compare_runs
from queryveil.serve.rendering import page, redirect, status_of
from queryveil.serve.run_specs import MOST_RUNS, AnonymizeSpec
from queryveil.serve.store import ConflictError, LogRow, RunRow, free_name

router = APIRouter()
_OPTIONS = (*fields.CLEANING, *fields.SEMANTICS)
_SPEC_OPTIONS = tuple(each for each in AnonymizeSpec.declared if each.name != "method")
_NO_VALUES: Mapping[str, str] = {}


@router.get("/try")
def show_form(
    request: Request,
    context: ContextDep,
    log: Annotated[str, Query()] = "",
    method: Annotated[str, Query()] = "",
    like: Annotated[str, Query(description="a run whose settings the form starts with")] = "",
) -> HTMLResponse:
    """Show the form of a method, filled in as for another run or as the address says, and the runs on the log."""
    logs = context.store.logs()
    if not logs:
        return page(request, "try_nothing.html")
    values: Mapping[str, str] = request.query_params
    if like:
        row = context.store.run(like)
        log, (method, values) = log or row.log or "", settings_of(row)
    selected = context.store.log(log) if log else logs[0]
    return _page(request, context, selected, _method(method) if method else fields.local_methods()[0], values)


def settings_of(run: RunRow) -> tuple[str, dict[str, str]]:
    """Return the method of a run and the values of a form that describes it again, without its name."""
    if run.kind != "anonymize":
        raise InputError("only the settings of a run of a method can be used again; choose one.", field="like")
    spec, resolved = AnonymizeSpec(**run.spec), resolve("method", run.spec["method"])
    values = {**resolved.values, **spec.options}
    for each in _SPEC_OPTIONS:
        value = getattr(spec, each.name)
        if isinstance(each.type, CommaSeparated):
            values |= {f"{each.name}.{word}": "1" for word in value or ()}
        elif value is not None:
            values[each.name] = value
    return resolved.declaration.name, {name: fields.form_text(value) for name, value in values.items()}


@router.post("/try")
def start_runs(request: Request, context: ContextDep, form: FormDep) -> Response:
    """Start the run, or all runs of the sweep, that the form describes."""
    log, method = context.store.log(form.get("log", "")), _method(form.get("method", ""))
    try:
        runs = _read_form(context, log, method, form)
        check_files(request, *(spec for _, spec in runs))
        context.jobs.start_all(runs, log=log.id)
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
    controls = [fields.form_field(each) for each in method.parameters]
    shown = [each for each in controls if each.required or each.name in ("target", *method.one_of)]
    needs_semantics = bool({"network", "hierarchy"} & set(method.inputs))
    groups = {
        "": [each for each in controls if each not in shown] + _spec_fields(request, context, method),
        "How the log is cleaned first": [fields.form_field(each) for each in fields.CLEANING],
        "How meanings are compared": [fields.form_field(each) for each in fields.SEMANTICS] if needs_semantics else [],
    }
    known = {"name", *(each.name for controls in (shown, *groups.values()) for each in controls)}
    return page(
        request,
        "try.html",
        status=200 if error is None else status_of(error),
        logs=context.store.logs(),
        log=log,
        methods=fields.local_methods(),
        method=method,
        shown=shown,
        groups=groups,
        values={**_initial_values(method), **values},
        has_values=bool(set(values) & known),
        error=error,
        is_at_field=error is not None and error.field in known,
        errors={} if error is None else {error.field: str(error)},
        rows=rows,
        n_released=sum(row.state == "done" for row in rows),
        families=compare_runs(rows, context.jobs),
    )


def _initial_values(method: Method) -> dict[str, str]:
    """Return what the form of a method holds at first."""
    initial = {each.name: fields.suggested_value(each) for each in (*method.parameters, *_OPTIONS)}
    suggested = (name for name in method.one_of[:1] if name in fields.SUGGESTED_VALUES)
    return initial | {name: str(fields.SUGGESTED_VALUES[name]) for name in suggested}


def _spec_fields(request: Request, context: ServerContext, method: Method) -> list[fields.FieldOut]:
    """Return the controls of a run's own options, without those for which there is nothing to choose."""
    columns = dict.fromkeys(column for name in method.kinds for column in kind_of(name).keepable)
    kept = tuple(str(KeptColumn(name, form)) for name in columns for form in FORMS[name])
    files = [path for path, _ in context.logs.files()] if is_by_owner(request) else []
    choices = {"kind": method.kinds if len(method.kinds) > 1 else (), "keep": kept}
    controls = [fields.form_field(each, files if each.is_path else choices.get(each.name)) for each in _SPEC_OPTIONS]
    return [each for each in controls if each.choices or each.type not in ("word", "words", "file")]


def _method(name: str) -> Method:
    methods = {method.name: method for method in fields.local_methods()}
    if name not in methods:
        raise InputError(f"there is no method {name!r}; {nearest(name, methods)}", field="method")
    return methods[name]


def _read_form(
    context: ServerContext, log: LogRow, method: Method, form: Mapping[str, str]
) -> list[tuple[str, AnonymizeSpec]]:
    """Return the name and the spec of each run that a form describes, or raise if one is not valid."""
    given = ((parameter.name, _argument(parameter, form)) for parameter in method.parameters)
    names = parse_sweep(str(Name(method.name, tuple((key, text) for key, text in given if text))))
    if len(names) > MOST_RUNS:
        raise InputError(f"a sweep of {len(names):,} runs is too large here; ask for at most {MOST_RUNS} at once.")
    methods = [resolve("method", name) for name in names]
    taken = {run.name for run in context.store.runs(kind="anonymize", log=log.id)}
    prefix = " ".join(form.get("name", "").split())
    common = _common_spec(method, form)
    found = []
    for resolved, name in zip(methods, names, strict=True):
        of_sweep = f": {', '.join(f'{key}={value}' for key, value in name.arguments)}" if len(names) > 1 else ""
        run_name = f"{prefix}{of_sweep}" if prefix else free_name(str(resolved), taken)
        if run_name in taken:
            raise ConflictError(f"there is a run named {run_name} already; give another name.", field="name")
        taken.add(run_name)
        found.append((run_name, common.model_copy(update={"method": str(resolved)})))
    return found


def _argument(parameter: Parameter, form: Mapping[str, str]) -> str:
    """Return a field as an argument of a text name: several numbers, `2, 5, 10`, become alternatives."""
    text = form.get(parameter.name, "").strip()
    if text == fields.suggested_value(parameter) and parameter.default is not None:
        return ""  # keeps the name short: without default values
    if isinstance(parameter.type, Integer | Real):
        text = "|".join(text.replace("|", ",").replace(",", " ").split())
    return text


def _common_spec(method: Method, form: Mapping[str, str]) -> AnonymizeSpec:
    """Return what the specs of all runs of a form have in common."""
    defaults = {each.name: each.default for each in _OPTIONS}
    options = {name: value for name, value in fields.read_options(_OPTIONS, form).items() if value != defaults[name]}
    values = fields.read_options(_SPEC_OPTIONS, form)
    for each in _SPEC_OPTIONS:
        if isinstance(each.type, Integer) and each.name in values:
            each.check(values[each.name], each.name)
    return AnonymizeSpec.model_validate({**values, "method": method.name, "options": options})
