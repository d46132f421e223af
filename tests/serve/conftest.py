"""One server for all tests that only look at it: a log, and a release of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from queryveil.serve.settings import Settings
from tests.serve.serving import LOG, ended, home_of, serving, start, upload


@dataclass(frozen=True)
class Lab:
    """A server with something on it."""

    app: FastAPI
    client: httpx.Client
    home: Path
    folder: Path
    log: str
    release: str


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Serve a small log and a release of it; the folder of files holds a log, and a link that leads out."""
    place = tmp_path_factory.mktemp("serve")
    folder = place / "files"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "log.tsv").write_bytes(LOG)
    (folder / ".hidden.tsv").write_bytes(LOG)
    (place / "outside.tsv").write_bytes(LOG)
    (folder / "link.tsv").symlink_to(place / "outside.tsv")
    (folder / "way out").symlink_to(place)
    with serving(Settings(home_of(place), folder=folder, max_upload=100_000, demo_people=20)) as (app, client):
        log = upload(client, "shared").json()["id"]
        release = start(client, log, "shared")
        assert ended(client, release)["state"] == "done"
        yield Lab(app, client, home_of(place), folder, log, release)
