"""One session for all tests on Spark: starting it takes longer than they do."""

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from queryveil.engines.spark.session import Cluster, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "700m", "spark.executor.memory": "700m"}


@pytest.fixture(scope="session")
def java() -> None:
    """Skip, and be counted, where there is no Java; where everything must run that is a failure."""
    if shutil.which("java") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no Java; scripts/system_packages installs it")
        pytest.skip("there is no Java")


@pytest.fixture(scope="session")
def spark(java: None) -> Iterator["SparkSession"]:
    with session(Cluster("local[2]", SETTINGS)) as started:
        yield started
