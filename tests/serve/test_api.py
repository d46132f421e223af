"""The REST service from a log to a release that is verified, measured, attacked and downloaded."""

import io
import json
import re
import zipfile

from queryveil.serve.jobs import RunManager
from tests.serve.conftest import Lab
from tests.serve.serving import API, SECRET, start, upload, wait_for_end


def test_adding_a_log_computes_its_statistics(lab: Lab) -> None:
    [statistics] = lab.client.get(f"{API}/runs", params={"log": lab.log, "kind": "statistics"}).json()
    found = wait_for_end(lab.client, statistics["id"])["result"]
    terms, queries = found["tails"]
    assert (found["format"], found["people"], found["queries"], terms["distinct"]) == ("aol", 12, 61, 8)
    assert [row["low"] for row in terms["holders"]] == [1, 2, 3, 5, 10]
    assert sum(row["number"] for row in terms["holders"]) == 8
    assert sum(row["number"] for row in found["histories_by_terms"]) == 12
    assert abs(sum(row["share"] for row in queries["holders"]) - 1) < 1e-9
    assert [row["known"] for row in found["singled_out"]] == [1, 2, 3, 1, 2, 3]
    assert all(0 <= row["rate"]["low"] <= row["rate"]["value"] <= row["rate"]["high"] for row in found["singled_out"])


