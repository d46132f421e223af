"""Runs in worker processes: they are queued, cancelled, killed, interrupted and started again."""

import io
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from queryveil.cli import run as command
from queryveil.core.errors import InputError
from queryveil.serve.context import ServerContext
from queryveil.serve.jobs import CANCELLED, INTERRUPTED, KILLED, LOG_DELETED, RunManager
from queryveil.serve.run_specs import AnonymizeSpec, AttackSpec, MeasureSpec, VerifySpec, parse_spec
from queryveil.serve.settings import Settings
from queryveil.serve.store import ConflictError, LogRow, QuotaError, Store, UnknownIdError
from tests.serve.serving import ENDLESS, LOG, home_of, until

SPEC = AnonymizeSpec.model_validate({"method": "km(k=2, m=2)", "seed": 1})


def opened(folder: Path, **more: int) -> tuple[ServerContext, RunManager, Store]:
    context = ServerContext.open(Settings(home=home_of(folder), **more))  # type: ignore[arg-type]
    return context, context.jobs, context.store


def pid_of(jobs: RunManager, run: str) -> int:
    """Wait until a run's worker is at work, and return its process id."""
    until(lambda: jobs._store.run(run).stage not in ("", "starting"))
    pid = jobs._workers[run].process.pid
    assert pid is not None
    return pid


def test_queued_and_running_runs_are_cancelled_or_fail_with_their_log(tmp_path: Path) -> None:
    context, jobs, store = opened(tmp_path, jobs=1, demo_people=ENDLESS)
    demo, other = context.logs.add_demo("endless"), context.logs.add_demo("other")
    [statistics] = store.runs(log=demo.id)
    running, waiting, doomed = (jobs.start(SPEC, name, log=demo.id) for name in ("runs", "waits", "doomed"))
    with pytest.raises(ConflictError, match="there is a run named waits already"):
        jobs.start(SPEC, "waits", log=demo.id)
    pid_of(jobs, statistics.id)
    pid_of(jobs, running.id)  # statistics and other runs do not wait for each other
    assert store.run(waiting.id).state == "queued"  # one at once
    assert jobs.cancel(waiting.id).state == "cancelled"
    with pytest.raises(ConflictError, match="is over already"):
        jobs.cancel(waiting.id)
    jobs.cancel(statistics.id)
    until(lambda: store.run(statistics.id).is_over)
    assert (store.run(statistics.id).state, store.run(statistics.id).error) == ("cancelled", CANCELLED)
    assert not jobs.folder_of(statistics.id).exists()
    assert jobs.restart(waiting.id).state == "queued"
    context.logs.delete(other.id)
    context.logs.delete(demo.id)
    assert [store.run(run.id).error for run in (running, waiting, doomed)] == [LOG_DELETED] * 3
    assert [store.run(run.id).state for run in (running, waiting, doomed)] == ["failed"] * 3
    assert store.runs(kind="statistics") == []
    assert not Path(demo.path).parent.exists()
    with pytest.raises(UnknownIdError, match="no such log, or it was deleted"):
        jobs.restart(doomed.id)
    with pytest.raises(UnknownIdError, match="no such log"):
        jobs.start(SPEC, "new", log=demo.id)
    context.close()


def test_killed_worker_fails_and_stopped_server_interrupts(tmp_path: Path) -> None:
    context, jobs, store = opened(tmp_path, demo_people=ENDLESS, jobs=1)
    demo = context.logs.add_demo("endless")
    [statistics] = store.runs(log=demo.id)
    run = jobs.start(SPEC, "run", log=demo.id)
    os.kill(pid_of(jobs, run.id), signal.SIGKILL)
    until(lambda: store.run(run.id).is_over)
    assert (store.run(run.id).state, store.run(run.id).error) == ("failed", KILLED)
    assert not jobs.folder_of(run.id).exists()
    worker = pid_of(jobs, statistics.id)
    second, queued = (jobs.start(SPEC, name, log=demo.id) for name in ("second", "queued"))
    pid_of(jobs, second.id)
    context.close()
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
    store = Store(home_of(tmp_path))
    assert store.run(queued.id).state == "queued"  # a run that waited goes on waiting
    store.close()
    context, jobs, store = opened(tmp_path, demo_people=20)
    until(lambda: store.run(queued.id).is_over)
    assert store.run(queued.id).state == "done"
    for found in (store.run(statistics.id), store.run(second.id)):
        assert (found.state, found.error) == ("interrupted", INTERRUPTED)
    assert store.run(run.id).state == "failed"
    assert jobs.result(statistics.id) is None
    jobs.delete(statistics.id)
    context.close()


