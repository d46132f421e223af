"""Declarations as JSON, as fields of REST bodies and as form controls."""

import pytest
from pydantic import BaseModel, ValidationError

from queryveil.core.names import Integer, declarations
from queryveil.serve.fields import (
    CLEANING,
    all_declarations,
    form_field,
    local_methods,
    read_options,
    suggested_name,
    suggested_value,
    with_options,
)
from queryveil.workflows.requests import AttackRequest, ReleaseRequest


def test_every_declaration_and_option_is_listed() -> None:
    found = all_declarations()
    assert [entry.name for entry in found.methods] == list(declarations("method"))
    assert set(found.options) == {"reading", "cleaning", "meaning"}
    assert "taxonomy" not in {field.name for field in found.options["meaning"]}  # a path is no text to be sent


def test_form_fields_describe_type_range_and_default() -> None:
    fields = {field.name: field for field in map(form_field, CLEANING)}
    bots = fields["bots"]
    assert (bots.type, bots.minimum, bots.default, bots.required) == ("integer", 0, 100, False)
    assert fields["scrub"].type == "flag"
    assert fields["duplicates"].choices == ["merge", "keep"]


def test_controls_offer_the_choices_of_a_page() -> None:
    options = {option.name: option for option in ReleaseRequest.options()}
    kind, market = form_field(options["kind"], ("histories", "log")), form_field(options["market"], ["a.csv"])
    assert (kind.type, kind.choices, market.type, market.choices) == ("word", ["histories", "log"], "file", ["a.csv"])
    assert (form_field(options["keep"], ["time"]).type, form_field(options["kind"]).type) == ("words", "text")


@with_options(AttackRequest, "attacks", "targets", "page", changed={"targets": {"type": Integer(1, 9)}})
class AttackBody(BaseModel):
    """A body with some options of a request."""


def test_rest_fields_have_type_range_default_and_help_of_their_options() -> None:
    fields = AttackBody.model_json_schema()["properties"]
    assert fields["targets"] == {
        "default": 5_000,
        "description": "The maximum number of people to attack.",
        "maximum": 9,
        "minimum": 1,
        "title": "Targets",
        "type": "integer",
    }
    assert fields["attacks"]["type"] == "array"
    assert fields["attacks"]["description"] == "An attack (queryveil list attacks); by default all."
    assert AttackBody.model_validate({"page": ""}).model_dump() == {"attacks": [], "targets": 5_000, "page": None}
    for wrong in ({"targets": 10}, {"attacks": "known_terms"}, {"attacks": ["x" * 1_001]}, {"page": 1}):
        with pytest.raises(ValidationError):
            AttackBody.model_validate(wrong)


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
        ({"keep.time:day": "1", "keep.url": "", "keep_floor": "3", "keep": "x"}, {"keep": ["time:day"]}),
    ],
)
def test_option_values_of_a_form_are_converted(texts: dict[str, str], values: dict[str, object]) -> None:
    keep = next(option for option in ReleaseRequest.options() if option.name == "keep")
    assert read_options((*CLEANING, keep), texts) == values
