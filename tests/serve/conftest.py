"""One shared server for all tests that do not change its log and its release."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from queryveil.serve.settings import Settings
from tests.serve.serving import LOG, home_of, serving, start, upload, wait_for_end


@dataclass(frozen=True)
class Lab:
    """A server with a log and a release of it."""

    app: FastAPI
    client: httpx.Client
    home: Path
    folder: Path
    log: str
    release: str


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Serve a small log and a release of it; the server's folder holds a log, and links that lead outside."""
    place = tmp_path_factory.mktemp("serve")
    folder = place / "files"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "log.tsv").write_bytes(LOG)
    (folder / ".hidden.tsv").write_bytes(LOG)
    (place / "outside.tsv").write_bytes(LOG)
    (folder / "link.tsv").symlink_to(place / "outside.tsv")
    (folder / "way out").symlink_to(place)
    with serving(Settings(home=home_of(place), folder=folder, max_upload="100kB", demo_people=20)) as (app, client):
        log = upload(client, "shared").json()["id"]
        release = start(client, log, "shared")
        assert wait_for_end(client, release)["state"] == "done"
        yield Lab(app, client, home_of(place), folder, log, release)
