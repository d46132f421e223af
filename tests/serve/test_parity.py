"""Everything that the pages do is available by REST: a walk over both, and the details that programs rely on."""

import re
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from queryveil.serve import pages
from queryveil.serve.access import OWNER_ONLY
from tests.serve.conftest import Lab
from tests.serve.serving import API, SECRET, wait_for_end

BROWSER_ONLY = {  # a program sends its token with every request
    "GET /login",
    "POST /login",
    "POST /logout",
}
OPERATIONS = {  # what a page shows or does → what does the same by REST
    "GET /": "GET /runs",
    "GET /logs": "GET /logs",
    "POST /logs": "POST /drafts",
    "POST /logs/upload": "POST /drafts/upload",
    "POST /logs/{log}/reopen": "POST /logs/{log}/reopen",
    "GET /drafts/{draft}": "GET /drafts/{draft}",
    "POST /drafts/{draft}": "PATCH /drafts/{draft}",
    "POST /drafts/{draft}/discard": "DELETE /drafts/{draft}",
    "GET /logs/{log}": "GET /logs/{log}",
    "GET /logs/{log}/delete": "GET /logs/{log}",
    "POST /logs/{log}/delete": "DELETE /logs/{log}",
    "GET /try": "GET /declarations",
    "POST /try": "POST /sweeps",
    "GET /guide": "GET /goals",
    "GET /runs": "GET /runs",
    "POST /runs/selected": "GET /runs",
    "GET /runs/delete": "GET /runs",
    "POST /runs/delete": "POST /runs/delete",
    "GET /compare": "GET /comparison",
    "POST /runs/{run}/describe": "PATCH /runs/{run}",
    "GET /check": "GET /folder",
    "POST /check": "POST /check",
    "POST /check/upload": "POST /check/upload",
    "POST /check/attack": "POST /attack-other",
    "GET /runs/{run}": "GET /runs/{run}",
    "POST /runs/{run}/cancel": "POST /runs/{run}/cancel",
    "POST /runs/{run}/again": "POST /runs/{run}/again",
    "GET /runs/{run}/delete": "GET /runs/{run}",
    "POST /runs/{run}/delete": "DELETE /runs/{run}",
    "GET /runs/{run}/forget": "GET /runs/{run}",
    "POST /runs/{run}/forget": "POST /runs/{run}/forget",
    "GET /runs/{run}/history": "GET /releases/{release}/people",
    "POST /runs/{run}/history": "POST /releases/{release}/history",
    "GET /releases/{release}": "GET /releases/{release}",
    "POST /releases/{release}/verify": "POST /verify",
    "POST /releases/{release}/attack": "POST /attack",
    "POST /releases/{release}/measure": "POST /measure",
    "POST /releases/{release}/datasheet": "POST /datasheet",
    "GET /search": "GET /releases",
    "POST /search": "POST /releases/{release}/search",
    "POST /search/index": "POST /index",
    "GET /audit": "GET /audit",
    "GET /api/v1/docs": "GET /openapi.json",
}


def page_routes() -> dict[str, APIRoute]:
    """Return the routes of all pages by method and path."""
    found = [route for router in pages.routers for route in router.routes if isinstance(route, APIRoute)]
    return {f"{method} {route.path}": route for route in found for method in route.methods or ()}


