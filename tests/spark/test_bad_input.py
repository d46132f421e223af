"""What Spark cannot do is reported in one sentence, if possible before Spark is started."""

import logging
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock, patch

import pytest
from pyspark import SparkContext

import queryveil
from queryveil.cli import run
from queryveil.core.errors import InputError, LogError
from queryveil.core.names import resolve
from queryveil.engines.spark import session as sessions
from queryveil.workflows.spark_verify import require_spark_support
from tests.spark.logs import write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]


def refused(capsys: pytest.CaptureFixture[str], log: Path, *options: str, method: str = "km(k=4, m=2)") -> str:
    out = log.with_name("out")
    arguments = ["anonymize", str(log), "--method", method, "--out", str(out), "--engine", "spark", *options]
    assert run(arguments) == 2
    assert not out.exists()
    return capsys.readouterr().err


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(tmp_path / "log.tsv", people=5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--spark-conf", "memory"], "is not key=value"),
        (["--kind", "log"], "--kind log has no Spark form; use --kind histories"),
        (["--kind", "groups"], "makes releases of kind"),
        (["--keep", "time"], "--keep has no Spark form"),
        (["--market", "m.csv"], "--market has no Spark form"),
        (["--spark-master", "spark://127.0.0.1:1,127.0.0.1:2"], "does not answer"),
        (["--spark-master", "k8s://https://127.0.0.1:99999"], "does not answer"),
        (["--spark-master", "spark://nobody.invalid:7077"], "does not answer"),
    ],
)
def test_options(capsys: pytest.CaptureFixture[str], log: Path, java: None, options: list[str], words: str) -> None:
    assert words in refused(capsys, log, *options)


def test_a_master_that_listens_and_says_nothing(java: None) -> None:
    code = (
        "import sys; from queryveil.engines.spark import session as s; s.TIMEOUT, s._STARTS = 3, 0\n"
        "try:\n    s.open_session(s.SparkCluster(sys.argv[1])).__enter__()\n"
        "except s.InputError as error:\n    print(error)\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as silent:
        master = f"spark://127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-c", code, master]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (
        done.stdout == f"--spark-master {master} does not answer; check the address, and that the master is running.\n"
    )
    assert not done.stderr


def test_a_connection_that_py4j_loses_after_the_kill_is_not_logged() -> None:
    """Py4J logs to the root logger whenever its thread notices, which may be after the sentence was printed."""
    with patch.object(SparkContext, "_gateway", Mock()), patch.object(SparkContext, "_jvm", None):
        sessions._kill_gateway()
    root = logging.getLogger()
    for module in ("java_gateway", "clientserver"):
        assert not root.filter(logging.makeLogRecord({"module": module, "msg": "Exception while sending command."}))
    assert root.filter(logging.makeLogRecord({"module": "application", "msg": "kept"}))
    root.removeFilter(sessions._is_not_of_py4j)


def test_one_of_several_masters_is_at_work() -> None:
    with socket.create_server(("127.0.0.1", 0)) as one:
        sessions._check_master_listens(f"spark://127.0.0.1:1,127.0.0.1:{one.getsockname()[1]}")


def test_a_method_without_a_spark_form(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    sentence = refused(capsys, log, method="suppress(k=2)")
    assert "the method suppress has no Spark form (km" in sentence
    assert "there is only target=logsize" in refused(capsys, log, method="km(k=4, m=2, target=clicks)")
    assert "there is only algorithm=best" in refused(capsys, log, method="km(k=4, m=2, algorithm=paper)")
    assert "there is only split=none|layers|all; leave it out" in refused(
        capsys, log, method="km(k=4, m=2, split=pairs)"
    )
    with pytest.raises(InputError, match="there is only blocks=auto"):
        require_spark_support("method", resolve("method", "linkability(p=0.4, blocks=none)"))


def test_an_output_that_exists(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    folder = log.with_name("there")
    folder.mkdir()
    code = run(["anonymize", str(log), "--method", "km(k=4, m=2)", "--out", str(folder), "--engine", "spark"])
    assert code == 2
    assert "exists already" in capsys.readouterr().err


def test_options_of_spark_without_spark(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    arguments = ["verify", str(log), "--claim", "km(k=4, m=2)"]
    assert run([*arguments, "--spark-master", "yarn"]) == 2
    assert "--spark-master goes with --engine spark" in capsys.readouterr().err
    assert run([*arguments, "--engine", "sparc"]) == 2
    assert "did you mean spark?" in capsys.readouterr().err
    with pytest.raises(InputError, match='goes with engine="spark"'):
        queryveil.verify(log, claim="km(k=4, m=2)", spark=object())


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(InputError, match=r"pip install 'queryveil\[spark\]'"):
        sessions.check_installed()


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InputError, match="apt-get install openjdk-17-jre-headless"):
        sessions.check_installed()


def test_list_engines_says_what_runs_where(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "engines"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["method", "km", "yes", "yes"] in lines
    assert ["method", "suppress", "yes", "–"] in lines
    assert ["measure", "jsd", "yes", "yes"] in lines


def test_pyspark_is_not_loaded_without_need() -> None:
    code = (
        "import sys; from queryveil.cli import run; run(['list', 'engines']); "
        "import queryveil.workflows.anonymize; sys.exit('pyspark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_what_cannot_be_read(spark: "SparkSession", tmp_path: Path) -> None:
    log = tmp_path / "log.csv"

    def read_it(**options: Any) -> None:
        queryveil.anonymize(log, "km(k=2, m=1)", tmp_path / "out", engine="spark", spark=spark, **options)

    with pytest.raises(LogError, match="there is no file"):
        read_it()
    log.write_text("name,colour\nanna,red\nbert,blue\n")
    with pytest.raises(LogError, match="column"):
        read_it()
    log.write_text("user,query\nanna,red\nbert,blue\n")
    with pytest.raises(LogError, match="no single column"):
        read_it(partition_by="country")
    with pytest.raises(LogError, match="needs times"):
        read_it(history="day")
    with pytest.raises(queryveil.core.errors.GuaranteeError, match="nothing would be left"):
        read_it()
    assert {path.name for path in tmp_path.iterdir()} == {"log.csv"}


def test_a_value_that_cannot_be_read_is_not_printed(spark: "SparkSession", capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError) as refusal, sessions.open_session(sessions.SparkCluster(session=spark)) as given:
        given.sql("SELECT CAST('my secret query' AS INT)").collect()
    assert "Spark gave the run up" in str(refusal.value)
    assert "secret" not in f"{refusal.value}{''.join(capfd.readouterr())}"
