"""The table of runs: filters, order, export, names, tags and notes, several runs at once, and comparison."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from queryveil.serve.run_specs import AnonymizeSpec
from queryveil.serve.run_table import RunFilter, as_csv
from queryveil.serve.store import RunRow
from tests.serve.conftest import Lab
from tests.serve.serving import API, start, wait_for_end


@pytest.fixture(scope="module")
def other(lab: Lab) -> Iterator[str]:
    """Make another release of the shared log, with tags and notes."""
    run = start(lab.client, lab.log, "beta", method="query_k(k=2)")
    assert wait_for_end(lab.client, run)["state"] == "done"
    body = {"tags": ["final", " for  review "], "notes": "=the one\nwe publish"}
    assert lab.client.patch(f"{API}/runs/{run}", json=body).json()["tags"] == ["final", "for review"]
    yield run
    lab.client.delete(f"{API}/runs/{run}")


def names(lab: Lab, query: str) -> list[str]:
    return [run["name"] for run in lab.client.get(f"{API}/runs?{query}").json()]


def csrf_of(lab: Lab, page: str) -> str:
    [token] = set(re.findall(r'name="csrf" value="([0-9a-f]+)"', lab.client.get(page).text))
    return str(token)


def test_runs_are_filtered_and_sorted(lab: Lab, other: str) -> None:
    assert names(lab, "kind=anonymize&tag=final") == ["beta"]
    assert names(lab, "q=WE+publish") == ["beta"]
    assert names(lab, "q=query_k") == ["beta"]
    assert names(lab, "kind=anonymize&tag=absent") == []
    assert names(lab, f"log={lab.log}&kind=anonymize&sort=name")[:1] == ["beta"]
    assert names(lab, f"log={lab.log}&kind=anonymize&sort=name&order=desc")[-1:] == ["beta"]
    assert lab.client.get(f"{API}/runs?state=lost").status_code == 422
    page = lab.client.get("/runs?tag=final&sort=name").text
    assert 'aria-sort="ascending"' in page
    assert "beta" in page
    assert f'href="/runs/{lab.release}"' not in page
    assert RunFilter.read({"sort": "password", "order": "up"}) == RunFilter(sort="created", order="desc")


def test_runs_are_exported_as_csv(lab: Lab, other: str) -> None:
    answer = lab.client.get(f"{API}/runs.csv?kind=anonymize&tag=final")
    assert answer.headers["content-type"].startswith("text/csv")
    [row] = csv.DictReader(io.StringIO(answer.text))
    found = {name: row[name] for name in ("name", "method", "guarantee", "verdict", "state", "tags", "notes", "log")}
    assert found == {
        "name": "beta",
        "method": "query_k(k=2)",
        "guarantee": "query_k(k=2)",
        "verdict": "holds",
        "state": "done",
        "tags": "final; for review",
        "notes": "'=the one\nwe publish",  # no formula for a spreadsheet
        "log": "shared",
    }
    assert float(row["seconds"]) > 0
    assert as_csv(("a",), [("-1",), (-1,), ("@x",)]).split() == ["a", "'-1", "-1", "'@x"]


def test_name_tags_and_notes_are_changed_on_the_page(lab: Lab, other: str) -> None:
    csrf = csrf_of(lab, f"/runs/{other}")
    form = {"csrf": csrf, "name": "shared", "tags": "x", "notes": ""}
    refused = lab.client.post(f"/runs/{other}/describe", data=form)
    assert refused.status_code == 422
    assert "there is a run named shared already" in refused.text
    assert 'value="shared"' in refused.text  # what was typed is kept
    form |= {"name": "gamma", "tags": "one, two,one", "notes": "  kept "}
    assert lab.client.post(f"/runs/{other}/describe", data=form).status_code == 303
    run = lab.client.get(f"{API}/runs/{other}").json()
    assert (run["name"], run["tags"], run["notes"]) == ("gamma", ["one", "two"], "kept")
    for wrong in ({"tags": ["a" * 41]}, {"tags": ["a,b"]}, {"notes": "x" * 4_001}, {"name": ""}, {"colour": "red"}):
        assert lab.client.patch(f"{API}/runs/{other}", json=wrong).status_code == 422
    body = {"name": "beta", "tags": ["final", "for review"], "notes": "=the one\nwe publish"}
    assert lab.client.patch(f"{API}/runs/{other}", json=body).status_code == 200


def failed_run(lab: Lab, name: str, release: str | None = None) -> str:
    """Add a run that has failed, without running it."""
    row = RunRow.queued(name, AnonymizeSpec.model_validate({"method": "km(k=3, m=2)"}), log=lab.log, release=release)
    return str(lab.app.state.context.store.add(replace(row, state="failed")).id)


def test_several_runs_are_deleted_after_a_confirmation(lab: Lab) -> None:
    runs = [failed_run(lab, f"doomed {i}") for i in range(2)]
    examined = failed_run(lab, "check of doomed 0", release=runs[0])
    csrf = csrf_of(lab, "/runs")
    nothing = lab.client.post("/runs/selected", data={"csrf": csrf, "action": "delete"})
    assert (nothing.status_code, "no run is ticked" in nothing.text.casefold()) == (422, True)
    chosen = lab.client.post("/runs/selected", data={"csrf": csrf, "run": runs, "action": "delete"})
    question = lab.client.get(chosen.headers["location"]).text
    assert all(text in question for text in ("Delete 2 runs?", "doomed 0", "doomed 1", "check of doomed 0"))
    assert lab.client.get(f"{API}/runs/{runs[0]}").status_code == 200  # nothing is deleted yet
    assert lab.client.post("/runs/delete", data={"csrf": csrf, "run": [*runs, examined]}).status_code == 303
    assert {lab.client.get(f"{API}/runs/{run}").status_code for run in (*runs, examined)} == {404}


def test_several_runs_are_deleted_by_rest_or_none(lab: Lab) -> None:
    run = failed_run(lab, "doomed")
    assert lab.client.post(f"{API}/runs/delete", json={"runs": [run, "unknown"]}).status_code == 404
    assert lab.client.get(f"{API}/runs/{run}").status_code == 200
    assert lab.client.post(f"{API}/runs/delete", json={"runs": [run]}).status_code == 204
    assert lab.client.get(f"{API}/runs/{run}").status_code == 404


def test_runs_are_compared_in_their_own_units(lab: Lab, other: str) -> None:
    rows = lab.client.get(f"{API}/comparison?run={lab.release}&run={other}").json()
    assert {(row["name"], row["counted_in"]) for row in rows} == {("shared", "terms"), ("beta", "queries")}
    table = list(csv.DictReader(io.StringIO(lab.client.get(f"{API}/comparison.csv?run={other}").text)))
    assert [row["label"] for row in table] == [row["label"] for row in rows if row["name"] == "beta"]
    csrf = csrf_of(lab, "/runs")
    chosen = lab.client.post("/runs/selected", data={"csrf": csrf, "run": [lab.release, other], "action": "compare"})
    page = lab.client.get(chosen.headers["location"]).text
    assert "query_k(k=2)" in page  # a run with a name of its own shows its method
    assert "by whole queries" in page
    assert lab.client.get(f"{API}/comparison?run=unknown").status_code == 404


def test_settings_of_a_run_are_used_again(lab: Lab) -> None:
    fields = {"method": "km(k=3, m=2)", "kind": "log", "options": {"scrub": False, "bots": 7}, "keep": ["time:day"]}
    spec = AnonymizeSpec.model_validate(fields)
    row = RunRow.queued("odd", spec, log=lab.log)
    run = lab.app.state.context.store.add(replace(row, state="failed")).id
    page = lab.client.get(f"/try?like={run}").text
    assert re.search(r'name="k" value="3"', page)
    assert re.search(r'name="bots" value="7"', page)
    assert re.search(r'<option value="log" selected', page)
    assert re.search(r'name="keep.time:day" value="1" checked', page)
    assert lab.client.get(f"/try?log={lab.log}&method=km&k=4").text.count('name="k" value="4"') == 1
    [statistics] = lab.client.get(f"{API}/runs?kind=statistics&log={lab.log}").json()
    assert lab.client.get(f"/try?like={statistics['id']}").status_code == 422
    lab.client.delete(f"{API}/runs/{run}")
