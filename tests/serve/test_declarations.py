"""Declarations as JSON and as form fields."""

import pytest

from queryveil.core.names import declarations
from queryveil.serve.declarations import (
    CLEANING,
    all_declarations,
    form_fields,
    local_methods,
    read_options,
    suggested_name,
    suggested_value,
)


def test_every_declaration_and_option_is_listed() -> None:
    found = all_declarations()
    assert [entry.name for entry in found.methods] == list(declarations("method"))
    assert set(found.options) == {"reading", "cleaning", "meaning"}
    assert "taxonomy" not in {field.name for field in found.options["meaning"]}  # a path is no text to be sent


def test_form_fields_describe_type_range_and_default() -> None:
    fields = {field.name: field for field in form_fields(CLEANING)}
    bots = fields["bots"]
    assert (bots.type, bots.minimum, bots.default, bots.required) == ("integer", 0, 100, False)
    assert fields["scrub"].type == "flag"
    assert fields["duplicates"].choices == ["merge", "keep"]


def test_required_parameters_are_suggested() -> None:
    km = declarations("method")["km"]
    assert {p.name: suggested_value(p) for p in km.parameters}["k"] == "5"
    assert suggested_name(km) == "km(k=5, m=2)"
    assert suggested_name(declarations("measure")["retention"]) == "retention"
    assert {method.name for method in local_methods()} == set(declarations("method"))


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        ({"bots": " 5 ", "scrub": "false", "duplicates": "keep"}, {"bots": 5, "scrub": False, "duplicates": "keep"}),
        ({"bots": "", "scrub": " "}, {}),
        ({"bots": "many", "scrub": "perhaps"}, {"bots": "many", "scrub": "perhaps"}),
        ({"unknown": "1"}, {}),
    ],
)
def test_option_values_of_a_form_are_converted(texts: dict[str, str], values: dict[str, object]) -> None:
    assert read_options(CLEANING, texts) == values
