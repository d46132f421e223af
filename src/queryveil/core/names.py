"""Text names, parameter declarations and the registry of everything that can be named.

`km(k=10, m=2, target=clicks)` is the CLI argument, the manifest entry and the table heading; its `repr` is the
Python expression. A name by itself only stores; `resolve` checks it against the declarations of one category, and
`list_names` lists these as a table.
"""

import difflib
import importlib
import itertools
import math
import operator
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, ClassVar

from queryveil.core.display import LONGEST_REPR, Tabular, html_table
from queryveil.core.errors import UnknownNameError

Value = int | float | bool | str
MAX_RUNS = 1_000  # of one sweep

# Where each category's own declarations are; third parties add theirs by entry points of the group
# `queryveil.<category>`.
CATEGORIES: Mapping[str, str] = MappingProxyType(
    {
        "kind": "queryveil.kinds",
        "method": "queryveil.methods",
        "guarantee": "queryveil.guarantees",
        "target": "queryveil.methods.targets",
        "measure": "queryveil.measures",
        "attack": "queryveil.attacks",
        "format": "queryveil.logs.formats",
        "engine": "queryveil.engines",
        "network": "queryveil.semantics",
        "corpus": "queryveil.search.corpora",
    }
)
_HEADINGS = ("name", "signature", "purpose", "paper")


def plural(category: str) -> str:
    """Return the word for several things of a category."""
    return "corpora" if category == "corpus" else f"{category}s"


def category_of(word: str) -> str:
    """Return the category of a word in the singular or the plural."""
    by_word = {each: name for name in CATEGORIES for each in (name, plural(name))}
    if word not in by_word:
        near = nearest(word, map(plural, CATEGORIES))
        raise UnknownNameError(f"there is nothing called {word!r} to list; {near}")
    return by_word[word]


@dataclass(frozen=True)
class ParameterType:
    """The values that a parameter or an option may have; subclasses say how they are described and checked."""

    description: ClassVar[str] = "a text"
    accepted: ClassVar[Any] = str  # the Python type of allowed values
    annotation: ClassVar[Any] = str  # the type of the keyword in the Python API

    def describe(self) -> str:
        """Describe the allowed values."""
        return self._describe()

    def accepts(self, value: Any) -> bool:
        """Return whether the value is allowed."""
        return isinstance(value, self.accepted)

    def convert(self, value: Any) -> Any:
        """Return a value of a front end as this type; what cannot be converted is returned as it is."""
        return value

    def _describe(self) -> str:
        return self.description


@dataclass(frozen=True)
class _Number(ParameterType):
    """A number within inclusive bounds."""

    minimum: float | None = None
    maximum: float | None = None

    def _describe(self) -> str:
        if self.minimum is not None and self.maximum is not None:
            return f"{self.description} from {self.minimum} to {self.maximum}"
        if self.minimum is not None:
            return f"{self.description} of at least {self.minimum}"
        return self.description if self.maximum is None else f"{self.description} of at most {self.maximum}"

    def accepts(self, value: Any) -> bool:
        if not super().accepts(value) or isinstance(value, bool):
            return False
        is_inside = (self.minimum is None or value >= self.minimum) and (self.maximum is None or value <= self.maximum)
        return is_inside and math.isfinite(value)


@dataclass(frozen=True)
class Integer(_Number):
    """A whole number within inclusive bounds."""

    description = "a whole number"
    accepted = annotation = int

    def convert(self, value: Any) -> Any:
        """Return an integer of NumPy as one of Python."""
        return operator.index(value) if hasattr(value, "__index__") and not isinstance(value, bool) else value


@dataclass(frozen=True)
class Real(_Number):
    """A number within bounds; the lower bound itself may be excluded."""

    description = "a number"
    accepted, annotation = int | float, float
    excludes_minimum: bool = False  # the minimum itself is not allowed

    def _describe(self) -> str:
        if not self.excludes_minimum:
            return super()._describe()
        most = "" if self.maximum is None else f" and at most {self.maximum}"
        return f"a number above {self.minimum}{most}"

    def accepts(self, value: Any) -> bool:
        """Return whether the value is a number within the bounds."""
        return super().accepts(value) and not (self.excludes_minimum and value == self.minimum)


