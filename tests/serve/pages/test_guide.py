"""The guided start: every suggestion can be run, and its link fills in the form."""

import html
import re

import pytest

from queryveil.core.names import resolve
from queryveil.methods.base import GOALS
from queryveil.serve.fields import local_methods
from tests.serve.conftest import Lab
from tests.serve.serving import API, wait_for_end


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


def test_pages_name_fields_and_suggest_forms_instead_of_commands(lab: Lab) -> None:
    [statistics] = lab.client.get(f"{API}/runs", params={"log": lab.log, "kind": "statistics"}).json()
    assert wait_for_end(lab.client, statistics["id"])["state"] == "done"
    methods = [method["name"] for method in lab.client.get(f"{API}/declarations").json()["methods"]]
    colours = {"--line", "--before", "--after"}  # of charts
    own = {"--folder", "--index", "--groups", "--max-unpacked"}  # flags of the server itself
    pages = [f"/try?log={lab.log}&method={method}" for method in methods]
    for page in (*pages, "/check", f"/logs/{lab.log}", f"/releases/{lab.release}", f"/runs/{lab.release}"):
        shown = lab.client.get(page).text
        assert set(re.findall(r"--[a-z][a-z-]+", shown)) <= own | colours, page
    shown = lab.client.get(f"/logs/{lab.log}").text.partition("What to try next")[2]
    addresses = [html.unescape(address) for address in re.findall(r'href="(/try[^"]+)#new"', shown)]
    assert any("method=km&k=2%2C+5%2C+10&" in address for address in addresses)
    for address in addresses:
        assert lab.client.get(address).status_code == 200


def test_targets_are_explained_where_they_are_chosen(lab: Lab) -> None:
    page = lab.client.get(f"/try?log={lab.log}&method=km").text
    for declared in lab.client.get(f"{API}/declarations").json()["targets"]:
        assert f"{declared['name']}: {declared['purpose'].partition(',')[0]}"[:40] in page.replace("&#39;", "'")
