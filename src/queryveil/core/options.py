"""Options: everything that a user may set, declared once as a field of a dataclass.

`bots: int = option(100, Integer(minimum=0), "leave out users with …")` declares the flag `--bots` of the command line,
the keyword `bots` of the Python API, the field `bots` of the REST service, a form control and a row of the reference
pages. An `OptionGroup` may contain other groups; their options then belong to it as well.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from types import GenericAlias
from typing import Any, ClassVar, Self

from queryveil.core.errors import UnknownNameError
from queryveil.core.files import MemoryPath
from queryveil.core.names import Flag, Name, Parameter, ParameterType, nearest

_KEY = "option"  # of a dataclass field's metadata
_FLAG = re.compile(r"--([a-z][a-z-]*)")
Location = str | Path  # a path, or a URI such as hdfs://… that an engine can read or write
Place = Location | MemoryPath  # of a release or a private folder, which may be in memory only


@dataclass(frozen=True)
class FreeText(ParameterType):
    """Any text."""


@dataclass(frozen=True)
class Line(ParameterType):
    """A short text without control characters."""

    description = "a line of at most 200 characters"

    def accepts(self, value: Any) -> bool:
        """Return whether the value is printable and short."""
        return super().accepts(value) and value.isprintable() and len(value) <= 200


@dataclass(frozen=True)
class Identifier(FreeText):
    """The identifier of a person: any text; numbers, UUIDs and bytes become the texts that they have in a log."""

    def convert(self, value: Any) -> Any:
        """Return an identifier as text."""
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


@dataclass(frozen=True)
class TextName(ParameterType):
    """The text name of a declared thing, such as the method `km(k=10, m=2)`; the workflow resolves it."""

    accepted = annotation = str | Name
    category: str

    def _describe(self) -> str:
        return f"the name of a {self.category}"


@dataclass(frozen=True)
class CommaSeparated(ParameterType):
    """Words: separated by commas on the command line, a list elsewhere."""

    description = "words separated by commas"
    accepted, annotation = tuple, Sequence[str]

    def accepts(self, value: Any) -> bool:
        """Return whether the value is a tuple of texts."""
        return super().accepts(value) and all(isinstance(word, str) for word in value)

    def convert(self, value: Any) -> Any:
        """Return the words as a tuple."""
        if isinstance(value, str):
            return tuple(word.strip() for word in value.split(",") if word.strip())
        return tuple(value) if isinstance(value, Sequence) else value


@dataclass(frozen=True)
class LocalPath(ParameterType):
    """A path of a file or folder on this machine."""

    description = "a path"
    accepted, annotation = Path, Location

    def convert(self, value: Any) -> Any:
        """Return a text as a path."""
        return Path(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class EnginePath(ParameterType):
    """A path or URI for the engine of a run; it stays as it was given, since a `Path` would change hdfs://… .

    In Python it may also be an object that is somewhere, such as a release that was read or the result of a run.
    """

    description = "a path"
    accepted, annotation = Place, Location

    def convert(self, value: Any) -> Any:
        """Return where an object is."""
        return getattr(value, "location", value)


@dataclass(frozen=True)
class AnyObject(ParameterType):
    """Any object, neither converted nor checked: the Python API takes tables and Spark sessions."""

    description = "an object"
    accepted, annotation = object, Any


@dataclass(frozen=True)
class Option(Parameter):
    """Something that a user may set: a parameter, and its spelling on the command line."""

    default: Any = None  # None: the option is required, or optional without a value
    flag: str = ""  # such as --spark-master; empty for a positional argument
    short: str = ""  # a short flag, such as -n
    is_argument: bool = False  # positional on the command line
    is_repeatable: bool = False  # the value is a tuple, and the flag may be repeated
    metavar: str = ""  # the placeholder for the value in help, such as FILE
    default_text: str = ""  # shown in help in place of a default that is computed later
    brings: str = ""  # the option of the private folder, which the result of a run given here knows
    is_python_only: bool = False  # the value is an object, which neither a command line nor a REST request can hold
    panel: str = ""  # the heading under which help shows it; that of its group unless given

    @property
    def is_required(self) -> bool:
        """Return whether a value must be given."""
        return self.default is None and not self.is_optional

    @property
    def is_path(self) -> bool:
        """Return whether the value is the path of a file or folder."""
        return isinstance(self.type, LocalPath | EnginePath)

    @property
    def help(self) -> str:
        """Return the purpose as a sentence; a purpose without a full stop is followed by the allowed values."""
        if self.purpose.endswith((".", "…")):
            return self.purpose
        values = "" if isinstance(self.type, Flag) else f" ({self.type.describe()})"
        return f"{self.purpose[0].upper()}{self.purpose[1:]}{values}."

    @property
    def keyword_help(self) -> str:
        """Return the help with keywords in place of flags: `--start-from` becomes `start_from`."""
        return OptionGroup.with_keywords(re.sub(r"[;,] may be repeated", "", self.help))

    @property
    def annotation(self) -> Any:
        """Return the type annotation of the option's keyword in the Python API."""
        one = self.type.annotation
        value = GenericAlias(Sequence, one) if self.is_repeatable and one is not Any else one
        return value | None if self.default is None and not self.is_required else value

    def convert(self, value: Any) -> Any:
        """Return a front end's value as the declared type: a text becomes a path, a single value a tuple."""
        if isinstance(self.type, AnyObject) or not self.is_repeatable:
            return self.type.convert(value)
        is_single = isinstance(value, str | Path | Name) or not isinstance(value, Sequence)
        return tuple(map(self.type.convert, [value] if is_single else value))


