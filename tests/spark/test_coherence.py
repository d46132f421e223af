"""Bounding inference on Spark: by both verifiers, beside a release that does not."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import queryveil

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]
CLAIM = "coherence(k=3, m=2, h=0.8)"


def test_a_release_keeps_the_bound_on_both_engines(spark: "SparkSession", tmp_path: Path) -> None:
    people = [["boston", "clinic", "hepatitis"]] * 4 + [["boston", "flu"]] * 6 + [["clinic"]] * 6 + [["flu"]] * 6
    rows = ["user\tquery", *(f"u{i}\t{term}" for i, terms in enumerate(people) for term in terms)]
    log, words = tmp_path / "log.tsv", tmp_path / "words.txt"
    log.write_text("\n".join(rows) + "\n")
    words.write_text("hepatitis\nflu\n")
    cluster: dict[str, Any] = {"engine": "spark", "spark": spark}
    plain, bounded, private = (tmp_path / name for name in ("plain", "bounded", "private"))
    queryveil.anonymize(log, "km(k=3, m=2)", plain, seed=1, **cluster)
    done = queryveil.anonymize(log, "km(k=3, m=2, h=0.8)", bounded, private=private, sensitive=words, seed=1, **cluster)
    assert done.summary["sensitive terms deleted from all histories"] == 1
    assert set(pq.read_table(bounded / "data")["term"].to_pylist()) == {"boston", "clinic", "flu"}
    here: dict[str, Any] = {}
    for options in (here, cluster):
        assert queryveil.verify(bounded, private=private, sensitive=words, **options).holds
        assert queryveil.verify(bounded, **options).state == "unchecked"
    verdicts = [queryveil.verify(plain, claim=CLAIM, sensitive=words, **options) for options in (here, cluster)]
    assert [verdict.sentence() for verdict in verdicts] == [verdicts[0].sentence()] * 2
    assert "of the 4 holders have hepatitis too, at most 3 may" in verdicts[0].sentence()
