"""Measures taken on Spark: the same figures as on one machine, however the data is cut."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import queryveil
from queryveil.cli import run as run_command
from queryveil.core.results import Score
from tests.spark.logs import write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]
ALL = ("impressions", "retention", "unique(m=6)", "jsd", "spi", "exposed")  # histories have fewer than 6 entries


def same(there: list[Score], here: list[Score]) -> None:
    """Compare scores; figures may differ by the order in which they were summed."""
    assert [(s.measure, s.label, s.unit, s.units_counted, s.better, s.note) for s in there] == [
        (s.measure, s.label, s.unit, s.units_counted, s.better, s.note) for s in here
    ]
    for one, other in zip(there, here, strict=True):
        assert one.value == (None if other.value is None else pytest.approx(other.value, rel=1e-12, abs=1e-12))
        assert one.original == (None if other.original is None else pytest.approx(other.original, rel=1e-12))
        assert (one.interval or ()) == pytest.approx(other.interval or (), rel=1e-9, abs=1e-9)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a folder with releases that one machine made, and their log."""
    folder = tmp_path_factory.mktemp("measured")
    log = write_log(folder / "log.tsv")
    options: dict[str, Any] = {"seed": 1, "max_bad_lines": "1"}
    queryveil.anonymize(log, "query_k(k=2)", folder / "queries", private=folder / "queries-p", **options)
    queryveil.anonymize(log, "km(k=3, m=2)", folder / "days", private=folder / "days-p", history="day", **options)
    return folder, log


def measure(spark: "SparkSession | None", release: Path, log: Path, n: int = 1, **options: Any) -> list[Score]:
    if spark is None:
        return list(queryveil.measure(release, log, max_bad_lines="1", **options))
    spark.conf.set("spark.sql.shuffle.partitions", str(n))
    return list(queryveil.measure(release, log, max_bad_lines="1", engine="spark", spark=spark, **options))


def test_releases_of_queries(made: tuple[Path, Path], spark: "SparkSession") -> None:
    folder, log = made
    given = (folder / "queries", log)
    options: dict[str, Any] = {"private": folder / "queries-p", "measures": ALL}
    there = measure(spark, *given, **options)
    same(there, measure(None, *given, **options))
    options["measures"] = ("unique(m=6)", "spi")
    some = [score for score in there if score.measure in options["measures"]]
    assert measure(spark, *given, 7, **options) == some
    options |= {"measures": ("jsd",), "match": "partial"}
    same(measure(spark, *given, **options), measure(None, *given, **options))


def test_releases_of_histories(made: tuple[Path, Path], spark: "SparkSession") -> None:
    folder, log = made
    given = (folder / "days", log)
    options: dict[str, Any] = {"private": folder / "days-p", "measures": ALL}
    same(measure(spark, *given, **options), measure(None, *given, **options))
    options = {"measures": ("retention", "unique(m=6)")}
    same(measure(spark, *given, **options), measure(None, *given, **options))


def test_draws_have_the_chances_of_one_machine(made: tuple[Path, Path], spark: "SparkSession") -> None:
    folder, log = made
    options: dict[str, Any] = {"measures": ("unique(m=1)", "unique(m=2)")}
    exact, drawn = measure(spark, folder / "days", log, **options)
    local_exact, local_drawn = measure(None, folder / "days", log, **options)
    assert exact == local_exact  # one known term needs no draws
    assert drawn.units_counted == local_drawn.units_counted
    assert drawn.original == pytest.approx(local_drawn.original, abs=12)
    (again,) = measure(spark, folder / "days", log, seed=7, measures=("unique(m=2)",))
    assert (again.original, again.original_interval) == (drawn.original, drawn.original_interval)


def test_somebodys_log(made: tuple[Path, Path], spark: "SparkSession", tmp_path: Path) -> None:
    _, log = made
    released, who = tmp_path / "released.csv", tmp_path / "map.csv"
    released.write_text("user,query\na,t0\na,t1\nb,t0 t1\nz,t3\n")
    who.write_text("original,released\np1,a\np2,b\n")
    options: dict[str, Any] = {"map": who, "measures": ("impressions", "jsd")}
    same(measure(spark, released, log, **options), measure(None, released, log, **options))
    with pytest.raises(queryveil.core.errors.InputError, match="no person of the release is in the original"):
        measure(spark, released, log)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--measure", "worst"], "the measure worst has no Spark form (retention, unique, spi, jsd, impressions"),
        (["--market", "m.csv"], "--market has no Spark form"),
        (["--people", "p.csv"], "--people has no Spark form"),
    ],
)
def test_what_has_no_spark_form(capsys: pytest.CaptureFixture[str], options: list[str], words: str) -> None:
    assert run_command(["measure", "r", "--against", "log", "--engine", "spark", *options]) == 2
    assert words in capsys.readouterr().err


def test_a_kind_without_a_spark_form(spark: "SparkSession", made: tuple[Path, Path], tmp_path: Path) -> None:
    log = made[1]
    options: dict[str, Any] = {"seed": 1, "max_bad_lines": "1"}
    queryveil.anonymize(log, "linkability(p=0.4)", tmp_path / "r", private=tmp_path / "p", **options)
    with pytest.raises(queryveil.core.errors.InputError, match="is of kind groups, which has no Spark form"):
        measure(spark, tmp_path / "r", log)
    with pytest.raises(queryveil.core.errors.InputError, match="there is no release or log"):
        measure(spark, tmp_path / "x", log)
