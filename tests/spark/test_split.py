"""km with `split` on Spark: the ceiling is reached, and the verifiers of both engines accept it."""

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.kinds.private_folder import PrivateFolder
from tests.workflows.small_log import write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]
K = 8


@pytest.mark.parametrize("options", [{}, {"history": "day", "partition_by": "country"}])
def test_every_occurrence_of_a_term_that_k_people_hold_is_released(
    spark: "SparkSession", tmp_path: Path, options: dict[str, Any]
) -> None:
    log, out, private = write_log(tmp_path, 3), tmp_path / "out", tmp_path / "private"
    done = queryveil.anonymize(
        log, f"km(k={K}, m=2, split=all)", out, private=private, engine="spark", spark=spark, **options
    )
    assert done.verdict.holds
    local = queryveil.verify(out, private=private)
    assert local.holds
    assert local.counted == "people"
    profiles = queryveil.profiles(log, **options)
    folder = PrivateFolder(private)
    place = folder.positions_in(profiles)
    history_of = {row["release_id"]: int(place[row["history"]]) for row in folder.membership().drop_null().to_pylist()}
    files = sorted((out / "data").glob("*.parquet"))
    rows = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    shown = [(history_of[row["user"]], row["term"]) for row in rows]
    holders: dict[Any, set[int]] = defaultdict(set)
    held: list[tuple[Any, tuple[int, str]]] = []
    for history, (begin, end) in enumerate(zip(profiles.indptr[:-1], profiles.indptr[1:], strict=True)):
        part = None if profiles.partition is None else int(profiles.partition[history])
        for term in profiles.ids[begin:end].tolist():
            holders[part, term].add(int(profiles.owner[history]))
            held.append(((part, term), (history, profiles.vocabulary[term])))
    assert set(shown) == {pair for key, pair in held if len(holders[key]) >= K}
    assert len(shown) == len(set(shown))
    assert len(history_of) > len(set(history_of.values()))


def test_splitting_where_one_term_is_known_is_said_to_be_pointless(spark: "SparkSession", tmp_path: Path) -> None:
    log = write_log(tmp_path, 3)
    done = queryveil.anonymize(log, f"km(k={K}, m=1, split=all)", tmp_path / "out", engine="spark", spark=spark)
    assert "of no use" in done.summary["split"]
    assert done.manifest.counts["after"]["histories"] == done.manifest.counts["after"]["people"]
