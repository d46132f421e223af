"""Trying methods on a log: a form made from the declarations, the queue, and all runs side by side."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from queryveil.core.errors import InputError, QueryveilError
from queryveil.core.names import Integer, Name, Parameter, Real, nearest, parse_sweep, resolve
from queryveil.kinds.log import KEEPABLE
from queryveil.logs.options import Cleaning
from queryveil.methods.base import Method
from queryveil.serve import declared
from queryveil.serve.pages.here import Fields, Here, State, free_name, go
from queryveil.serve.pages.side_by_side import families, made_by
from queryveil.serve.pages.suggested import VALUES, suggested
from queryveil.serve.rendering import page
from queryveil.serve.store import ConflictError, LogRow

router = APIRouter()
MOST_RUNS = 60  # of one sweep
FILES = {
    "market": "A market table (columns term, bid, clicks, impressions).",
    "values": "Term values (columns term, value) for target=file.",
    "taxonomy": "A taxonomy of your own (lines of child,parent) in place of WordNet.",
    "places": "More places, one on each line, for methods that look for places.",
}
_OPTIONS = (*Cleaning.options(), *declared.SEMANTICS)
_NOTHING: Mapping[str, str] = {}


@router.get("/try")
def form(
    request: Request, here: Here, log: Annotated[str, Query()] = "", method: Annotated[str, Query()] = ""
) -> HTMLResponse:
    """Show the form of a method, and what ran on the log."""
    logs = here.store.logs()
    if not logs:
        return page(request, "try_nothing.html")
    chosen = here.store.log(log) if log else logs[0]
    return _page(request, here, chosen, _method(method or "km"))


@router.post("/try")
def start(request: Request, here: Here, fields: Fields) -> Response:
    """Start the run, or the sweep, that was asked for."""
    log, method = here.store.log(fields.get("log", "")), _method(fields.get("method", ""))
    try:
        for name, spec in _asked(here, method, fields):
            here.jobs.start("anonymize", name, log=log.id, spec=spec)
    except QueryveilError as error:
        return _page(request, here, log, method, fields, error)
    return go(f"/try?log={log.id}&method={method.name}#runs")


def _page(
    request: Request,
    here: State,
    log: LogRow,
    method: Method,
    values: Mapping[str, str] = _NOTHING,
    error: QueryveilError | None = None,
) -> HTMLResponse:
    rows = here.store.runs(log=log.id, kind="anonymize")
    fields = declared.fields(method.parameters)
    needs_meaning = bool({"groups", "vocabularies"} & set(method.kinds))
    shown = [each for each in fields if each["required"] or each["name"] in ("target", *method.one_of)]
    options = declared.fields(Cleaning.options()), declared.fields(declared.SEMANTICS) if needs_meaning else []
    return page(
        request,
        "try.html",
        status=200 if error is None else 409 if isinstance(error, ConflictError) else 422,
        logs=here.store.logs(),
        log=log,
        methods=declared.methods(),
        method=method,
        shown=shown,
        more=[each for each in fields if each not in shown],
        cleaning=options[0],
        meaning=options[1],
        keepable=KEEPABLE if {"log", "queries"} & set(method.kinds) else (),
        files=[path for path, _ in here.logs.files()],
        file_options=FILES,
        values={**_standing(method), **values},
        was_sent=bool(values),
        error=error,
        errors={} if error is None else {error.field: str(error)},
        rows=rows,
        families=families(made_by(rows, here.jobs)),
    )


def _method(name: str) -> Method:
    methods = {method.name: method for method in declared.methods()}
    if name not in methods:
        raise InputError(f"there is no method {name!r}; {nearest(name, methods)}", field="method")
    return methods[name]


def _standing(method: Method) -> dict[str, str]:
    """Return what stands in the fields before anybody has filled them in."""
    found = {parameter.name: suggested(parameter) for parameter in (*method.parameters, *_OPTIONS)}
    return found | {name: str(VALUES[name]) for name in method.one_of[:1] if name in VALUES}


def _asked(here: State, method: Method, fields: Mapping[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """Return the name and the spec of every run that a form asks for; all are checked before one begins."""
    names = parse_sweep(declared.text_name(method.name, {p.name: _listed(p, fields) for p in method.parameters}))
    if len(names) > MOST_RUNS:
        raise InputError(f"a sweep of {len(names):,} runs is too large here; ask for at most {MOST_RUNS} at once.")
    bounds = [resolve("method", name) for name in names]
    for bound in bounds:
        method.check(bound)
    taken = {run.name for run in here.store.runs(kind="anonymize")}
    given = " ".join(fields.get("name", "").split())
    common = _common(method, fields)
    found = []
    for bound, name in zip(bounds, names, strict=True):
        own = _own_name(given, name, len(names)) if given else free_name(str(bound), taken)
        if own in taken:
            raise ConflictError(f"there is a run named {own} already; give another name.", field="name")
        taken.add(own)
        found.append((own, {"method": str(bound), **common}))
    return found


def _own_name(given: str, name: Name, runs: int) -> str:
    """Return the name that was given, with what is special about the run where it is one of several."""
    return given if runs == 1 else f"{given}: {', '.join(f'{key}={value}' for key, value in name.arguments)}"


def _listed(parameter: Parameter, fields: Mapping[str, str]) -> str:
    """Return a field as a text name has it: several numbers, `2, 5, 10`, are alternatives."""
    text = fields.get(parameter.name, "").strip()
    if text == suggested(parameter) and parameter.default is not None:
        return ""  # so that the name, and what is said of it, is as short as one would write it
    if isinstance(parameter.type, Integer | Real):
        text = "|".join(part for part in text.replace("|", ",").replace(",", " ").split())
    return text


def _common(method: Method, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return what all runs of a form have in common, without what was not said."""
    options = declared.option_values(_OPTIONS, fields)
    usual = {parameter.name: parameter.default for parameter in _OPTIONS}
    spec: dict[str, Any] = {
        "kind": fields.get("kind") if len(method.kinds) > 1 else None,
        "keep": [column for column in KEEPABLE if fields.get(f"keep_{column}")],
        "seed": _seed(fields.get("seed", "")),
        "options": {name: value for name, value in options.items() if value != usual[name]},
        **{name: fields.get(name, "") for name in FILES},
    }
    return {key: value for key, value in spec.items() if value not in (None, "", [], {})}


def _seed(text: str) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal() or len(text.strip()) > 18:
        raise InputError(
            f"seed must be a whole number of at least 0, not {text.strip()!r}; give another.", field="seed"
        )
    return int(text)
