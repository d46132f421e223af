"""Options: what a declaration gives the front ends, and which values are refused."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from queryveil.core.errors import UnknownNameError
from queryveil.core.names import Flag, Integer, Name, Real, Text, Word
from queryveil.core.options import (
    AnyObject,
    CommaSeparated,
    EnginePath,
    FreeText,
    LocalPath,
    Location,
    Option,
    OptionGroup,
    TextName,
    option,
    required,
)


@dataclass(frozen=True)
class Colours(OptionGroup):
    """Options in a group of their own."""

    colour: str = option("red", Word(("red", "green")), "which colour")
    shade: float = option(0.5, Real(0, 1), "How dark.")


@dataclass(frozen=True, kw_only=True)
class Painting(OptionGroup):
    """A request with every type of option."""

    count: int | None = option(None, Integer(minimum=1), "how many")
    wall: Path = required(LocalPath(), "The wall.", is_argument=True)
    paints: tuple[str | Name, ...] = required(TextName("paint"), "A paint.", flag="--paint", is_repeatable=True)
    keep: tuple[str, ...] = option((), CommaSeparated(), "What to keep.")
    out: Location | None = option(None, EnginePath(), "Where to.")
    is_glossy: bool = option(True, Flag(), "make it shine")
    size: str = option("2m", Text(r"\d+m", "a size such as 2m"), "how large")
    remark: str = option("", FreeText(), "A remark.", short="-r")
    brush: Any = option(None, AnyObject(), "A brush.", is_python_only=True)
    colours: Colours = field(default_factory=Colours)


def by_name(group: type[OptionGroup]) -> dict[str, Option]:
    return {each.name: each for each in group.options()}


def test_arguments_come_first_then_required_options_then_nested_groups() -> None:
    assert list(by_name(Painting))[:3] == ["wall", "paints", "count"]
    assert list(by_name(Painting))[-2:] == ["colour", "shade"]
    assert [each.name for each in Painting.own_options()] == [each.name for each in fields(Painting)][:-1]


def test_a_flag_is_the_name_unless_it_is_given() -> None:
    flags = {name: each.flag for name, each in by_name(Painting).items()}
    assert (flags["is_glossy"], flags["paints"], flags["wall"]) == ("--is-glossy", "--paint", "")


def test_required_options() -> None:
    assert [name for name, each in by_name(Painting).items() if each.is_required] == ["wall", "paints"]


def test_help_is_a_sentence_with_the_values_unless_it_is_one_already() -> None:
    helps = {name: each.help for name, each in by_name(Painting).items()}
    assert helps["wall"] == "The wall."
    assert helps["size"] == "How large (a size such as 2m)."
    assert helps["count"] == "How many (a whole number of at least 1)."
    assert helps["colour"] == "Which colour (one of red, green)."
    assert helps["is_glossy"] == "Make it shine."


def test_annotations_are_the_types_of_python() -> None:
    found = {name: each.annotation for name, each in by_name(Painting).items()}
    assert found["count"] == int | None
    assert found["wall"] == Location
    assert found["paints"] == Sequence[str | Name]
    assert found["out"] == Location | None
    assert (found["is_glossy"], found["shade"], found["remark"]) == (bool, float, str)


def test_path_options() -> None:
    assert [name for name, each in by_name(Painting).items() if each.is_path] == ["wall", "out"]


def test_values_are_converted_and_sorted_into_their_groups() -> None:
    made = Painting.from_values(
        {
            "wall": "north",
            "paints": "oil",
            "count": np.int64(3),
            "keep": "a, b,",
            "out": "hdfs://x//y",
            "colour": "green",
        }
    )
    assert (made.wall, made.paints, made.count, made.keep) == (Path("north"), ("oil",), 3, ("a", "b"))
    assert type(made.count) is int
    assert made.out == "hdfs://x//y"
    assert made.colours == Colours("green", 0.5)


def test_sequences_stay_in_order_and_none_means_not_given() -> None:
    name = Name("oil", (("k", 1),))
    made = Painting.from_values(
        {"wall": Path("w"), "paints": ["b", name], "keep": ["x"], "size": None, "colour": None, "brush": [1]}
    )
    assert (made.paints, made.keep, made.size, made.brush) == (("b", name), ("x",), "2m", [1])
    assert made.colours.colour == "red"


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"count": 0}, "--count must be a whole number of at least 1, not 0; give another value."),
        ({"count": True}, "--count must be a whole number of at least 1, not true; give another value."),
        ({"wall": 3}, "wall must be a path, not 3; give another value."),
        ({"paints": [1]}, "--paint must be the name of a paint, not 1; give another value."),
        ({"keep": [1]}, "--keep must be words separated by commas"),
        ({"keep": 3}, "--keep must be words separated by commas, not 3"),
        ({"out": 3}, "--out must be a path, not 3"),
        ({"is_glossy": 1}, "--is-glossy must be true or false, not 1"),
        ({"size": "big"}, "--size must be a size such as 2m, not big"),
        ({"remark": 3}, "--remark must be a text, not 3"),
        ({"colour": "gren"}, "--colour must be one of red, green, not gren; did you mean green or red?"),
        ({"shade": 2}, "--shade must be a number from 0 to 1, not 2"),
        ({"remarks": ""}, "there is no option 'remarks'; did you mean remark"),
    ],
)
def test_wrong_values_raise_a_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        Painting.from_values({"wall": "w", "paints": "p", **values})
    assert str(caught.value).startswith(sentence)
    assert caught.value.field == next(iter(values))


def test_records_round_trip_and_unknown_keys_are_ignored() -> None:
    record = Colours("green", 0.25).as_record()
    assert record == {"colour": "green", "shade": 0.25}
    assert Colours.from_record({**record, "of a later version": 1}) == Colours("green", 0.25)


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"^wall is missing; give it: The wall.$"):
        Painting.from_values({"paints": "p"})
    assert inspect.signature(Painting).parameters["wall"].default is inspect.Parameter.empty
