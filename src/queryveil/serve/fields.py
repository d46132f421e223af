"""REST fields and form controls, and runs for a goal, generated from the declarations of everything with a name."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, create_model

from queryveil.core.errors import QueryveilError
from queryveil.core.names import (
    Declaration,
    Flag,
    Integer,
    Name,
    Parameter,
    ParameterType,
    Real,
    Value,
    Word,
    declarations,
    plural,
    resolve,
)
from queryveil.core.options import CommaSeparated, LocalPath, Option, OptionGroup
from queryveil.engines import LOCAL
from queryveil.logs.options import CleaningOptions, ReadingOptions
from queryveil.methods.base import GOALS, Method, method_of
from queryveil.semantics import SemanticOptions
from queryveil.serve.settings import Settings
from queryveil.workflows.requests import AttackRequest, MeasureRequest, ReleaseRequest, SearchRequest, VerifyRequest

KINDS = ("method", "guarantee", "target", "measure", "attack", "format", "corpus")
CLEANING = CleaningOptions.options()
SEMANTICS = tuple(each for each in SemanticOptions.options() if not each.is_path)
OPTIONS = {"reading": ReadingOptions.options(), "cleaning": CLEANING, "meaning": SEMANTICS}
SUGGESTED_VALUES: Mapping[str, Value] = {"k": 5, "m": 2, "p": 0.4, "eps": 8}  # of parameters without a default
ControlType = Literal["integer", "real", "flag", "word", "words", "file", "text"]
_CONTROLS: Mapping[type, ControlType] = {  # other types are texts
    Integer: "integer",
    Real: "real",
    Flag: "flag",
    Word: "word",
    CommaSeparated: "words",
    LocalPath: "file",
}
_EXTRA_ATTRIBUTES = ("kinds", "needs_market", "needs_index", "of_pair", "risk_of", "threat", "guarantee")
_LARGEST_INTEGER, _LONGEST_TEXT, _MOST_VALUES = 2**63 - 1, 1_000, 50
_FLAG = re.compile(r"--[a-z][a-z-]*[a-z]")
_REQUESTS: tuple[type[OptionGroup], ...] = (ReleaseRequest, VerifyRequest, MeasureRequest, AttackRequest, SearchRequest)
_FIELD_OF = {each.flag: each.name for request in _REQUESTS for each in request.options() if each.flag}
_FIELD_OF |= {f"--no-{flag[2:]}": f"{name}=false" for flag, name in _FIELD_OF.items()}
_FIELD_OF = {flag: name for flag, name in _FIELD_OF.items() if flag not in {o.flag for o in Settings.options()}}
Model = TypeVar("Model", bound=BaseModel)


def with_options(
    request: type[OptionGroup], *names: str, changed: Mapping[str, Mapping[str, Any]] | None = None
) -> Callable[[type[Model]], type[Model]]:
    """Decorate a pydantic model: add a field for each of the named options of a request, in the order of the names.

    `changed` holds what a server declares differently, such as a narrower range. A path is one in the server's folder.
    """
    declared = {each.name: each for each in request.options()}
    options = [replace(declared[name], **(changed or {}).get(name, {})) for name in names]

    def decorate(model: type[Model]) -> type[Model]:
        fields: dict[str, Any] = {each.name: _rest_field(each) for each in options}
        made = create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields
        )
        made.declared = tuple(options)  # type: ignore[attr-defined]
        return made

    return decorate


def _refuse_boolean(value: Any) -> Any:
    """Refuse true and false where a number is expected; they would be taken as 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("it must be a number, not true or false")
    return value


_NO_BOOLEAN = BeforeValidator(_refuse_boolean)


def _rest_field(option: Option) -> tuple[Any, Any]:
    """Return the annotation and the default of an option's pydantic field; an empty optional text is not given."""
    value: Any
    kind = option.type
    if isinstance(kind, Integer):
        value = Annotated[int, Field(ge=kind.minimum, le=kind.maximum or _LARGEST_INTEGER), _NO_BOOLEAN]
    elif isinstance(kind, Real):
        value = Annotated[float, Field(ge=kind.minimum, le=kind.maximum), _NO_BOOLEAN]
    else:  # a text of a fixed form is checked with the whole request
        value = bool if isinstance(kind, Flag) else Annotated[str, Field(max_length=_LONGEST_TEXT)]
    default = ... if option.is_required else option.default
    if isinstance(default, tuple):
        value, default = Annotated[list[value], Field(max_length=_MOST_VALUES)], list(default)
    if default is None:
        is_number = isinstance(kind, Integer | Real)
        value = value | None if is_number else Annotated[value | None, BeforeValidator(lambda text: text or None)]
    return Annotated[value, Field(description=option.keyword_help)], default


class FieldOut(BaseModel):
    """A parameter of something that has a name, or an option: as JSON, and as the control of a form."""

    name: str
    type: ControlType
    values: str
    purpose: str
    default: str | int | float | bool | None
    required: bool
    goes_with: list[str | int | float | bool] | None
    minimum: float | None
    maximum: float | None
    choices: list[str]
    meanings: dict[str, str]  # choice → what it means, where it is declared


class EntryOut(BaseModel):
    """Something that has a name."""

    name: str
    signature: str
    purpose: str
    paper: str
    parameters: list[FieldOut]
    about: dict[str, Any]


class DeclarationsOut(BaseModel):
    """Everything that has a name, and the options."""

    methods: list[EntryOut]
    guarantees: list[EntryOut]
    targets: list[EntryOut]
    measures: list[EntryOut]
    attacks: list[EntryOut]
    formats: list[EntryOut]
    corpora: list[EntryOut]
    options: dict[str, list[FieldOut]]