def test_following_a_run_and_examining_its_release(lab: Lab) -> None:
    run = start(lab.client, lab.log, "followed", options={"bots": 0, "stop_words": "english"}, kind="log")
    with lab.client.stream("GET", f"{API}/runs/{run}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = [json.loads(line.removeprefix("data: ")) for line in stream.iter_lines() if line]
    assert events[-1]["state"] == "done"
    assert {event["state"] for event in events} <= {"queued", "running", "done"}
    assert len({event["stage"] for event in events}) > 2
    release = lab.client.get(f"{API}/releases/{run}").json()
    assert release["verdict"]["state"] == "holds"
    assert (release["guarantee"], release["kind"], release["runs"]) == ("km(k=2, m=2)", "log", [])
    assert release["manifest"]["cleaning"]["options"]["stop_words"] == "english"
    examined = {
        kind: lab.client.post(f"{API}/{kind}", json={"name": kind, "release": run, **more}).json()["id"]
        for kind, more in (
            ("verify", {}),
            ("measure", {"measures": ["retention", "unique(m=2)"]}),
            ("attack", {"attacks": ["known_terms(m=1)"], "targets": 5}),
        )
    }
    found = {kind: wait_for_end(lab.client, each)["result"] for kind, each in examined.items()}
    assert found["verify"]["verdict"]["sentence"].startswith("km(k=2, m=2) holds")
    assert {score["measure"] for score in found["measure"]["scores"]} == {"retention", "unique(m=2)"}
    assert found["attack"]["results"][0]["attack"] == "known_terms(m=1)"
    assert len(found["attack"]["table"]["rows"][0]) == len(found["attack"]["table"]["headings"])
    assert {each["kind"] for each in lab.client.get(f"{API}/releases/{run}").json()["runs"]} == set(examined)
    assert lab.client.delete(f"{API}/runs/{run}").status_code == 204
    for gone in (run, *examined.values()):
        assert lab.client.get(f"{API}/runs/{gone}").status_code == 404
        assert not (lab.home / "runs" / gone).exists()


def test_kept_columns_are_warned_about_on_every_page(lab: Lab) -> None:
    run = start(lab.client, lab.log, "kept", options={"bots": 0}, kind="log", keep=["time:day"], keep_floor=2)
    assert wait_for_end(lab.client, run)["state"] == "done"
    [warning] = lab.client.get(f"{API}/releases/{run}").json()["verdict"]["warnings"]
    assert warning.startswith("The guarantee does not cover the column time:day: of 12 histories, ")
    for page in (f"/releases/{run}", f"/runs/{run}"):
        assert f'<ul class="warning"><li>{warning}</li></ul>' in lab.client.get(page).text
    assert "values of fewer than 2 people are left out" in lab.client.get(f"/releases/{run}").text
    assert lab.client.delete(f"{API}/runs/{run}").status_code == 204


def test_download_holds_the_release_and_nothing_else(lab: Lab) -> None:
    jobs: RunManager = lab.app.state.context.jobs
    answer = lab.client.get(f"{API}/releases/{lab.release}/download")
    assert answer.headers["content-disposition"] == 'attachment; filename="shared.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        packed = {name.removeprefix("shared/"): archive.read(name) for name in archive.namelist()}
    folder = jobs.release_of(lab.release)
    assert packed == {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert "manifest.json" in packed
    assert (jobs.private_of(lab.release) / "membership.parquet").exists()
    assert not [path for path in packed if "membership" in path or "profiles" in path]
    assert not [data for data in packed.values() if SECRET.encode() in data]


def test_declarations_releases_logs_and_routes_are_listed(lab: Lab) -> None:
    declared = lab.client.get(f"{API}/declarations").json()
    [km] = [method for method in declared["methods"] if method["name"] == "km"]
    assert km["about"] == {"guarantee": "km", "kinds": ["histories", "log"]}
    k = km["parameters"][0]
    assert (k["name"], k["type"], k["minimum"], k["required"]) == ("k", "integer", 2, True)
    assert {field["name"] for field in declared["options"]["cleaning"]} >= {"bots", "history"}
    assert lab.release in {release["id"] for release in lab.client.get(f"{API}/releases").json()}
    assert lab.log in {log["id"] for log in lab.client.get(f"{API}/logs").json()}
    page = lab.client.get(f"{API}/docs")
    for path in lab.client.get(f"{API}/openapi.json").json()["paths"]:
        assert path in page.text


def test_responses_do_not_reveal_server_paths(lab: Lab) -> None:
    shown = "".join(
        lab.client.get(f"{API}/{path}").text
        for path in ("logs", "runs", "releases", f"runs/{lab.release}", f"releases/{lab.release}", f"logs/{lab.log}")
    )
    assert str(lab.home) not in shown
    assert SECRET not in shown


def test_invalid_requests_get_status_sentence_and_field(lab: Lab) -> None:
    cases = [
        ({"name": "x", "log": lab.log, "method": "km(k=1, m=2)"}, 422, "k"),
        ({"name": "shared", "log": lab.log, "method": "km(k=2, m=2)"}, 409, "name"),
        ({"name": "x", "log": "nothing", "method": "km(k=2, m=2)"}, 404, "log"),
        ({"name": "x", "log": lab.log, "method": "km(k=2|3, m=2)"}, 422, "method"),
        ({"name": "x", "log": lab.log, "method": "km(k=2, m=2)", "user": "u1"}, 422, "user"),
        ({"name": "", "log": lab.log, "method": "km(k=2, m=2)"}, 422, "name"),
        ({"log": lab.log, "method": "km(k=2, m=2)"}, 422, "name"),
        ([1], 422, None),
    ]
    for body, status, field in cases:
        answer = lab.client.post(f"{API}/runs", json=body)
        assert (answer.status_code, answer.json()["field"]) == (status, field), answer.text
        assert answer.json()["error"].endswith((".", "?"))
    for kind in ("verify", "measure", "attack"):
        answer = lab.client.post(f"{API}/{kind}", json={"name": "x", "release": "nothing"})
        assert (answer.status_code, answer.json()["field"]) == (404, "release")
    unknown = lab.client.post(f"{API}/measure", json={"name": "x", "release": lab.release, "measures": ["retentoin"]})
    assert (unknown.status_code, unknown.json()["field"]) == (422, "measures")
    assert "did you mean retention" in unknown.json()["error"]
    assert lab.client.post(f"{API}/runs/{lab.release}/cancel").status_code == 409
    assert lab.client.post(f"{API}/runs/{lab.release}/again").status_code == 409
    assert lab.client.put(f"{API}/runs").status_code == 405
    assert upload(lab.client, "shared").status_code == 409


def test_forms_of_a_release_start_runs_and_other_addresses_are_not_found(lab: Lab) -> None:
    address = f"/releases/{lab.release}"
    [csrf] = set(re.findall(r'name="csrf" value="([0-9a-f]+)"', lab.client.get(address).text))
    answer = lab.client.post(f"{address}/verify", data={"csrf": csrf})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{address}#verify")
    for call in (lab.client.post, lab.client.get):
        assert call(f"{address}/nothing").status_code == 404
