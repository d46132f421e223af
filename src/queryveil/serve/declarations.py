"""Everything that can be requested, taken from the declarations: as JSON for programs, as form fields for pages."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel

from queryveil.core.names import (
    Declaration,
    Flag,
    Integer,
    Name,
    Parameter,
    Real,
    Text,
    Value,
    Word,
    declarations,
    plural,
)
from queryveil.engines import LOCAL
from queryveil.logs.options import Cleaning, Reading
from queryveil.methods.base import Method
from queryveil.semantics.options import SemanticOptions

KINDS = ("method", "guarantee", "target", "measure", "attack", "format", "corpus")
CLEANING: tuple[Parameter, ...] = Cleaning.options()
SEMANTICS: tuple[Parameter, ...] = tuple(each for each in SemanticOptions.options() if not each.is_path)
OPTIONS = {"reading": Reading.options(), "cleaning": CLEANING, "meaning": SEMANTICS}
SUGGESTED_VALUES: Mapping[str, Value] = {"k": 5, "m": 2, "p": 0.4, "eps": 8}  # of parameters without a default
FieldType = Literal["integer", "real", "flag", "word", "text"]
_TYPES: Mapping[type, FieldType] = {Integer: "integer", Real: "real", Flag: "flag", Word: "word", Text: "text"}
_EXTRA_ATTRIBUTES = ("kinds", "needs_market", "needs_index", "of_pair", "risk_of", "threat", "guarantee")


class FieldOut(BaseModel):
    """A parameter of something that has a name."""

    name: str
    type: FieldType
    values: str
    purpose: str
    default: str | int | float | bool | None
    required: bool
    goes_with: list[str | int | float | bool] | None
    minimum: float | None
    maximum: float | None
    choices: list[str]


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
    return DeclarationsOut(**entries, options={group: form_fields(each) for group, each in OPTIONS.items()})


def _entry(declaration: Declaration) -> EntryOut:
    return EntryOut(
        name=declaration.name,
        signature=declaration.signature(),
        purpose=declaration.purpose,
        paper=declaration.paper,
        parameters=form_fields(declaration.parameters),
        about={name: getattr(declaration, name) for name in _EXTRA_ATTRIBUTES if hasattr(declaration, name)},
    )


def form_fields(parameters: Iterable[Parameter]) -> list[FieldOut]:
    """Return a form field for each parameter."""
    return [_form_field(parameter) for parameter in parameters]


def _form_field(parameter: Parameter) -> FieldOut:
    kind = parameter.type
    return FieldOut(
        name=parameter.name,
        type=_TYPES[type(kind)],
        values=kind.describe(),
        purpose=parameter.purpose,
        default=parameter.default,
        required=parameter.default is None and not parameter.is_optional,
        goes_with=None if parameter.goes_with is None else list(parameter.goes_with),
        minimum=kind.minimum if isinstance(kind, Integer | Real) else None,
        maximum=kind.maximum if isinstance(kind, Integer | Real) else None,
        choices=list(kind.words()) if isinstance(kind, Word) else [],
    )


def local_methods() -> list[Method]:
    """Return the declared methods that run on this machine."""
    found = (each for each in declarations("method").values() if isinstance(each, Method))
    return [method for method in found if LOCAL.name in method.functions]


def suggested_value(parameter: Parameter) -> str:
    """Return the text that a form field starts with: the default, or the suggestion for a required parameter."""
    value = parameter.default
    if value is None and not parameter.is_optional:
        value = SUGGESTED_VALUES.get(parameter.name)
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def suggested_name(declaration: Declaration) -> str:
    """Return a declaration's text name with the suggested values of its required parameters."""
    required = (p.name for p in declaration.parameters if p.default is None and not p.is_optional)
    given = tuple((name, SUGGESTED_VALUES[name]) for name in required if name in SUGGESTED_VALUES)
    return str(Name(declaration.name, given))


def read_options(parameters: Iterable[Parameter], texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the option values of a form without the empty ones; a text that is no valid value is kept for checking."""
    return {p.name: _read_value(p, texts[p.name].strip()) for p in parameters if texts.get(p.name, "").strip()}


def _read_value(parameter: Parameter, text: str) -> Any:
    if isinstance(parameter.type, Flag):
        return {"true": True, "on": True, "false": False}.get(text.lower(), text)
    if isinstance(parameter.type, Integer) and text.lstrip("+-").isdecimal() and len(text) < 18:
        return int(text)
    return text