def rest_operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the operations of the OpenAPI document by method and path below the prefix."""
    return {
        f"{method.upper()} {path.removeprefix(API)}": operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


def test_every_page_and_form_has_a_rest_operation(lab: Lab) -> None:
    document = lab.client.get(f"{API}/openapi.json").json()
    operations = rest_operations(document) | {"GET /openapi.json": {}}
    assert set(page_routes()) == {*OPERATIONS, *BROWSER_ONLY}
    assert set(OPERATIONS.values()) <= set(operations)
    for page, route in page_routes().items():  # a page that is for the owner alone is not open to analysts by REST
        operation = operations.get(OPERATIONS.get(page, ""), {})
        if OWNER_ONLY in route.dependencies and route.methods == {"POST"}:
            assert operation["x-role"] == "owner", page


def test_every_form_leads_to_a_page_of_the_walk(lab: Lab) -> None:
    patterns = [
        re.compile(re.sub(r"\{\w+\}", "[^/]+", path.removeprefix("POST ")))
        for path in page_routes()
        if path.startswith("POST ")
    ]
    shown = [
        "/",
        "/logs",
        f"/logs/{lab.log}",
        f"/logs/{lab.log}/delete",
        f"/try?log={lab.log}",
        "/search",
        "/audit",
        "/runs",
        "/check",
    ]
    shown += [f"/runs/{lab.release}{more}" for more in ("", "/history", "/delete", "/forget")]
    forms = set()
    for page in (*shown, f"/releases/{lab.release}"):
        forms |= set(re.findall(r'<form method="post" action="([^"#?]+)', lab.client.get(page).text))
    assert len(forms) > 8
    for action in forms:
        assert any(pattern.fullmatch(action) for pattern in patterns), action


def test_document_names_security_examples_and_roles(lab: Lab) -> None:
    document = lab.client.get(f"{API}/openapi.json").json()
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert document["security"] == [{"token": []}]
    assert document["paths"]["/healthz"]["get"]["security"] == []
    operations = rest_operations(document)
    owners = {name for name, operation in operations.items() if operation.get("x-role") == "owner"}
    assert {"DELETE /logs/{log}", "POST /runs/{run}/forget", "GET /audit", "POST /releases/{release}/history"} <= owners
    assert not {"POST /runs", "GET /releases/{release}/download", "POST /search"} & owners
    schemas = document["components"]["schemas"]
    for name, operation in operations.items():
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if body is not None and name != "POST /search":
            reference = body["schema"].get("anyOf", [body["schema"]])[0]["$ref"]  # a body may be left out
            assert schemas[reference.rsplit("/", 1)[1]]["examples"], name
        assert operation["responses"].get("200") or operation["responses"].keys() & {"201", "202", "204"}


def test_one_history_and_a_sweep_by_rest(lab: Lab) -> None:
    people = lab.client.get(f"{API}/releases/{lab.release}/people").json()
    assert {person["number"] for person in people} == set(range(12))
    address = f"{API}/releases/{lab.release}/history"
    shown = [lab.client.post(address, json={"number": person["number"]}).json() for person in people]
    assert sum(SECRET in str(view["before"]) for view in shown) == 1
    assert lab.client.post(address, json={"person": "u7"}).json() in shown
    for wrong, field in (({}, "person"), ({"number": 1, "person": "u7"}, "person"), ({"number": 12}, "number")):
        answer = lab.client.post(address, json=wrong)
        assert (answer.status_code, answer.json()["field"]) == (422, field)
    body = {"name": "sweep", "log": lab.log, "method": "km(k=2|3, m=1)", "seed": 0}
    started = lab.client.post(f"{API}/sweeps", json=body)
    assert started.status_code == 202
    assert [run["name"] for run in started.json()] == ["sweep: km(k=2, m=1)", "sweep: km(k=3, m=1)"]
    assert [run["spec"]["seed"] for run in started.json()] == [0, 0]
    for run in started.json():
        assert wait_for_end(lab.client, run["id"])["state"] == "done"
        assert lab.client.delete(f"{API}/runs/{run['id']}").status_code == 204


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("runs", {"method": "km(k=2, m=2)", "seed": True}),
        ("runs", {"method": "km(k=2, m=2)", "keep_floor": True}),
        ("runs", {"method": "km(k=2, m=2)", "options": {"bots": True}}),
        ("attack", {"targets": True}),
        ("measure", {"seed": False}),
    ],
)
def test_true_is_no_number(lab: Lab, path: str, body: dict[str, Any]) -> None:
    where = {"log": lab.log} if path == "runs" else {"release": lab.release}
    answer = lab.client.post(f"{API}/{path}", json={"name": "true", **where, **body})
    assert answer.status_code == 422, answer.text
    assert "number" in answer.json()["error"]


def test_seed_zero_is_kept(lab: Lab) -> None:
    run = lab.client.post(f"{API}/measure", json={"name": "zero", "release": lab.release, "seed": 0}).json()
    assert run["spec"]["seed"] == 0
    assert lab.client.get(f"{API}/runs/{run['id']}").json()["spec"]["seed"] == 0


def test_head_is_answered_like_get_without_the_body(lab: Lab) -> None:
    for path in ("/", "/logs", f"{API}/logs", f"{API}/releases/{lab.release}/download"):
        answer: httpx.Response = lab.client.head(path)
        assert (answer.status_code, answer.content) == (200, b""), path


def test_api_page_shows_parameters_defaults_examples_and_answers(lab: Lab) -> None:
    page = lab.client.get(f"{API}/docs").text
    runs = page.partition("GET /api/v1/runs<")[2].partition("</section>")[0]
    assert "<code>sort</code>" in runs and "<td>address</td>" in runs
    assert "<code>&#34;created&#34;</code>" in runs
    sweep = page.partition("PATCH /api/v1/runs/{run}<")[2].partition("</section>")[0]
    assert "Example: <code>{" in sweep
    assert "Answers: 200 as JSON; errors: 400, 401" in sweep
