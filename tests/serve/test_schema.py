"""Requests generated from the OpenAPI document get no server error, and only documented responses."""

import secrets
from typing import Any

import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.serve.conftest import Lab
from tests.serve.serving import API

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
ENDLESS = f"{API}/events"  # a stream of all runs; tests/serve/test_events.py reads it


def test_generated_requests_get_documented_responses(lab: Lab) -> None:
    address = str(lab.client.base_url)
    headers = {"authorization": lab.client.headers["authorization"]}
    schema = schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json", headers=headers)
    found: list[Any] = [each.ok() for each in schema.get_all_operations()]  # type: ignore[union-attr]
    operations = [operation for operation in found if operation.path != ENDLESS]
    assert len(operations) == len(found) - 1 > 15
    for operation in operations:
        _check_operation(operation, lab)
    assert lab.client.get("/api/v1/logs").status_code == 200


def _check_operation(operation: Any, lab: Lab) -> None:
    known = {"log": lab.log, "run": lab.release, "release": lab.release}

    @seed(9)
    @settings(max_examples=12, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(), is_known=st.booleans())
    def check_case(case: Any, is_known: bool) -> None:
        if is_known and operation.method != "delete":  # use an existing id
            case.path_parameters.update({name: known[name] for name in case.path_parameters if name in known})
            if isinstance(case.body, dict):
                case.body.update({name: known[name] for name in case.body if name in known})
        if isinstance(case.body, dict) and "name" in case.body:
            case.body["name"] = secrets.token_hex(4)
        headers = {"authorization": lab.client.headers["authorization"]}
        case.call_and_validate(checks=CHECKS, headers=headers, timeout=600)  # other tests may run at the same time

    check_case()
