"""Releases and files of somebody else: sent or in the server's folder, verified for any claim, and attacked."""

import gzip
import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from queryveil.core.errors import InputError
from queryveil.serve.other_releases import NEEDS_CLAIM, releases_in, unpack
from queryveil.serve.run_files import clear_folder, upload_name
from tests.serve.conftest import Lab
from tests.serve.serving import API, LOG, wait_for_end


def archive(**files: bytes) -> bytes:
    """Return a zip archive of files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return out.getvalue()


def send(lab: Lab, name: str, filename: str, data: bytes, **fields: str) -> dict[str, object]:
    """Send a file to be checked, and wait for the verdict."""
    answer = lab.client.post(f"{API}/check/upload", data={"name": name, **fields}, files={"file": (filename, data)})
    assert answer.status_code == 202, answer.text
    return wait_for_end(lab.client, answer.json()["id"])


def test_release_that_was_sent_is_verified_and_deleted_with_its_run(lab: Lab) -> None:
    packed = lab.client.get(f"{API}/releases/{lab.release}/download").content
    run = send(lab, "theirs", "../theirs.zip", packed)
    assert run["state"] == "done", run
    assert run["result"]["verdict"]["state"] == "holds"  # type: ignore[index]
    assert run["result"]["manifest"]["guarantee"] == "km(k=2, m=2)"  # type: ignore[index]
    page = lab.client.get(f"/runs/{run['id']}").text
    assert "The guarantee holds" in page
    assert "What the release says of itself" in page
    folder = lab.home / "runs" / str(run["id"])
    assert [path.name for path in (folder / "upload").iterdir()] == ["theirs.zip"]
    lab.client.delete(f"{API}/runs/{run['id']}")
    assert not folder.exists()


def test_file_that_is_too_large_when_unpacked_is_not_checked(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(lab.app.state.context.settings, max_unpacked="1MB")
    monkeypatch.setattr(lab.app.state.context.jobs, "_settings", settings)
    text = gzip.compress(LOG + b"u1\tcheap cars\t2006-03-01 07:00:00\t\t\n" * 50_000)
    for name, data in (("bomb", text), ("bomb in an archive", archive(bomb=text))):
        run = send(lab, name, name, data, claim="km(k=2, m=1)")
        assert run["state"] == "failed"
        assert "bomb is larger than 1MB when it is unpacked" in str(run["error"])
        lab.client.delete(f"{API}/runs/{run['id']}")


def test_errors_name_files_as_their_owner_does(lab: Lab) -> None:
    run = send(lab, "letter", "letter.txt", b"Dear reader,\nthis is no log.\n", claim="km(k=2, m=1)")
    assert str(run["error"]).startswith("letter.txt")
    body = {"name": "values", "log": lab.log, "method": "km(k=2, m=2, target=file)", "values": "inner/log.tsv"}
    other = wait_for_end(lab.client, lab.client.post(f"{API}/runs", json=body).json()["id"])
    assert str(other["error"]).startswith("inner/log.tsv, line 1: the column term is missing")
    for failed in (run, other):
        assert str(lab.home) not in str(failed) and str(lab.folder) not in str(failed)
        lab.client.delete(f"{API}/runs/{failed['id']}")


def test_file_of_the_folder_is_verified_for_any_claim(lab: Lab) -> None:
    body = {"name": "a file", "path": "inner/log.tsv"}
    refused = lab.client.post(f"{API}/check", json=body)
    assert (refused.status_code, refused.json()) == (422, {"error": NEEDS_CLAIM, "field": "claim"})
    answer = lab.client.post(f"{API}/check", json=body | {"claim": "km(k=2, m=1)"})
    run = wait_for_end(lab.client, answer.json()["id"])
    assert run["result"]["verdict"]["state"] == "violated"  # one person searched for a word of their own
    assert run["result"]["manifest"] is None
    for wrong in (
        {"path": "../outside.tsv"},
        {"claim": "k(5)"},
        {"path": ""},
        {"format": "sheet", "claim": "km(k=2, m=1)"},
    ):
        assert lab.client.post(f"{API}/check", json=body | {"claim": "km(k=2, m=1)"} | wrong).status_code == 422


def test_form_keeps_what_was_typed_and_says_what_is_wrong(lab: Lab) -> None:
    page = lab.client.get("/check").text
    assert 'value="inner/log.tsv"' in page
    [csrf] = set(re.findall(r'name="csrf" value="([0-9a-f]+)"', page))
    refused = lab.client.post("/check", data={"csrf": csrf, "path": "inner/log.tsv", "claim": "km(k=0, m=1)"})
    assert refused.status_code == 422
    assert "k must be a whole number of at least 2" in refused.text
    assert 'value="km(k=0, m=1)"' in refused.text
    nothing = lab.client.post("/check/upload", data={"csrf": csrf}, files={"file": ("", b"")})
    assert nothing.status_code == 422
    attack = lab.client.post("/check/attack", data={"csrf": csrf, "path": "x", "private": "y", "log": lab.log})
    assert (attack.status_code, "not a file in the server" in attack.text) == (422, True)


def test_folder_lists_releases_and_private_folders(lab: Lab, tmp_path: Path) -> None:
    for name, file in (("a/release", "manifest.json"), ("a/private", "run.json"), (".hidden", "manifest.json")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / file).write_text("{}")
    assert releases_in(tmp_path) == (["a/release"], ["a/private"])
    assert releases_in(None) == ([], [])
    listed = lab.client.get(f"{API}/folder").json()
    assert listed == {"files": [{"path": "inner/log.tsv", "size": len(LOG)}], "releases": [], "private": []}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (archive(a=b"1", b=b"2"), "neither a release nor a single file"),
        (archive(**{"../a": b"1"}), "leads outside"),
        (archive(a=bytes(200_000_000)), "far more than its own size"),
        (archive(a=b"x" * 100)[:-40], "cannot be unpacked"),
    ],
    ids=["no release", "path outside", "bomb", "cut off"],  # an archive holds the time, so its bytes are no name
)
def test_hostile_archives_are_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "sent").write_bytes(data)
    if reason == "cannot be unpacked":  # cut off, so it is no archive any more, and taken as a file
        assert unpack(tmp_path / "sent", tmp_path / "to") == tmp_path / "sent"
        return
    with pytest.raises(InputError, match=reason):
        unpack(tmp_path / "sent", tmp_path / "to")
    assert not (tmp_path / "a").exists()


def test_single_files_and_nested_releases_are_found(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(archive(**{"log.tsv": LOG}))
    assert unpack(tmp_path / "one", tmp_path / "1").read_bytes() == LOG
    (tmp_path / "two").write_bytes(archive(**{"name/manifest.json": b"{}", "name/data/part-0.parquet": b""}))
    assert unpack(tmp_path / "two", tmp_path / "2") == tmp_path / "2" / "name"


def test_run_folder_keeps_only_what_was_sent(tmp_path: Path) -> None:
    assert [upload_name(name) for name in ("../../x.zip", "C:\\y.tsv", ".hidden", "")] == [
        "x.zip",
        "y.tsv",
        "hidden",
        "upload",
    ]
    (tmp_path / "upload").mkdir()
    (tmp_path / "upload" / "x").write_text("sent")
    (tmp_path / "release").mkdir()
    (tmp_path / "result.json").write_text("{}")
    clear_folder(tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["upload", "x"]
