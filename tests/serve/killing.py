"""A server that is killed by SIGKILL at some moment of an operation, and a look at what the next one finds."""

import contextlib
import multiprocessing
import os
import random
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread

import httpx

from queryveil.serve.settings import Settings
from queryveil.serve.web_server import serve
from tests.serve.serving import API, HEADER, start, until, upload, wait_for_end

TOKEN = "a token for the killed server"
MARK = "zqxmarkedterm"  # in every line of every log, never in a release
LINES = "".join(
    f"user-{MARK}-{n % 40}\t{('cheap cars', 'red shoes', 'old maps')[n % 3]} {MARK}{n}"
    f"\t2006-03-01 07:{n % 60:02}:00\t\t\n"
    for n in range(60_000)
)
LARGE_LOG = (HEADER + LINES).encode()
SMALL_LOG = LARGE_LOG[:20_000]
Operation = Callable[[httpx.Client, str, str], object]  # of a client, a log and a release


@dataclass(frozen=True)
class Template:
    """The home folder of a server that has stopped, with a log and a release of it, and a copy to begin anew from."""

    home: Path
    log: str
    release: str

    @classmethod
    def of(cls, home: Path, log: str, release: str) -> "Template":
        """Copy a home folder, which is not in use, beside itself."""
        shutil.copytree(home, home.with_suffix(".copy"))
        return cls(home, log, release)

    def restore(self) -> None:
        """Make the home folder what it was; rows hold paths, so it stays where it is.

        It is moved away before it is removed: a worker of a killed server that was only just being started may still
        make its lock file in there, before it sees that the server is gone and ends.
        """
        old = self.home.with_suffix(f".old-{secrets.token_hex(4)}")
        self.home.rename(old)
        shutil.rmtree(old)
        shutil.copytree(self.home.with_suffix(".copy"), self.home)


def _run(home: Path, announce: Connection) -> None:
    devnull = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(devnull, stream)
    tempfile.tempdir = None
    serve(Settings(home=home, port=0, token=TOKEN), announce.send)


@contextmanager
def serving_process(home: Path) -> Iterator[tuple[httpx.Client, Callable[[], None]]]:
    """Run a server in a forked process; yield a client, and a function that kills the process by SIGKILL."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(home, sending))
    process.start()
    sending.close()
    try:
        address = receiving.recv()
        headers = {"authorization": f"Bearer {TOKEN}"}
        with httpx.Client(base_url=address, timeout=600, headers=headers) as client:
            until(lambda: client.get("/healthz").status_code == 200)
            yield client, lambda: os.kill(process.pid or 0, signal.SIGKILL)
    finally:
        process.kill()
        process.join()


def make_template(folder: Path) -> Template:
    """Serve once to make a log and a release of it, with statistics."""
    home = folder / "home"
    with serving_process(home) as (client, _):
        log = upload(client, "log", SMALL_LOG).json()["id"]
        release = start(client, log, "release")
        for run in client.get(f"{API}/runs").json():
            assert wait_for_end(client, run["id"])["state"] == "done"
    return Template.of(home, log, release)


def _upload(client: httpx.Client, log: str, release: str) -> None:
    del log, release
    upload(client, "new", LARGE_LOG)


def _look_and_add(client: httpx.Client, log: str, release: str) -> None:
    del log, release
    draft = client.post(f"{API}/drafts/upload", data={"name": "new"}, files={"file": ("log.tsv", LARGE_LOG)}).json()
    client.patch(f"{API}/drafts/{draft['id']}", json={"name": "looked at"})
    client.post(f"{API}/drafts/{draft['id']}/add")
    client.post(f"{API}/logs/{draft['id']}/reopen")
    client.delete(f"{API}/drafts/{draft['id']}")


def _make_release(client: httpx.Client, log: str, release: str) -> None:
    del release
    wait_for_end(client, start(client, log, "new run"))


def _delete_everything(client: httpx.Client, log: str, release: str) -> None:
    del release
    client.delete(f"{API}/logs/{log}", params={"scope": "everything"})


def _delete_during_a_run(client: httpx.Client, log: str, release: str) -> None:
    del release
    start(client, log, "under way")
    client.delete(f"{API}/logs/{log}")


def _forget(client: httpx.Client, log: str, release: str) -> None:
    del log
    client.post(f"{API}/runs/{release}/forget")


OPERATIONS: dict[str, Operation] = {
    "upload": _upload,
    "look at and add": _look_and_add,
    "run": _make_release,
    "delete everything": _delete_everything,
    "delete during a run": _delete_during_a_run,
    "forget": _forget,
}

LONGEST = {  # seconds
    "upload": 0.6,
    "look at and add": 2.0,
    "run": 4.0,
    "delete everything": 0.2,
    "delete during a run": 2.0,
    "forget": 0.1,
}


def kill_at(template: Template, operation: Operation, delay: float) -> list[str]:
    """Kill a server some seconds after an operation has begun; return what the next one keeps and no page lists."""
    template.restore()
    with serving_process(template.home) as (client, kill):
        thread = Thread(target=_quietly, args=(operation, client, template))
        thread.start()
        time.sleep(delay)
        kill()
        thread.join()
    with serving_process(template.home) as (client, _):
        return unlisted(client, template.home)


def _quietly(operation: Operation, client: httpx.Client, template: Template) -> None:
    with contextlib.suppress(httpx.TransportError):
        operation(client, template.log, template.release)


def unlisted(client: httpx.Client, home: Path) -> list[str]:
    """Return the files with raw or private content, or of any run, that belong to nothing that a page lists."""
    logs = {log["id"] for table in ("logs", "drafts") for log in client.get(f"{API}/{table}").json()}
    runs = {run["id"]: run for run in client.get(f"{API}/runs").json()}
    kept = {run for run, row in runs.items() if row["state"] in ("done", "queued", "running")}
    faults = []
    for path in home.rglob("*"):
        parts = path.relative_to(home).parts
        is_listed = len(parts) > 1 and (parts[0], parts[1] in logs, parts[1] in kept) in (
            ("logs", True, False),
            ("runs", False, True),
        )
        if is_listed:
            is_left = parts[0] == "runs" and parts[2:3] == ("private",) and runs[parts[1]]["forgotten"]
            faults += [str(path)] if is_left else []
        elif len(parts) > 1 or (path.is_file() and _holds_mark(path)):
            faults.append(str(path))
    return faults


def _holds_mark(path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return MARK.encode() in path.read_bytes()
    return False


def moments(n: int, longest: float, rng: random.Random) -> list[float]:
    """Return delays of at most `longest` seconds, one in each of n equal parts of that time."""
    return [longest * (part + rng.random()) / n for part in range(n)]
