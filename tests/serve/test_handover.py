"""What is handed over with a release: its rows as CSV, its report, and a datasheet."""

import csv
import io
import re
from collections import Counter

import pyarrow.parquet as pq

from tests.serve.conftest import Lab
from tests.serve.serving import API, SECRET, wait_for_end

HOSTILE = '<script>alert(1)</script> "quoted" \\ 😀\nsecond line'


def test_rows_are_downloaded_as_csv(lab: Lab) -> None:
    answer = lab.client.get(f"{API}/releases/{lab.release}/rows.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == f'attachment; filename="{lab.release}.csv"'
    folder = lab.app.state.context.jobs.release_of(lab.release)
    released = [row for path in sorted(folder.glob("data/*.parquet")) for row in pq.read_table(path).to_pylist()]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert Counter((row["user"], row["term"]) for row in rows) == Counter((str(r["user"]), r["term"]) for r in released)
    assert SECRET not in answer.text
    assert lab.client.get(f"{API}/releases/unknown/rows.csv").status_code == 404


def test_datasheet_is_written_with_attacks_and_what_the_owner_states(lab: Lab) -> None:
    attack = {"name": "for the datasheet", "release": lab.release, "attacks": ["known_terms(m=1)"], "targets": 5}
    attacks = lab.client.post(f"{API}/attack", json=attack).json()["id"]
    assert wait_for_end(lab.client, attacks)["state"] == "done"
    page = lab.client.get(f"/releases/{lab.release}").text
    [csrf] = set(re.findall(r'name="csrf" value="([0-9a-f]+)"', page))
    form = {"csrf": csrf, "contact": HOSTILE, "uses": "research\x7f"}
    sent = lab.client.post(f"/releases/{lab.release}/datasheet", data=form)
    run = sent.headers["location"].rpartition("/")[2]
    done = wait_for_end(lab.client, run)
    assert done["state"] == "done", done["error"]
    assert done["spec"]["attacks"] == attacks
    assert len(done["result"]["missing"]) == 7
    shown = lab.client.get(f"/runs/{run}").text
    assert f"/api/v1/runs/{run}/datasheet" in shown
    assert "You have not stated: owner, purpose, legal basis" in shown
    sheet = lab.client.get(f"{API}/runs/{run}/datasheet")
    assert "sandbox" in sheet.headers["content-security-policy"]
    for text in ("known_terms(m=1)", "&lt;script&gt;", "😀", "km(k=2, m=2)"):
        assert text in sheet.text
    assert "<script>" not in sheet.text
    assert SECRET not in sheet.text
    assert f'aria-label="Download {done["name"]}"' in lab.client.get(f"/releases/{lab.release}").text
    for each in (run, attacks):
        assert lab.client.delete(f"{API}/runs/{each}").status_code == 204
    assert lab.client.get(f"{API}/runs/{run}/datasheet").status_code == 404


def test_wrong_datasheets_are_refused_at_their_field(lab: Lab) -> None:
    body = {"name": "wrong", "release": lab.release}
    for more, field in (
        ({"owner": {"colour": "red"}}, "owner"),
        ({"owner": {"contact": "x" * 4_001}}, "owner.contact"),
        ({"attacks": "../secret"}, "attacks"),
        ({"attacks": "0123456789ab"}, "attacks"),
        ({"release": "unknown"}, "release"),
    ):
        refused = lab.client.post(f"{API}/datasheet", json={**body, **more})
        assert (refused.status_code // 100, refused.json()["field"]) == (4, field), refused.text
    assert lab.client.get(f"{API}/runs/{lab.release}/datasheet").status_code == 404
