"""Spark sessions, our own or the caller's; a missing Java, PySpark or master is reported in one sentence."""

import logging
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queryveil.core.errors import InputError
from queryveil.core.extras import needs
from queryveil.core.files import scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMEOUT = 30  # seconds to wait for the master …
_STARTS = 5  # … or this many times the start-up time of Java, if a busy machine makes that longer
_LOGGING = Path(__file__).with_name("log4j2.properties")
_MASTER = re.compile(r"(?:spark|k8s)://(?:https?://)?(.+)")
_HOST = re.compile(r"\[?([^/,\[\]]+?)\]?:(\d+)")
_SILENT = "--spark-master {} does not answer; check the address, and that the master is running."
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # PySpark's, which write to standard error
_MIN_JAVA = 17
_TASKS_PER_CORE = 2
_OWN_ERROR = re.compile(r"^queryveil\.core\.errors\.\w+: (.+)$", re.MULTILINE)  # in the stack trace of a worker


@dataclass(frozen=True)
class SparkCluster:
    """A master and settings for a session of our own, or the caller's session."""

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)
    session: "SparkSession | None" = None  # the caller's, which is used as it is


def parse_conf(pairs: Sequence[str]) -> dict[str, str]:
    """Parse settings of the form key=value."""
    for pair in pairs:
        if not re.fullmatch(r"[\w.-]+=.*", pair, re.DOTALL):
            raise InputError(f"--spark-conf {pair!r} is not key=value; write it like spark.executor.memory=4g.")
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


@contextmanager
def open_session(cluster: SparkCluster) -> Iterator["SparkSession"]:
    """Yield a session and stop it afterwards, unless it is the caller's."""
    with spark_errors_as_sentences():
        if cluster.session is not None:
            with _without_pyspark_logging():
                yield cluster.session
            return
        check_installed()
        _check_master_listens(cluster.master)
        with ExitStack() as stack:
            stack.enter_context(_without_pyspark_logging())
            folder = stack.enter_context(scratch("spark"))
            spark, timeout = _start(cluster.master, {**_settings(folder), **cluster.conf})
            stack.callback(spark.stop)
            _check_runs_jobs(spark, cluster.master, timeout)
            if "spark.sql.shuffle.partitions" not in cluster.conf:
                n_tasks = _TASKS_PER_CORE * spark.sparkContext.defaultParallelism
                spark.conf.set("spark.sql.shuffle.partitions", str(n_tasks))
            yield spark


@contextmanager
def spark_errors_as_sentences() -> Iterator[None]:
    """Replace Spark's errors by sentences: their texts contain stack traces, which may quote rows of the log."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("pyspark", "py4j"):
            raise
        own = _OWN_ERROR.findall(str(error))
        if own:
            raise InputError(own[-1].strip()) from None
        raise InputError(
            f"Spark gave the run up ({type(error).__name__}), so nothing was released; see the logs of the cluster, "
            "and whether its executors have enough memory and disk."
        ) from None


@contextmanager
def _without_pyspark_logging() -> Iterator[None]:
    """Disable PySpark's logging of errors, which quotes values that cannot be parsed."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled


def check_installed() -> None:
    """Raise an error that says what is missing if PySpark or Java is not installed."""
    with needs("spark", "--engine spark"):
        import pyspark  # noqa: F401
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        raise InputError(
            f"--engine spark needs Java {_MIN_JAVA} or newer, and there is none; install it (on Debian or Ubuntu: "
            f"apt-get install openjdk-{_MIN_JAVA}-jre-headless), or set JAVA_HOME."
        )


def _check_master_listens(master: str) -> None:
    """Raise an error if none of the master's addresses listens; of several masters only one is active."""
    found = _MASTER.match(master)
    hosts = _HOST.findall(found[1]) if found else []
    addresses: list[Any] = []
    for host, port in hosts:
        with suppress(OSError, OverflowError):  # its name cannot be resolved, or the port is no port
            addresses += socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    for family, _, _, _, address in addresses:
        with suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.settimeout(TIMEOUT / len(addresses))
            probe.connect(address)
            return
    if hosts:
        raise InputError(_SILENT.format(master))


def _check_runs_jobs(spark: "SparkSession", master: str, timeout: float | None) -> None:
    """Run a minimal job with a timeout: without workers it would wait forever."""
    thread = ThreadPoolExecutor(1)
    try:
        thread.submit(lambda: spark.range(1).collect()).result(timeout=timeout)
    except FutureTimeoutError:
        spark.sparkContext.cancelAllJobs()
        raise InputError(
            f"--spark-master {master} runs nothing: no worker took a task in {timeout:.0f} s; check that workers are "
            "registered and have the cores and memory that --spark-conf asks for."
        ) from None
    finally:
        thread.shutdown(wait=False, cancel_futures=True)


def _settings(folder: Path) -> dict[str, str]:
    return {
        "spark.local.dir": str(folder),
        "spark.io.encryption.enabled": "true",  # shuffled and spilled data contains people's terms
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",  # stack traces contain rows
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        "spark.sql.autoBroadcastJoinThreshold": "-1",  # broadcast tables pass through the driver
        "spark.sql.adaptive.enabled": "false",  # a block is one large row, so partitions must not be merged by size
    }


def _start(master: str, conf: Mapping[str, str]) -> tuple["SparkSession", float | None]:
    """Start a session; return it and the timeout of its master in seconds (None for a local master)."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings: Any = SparkConf().setMaster(master).setAppName("queryveil").setAll(list(conf.items()))
    thread = ThreadPoolExecutor(1)
    try:
        began = time.monotonic()
        with _without_terminal():
            SparkContext._ensure_initialized(conf=settings)
        timeout = None if master.startswith("local") else max(TIMEOUT, _STARTS * (time.monotonic() - began))
        session = thread.submit(SparkSession.builder.config(conf=settings).getOrCreate)
        return session.result(timeout=timeout), timeout
    except FutureTimeoutError:
        _kill_gateway()
        raise InputError(_SILENT.format(master)) from None
    except Exception:  # Py4J wraps whatever Java threw, with its stack trace in the text
        raise InputError(
            f"Spark could not be started on --spark-master {master}; check the address and --spark-conf, and try the "
            "same with pyspark --master."
        ) from None
    finally:
        thread.shutdown(wait=False, cancel_futures=True)


def _kill_gateway() -> None:
    """Kill the Java process that waits for a master; this also ends the thread that waits for Java."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is not None:
        logging.getLogger().addFilter(_is_not_of_py4j)  # for good: the thread notices later that Java is gone
        gateway.proc.kill()


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Return whether a record of the root logger is not Py4J's, which logs traces of lost connections there."""
    return record.module not in ("java_gateway", "clientserver")


@contextmanager
def _without_terminal() -> Iterator[None]:
    """Redirect standard output and error to the null device: Java prints a greeting there before it reads settings."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(number) for number in (1, 2)]
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(null, number)
        yield
    finally:
        for number, descriptor in zip((1, 2), saved, strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.close(null)
