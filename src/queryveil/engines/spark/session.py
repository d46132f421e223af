"""A Spark session that is ours or the caller's, and one sentence where Java, PySpark or the master is missing."""

import os
import re
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooSlow
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queryveil.errors import InputError
from queryveil.files import scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 30  # seconds until a master that says nothing is given up
_LOGGING = Path(__file__).with_name("log4j2.properties")
_MASTER = re.compile(r"spark://([^:/,]+):(\d+)")
_FIRST_JAVA = 17


@contextmanager
def session(master: str, conf: Mapping[str, str], given: "SparkSession | None" = None) -> Iterator["SparkSession"]:
    """Yield a session on a master, and stop it afterwards; one that was given is used as it is and stays."""
    if given is not None:
        yield given
        return
    check_installed()
    _check_answers(master)
    with ExitStack() as stack:
        folder = stack.enter_context(scratch("spark"))
        spark = _start(master, {**_settings(folder), **conf})
        stack.callback(spark.stop)
        _check_works(spark, master)
        yield spark


def check_installed() -> None:
    """Say what is missing for Spark to run."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise InputError(
            "--engine spark needs PySpark, which is not installed; install it with pip install 'queryveil[spark]'."
        ) from None
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        raise InputError(
            f"--engine spark needs Java {_FIRST_JAVA} or newer, and there is none; install it (on Debian or Ubuntu: "
            f"apt-get install openjdk-{_FIRST_JAVA}-jre-headless), or set JAVA_HOME."
        )


def _check_answers(master: str) -> None:
    """Refuse a standalone master that does not listen."""
    for host, port in _MASTER.findall(master):
        try:
            socket.create_connection((host, int(port)), timeout=PATIENCE).close()
        except (OSError, OverflowError):
            raise InputError(
                f"--spark-master {master} does not answer; check the address, and that the master is running."
            ) from None


def _check_works(spark: "SparkSession", master: str) -> None:
    """Run the smallest job; a master without workers would let it wait forever."""
    trial = ThreadPoolExecutor(1)
    try:
        trial.submit(lambda: spark.range(1).count()).result(timeout=PATIENCE)
    except TooSlow:
        spark.sparkContext.cancelAllJobs()
        raise InputError(
            f"--spark-master {master} runs nothing: no worker took a task in {PATIENCE} s; check that workers are "
            "registered and have the cores and memory that --spark-conf asks for."
        ) from None
    finally:
        trial.shutdown(wait=False, cancel_futures=True)


def _settings(folder: Path) -> dict[str, str]:
    return {
        "spark.local.dir": str(folder),
        "spark.io.encryption.enabled": "true",  # what is shuffled and spilled holds people's terms
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",  # its stack traces hold rows
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        "spark.sql.adaptive.enabled": "false",  # a block is one large row: partitions are counted, not guessed
    }


def _start(master: str, conf: Mapping[str, str]) -> "SparkSession":
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings: Any = SparkConf().setMaster(master).setAppName("queryveil").setAll(list(conf.items()))
    try:
        spark: SparkSession = SparkSession.builder.config(conf=settings).getOrCreate()
    except Exception:  # (Py4J wraps whatever Java threw, with its stack in the text)
        raise InputError(
            f"Spark could not be started on --spark-master {master}; check the address and --spark-conf, and try the "
            "same with pyspark --master."
        ) from None
    return spark
