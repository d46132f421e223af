"""The guided start: every suggestion can be run, and its link fills in the form."""

import re

import pytest

from queryveil.core.names import resolve
from queryveil.methods.base import GOALS
from queryveil.serve.fields import local_methods
from tests.serve.conftest import Lab
from tests.serve.serving import API


def test_every_goal_has_suggestions_that_resolve() -> None:
    declared = [each for method in local_methods() for each in method.suggestions]
    assert {each.goal for each in declared} == set(GOALS)
    for method in local_methods():
        for each in method.suggestions:
            assert resolve("method", each.method).declaration is method
            assert str(resolve("method", each.method)) == each.method  # nothing that is a default anyway


@pytest.mark.parametrize("goal", GOALS)
def test_suggestions_fill_in_the_form(lab: Lab, goal: str) -> None:
    page = lab.client.get(f"/guide?log={lab.log}&goal={goal}").text
    addresses = [address.replace("&amp;", "&") for address in re.findall(r'href="(/try\?[^"]+)#new"', page)]
    [listed] = [each for each in lab.client.get(f"{API}/goals").json() if each["goal"] == goal]
    assert len(addresses) == len(listed["suggestions"]) > 0
    for address, suggestion in zip(addresses, listed["suggestions"], strict=True):
        assert suggestion["reason"] in page or suggestion["reason"][1:].replace("'", "&#39;") in page
        form = lab.client.get(address)
        assert form.status_code == 200
        for name, value in suggestion["settings"].items():
            if name != "method":
                is_field = rf'name="{name}" value="{re.escape(value)}"'
                is_choice = rf'<option value="{re.escape(value)}" selected'
                assert re.search(f"{is_field}|{is_choice}", form.text), (name, value)


def test_second_release_of_a_log_is_warned_about(lab: Lab) -> None:
    n_released = lab.client.get(f"{API}/logs/{lab.log}").json()["releases"]
    assert n_released >= 1  # other tests may have made further releases of the shared log
    noun = "release" if n_released == 1 else "releases"
    assert f"This log has {n_released} {noun} already." in lab.client.get(f"/try?log={lab.log}").text
    unknown = lab.client.get("/guide?goal=fame").text
    assert "Use these settings" not in unknown


def test_targets_are_explained_where_they_are_chosen(lab: Lab) -> None:
    page = lab.client.get(f"/try?log={lab.log}&method=km").text
    for declared in lab.client.get(f"{API}/declarations").json()["targets"]:
        assert f"{declared['name']}: {declared['purpose'].partition(',')[0]}"[:40] in page.replace("&#39;", "'")
