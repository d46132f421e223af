"""Forms that are remembered under a random key, for the session that sent them."""

from types import SimpleNamespace
from typing import Any

from queryveil.serve.access import RememberedForms, Visitor


def request_of(who: str) -> Any:
    return SimpleNamespace(state=SimpleNamespace(visitor=Visitor("owner", who)))


def test_form_is_found_by_its_session_alone_until_newer_ones_replace_it() -> None:
    forms: RememberedForms[str] = RememberedForms(most=2)
    mine, other = request_of("a"), request_of("b")
    key = forms.keep(mine, "java")
    assert forms.find(mine, key) == "java"
    assert forms.find(other, key) is None
    assert forms.find(mine, "unknown") is None
    assert "java" not in key
    keys = [forms.keep(other, "x"), forms.keep(other, "y")]
    assert forms.find(mine, key) is None
    assert [forms.find(other, each) for each in keys] == ["x", "y"]