def required(type: ParameterType, purpose: str, **spelling: Any) -> Any:  # noqa: A002  (a parameter's word)
    """Declare a field that is an option without a default."""
    return field(metadata={_KEY: Option("", type, purpose, **spelling)})


def option(default: Any, type: ParameterType, purpose: str, **spelling: Any) -> Any:  # noqa: A002
    """Declare a field that is an option with a default; a default of None means that it may have no value."""
    return field(default=default, metadata={_KEY: Option("", type, purpose, **spelling)})


def optional_file(purpose: str, **spelling: Any) -> Any:
    """Declare a field that is an option for the path of a file or folder, which may be left out."""
    return option(None, LocalPath(), purpose, **spelling)


def optional_place(purpose: str, **spelling: Any) -> Any:
    """Declare a field that is an option for a path or URI of the engine, which may be left out."""
    return option(None, EnginePath(), purpose, **spelling)


@dataclass(frozen=True)
class OptionGroup:
    """Base of dataclasses whose fields are options or nested option groups; the constructor validates the options."""

    panel: ClassVar[str] = "Options"

    def __post_init__(self) -> None:
        for each in self.own_options():
            value = getattr(self, each.name)
            if isinstance(each.type, AnyObject) or (value is None and not each.is_required):
                continue
            for one in value if each.is_repeatable else (value,):
                each.check(one, each.flag or each.name)

    @classmethod
    @cache
    def own_options(cls) -> tuple[Option, ...]:
        """Return the options declared by the class itself, without those of nested groups."""
        found = []
        for each in fields(cls):
            if _KEY in each.metadata:
                declared: Option = each.metadata[_KEY]
                default = None if each.default is MISSING else each.default
                is_optional = each.default is None
                flag = "" if declared.is_argument else declared.flag or "--" + each.name.replace("_", "-")
                added = replace(declared, name=each.name, default=default, is_optional=is_optional, flag=flag)
                found.append(replace(added, panel=declared.panel or cls.panel))
        return tuple(found)

    @classmethod
    @cache
    def options(cls) -> tuple[Option, ...]:
        """Return all options: arguments and required ones first, then the class's own, then those of nested groups."""
        found = [*cls.own_options()]
        for each in fields(cls):
            if isinstance(each.type, type) and issubclass(each.type, OptionGroup):
                found += each.type.options()
        return tuple(sorted(found, key=lambda one: (not one.is_argument, not one.is_required)))

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Build the group and its nested groups from a mapping of option names; a value of None counts as not given."""
        known = [each.name for each in cls.options()]
        unknown = next((name for name in values if name not in known), None)
        if unknown is not None:
            raise UnknownNameError(f"there is no option {unknown!r}; {nearest(unknown, known)}", field=unknown)
        given = {name: value for name, value in values.items() if value is not None}
        own = cls.own_options()
        for each in own:
            private = getattr(given.get(each.name), "private_location", None) if each.brings else None
            if private is not None:
                given.setdefault(each.brings, private)
        found = {each.name: each.convert(given[each.name]) for each in own if each.name in given}
        missing = next((each for each in own if each.is_required and each.name not in found), None)
        if missing is not None:
            raise UnknownNameError(
                f"{missing.flag or missing.name} is missing; give it: {missing.purpose}", field=missing.name
            )
        for nested in fields(cls):
            if isinstance(nested.type, type) and issubclass(nested.type, OptionGroup):
                names = {each.name for each in nested.type.options()}
                found[nested.name] = nested.type.from_values({name: given[name] for name in given if name in names})
        return cls(**found)

    @classmethod
    def with_keywords(cls, text: str) -> str:
        """Return a sentence about options with their names, as Python and REST spell them, in place of flags."""
        names = {each.flag: each.name for each in cls.options()}
        return _FLAG.sub(lambda found: names.get(found[0]) or found[1].replace("-", "_"), text)

    def as_record(self) -> dict[str, Any]:
        """Return the values of the group's own options as JSON, for a manifest."""
        return {each.name: getattr(self, each.name) for each in self.own_options()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Read the options back from a manifest, ignoring what this version does not know."""
        known = {each.name for each in cls.own_options()}
        return cls(**{key: value for key, value in record.items() if key in known})
