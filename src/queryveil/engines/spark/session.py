"""A Spark session that is ours or the caller's, and one sentence where Java, PySpark or the master is missing."""

import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooSlow
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queryveil.core.errors import InputError
from queryveil.core.files import scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 30  # seconds until a master that says nothing is given up …
_STARTS = 5  # … or as many starts of Java, where this machine is so busy that these take longer
_LOGGING = Path(__file__).with_name("log4j2.properties")
_MASTER = re.compile(r"(?:spark|k8s)://(?:https?://)?(.+)")
_HOST = re.compile(r"\[?([^/,\[\]]+?)\]?:(\d+)")
_SILENT = "--spark-master {} does not answer; check the address, and that the master is running."
_SPEAKERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # PySpark's, on standard error
_FIRST_JAVA = 17
_TASKS_PER_CORE = 2
_OURS = re.compile(r"^queryveil\.core\.errors\.\w+: (.+)$", re.MULTILINE)  # the end of a worker's stack, if it was ours


@dataclass(frozen=True)
class Cluster:
    """Where Spark is: a master and settings for a session of our own, or a session of the caller's."""

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)
    given: "SparkSession | None" = None


def read_conf(pairs: Sequence[str]) -> dict[str, str]:
    """Read settings of the form key=value."""
    for pair in pairs:
        if not re.fullmatch(r"[\w.-]+=.*", pair, re.DOTALL):
            raise InputError(f"--spark-conf {pair!r} is not key=value; write it like spark.executor.memory=4g.")
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


@contextmanager
def session(cluster: Cluster) -> Iterator["SparkSession"]:
    """Yield a session, and stop it afterwards; one that was given is used as it is and stays."""
    with told_in_sentences():
        if cluster.given is not None:
            with _speechless():
                yield cluster.given
            return
        check_installed()
        _check_answers(cluster.master)
        with ExitStack() as stack:
            stack.enter_context(_speechless())
            folder = stack.enter_context(scratch("spark"))
            spark, patience = _start(cluster.master, {**_settings(folder), **cluster.conf})
            stack.callback(spark.stop)
            _check_works(spark, cluster.master, patience)
            if "spark.sql.shuffle.partitions" not in cluster.conf:
                n_tasks = _TASKS_PER_CORE * spark.sparkContext.defaultParallelism
                spark.conf.set("spark.sql.shuffle.partitions", str(n_tasks))
            yield spark


@contextmanager
def told_in_sentences() -> Iterator[None]:
    """Turn what Spark raises into a sentence: its own texts hold stacks, and these may hold rows of the log."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("pyspark", "py4j"):
            raise
        ours = _OURS.findall(str(error))
        if ours:
            raise InputError(ours[-1].strip()) from None
        raise InputError(
            f"Spark gave the run up ({type(error).__name__}), so nothing was released; see the logs of the cluster, "
            "and whether its executors have enough memory and disk."
        ) from None


@contextmanager
def _speechless() -> Iterator[None]:
    """Keep PySpark from logging what it raises: a value that cannot be read stands in there as it is."""
    from pyspark.logger import PySparkLogger

    speakers = [PySparkLogger.getLogger(name) for name in _SPEAKERS]
    before = [speaker.disabled for speaker in speakers]
    for speaker in speakers:
        speaker.disabled = True
    try:
        yield
    finally:
        for speaker, was_disabled in zip(speakers, before, strict=True):
            speaker.disabled = was_disabled


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
    """Refuse a master of which no address listens; there may be several, of which one is at work."""
    found = _MASTER.match(master)
    hosts = _HOST.findall(found[1]) if found else []
    addresses = [address for host, port in hosts for address in _addresses(host, port)]
    if hosts and not any(_listens(*address, PATIENCE / len(addresses)) for address in addresses):
        raise InputError(_SILENT.format(master))


def _addresses(host: str, port: str) -> list[tuple[int, Any]]:
    """Return the addresses of a host, each with its family; none if nobody knows it."""
    try:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except (OSError, OverflowError):
        return []
    return [(family, address) for family, _, _, _, address in found]


def _listens(family: int, address: Any, patience: float) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.settimeout(patience)
        try:
            trial.connect(address)
        except OSError:
            return False
    return True


def _check_works(spark: "SparkSession", master: str, patience: float | None) -> None:
    """Run the smallest job; a master without workers would let it wait forever."""
    trial = ThreadPoolExecutor(1)
    try:
        trial.submit(lambda: spark.range(1).collect()).result(timeout=patience)
    except TooSlow:
        spark.sparkContext.cancelAllJobs()
        raise InputError(
            f"--spark-master {master} runs nothing: no worker took a task in {patience:.0f} s; check that workers are "
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
        "spark.sql.autoBroadcastJoinThreshold": "-1",  # broadcast tables go through the driver
        "spark.sql.adaptive.enabled": "false",  # a block is one large row: partitions are counted, not guessed
    }


def _start(master: str, conf: Mapping[str, str]) -> tuple["SparkSession", float | None]:
    """Start a session; say how many seconds its master has for an answer (there is none to wait for on one machine)."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings: Any = SparkConf().setMaster(master).setAppName("queryveil").setAll(list(conf.items()))
    starting = ThreadPoolExecutor(1)
    try:
        began = time.monotonic()
        with _silenced():
            SparkContext._ensure_initialized(conf=settings)
        patience = None if master.startswith("local") else max(PATIENCE, _STARTS * (time.monotonic() - began))
        answer = starting.submit(SparkSession.builder.config(conf=settings).getOrCreate)
        return answer.result(timeout=patience), patience
    except TooSlow:
        _give_up()
        raise InputError(_SILENT.format(master)) from None
    except Exception:  # (Py4J wraps whatever Java threw, with its stack in the text)
        raise InputError(
            f"Spark could not be started on --spark-master {master}; check the address and --spark-conf, and try the "
            "same with pyspark --master."
        ) from None
    finally:
        starting.shutdown(wait=False, cancel_futures=True)


def _give_up() -> None:
    """End the Java process that waits for a master, and with it the thread that waits for Java."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is not None:
        gateway.proc.kill()


@contextmanager
def _silenced() -> Iterator[None]:
    """Give what is started meanwhile no terminal to write to: Java greets and warns there before it reads settings."""
    sys.stdout.flush()
    sys.stderr.flush()
    ours = [os.dup(number) for number in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nowhere, number)
        yield
    finally:
        for number, descriptor in zip((1, 2), ours, strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.close(nowhere)
