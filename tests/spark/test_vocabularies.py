"""Vocabularies clustered on Spark: those of one machine by the same blocks, verified on the cluster and here."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import queryveil
from queryveil.cli import run as run_command
from queryveil.core.errors import GuaranteeError, InputError, ReleaseError
from queryveil.methods.distributed.vocabulary import plan_joins
from queryveil.release.reader import load_release
from tests.goods import goods
from tests.releases import replace_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]
SAME = ("content_sha256", "counts", "guarantee", "limits", "promise", "cleaning", "floor", "columns")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a log in the order of the people's identifiers, by which Spark numbers them."""
    folder = tmp_path_factory.mktemp("vocabularies")
    queryveil.generate(folder / "made.tsv", users=60, seed=4)
    header, *lines = (folder / "made.tsv").read_text().splitlines()
    lines += ["empty\t?\t2026-01-01 00:00:00"] * ("\tquery\t" in header)
    (folder / "log.tsv").write_text("\n".join([header, *sorted(lines)]) + "\n")
    return folder / "log.tsv"


def write_goods(path: Path) -> Path:
    """Write a log of thirty people who search for goods."""
    words = ("wine boots", "vino shoes", "jackets", "pants wine", "rawmilk")
    path.write_text("user,query\n" + "".join(f"p{i:02},{words[i % 5]}\n" for i in range(30)))
    return path


def both(spark: "SparkSession", log: Path, folder: Path, method: str, n: int = 2, **options: Any) -> Any:
    """Make a release on one machine (`r`, `p`) and on Spark (`s`, `q`); return what Spark made."""
    spark.conf.set("spark.sql.shuffle.partitions", str(n))
    here = queryveil.anonymize(log, method, folder / "r", private=folder / "p", seed=1, **options)
    on_spark: dict[str, Any] = {"engine": "spark", "spark": spark, "private": folder / "q", "seed": 1}
    done = queryveil.anonymize(log, method, folder / "s", **on_spark, **options)
    assert load_release(folder / "s").rows.equals(load_release(folder / "r").rows)
    for name in SAME:
        assert done.manifest.record()[name] == here.manifest.record()[name], name
    assert done.summary == here.summary
    assert done.verdict == here.verdict
    for private in (folder / "q", None):
        local = queryveil.verify(folder / "s", private=private)
        assert queryveil.verify(folder / "s", private=private, engine="spark", spark=spark) == local
    return done


def test_the_same_release_as_on_one_machine(spark: "SparkSession", log: Path, tmp_path: Path) -> None:
    done = both(spark, log, tmp_path, "vocabulary(k=3, eps=4, omega=5, floor=4, block=25)")
    assert done.summary["vocabularies clustered"] == "in 3 blocks of at most 20"
    assert "retention" not in {score.name for score in done.scores}


def test_names_in_common_and_sessions(spark: "SparkSession", log: Path, tmp_path: Path) -> None:
    """A person is in several blocks, and the people below a node are those of the whole log."""
    method = "vocabulary(k=3, eps=6, typical=generalize, terms=matchable, block=40)"
    excluded = tmp_path / "never.txt"
    excluded.write_text("person\nentity\n")
    options: dict[str, Any] = {"history": "day", "unknown_terms": "drop", "exclude_terms": excluded}
    both(spark, log, tmp_path, method, 3, **options)


def test_a_taxonomy_and_lists_of_terms(spark: "SparkSession", tmp_path: Path) -> None:
    log, taxonomy, other = write_goods(tmp_path / "log.csv"), tmp_path / "goods.csv", tmp_path / "other.csv"
    goods(tmp_path)
    both(spark, log, tmp_path, "vocabulary(k=2, eps=4, typical=bags, block=10)", 1, taxonomy=taxonomy)
    other.write_text("child,parent\nmoon,sky\n")
    on_spark: dict[str, Any] = {"engine": "spark", "spark": spark}
    with pytest.raises(InputError, match="knows 0 of the"):
        queryveil.anonymize(log, "vocabulary(k=2, eps=4)", tmp_path / "t", taxonomy=other, **on_spark)
    with pytest.raises(GuaranteeError, match="only 30 people of the log have a vocabulary"):
        queryveil.anonymize(log, "vocabulary(k=31, eps=4)", tmp_path / "t", **on_spark)
    with pytest.raises(InputError, match="has no Spark form"):
        queryveil.measure(tmp_path / "s", log, **on_spark)


def test_forged_vocabularies_are_found_on_spark(spark: "SparkSession", tmp_path: Path) -> None:
    out, private = tmp_path / "r", tmp_path / "p"
    goods(tmp_path)
    made: dict[str, Any] = {"private": private, "taxonomy": tmp_path / "goods.csv", "seed": 1}
    queryveil.anonymize(write_goods(tmp_path / "log.csv"), "vocabulary(k=2, eps=4)", out, **made)
    rows = load_release(out).rows

    def verdict(**changed: list[Any]) -> Any:
        columns = {name: changed.get(name, rows[name]) for name in rows.column_names}
        replace_rows(out, private, pa.table(columns, schema=rows.schema))
        found = queryveil.verify(out, private=private, engine="spark", spark=spark)
        assert found == queryveil.verify(out, private=private)
        return found

    counts, terms = rows["count"].to_pylist(), rows["term"].to_pylist()
    assert verdict().holds
    first = verdict(count=[counts[0] + 1, *counts[1:]])
    assert (first.state, first.counterexample.support) == ("violated", 1)
    assert "have no counterpart in the history behind them" in verdict(count=[n + 50 for n in counts]).reason
    assert "terms are held by fewer than 2 people" in verdict(term=[f"q{term}" for term in terms]).reason
    with pytest.raises(ReleaseError, match="count below 1"):
        verdict(count=[0, *counts[1:]])


def test_histories_may_be_vocabularies(spark: "SparkSession", log: Path, tmp_path: Path) -> None:
    release, private = tmp_path / "r", tmp_path / "p"
    queryveil.anonymize(log, "km(k=2, m=2)", release, private=private, seed=1)
    claimed: dict[str, Any] = {"claim": "vocabulary_k(k=2)", "private": private}
    expected = queryveil.verify(release, **claimed)
    assert expected.state == "violated"
    assert queryveil.verify(release, engine="spark", spark=spark, **claimed) == expected


def test_blocks_of_too_few_people_are_joined() -> None:
    assert plan_joins({0: 5, 1: 4}, 4) == {}
    assert plan_joins({0: 1, 1: 4, 2: 2, 3: 2, 4: 9, 5: 3}, 4) == {0: 1, 2: 3, 5: 4}
    assert plan_joins({0: 1, 1: 2}, 4) == {1: 0}


def test_what_has_no_spark_form(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,query\nanna,red\n")
    arguments = ["anonymize", str(tmp_path / "log.csv"), "--out", str(tmp_path / "r"), "--engine", "spark"]
    assert run_command([*arguments, "--method", "vocabulary(k=2, eps=4)", "--network", "wordnet_all"]) == 2
    assert "--network wordnet_all has no Spark form" in capsys.readouterr().err