def all_declarations() -> DeclarationsOut:
    """Return all declarations by the plural of their kind, and the options of reading, cleaning and meaning."""
    entries = {plural(kind): [_entry(each) for each in declarations(kind).values()] for kind in KINDS}
    options = {group: [form_field(each) for each in declared] for group, declared in OPTIONS.items()}
    return DeclarationsOut(**entries, options=options)


def _entry(declaration: Declaration) -> EntryOut:
    return EntryOut(
        name=declaration.name,
        signature=declaration.signature(),
        purpose=with_fields(declaration.marked_purpose),
        paper=declaration.paper,
        parameters=[form_field(each) for each in declaration.parameters],
        about={name: getattr(declaration, name) for name in _EXTRA_ATTRIBUTES if hasattr(declaration, name)},
    )


@contextmanager
def errors_name_fields() -> Iterator[None]:
    """Let errors name fields where those of the command line name flags; flags of the server itself stay."""
    try:
        yield
    except QueryveilError as error:
        error.args = (with_fields(str(error)),)
        raise


def with_fields(sentence: str) -> str:
    """Return a sentence of the command line with the names of fields in place of flags."""
    return _FLAG.sub(lambda found: _FIELD_OF.get(found[0], found[0]), sentence)


def form_field(parameter: Parameter, choices: Sequence[str] | None = None) -> FieldOut:
    """Return the control of a parameter or an option; `choices` are given where they depend on the page."""
    kind = parameter.type
    if choices is None and isinstance(kind, Word):
        choices = kind.words()
    return FieldOut(
        name=parameter.name,
        type=_CONTROLS.get(type(kind), "text" if choices is None else "word"),  # a text with choices is a word
        values=kind.describe(),
        purpose=with_fields(parameter.purpose),
        default=None if isinstance(parameter.default, tuple) else parameter.default,
        required=parameter.default is None and not parameter.may_be_omitted,
        goes_with=None if parameter.goes_with is None else list(parameter.goes_with),
        minimum=getattr(kind, "minimum", None),
        maximum=getattr(kind, "maximum", None),
        choices=list(choices or ()),
        meanings=_meanings(kind),
    )


def _meanings(kind: ParameterType) -> dict[str, str]:
    """Return what the choices of a parameter mean if they are declarations."""
    if not isinstance(kind, Word) or not kind.category:
        return {}
    return {name: with_fields(declared.purpose) for name, declared in declarations(kind.category).items()}


def local_methods() -> list[Method]:
    """Return the declared methods that run on this machine."""
    found = (each for each in declarations("method").values() if isinstance(each, Method))
    return [method for method in found if LOCAL.name in method.functions]


def suggested_value(parameter: Parameter) -> str:
    """Return the text that a form field starts with: the default, or the suggestion for a required parameter."""
    value = parameter.default
    if value is None and not parameter.may_be_omitted:
        value = SUGGESTED_VALUES.get(parameter.name)
    if value is None:
        return ""
    return form_text(value)


def form_text(value: object) -> str:
    """Return a value as the text of a form."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def suggested_name(declaration: Declaration) -> str:
    """Return a declaration's text name with the suggested values of its required parameters."""
    required = (p.name for p in declaration.parameters if p.default is None and not p.may_be_omitted)
    given = tuple((name, SUGGESTED_VALUES[name]) for name in required if name in SUGGESTED_VALUES)
    return str(Name(declaration.name, given))


def read_options(options: Iterable[Parameter], texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the option values of a form without the empty ones; a text that is no valid value is kept for checking.

    The checkboxes of an option that takes several words are named `option.word`.
    """
    values = {each.name: _read_value(each, texts) for each in options}
    return {name: value for name, value in values.items() if value not in ("", [])}


def _read_value(parameter: Parameter, texts: Mapping[str, str]) -> Any:
    text = texts.get(parameter.name, "").strip()
    if isinstance(parameter.type, CommaSeparated):
        prefix = f"{parameter.name}."
        return [name.removeprefix(prefix) for name, value in texts.items() if name.startswith(prefix) and value]
    if isinstance(parameter.type, Flag):
        return {"true": True, "on": True, "false": False}.get(text.lower(), text)
    if isinstance(parameter.type, Integer) and text.lstrip("+-").isdecimal() and len(text) < 18:
        return int(text)
    try:
        return float(text) if isinstance(parameter.type, Real) else text
    except ValueError:
        return text


class SuggestedRun(BaseModel):
    """A run that serves a goal."""

    method: str
    reason: str
    guarantee: str
    settings: dict[str, str]  # the method's name and its parameters, as the form takes them


class GoalOut(BaseModel):
    """A goal, and the runs that serve it, best first."""

    goal: str
    purpose: str
    suggestions: list[SuggestedRun]


def suggested_runs() -> list[GoalOut]:
    """Return all goals with the runs that the methods declare for them."""
    declared = [each for method in local_methods() for each in method.suggestions]
    return [
        GoalOut(
            goal=goal,
            purpose=purpose,
            suggestions=[_suggested(each.method, each.reason) for each in declared if each.goal == goal],
        )
        for goal, purpose in GOALS.items()
    ]


def _suggested(text: str, reason: str) -> SuggestedRun:
    resolved = resolve("method", text)
    claim = method_of(resolved).claim(resolved)
    settings = {name: form_text(value) for name, value in resolved.values.items() if value is not None}
    return SuggestedRun(
        method=text, reason=reason, guarantee=str(claim), settings={"method": resolved.declaration.name, **settings}
    )
