"""One session for all tests on Spark, and one release that several of them look at: both take longer than the tests."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import queryveil
from queryveil.engines.spark.session import SparkCluster, open_session
from tests.spark.logs import write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.python.daemon.module": "tests.spark.workers",
    # Plans that run once, on a few rows, are not worth compiling; `compiled` shows that they may be.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
METHOD = "km(k=4, m=2)"
OPTIONS: dict[str, Any] = {"history": "day", "partition_by": "country", "max_bad_lines": "1"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try the real master last of all: its session takes the place of the one that the other tests share."""
    items.sort(key=lambda item: item.path.name == "test_standalone.py")


@dataclass(frozen=True)
class Made:
    """A release of a small log, made in two tasks: `r2` and `p2` of a folder."""

    folder: Path
    log: Path
    done: Any


@pytest.fixture(scope="session")
def java() -> Iterator[None]:
    """Skip, and be counted, where there is no Java; where everything must run that is a failure."""
    if shutil.which("java") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no Java; scripts/system_packages installs it")
        pytest.skip("there is no Java")
    with pytest.MonkeyPatch.context() as patch:
        # These runs are over before code that is compiled with more care would pay; all of it must have room.
        options = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=200m -XX:+UseSerialGC"
        patch.setenv("JDK_JAVA_OPTIONS", options)
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        yield


@pytest.fixture(scope="session")
def spark(java: None) -> Iterator["SparkSession"]:
    with open_session(SparkCluster("local[2]", SETTINGS)) as started:
        yield started


@pytest.fixture(scope="session")
def made(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("spark")
    log = write_log(folder / "log.tsv")
    out, private = folder / "r2", folder / "p2"
    done = queryveil.anonymize(log, METHOD, out, private=private, engine="spark", spark=spark, seed=1, **OPTIONS)
    return Made(folder, log, done)


@pytest.fixture
def compiled(spark: "SparkSession") -> Iterator["SparkSession"]:
    """Let Spark compile its plans, as it does outside these tests."""
    names = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")
    for name, value in zip(names, ("true", "CODEGEN_ONLY"), strict=True):
        spark.conf.set(name, value)
    yield spark
    for name in names:
        spark.conf.set(name, SETTINGS[name])


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Treat this machine as a remote one that Hadoop file systems write to, until that is undone."""
    monkeypatch.setattr("queryveil.release.spark_writer.local_path", lambda place: None)
    monkeypatch.setattr("queryveil.workflows.spark_run.local_path", lambda place: None)
    return monkeypatch


def back_here(elsewhere: pytest.MonkeyPatch, folder: Path) -> None:
    """Make a folder that was written as a remote one readable as a local one."""
    elsewhere.undo()
    for checksum in folder.rglob(".*.crc"):  # which Hadoop writes beside files on this machine, and only there
        checksum.unlink()