@dataclass(frozen=True)
class Flag(ParameterType):
    """True or false."""

    description = "true or false"
    accepted = annotation = bool


@dataclass(frozen=True)
class Word(ParameterType):
    """One of a fixed list of words, or of the declared names of a category."""

    choices: tuple[str, ...] = ()
    category: str | None = None

    def words(self) -> tuple[str, ...]:
        """Return the allowed words."""
        return self.choices if self.category is None else tuple(declarations(self.category))

    def _describe(self) -> str:
        return f"one of {', '.join(self.words())}"

    def accepts(self, value: Any) -> bool:
        """Return whether the value is one of the words."""
        return super().accepts(value) and value in self.words()


@dataclass(frozen=True)
class Text(ParameterType):
    """A text of a fixed form, such as a duration; the form is described in words."""

    pattern: str
    form: str

    def _describe(self) -> str:
        return self.form

    def accepts(self, value: Any) -> bool:
        """Return whether the value has the form."""
        return super().accepts(value) and re.fullmatch(self.pattern, value) is not None


@dataclass(frozen=True)
class Parameter:
    """One declared parameter: its name, allowed values, purpose, default (None: it must be given, or is optional)."""

    name: str
    type: ParameterType
    purpose: str
    default: Value | None = None
    is_optional: bool = False  # it may always be left out, and then has no value
    goes_with: tuple[str, Value] | None = None  # the value of another parameter without which it may not be given

    @property
    def may_be_omitted(self) -> bool:
        """Return whether a name may lack the parameter, always or unless another parameter has a certain value."""
        return self.is_optional or self.goes_with is not None

    def signature(self) -> str:
        """Return the name with the default, or with an ellipsis if there is none and it may be left out."""
        if self.default is not None:
            return f"{self.name}={_text(self.default)}"
        return f"{self.name}=…" if self.may_be_omitted else self.name

    def check(self, value: Value, subject: str) -> Value:
        """Return the value if it is allowed, else raise an error that begins with the subject."""
        if self.type.accepts(value):
            return value
        near = _near(str(value), self.type.words()) if isinstance(self.type, Word) else ""
        raise UnknownNameError(
            f"{subject} must be {self.type.describe()}, not {_text(value)}; {near or 'give another value.'}",
            field=self.name,
        )


@dataclass(frozen=True)
class Declaration:
    """What a named thing is, without importing the code that implements it."""

    name: str
    purpose: str
    parameters: tuple[Parameter, ...] = ()
    paper: str = ""
    functions: Mapping[str, str] = field(default_factory=dict)  # engine → "module:function"

    def load(self, engine: str = "local") -> Callable[..., Any]:
        """Import and return the function that implements it on an engine."""
        function: Callable[..., Any] = pkgutil.resolve_name(self.functions[engine])
        return function

    def caution(self) -> str:
        """Return in a few words what it lacks that its name may suggest; "" if nothing."""
        return ""

    @property
    def marked_purpose(self) -> str:
        """Return the purpose, followed by the caution if there is one."""
        return self.purpose + (f" ({caution})" if (caution := self.caution()) else "")

    def signature(self) -> str:
        """Return the name with its parameters and defaults, as `queryveil list` shows it."""
        shown = ", ".join(parameter.signature() for parameter in self.parameters)
        return f"{self.name}({shown})" if self.parameters else self.name


@dataclass(frozen=True)
class Name:
    """A text name as it was written: stored, not yet checked against any declaration."""

    name: str
    arguments: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        if not self.arguments:
            return self.name
        return f"{self.name}({', '.join(f'{key}={_text(value)}' for key, value in self.arguments)})"

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.arguments)})"


