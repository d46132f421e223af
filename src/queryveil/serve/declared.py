"""What forms and programs may ask for, from the declarations: names, purposes, parameters with their ranges."""

from collections.abc import Iterable, Mapping
from typing import Any

from queryveil.core.names import Declaration, Flag, Integer, Name, Parameter, Real, Word, declarations, plural
from queryveil.engines import LOCAL
from queryveil.logs.options import Cleaning, Reading
from queryveil.methods.base import Method
from queryveil.semantics.options import SemanticOptions

KINDS = ("method", "guarantee", "target", "measure", "attack", "format", "corpus")
# without the file, which a run is given by its id
SEMANTICS: tuple[Parameter, ...] = tuple(each for each in SemanticOptions.options() if not each.is_path)
OPTIONS: Mapping[str, tuple[Parameter, ...]] = {
    "reading": Reading.options(),
    "cleaning": Cleaning.options(),
    "meaning": SEMANTICS,
}
_MEASURED = ("kinds", "needs_market", "needs_index", "of_pair", "risk_of", "threat", "guarantee")


def everything() -> dict[str, Any]:
    """Return all declarations by the plural of their kind, and the options of reading, cleaning and meaning."""
    found: dict[str, Any] = {plural(kind): [entry(each) for each in declarations(kind).values()] for kind in KINDS}
    return {**found, "options": {group: fields(parameters) for group, parameters in OPTIONS.items()}}


def entry(declaration: Declaration) -> dict[str, Any]:
    """Return a declaration as a record."""
    return {
        "name": declaration.name,
        "signature": declaration.signature(),
        "purpose": declaration.purpose,
        "paper": declaration.paper,
        "parameters": fields(declaration.parameters),
        "about": {name: getattr(declaration, name) for name in _MEASURED if hasattr(declaration, name)},
    }


def fields(parameters: Iterable[Parameter]) -> list[dict[str, Any]]:
    """Return parameters as the fields of a form."""
    return [_field(parameter) for parameter in parameters]


def _field(parameter: Parameter) -> dict[str, Any]:
    kind = parameter.type
    return {
        "name": parameter.name,
        "type": type(kind).__name__.lower(),  # integer, real, flag, word or text
        "values": kind.describe(),
        "purpose": parameter.purpose,
        "default": parameter.default,
        "required": parameter.default is None and not parameter.is_optional,
        "goes_with": None if parameter.goes_with is None else list(parameter.goes_with),
        "minimum": kind.minimum if isinstance(kind, Integer | Real) else None,
        "maximum": kind.maximum if isinstance(kind, Integer | Real) else None,
        "choices": list(kind.words()) if isinstance(kind, Word) else [],
    }


def methods() -> list[Method]:
    """Return the declared methods that can be run here."""
    found = (each for each in declarations("method").values() if isinstance(each, Method))
    return [method for method in found if LOCAL.name in method.functions]


def text_name(name: str, values: Mapping[str, str]) -> str:
    """Return the text name that the fields of a form make; empty ones are left out, sweeps (`5|10`) stay."""
    given = tuple((key, value.strip()) for key, value in values.items() if value.strip())
    return str(Name(name, given))


def option_values(parameters: Iterable[Parameter], values: Mapping[str, str]) -> dict[str, Any]:
    """Read the options of a form; one that is left empty is not given, and a word that is no number stays one."""
    return {p.name: _read(p, values[p.name].strip()) for p in parameters if values.get(p.name, "").strip()}


def _read(parameter: Parameter, text: str) -> Any:
    if isinstance(parameter.type, Flag):
        return {"true": True, "on": True, "false": False}.get(text.lower(), text)
    if isinstance(parameter.type, Integer) and text.lstrip("+-").isdecimal() and len(text) < 18:
        return int(text)
    return text
