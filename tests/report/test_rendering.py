"""Figures and notes are written consistently; templates are strict, extensible and part of the package."""

from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from jinja2 import TemplateNotFound, UndefinedError
from markupsafe import Markup

from queryveil.report.rendering import (
    amount,
    capitalize_first,
    count_range,
    environment,
    group_notes,
    number,
    option_value,
    percent,
    plural,
)
from tests.report.test_release_report import HOLDS, SCORES, manifest, render

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "src" / "queryveil" / "report" / "templates"


def test_ranges_of_counts_are_written_in_words() -> None:
    assert [count_range(1, 1), count_range(2, 1000), count_range(1001, None)] == ["1", "2 to 1,000", "1,001 or more"]


def test_percentages_round_to_none_or_all_only_if_exact() -> None:
    assert [percent(value) for value in (None, 0.0, 0.049, 0.05, 50.0, 99.94, 99.95, 100.0, 120.0)] == [
        "unknown",
        "0.0%",
        "<0.1%",
        "0.1%",
        "50.0%",
        "99.9%",
        ">99.9%",
        "100.0%",
        "120.0%",
    ]


def test_numbers_and_amounts() -> None:
    assert (number(1234567), number(None)) == ("1,234,567", "unknown")
    assert (amount(12.345, "%"), amount(12345.6, "bits"), amount(0.5, "")) == ("12.3%", "1.235e+04 bits", "0.5")
    assert amount(None, "bits") == "unknown"
    assert (plural(1, "person", "people"), plural(2000, "person", "people")) == ("1 person", "2,000 people")
    assert (capitalize_first("log size kept"), capitalize_first("")) == ("Log size kept", "")


def test_option_values_may_be_nested() -> None:
    assert option_value({"a": True, "b": [None, "x", 1.5], "c": ()}) == "a: yes, b: none, x, 1.5, c: none"
    assert (option_value(False), option_value("")) == ("no", "none")


def test_notes_are_given_once_with_their_subjects() -> None:
    notes = [("rough", "a"), ("", "b"), ("late", "b"), ("rough", "c")]
    assert group_notes(notes, 3) == [("a, c", "rough"), ("b", "late")]
    assert group_notes(notes, 3, "; ")[0] == ("a; c", "rough")
    assert group_notes([("rough", "a"), ("rough", "b")], 2) == [("", "rough")]


def test_text_is_escaped_and_markup_is_not() -> None:
    template = environment().from_string("{{ text }}{{ markup }}")
    assert template.render(text="<b>", markup=Markup("<b>")) == "&lt;b&gt;<b>"


def test_missing_variable_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        environment().from_string("{{ missing }}").render()


def test_every_template_compiles() -> None:
    names = [str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.j2")]
    assert len(names) > 15
    for name in names:
        environment().get_template(name)


def test_section_may_come_from_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "outside_kind"
    (package / "templates").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "templates" / "section.html.j2").write_text(
        '{% from "macros.html.j2" import score_table %}<section><h2>{{ heading }}</h2>\n'
        '{{ score_table("Outside", scores) }}</section>\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    page = render(manifest(), HOLDS, SCORES, "outside_kind:section.html.j2", heading="From <elsewhere>")
    assert "<h2>From &lt;elsewhere&gt;</h2>" in page
    assert "<caption>Outside</caption>" in page
    with pytest.raises(TemplateNotFound):
        render(manifest(), HOLDS, SCORES, "outside_kind:none.html.j2")


def test_templates_and_style_sheets_ship_in_the_wheel() -> None:
    shipped = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    made_of = [path for path in TEMPLATES.rglob("*") if path.is_file()]
    assert {path.suffix for path in made_of} == {".j2", ".css"}
    assert {str(path.relative_to(ROOT / "src")) for path in made_of} <= shipped