@dataclass(frozen=True)
class ResolvedName:
    """A name checked against its declaration, with the values of its parameters."""

    declaration: Declaration
    values: Mapping[str, Value]  # without optional parameters that were left out

    def __getitem__(self, parameter: str) -> Value:
        return self.values[parameter]

    def integer(self, parameter: str) -> int:
        """Return the value of a whole-number parameter."""
        return int(self.values[parameter])

    def real(self, parameter: str) -> float:
        """Return the value of a number parameter."""
        return float(self.values[parameter])

    def word(self, parameter: str) -> str:
        """Return the value of a word parameter."""
        return str(self.values[parameter])

    def __str__(self) -> str:
        """Return the canonical text: required and non-default parameters in declared order."""
        shown = tuple(
            (p.name, self.values[p.name])
            for p in self.declaration.parameters
            if p.name in self.values and self.values[p.name] != p.default
        )
        return str(Name(self.declaration.name, shown))


_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_ARGUMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.+?)\s*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_][\w-]*")
_INTEGER = re.compile(r"[+-]?\d{1,18}")  # as many digits as fit into 64 bits
_REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def parse(text: str | Name) -> Name:
    """Read one text name; alternatives (`k=2|10`) are refused here."""
    names = parse_sweep(text)
    if len(names) > 1:
        raise UnknownNameError(f"{text}: alternatives (a|b) make a sweep; give one value for each parameter here.")
    return names[0]


def parse_sweep(text: str | Name) -> list[Name]:
    """Read a text name whose values may be alternatives, and return every combination in order."""
    if isinstance(text, Name):
        return [text]
    match = _NAME.fullmatch(text)
    if match is None:
        raise UnknownNameError(f"{text!r} is not a name; write it like km(k=10, m=2).")
    name, inside = match.groups()
    alternatives: dict[str, list[Value]] = {}
    for part in inside.split(",") if inside and inside.strip() else []:
        argument = _ARGUMENT.fullmatch(part)
        if argument is None:
            raise UnknownNameError(f"{text}: {part.strip()!r} is not key=value; write it like {name}(k=10).")
        if argument[1] in alternatives:
            raise UnknownNameError(f"{text}: {argument[1]} is given twice; give it once.")
        alternatives[argument[1]] = [_value(word.strip(), text) for word in argument[2].split("|")]
    refuse_too_many(math.prod(map(len, alternatives.values())))
    combinations = itertools.product(*alternatives.values())
    return [Name(name, tuple(zip(alternatives, values, strict=True))) for values in combinations]


def refuse_too_many(runs: int) -> None:
    """Refuse a sweep of too many runs before it is expanded."""
    if runs > MAX_RUNS:
        raise UnknownNameError(f"a sweep of {runs:,} runs is too large; give at most {MAX_RUNS:,} combinations.")


def _value(word: str, text: str) -> Value:
    """Read one value: a number, true or false, or a word, with or without quotes."""
    if word.lower() in ("true", "false"):  # Python's spelling too, so that a repr can be read back
        return word.lower() == "true"
    if _INTEGER.fullmatch(word):
        return int(word)
    if _REAL.fullmatch(word):
        return float(word)
    unquoted = word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word
    if _WORD.fullmatch(unquoted):
        return unquoted
    raise UnknownNameError(f"{text}: {word!r} is not a value; give a number, true, false or a word.")


def _text(value: Value) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))  # 1 and 1.0 are one value, so they have one text
    return str(value).lower() if isinstance(value, bool) else str(value)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the end of a sentence: the known names similar to a mistyped one, or all of them."""
    known = sorted(known)
    return _near(word, known) or f"there are {', '.join(known)}."


def _near(word: str, known: Iterable[str]) -> str:
    """Return a question with the known words most similar to a mistyped one, ignoring case; "" if none is similar."""
    by_lower = {name.lower(): name for name in known}
    near = [by_lower[match] for match in difflib.get_close_matches(word.lower(), by_lower, n=3, cutoff=0.5)]
    return f"did you mean {' or '.join(near)}?" if near else ""


@cache
def declarations(category: str) -> Mapping[str, Declaration]:
    """Return all declarations of a category by name: queryveil's own, then those of installed packages."""
    module = importlib.import_module(CATEGORIES[category])
    found: dict[str, Declaration] = {declaration.name: declaration for declaration in module.DECLARATIONS}
    for point in entry_points(group=f"queryveil.{category}"):
        declaration: Declaration = point.load()
        if declaration.name in found:
            raise UnknownNameError(
                f"the {category} {declaration.name} of the installed package entry {point.value} exists already; "
                "uninstall that package or rename it."
            )
        found[declaration.name] = declaration
    return MappingProxyType(found)


