"""Runs in worker processes: they queue, go on, are cancelled, killed, interrupted, and can be started again."""

import os
import signal
from pathlib import Path

import pytest
from fastapi import FastAPI

from queryveil.cli import run as command
from queryveil.core.errors import InputError
from queryveil.serve.app import close, create_app
from queryveil.serve.jobs import CANCELLED, INTERRUPTED, KILLED, LOG_DELETED, Jobs
from queryveil.serve.settings import Settings
from queryveil.serve.store import ConflictError, LogRow, Store, UnknownIdError
from tests.serve.serving import ENDLESS, LOG, home_of, until

METHOD = {"method": "km(k=2, m=2)", "seed": 1}


def opened(folder: Path, **more: int) -> tuple[FastAPI, Jobs, Store]:
    app = create_app(Settings(home_of(folder), **more))  # type: ignore[arg-type]
    return app, app.state.jobs, app.state.store


def pid_of(jobs: Jobs, run: str) -> int:
    """Wait for a run's worker to be at work; return its process."""
    until(lambda: jobs._store.run(run).stage not in ("", "starting"))
    pid = jobs._workers[run].process.pid
    assert pid is not None
    return pid


def test_runs_queue_and_are_cancelled_or_lose_their_log(tmp_path: Path) -> None:
    app, jobs, store = opened(tmp_path, jobs=1, demo_people=ENDLESS)
    demo, other = app.state.logs.add_demo("endless"), app.state.logs.add_demo("other")
    [statistics] = store.runs(log=demo.id)
    waiting, doomed = (jobs.start("anonymize", name, log=demo.id, spec=METHOD) for name in ("waits", "doomed"))
    with pytest.raises(ConflictError, match="there is a run named waits already"):
        jobs.start("anonymize", "waits", log=demo.id, spec=METHOD)
    pid_of(jobs, statistics.id)
    assert store.run(waiting.id).state == "queued"  # one at once
    assert jobs.cancel(waiting.id).state == "cancelled"
    with pytest.raises(ConflictError, match="is over already"):
        jobs.cancel(waiting.id)
    jobs.cancel(statistics.id)
    until(lambda: store.run(statistics.id).is_over)
    assert (store.run(statistics.id).state, store.run(statistics.id).error) == ("cancelled", CANCELLED)
    assert not jobs.folder_of(statistics.id).exists()
    assert jobs.again(waiting.id).state == "queued"
    app.state.logs.delete(other.id)
    app.state.logs.delete(demo.id)
    assert [store.run(run.id).error for run in (waiting, doomed)] == [LOG_DELETED] * 2
    assert [store.run(run.id).state for run in (waiting, doomed)] == ["failed"] * 2
    assert store.runs(kind="statistics") == []
    assert not Path(demo.path).parent.exists()
    with pytest.raises(UnknownIdError, match="no such log, or it was deleted"):
        jobs.again(doomed.id)
    with pytest.raises(UnknownIdError, match="no such log"):
        jobs.start("anonymize", "new", log=demo.id, spec=METHOD)
    close(app)


def test_a_killed_worker_and_a_stopped_server_are_seen(tmp_path: Path) -> None:
    app, jobs, store = opened(tmp_path, demo_people=ENDLESS)
    demo = app.state.logs.add_demo("endless")
    [statistics] = store.runs(log=demo.id)
    run = jobs.start("anonymize", "run", log=demo.id, spec=METHOD)
    os.kill(pid_of(jobs, run.id), signal.SIGKILL)
    until(lambda: store.run(run.id).is_over)
    assert (store.run(run.id).state, store.run(run.id).error) == ("failed", KILLED)
    assert not jobs.folder_of(run.id).exists()
    worker = pid_of(jobs, statistics.id)
    close(app)
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
    app, jobs, store = opened(tmp_path)
    found = store.run(statistics.id)
    assert (found.state, found.error) == ("interrupted", INTERRUPTED)
    assert store.run(run.id).state == "failed"
    assert jobs.result(statistics.id) is None
    jobs.delete(statistics.id)
    close(app)


def test_a_run_that_cannot_succeed_says_what_the_command_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log.tsv").write_bytes(LOG)
    app, jobs, store = opened(tmp_path)
    with (tmp_path / "log.tsv").open("rb") as stream:
        log = app.state.logs.add_upload("log", "log.tsv", stream)
    run = jobs.start("anonymize", "too strong", log=log.id, spec={"method": "km(k=50, m=2)"})
    until(lambda: store.run(run.id).is_over)
    argument = ["anonymize", str(tmp_path / "log.tsv"), "--method", "km(k=50, m=2)", "--out", str(tmp_path / "out")]
    assert command(argument) == 2
    assert capsys.readouterr().err == f"queryveil: {store.run(run.id).error}\n"
    for spec in ({"method": "km(k=1, m=2)"}, {"method": "km(m=2)"}, {"method": "kn(k=2)"}, {"method": "km(k=2, m=2)x"}):
        with pytest.raises(InputError) as raised:
            jobs.start("anonymize", "impossible", log=log.id, spec=spec)
        assert command([*argument[:3], spec["method"], *argument[4:]]) == 2
        assert capsys.readouterr().err == f"queryveil: {raised.value}\n"
        assert raised.value.field in ("k", "method")
    close(app)


@pytest.mark.parametrize(
    ("spec", "field", "sentence"),
    [
        ({"method": "linkability(p=2)"}, "p", "p must be a number above 0 and at most 1, not 2"),
        ({"method": "km(k=2, m=2, target=bid)"}, "target", "needs a market table"),
        ({"method": "km(k=2, m=2)", "kind": "groups"}, "kind", "makes releases of kind histories or log"),
        ({"method": "km(k=2, m=2)", "keep": ["time"]}, "keep", "--keep needs single queries"),
        ({"method": "km(k=2, m=2)", "options": {"bots": -1}}, "bots", "--bots must be a whole number"),
        ({"method": "km(k=2, m=2)", "options": {"bot": 1}}, "bot", "did you mean bots"),
        ({"method": "km(k=2, m=2)", "market": "../x"}, "market", "has no folder of files"),
        ({}, "method", "is not a name"),
    ],
)
def test_what_cannot_be_run_is_refused_beside_its_field(
    tmp_path: Path, spec: dict[str, object], field: str, sentence: str
) -> None:
    app, jobs, store = opened(tmp_path)
    log = store.add_log(LogRow("l1", "one", "upload", str(tmp_path / "log"), "one.tsv", {}, "", "2026")).id
    with pytest.raises(InputError) as raised:
        jobs.start("anonymize", "run", log=log, spec=spec)
    assert raised.value.field == field
    assert sentence in str(raised.value)
    for kind in ("verify", "measure", "attack"):
        with pytest.raises(UnknownIdError, match="no such release"):
            jobs.start(kind, "run", release=log)
    with pytest.raises(InputError, match="no run of kind 'dance'"):
        jobs.start("dance", "run")
    assert store.runs() == []
    close(app)
