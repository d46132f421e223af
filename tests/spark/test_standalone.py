"""A real master with two workers on this machine, and a driver that is killed."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.logs import write_log

pytestmark = pytest.mark.xdist_group("spark")
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
    command = [sys.executable, "-m", "queryveil", "anonymize", str(log), "--method", "km(k=4, m=2)", *places]
    command += ["--engine", "spark", "--spark-master", master, "--max-bad-lines", "1", "--json", *conf]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def at_turn(log: Path, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the method's rounds are under way."""
    for _ in range(1200):
        if list(log.parent.glob(".queryveil-place-*/work/turn-[12]")):
            return
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.1)
    pytest.fail("the rounds did not begin in two minutes")


def test_a_lost_driver_leaves_nothing(master: str, tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.tsv")
    process = begin(master, log, "release")
    at_turn(log, process)
    process.kill()
    process.communicate()
    assert not (tmp_path / "release").exists()
    assert not (tmp_path / "release-private").exists()
