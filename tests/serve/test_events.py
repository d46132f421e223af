"""The event stream by which pages follow all runs."""

import asyncio
import json
from pathlib import Path
from typing import Any

from queryveil.serve import worker
from queryveil.serve.api.run_table import run_events
from tests.serve.conftest import Lab
from tests.serve.serving import API, start
from tests.serve.test_jobs import SPEC, opened


def messages(lab: Lab, run: str) -> list[dict[str, Any]]:
    """Follow the stream until a run is over."""
    found = []
    with lab.client.stream("GET", f"{API}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for line in stream.iter_lines():
            if not line.startswith("data: "):
                continue
            found.append(json.loads(line.removeprefix("data: ")))
            if any(each["id"] == run and each["is_over"] for each in found[-1].get("runs", ())):
                return found
    raise AssertionError("the stream ended before the run")


def test_stream_tells_all_runs_then_every_change(lab: Lab) -> None:
    run = start(lab.client, lab.log, "followed on the stream")
    first, *others = messages(lab, run)
    assert first["all"]
    assert {lab.release, run} <= {each["id"] for each in first["runs"]}
    own = [each for message in (first, *others) for each in message.get("runs", ()) if each["id"] == run]
    assert own[-1]["state"] == "done"
    assert {each["state"] for each in own} <= {"queued", "running", "done"}
    assert all("all" not in message for message in others)
    assert not any(each["id"] == lab.release for message in others for each in message.get("runs", ()))
    assert set(own[-1]) == {"id", "name", "state", "is_over", "done", "total", "text"}


def test_stream_names_deleted_runs_and_ends_with_the_server(tmp_path: Path) -> None:
    context, jobs, store = opened(tmp_path, jobs=1, demo_people=5)
    log = context.logs.add_demo("demo")
    run = jobs.start(SPEC, "doomed", log=log.id)

    async def follow() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        async for event in run_events(store, jobs):
            if event.startswith("data: "):
                found.append(json.loads(event.removeprefix("data: ")))
                if len(found) == 1:
                    await asyncio.to_thread(jobs.delete, run.id)
                if "deleted" in found[-1]:
                    jobs.closing.set()
        return found

    found = asyncio.run(follow())
    assert found[-1]["deleted"] == [run.id]
    context.close()


class Pipe:
    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []

    def send(self, message: tuple[Any, ...]) -> None:
        self.sent.append(message)


def test_compiling_is_a_stage_of_its_own() -> None:
    pipe = Pipe()
    sender = worker.ProgressSender(pipe)  # type: ignore[arg-type]
    sender("counting", 1, 4)
    sender.watch_compiler(True, 2.4)
    sender.watch_compiler(False, 3.0)
    compiling = "counting (compiling kernels, once on this machine: 2 s so far)"
    assert [message[1:] for message in pipe.sent] == [("counting", 1, 4), (compiling, 0, 0), ("counting", 1, 4)]