def resolve(category: str, name: str | Name) -> ResolvedName:
    """Check a name against the declarations of a category and fill in its defaults."""
    parsed = parse(name)
    known = declarations(category)
    if parsed.name not in known:
        raise UnknownNameError(f"there is no {category} {parsed.name!r}; {nearest(parsed.name, known)}")
    declaration = known[parsed.name]
    given = dict(parsed.arguments)
    by_name = {parameter.name: parameter for parameter in declaration.parameters}
    for key in given:
        if key not in by_name:
            hint = nearest(key, by_name) if by_name else "it takes none."
            raise UnknownNameError(f"{parsed}: {declaration.name} has no parameter {key!r}; {hint}", field=key)
    values = {
        name: parameter.check(value, f"{parsed}: {name}")
        for name, parameter in by_name.items()
        if (value := given.get(name, parameter.default)) is not None
    }
    for key, parameter in by_name.items():
        is_given, is_wanted, reason = key in values, not parameter.is_optional, ""
        if parameter.goes_with is not None:
            other, value = parameter.goes_with
            fits, reason = values.get(other) == value, f" with {other}={_text(value)}"
            is_wanted = is_wanted and fits
            if is_given and not fits:
                raise UnknownNameError(f"{parsed}: {key} is only for {other}={_text(value)}; leave it out.", field=key)
        if is_wanted and not is_given:
            needed = f"{parameter.type.describe()} ({parameter.purpose})"
            raise UnknownNameError(f"{parsed}: {key} is missing{reason}; give {needed}.", field=key)
    return ResolvedName(declaration, MappingProxyType(values))


def resolve_anywhere(name: Name) -> None:
    """Refuse a name that fits the declarations of no category; one of several categories may be meant."""
    categories = [category for category in CATEGORIES if name.name in declarations(category)]
    if not categories:
        known = {word for category in CATEGORIES for word in declarations(category)}
        raise UnknownNameError(f"there is nothing called {name.name!r}; {nearest(name.name, known)}")
    errors = []
    for category in categories:
        try:
            resolve(category, name)
        except UnknownNameError as error:
            errors.append(error)
    if len(errors) == len(categories):
        raise errors[-1] if "method" not in categories else errors[categories.index("method")]


@dataclass(frozen=True, repr=False)
class NameTable(Tabular):
    """The names of a category, such as the methods, with what each is for; iterating gives the names."""

    declarations: tuple[Declaration, ...]

    def __iter__(self) -> Iterator[str]:
        return (each.name for each in self.declarations)

    def __len__(self) -> int:
        return len(self.declarations)

    def __repr__(self) -> str:
        return f"NameTable({', '.join(self)})"[:LONGEST_REPR]

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return name, signature, purpose and paper of each."""
        return [(each.name, each.signature(), each.marked_purpose, each.paper) for each in self.declarations]

    def to_arrow(self) -> Any:
        """Return the rows as an Arrow table."""
        import pyarrow as pa

        return pa.table([list(column) for column in zip(*self.rows(), strict=True)], list(_HEADINGS))

    def _repr_html_(self) -> str:
        return html_table(_HEADINGS, self.rows())


def list_names(category: str) -> NameTable:
    """Return everything of a category, which may be given in the singular or the plural."""
    return NameTable(tuple(declarations(category_of(category)).values()))