def test_failing_run_gives_the_error_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.tsv").write_bytes(LOG)
    context, jobs, store = opened(tmp_path)
    with (tmp_path / "log.tsv").open("rb") as stream:
        log = context.logs.add_upload("log", "log.tsv", stream)
    run = jobs.start(AnonymizeSpec(method="km(k=50, m=2)"), "too strong", log=log.id)
    until(lambda: store.run(run.id).is_over)
    argument = ["anonymize", str(tmp_path / "log.tsv"), "--method", "km(k=50, m=2)", "--out", str(tmp_path / "out")]
    assert command(argument) == 2
    assert capsys.readouterr().err == f"queryveil: {store.run(run.id).error}\n"
    for method in ("km(k=1, m=2)", "km(m=2)", "kn(k=2)", "km(k=2, m=2)x"):
        with pytest.raises(InputError) as raised:
            jobs.start(AnonymizeSpec(method=method), "impossible", log=log.id)
        assert command([*argument[:3], method, *argument[4:]]) == 2
        assert capsys.readouterr().err == f"queryveil: {raised.value}\n"
        assert raised.value.field in ("k", "method")
    context.close()


@pytest.mark.parametrize(
    ("spec", "field", "sentence"),
    [
        ({"method": "linkability(p=2)"}, "p", "p must be a number above 0 and at most 1, not 2"),
        ({"method": "km(k=2, m=2, target=bid)"}, "target", "needs a market table"),
        ({"method": "km(k=2, m=2)", "kind": "groups"}, "kind", "makes releases of kind histories or log"),
        ({"method": "km(k=2, m=2)", "keep": ["time"]}, "keep", "keep needs single queries"),
        ({"method": "km(k=2, m=2)", "options": {"bots": -1}}, "bots", "bots must be a whole number"),
        ({"method": "km(k=2, m=2)", "options": {"bot": 1}}, "bot", "did you mean bots"),
        ({"method": "km(k=2, m=2)", "market": "../x"}, "market", "has no folder of files"),
        ({"method": ""}, "method", "is not a name"),
    ],
)
def test_impossible_spec_is_refused_with_its_field(
    tmp_path: Path, spec: dict[str, Any], field: str, sentence: str
) -> None:
    context, jobs, store = opened(tmp_path)
    row = LogRow(name="one", kind="upload", path=str(tmp_path / "log"), filename="one.tsv", reading={})
    log = store.add(row).id
    with pytest.raises(InputError) as raised:
        jobs.start(AnonymizeSpec(**spec), "run", log=log)
    assert raised.value.field == field
    assert sentence in str(raised.value)
    for examining in (VerifySpec(), MeasureSpec(), AttackSpec()):
        with pytest.raises(UnknownIdError, match="no such release"):
            jobs.start(examining, "run", release=log)
    with pytest.raises(InputError, match="no run of kind 'dance'"):
        parse_spec("dance", {})
    assert store.runs() == []
    context.close()


def test_full_queue_and_full_disk_take_nothing_more(tmp_path: Path) -> None:
    context, jobs, store = opened(tmp_path, jobs=1, demo_people=ENDLESS, max_queue=3)
    demo = context.logs.add_demo("endless")
    pid_of(jobs, jobs.start(SPEC, "runs", log=demo.id).id)
    jobs.start(SPEC, "first", log=demo.id)
    with pytest.raises(QuotaError, match="the queue has room for 2 of 3 runs; cancel some, wait"):
        jobs.start_all([("a", SPEC), ("b", SPEC), ("c", SPEC)], log=demo.id)
    assert {run.name for run in store.runs(kind="anonymize")} == {"runs", "first"}
    with pytest.raises(ConflictError, match="there is a run named first already"):
        jobs.start_all([("other", SPEC), ("first", SPEC)], log=demo.id)
    assert len(store.runs(kind="anonymize")) == 2  # all of a sweep or none
    context.close()
    context = ServerContext.open(Settings(home=home_of(tmp_path), max_disk="1kB"))
    with pytest.raises(QuotaError, match="take the 1kB that this server may use; delete some"):
        context.jobs.start(SPEC, "second", log=demo.id)
    with pytest.raises(QuotaError, match="take the 1kB"):
        context.logs.add_upload("log", "log.tsv", io.BytesIO(LOG))
    assert not [folder for folder in (home_of(tmp_path) / "logs").iterdir() if folder.name != demo.id]
    context.close()
