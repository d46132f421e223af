"""Run specs: what REST bodies and forms become, how they are stored, and what a worker makes of them."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from queryveil.core.errors import UnknownNameError
from queryveil.serve.api.models import AttackIn, MeasureIn, RunIn, VerifyIn
from queryveil.serve.run_specs import (
    AnonymizeSpec,
    RunInputs,
    RunSpec,
    StatisticsSpec,
    parse_spec,
)
from queryveil.serve.store import LogRow
from tests.serve.conftest import Lab
from tests.serve.serving import API

FULL: dict[str, Any] = {
    "method": "km(k=2, m=2)",
    "kind": "log",
    "keep": ["time"],
    "seed": 0,
    "options": {"bots": 0},
    "values": "values.csv",
}


def inputs(folder: Path, **files: Path) -> RunInputs:
    row = LogRow(name="one", kind="demo", path="/logs/one", filename="one", reading={"format": "aol"}, market="/m.csv")
    return RunInputs(
        folder=folder, files=files, log_row=row, release_run=None, demo_people=0, index=None, max_unpacked="1MB"
    )


@pytest.mark.parametrize(
    ("spec", "stored"),
    [
        (AnonymizeSpec(**FULL), FULL),
        (parse_spec("anonymize", {"method": "km(k=2, m=2)", "kind": "", "market": ""}), {"method": "km(k=2, m=2)"}),
        (parse_spec("verify", {"claim": ""}), {}),
        (parse_spec("measure", {"measures": ["retention"], "seed": 0}), {"measures": ["retention"], "seed": 0}),
        (parse_spec("attack", {"targets": 7, "attacks": []}), {"targets": 7}),
        (StatisticsSpec(), {}),
    ],
)
def test_json_holds_what_differs_from_the_default_and_is_read_back(spec: RunSpec, stored: dict[str, Any]) -> None:
    assert spec.to_json() == stored
    assert parse_spec(spec.run_kind, stored) == spec


def test_rest_body_is_stored_without_name_log_and_release() -> None:
    assert RunIn(name="a", log="l", **FULL).to_json() == FULL
    assert VerifyIn.model_validate({"name": "a", "release": "r", "claim": "km(k=2, m=2)"}).to_json() == {
        "claim": "km(k=2, m=2)"
    }
    assert MeasureIn.model_validate({"name": "a", "release": "r"}).to_json() == {}
    assert AttackIn.model_validate({"name": "a", "release": "r", "targets": 7}).to_json() == {"targets": 7}


def test_unknown_fields_and_lone_surrogates_are_refused() -> None:
    for body in ({"user": "u1"}, {"kind": "\ud800"}):
        with pytest.raises(ValidationError):
            RunIn.model_validate({"name": "a", "log": "l", "method": "km(k=2, m=2)", **body})
    with pytest.raises(ValidationError):
        AnonymizeSpec.model_validate({"method": "km(k=2, m=2)", "out": "/etc"})


def test_release_request_takes_files_of_the_folder_before_those_of_the_log(tmp_path: Path) -> None:
    spec = AnonymizeSpec.model_validate(
        {"method": "km(k=2, m=2, target=bid)", "options": {"bots": 0, "network": "wordnet"}, "seed": 3}
    )
    request = spec.release_request(inputs(tmp_path))
    assert (request.seed, request.cleaning.bots, request.reading.format) == (3, 0, "aol")
    assert request.source.paths == (Path("/logs/one"),)
    assert (request.out, request.private) == (tmp_path / "release", tmp_path / "private")
    assert request.market == Path("/m.csv")
    given = spec.release_request(inputs(tmp_path, market=tmp_path / "mine.csv"))
    assert given.market == tmp_path / "mine.csv"
    assert AnonymizeSpec(method="query_k(k=2)").release_request(inputs(tmp_path)).market is None


@pytest.mark.parametrize("option", ["start_from", "taxonomy", "groups", "bot"])
def test_options_that_are_paths_or_unknown_are_refused(tmp_path: Path, option: str) -> None:
    spec = AnonymizeSpec(method="km(k=2, m=2)", options={option: "/etc/passwd"})
    with pytest.raises(UnknownNameError, match="there is no option") as raised:
        spec.check(inputs(tmp_path))
    assert raised.value.field == option


def test_form_and_rest_store_the_same_spec(lab: Lab) -> None:
    page = lab.client.get(f"/try?log={lab.log}&method=km").text
    [token] = re.findall(r'name="csrf" value="([^"]+)"', page)[:1]
    fields = {"k": "2", "m": "1", "kind": "log", "keep.time": "1", "seed": "0", "bots": "0", "charset": "letters"}
    form = {"csrf": token, "log": lab.log, "method": "km", "name": "by form", **fields}
    assert lab.client.post("/try", data=form).status_code == 303
    body = {"name": "by rest", "log": lab.log, **FULL, "method": "km(k=2, m=1)", "values": ""}
    assert lab.client.post(f"{API}/runs", json=body).status_code == 202
    runs = {run["name"]: run for run in lab.client.get(f"{API}/runs", params={"log": lab.log}).json()}
    assert runs["by form"]["spec"] == runs["by rest"]["spec"]
    assert runs["by form"]["spec"]["seed"] == 0
    for name in ("by form", "by rest"):
        assert lab.client.delete(f"{API}/runs/{runs[name]['id']}").status_code == 204
