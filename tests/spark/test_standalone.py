"""A driver that is killed, and after it an executor of a real master with two workers on this machine."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import queryveil
from tests.spark.conftest import METHOD, Made
from tests.spark.logs import write_log

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]
SETTINGS = (
    "spark.executor.memory=500m",
    "spark.driver.memory=500m",
    "spark.sql.shuffle.partitions=2",
    "spark.shuffle.io.maxRetries=1",  # what a lost executor held is looked for once more, not for a quarter of a minute
    "spark.shuffle.io.retryWait=1s",
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def master(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a master and two workers through spark-class."""
    import pyspark

    home, folder = Path(pyspark.__file__).parent, tmp_path_factory.mktemp("workers")
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    wanted = {
        "master.Master": ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"],
        "worker.Worker": ["--host", "127.0.0.1", "--cores", "1", "--memory", "700m", "--webui-port", "0", address],
    }
    started = []

    def start(name: str, work: str) -> None:
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *wanted[name]]
        environment["SPARK_WORKER_DIR"] = str(folder / work)
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen(command, env=environment, cwd=home, **quiet))

    start("master.Master", "master")
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    start("worker.Worker", "one")
    start("worker.Worker", "two")
    yield address
    for process in reversed(started):
        process.terminate()
        process.wait(30)


def begin(master: str, log: Path, name: str) -> "subprocess.Popen[bytes]":
    """Start the command on the cluster."""
    conf = [word for setting in SETTINGS for word in ("--spark-conf", setting)]
    places = ["--out", str(log.with_name(name)), "--private", str(log.with_name(f"{name}-private"))]
    command = [sys.executable, "-m", "queryveil", "anonymize", str(log), "--method", METHOD, *places, *conf]
    command += ["--history", "day", "--partition-by", "country", "--max-bad-lines", "1", "--json"]
    command += ["--engine", "spark", "--spark-master", master]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def at_turn(log: Path, process: "subprocess.Popen[bytes]", start: float) -> None:
    """Wait until the method's rounds are under way in a run that began at some time."""
    for _ in range(3000):
        if any(is_since(done, start) for done in log.parent.glob(".queryveil-place-*/work/turn-[12]/_SUCCESS")):
            return
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.1)
    pytest.fail("the rounds did not begin in five minutes")


def is_since(file: Path, start: float) -> bool:
    """Say whether a file is there and was written after a time."""
    try:
        return file.stat().st_mtime > start
    except FileNotFoundError:
        return False


def executor_since(start: float) -> psutil.Process:
    """Return an executor that a worker of the fixture has started since a time."""
    ours = {process.pid for process in psutil.Process().children(recursive=True)}
    for process in psutil.process_iter(["cmdline", "create_time"]):
        is_executor = "org.apache.spark.executor.CoarseGrainedExecutorBackend" in (process.info["cmdline"] or [])
        if is_executor and process.pid in ours and process.info["create_time"] > start:
            return process
    pytest.fail("no executor was started")


@pytest.fixture(scope="module")
def left(java: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a log whose run has lost its driver in the middle of the rounds."""
    folder = tmp_path_factory.mktemp("lost")
    log = write_log(folder / "log.tsv")
    start = time.time()
    process = begin("local[2]", log, "release")
    at_turn(log, process, start)
    process.kill()
    process.communicate()
    return folder


def test_a_lost_driver_leaves_no_release(left: Path) -> None:
    assert {path.name for path in left.iterdir() if not path.name.startswith(".queryveil-place-")} == {"log.tsv"}


def test_the_next_run_starts_clean_and_a_lost_executor_changes_nothing(made: Made, master: str, left: Path) -> None:
    start = time.time()
    process = begin(master, left / "log.tsv", "release")
    at_turn(left / "log.tsv", process, start)
    executor = executor_since(start)
    executor.kill()
    executor.wait(30)
    assert process.poll() is None
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert b"WARN" not in err
    assert b"Exception" not in err
    assert json.loads(out)["manifest"] == made.done.manifest
    assert {path.name for path in left.iterdir()} == {"log.tsv", "release", "release-private"}
    assert queryveil.verify(left / "release", private=left / "release-private").holds
