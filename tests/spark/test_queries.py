"""Query k-anonymity on Spark keeps the same queries as on one machine."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import queryveil
from queryveil.release.reader import load
from tests.spark.logs import write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]


def test_the_same_release_as_on_one_machine(spark: "SparkSession", tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.tsv")
    options = {"history": "day", "max_bad_lines": "1"}
    for method in ("query_k(k=3)", "query_k(share=0.3)"):
        here, there, private = (tmp_path / f"{name}-{method[8]}" for name in ("here", "there", "private"))
        local = queryveil.anonymize(log, method, here, seed=1, **options)
        done = queryveil.anonymize(log, method, there, private=private, seed=1, engine="spark", spark=spark, **options)
        assert load(there).rows.equals(load(here).rows)
        for key in ("content_sha256", "counts", "guarantee", "cleaning", "floor"):
            assert done.manifest[key] == local.manifest[key]
        assert done.summary == {key: local.summary[key] for key in done.summary}
        assert queryveil.verify(there, private=private) == done.verdict
    assert queryveil.verify(there, private=private, engine="spark", spark=spark) == done.verdict
    claim = "query_k(k=20)"
    assert queryveil.verify(there, claim=claim, engine="spark", spark=spark) == queryveil.verify(there, claim=claim)
