"""A driver that is killed, and after it an executor of a real master with two workers on this machine.

The session on the master takes the place of the one that all other tests share, so `conftest.py` puts this file last.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

import queryveil
from queryveil.core.errors import InputError
from queryveil.engines.spark import session as sessions
from queryveil.engines.spark.session import SparkCluster
from tests.spark.conftest import METHOD, OPTIONS, SETTINGS, Made
from tests.spark.logs import write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]
AT_ONCE = {  # what a lost executor held is looked for once more, not for a quarter of a minute
    "spark.executor.memory": "500m",
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def master(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a master and two workers through spark-class."""
    import pyspark

    home, folder = Path(pyspark.__file__).parent, tmp_path_factory.mktemp("workers")
    port, page = free_port(), free_port()
    address = f"spark://127.0.0.1:{port}"
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    wanted = {
        "master.Master": ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)],
        "worker.Worker": ["--host", "127.0.0.1", "--cores", "1", "--memory", "700m", "--webui-port", "0", address],
    }
    started = []

    def start(name: str, work: str) -> None:
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *wanted[name]]
        environment["SPARK_WORKER_DIR"] = str(folder / work)
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen(command, env=environment, cwd=home, **quiet))

    start("master.Master", "master")
    wait_for_workers(page, 0)
    start("worker.Worker", "one")
    start("worker.Worker", "two")
    wait_for_workers(page, 2)
    yield address
    for process in reversed(started):
        process.terminate()
        process.wait(120)


def wait_for_workers(page: int, n: int) -> None:
    """Wait until the master says on its page that so many workers have come: before that it may not hear a driver."""
    for _ in range(1800):
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=10) as answer:
            if json.load(answer)["aliveworkers"] == n:
                return
        time.sleep(0.1)
    pytest.fail("the workers did not come in three minutes")


def begin(log: Path, name: str) -> "subprocess.Popen[bytes]":
    """Start the command."""
    conf = [word for key, value in SETTINGS.items() for word in ("--spark-conf", f"{key}={value}")]
    places = ["--out", str(log.with_name(name)), "--private", str(log.with_name(f"{name}-private"))]
    command = [sys.executable, "-m", "queryveil", "anonymize", str(log), "--method", METHOD, *places, *conf]
    command += ["--history", "day", "--partition-by", "country", "--max-bad-lines", "1"]
    command += ["--engine", "spark", "--spark-master", "local[2]"]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def at_turn(log: Path, process: "subprocess.Popen[bytes]") -> None:
    """Wait until all is there that the method's rounds begin with."""
    for _ in range(3000):
        if any(log.parent.glob(".queryveil-place-*/work/turn-*/_SUCCESS")):
            return
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.1)
    pytest.fail("the rounds did not begin in five minutes")


def an_executor() -> psutil.Process:
    """Return an executor that a worker of the fixture has started."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # other processes end meanwhile
            if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in process.cmdline():
                return process
    pytest.fail("no executor was started")


@pytest.fixture(scope="module")
def left(java: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a log whose run has lost its driver when the rounds began."""
    folder = tmp_path_factory.mktemp("lost")
    log = write_log(folder / "log.tsv")
    process = begin(log, "release")
    at_turn(log, process)
    process.kill()
    process.communicate()
    return folder


def test_a_lost_driver_leaves_no_release(left: Path) -> None:
    assert {path.name for path in left.iterdir() if not path.name.startswith(".queryveil-place-")} == {"log.tsv"}


@pytest.fixture(scope="module")
def ours(made: Made, spark: "SparkSession") -> Made:
    """Return the release that was made by the session that all tests share, after which that session is no more."""
    spark.stop()
    return made


def test_workers_that_are_too_small(ours: Made, master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start = sessions._start
    monkeypatch.setattr(sessions, "_start", lambda master, conf: (start(master, conf)[0], 2.0))
    too_much = {"spark.executor.memory": "900m"}
    with (
        pytest.raises(InputError, match="runs nothing: no worker took a task in 2 s"),
        sessions.open_session(SparkCluster(master, SETTINGS | too_much)),
    ):
        pytest.fail("there was a session")


def test_the_next_run_starts_clean_and_a_lost_executor_changes_nothing(ours: Made, master: str, left: Path) -> None:
    lost = threading.Event()

    def lose_one(executor: psutil.Process) -> None:
        executor.kill()
        lost.set()

    def meanwhile(stage: str, done: int, total: int) -> None:
        if (stage, done) == ("rounds", 1):
            threading.Timer(0.2, lose_one, [an_executor()]).start()

    given: dict[str, Any] = {"seed": 1, "progress": meanwhile, **OPTIONS}
    with sessions.open_session(SparkCluster(master, SETTINGS | AT_ONCE)) as there:
        done = queryveil.anonymize(left / "log.tsv", METHOD, left / "release", engine="spark", spark=there, **given)
    assert lost.is_set()
    assert done.manifest == ours.done.manifest
    assert {path.name for path in left.iterdir()} == {"log.tsv", "release"}
    assert queryveil.verify(left / "release").holds
