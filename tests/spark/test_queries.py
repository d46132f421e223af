"""Query k-anonymity on Spark keeps the same queries as on one machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import queryveil
from queryveil.release.reader import load_release
from tests.releases import replace_rows
from tests.spark.logs import write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]


def test_the_same_release_as_on_one_machine(compiled: "SparkSession", tmp_path: Path) -> None:
    log, (here, there, private) = write_log(tmp_path / "log.tsv"), (tmp_path / name for name in ("r", "s", "p"))
    method = "query_k(share=0.3)"
    options: dict[str, Any] = {"history": "day", "max_bad_lines": "1"}
    local = queryveil.anonymize(log, method, here, seed=1, **options)
    done = queryveil.anonymize(log, method, there, private=private, seed=1, engine="spark", spark=compiled, **options)
    assert load_release(there).rows.equals(load_release(here).rows)
    for key in ("content_sha256", "counts", "guarantee", "cleaning", "floor"):
        assert done.manifest.record()[key] == local.manifest.record()[key]
    assert done.summary == {key: local.summary[key] for key in done.summary}
    assert queryveil.verify(there, private=private) == done.verdict
    claimed: dict[str, Any] = {"private": private, "claim": "query_k(k=20)"}
    assert queryveil.verify(there, engine="spark", spark=compiled, **claimed) == queryveil.verify(there, **claimed)


def test_a_query_that_is_missing_or_invented_is_found_with_the_private_folder(
    compiled: "SparkSession", tmp_path: Path
) -> None:
    log, out, private = write_log(tmp_path / "log.tsv"), tmp_path / "out", tmp_path / "private"
    made: dict[str, Any] = {"private": private, "seed": 1, "max_bad_lines": "1"}
    queryveil.anonymize(log, "query_k(k=3)", out, **made)
    rows = load_release(out).rows
    pairs = list(zip(rows["user"].to_pylist(), rows["query"].to_pylist(), strict=True))
    twice = next(place for place, pair in enumerate(pairs) if pairs.count(pair) > 1)

    def reason(changed: pa.Table) -> str:
        replace_rows(out, private, changed)
        verdict = queryveil.verify(out, private=private, engine="spark", spark=compiled)
        assert (verdict.state, verdict.reason) == ("violated", queryveil.verify(out, private=private).reason)
        return verdict.reason

    once = rows.take(pa.array([place for place in range(len(pairs)) if place != twice]))
    assert reason(once) == "1 released queries occur more or less often than in the history behind them"
    swapped = rows.take(pa.array([1, 0, *range(2, len(pairs))]))
    assert reason(swapped) == "the rows are not numbered and sorted as those of their kind are"
