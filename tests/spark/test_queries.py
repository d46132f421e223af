"""Query k-anonymity on Spark keeps the same queries as on one machine."""

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import queryveil
from queryveil.engines.kept_columns import FORMS
from queryveil.engines.spark.sql import SparkSqlSession
from queryveil.engines.sql import open_sql_session
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


VALUES: dict[str, list[Any]] = {
    "time": [datetime(2006, 3, 1, 23, 59, 59), datetime(1969, 12, 31, 1, 2, 3), None],
    "rank": ["0", "1", "3", "10", "11", "2-3", "x", "", None],
    "url": ["http://www.Foo.com/a?b", "https://u:p@b.org:80", "www.www.z.de", "/a", "mailto:a@b.com", "", "www.", None],
}


@pytest.mark.parametrize("name", VALUES)
def test_columns_are_coarsened_alike(compiled: "SparkSession", name: str) -> None:
    kind = "TIMESTAMP_NTZ" if name == "time" else "STRING"
    frame = compiled.createDataFrame([(value,) for value in VALUES[name]], f"{name} {kind}")
    with SparkSqlSession(compiled, logged=frame) as there, open_sql_session() as here:
        here.register("logged", pa.table({name: VALUES[name]}))
        for form, sql in FORMS[name].items():
            found, expected = (
                [row[0] if row[0] is None else str(row[0]) for row in session.query(f"SELECT {sql} FROM {{logged}}")]
                for session in (there, here)
            )
            assert found == expected, form


def test_kept_columns_are_verified_as_on_one_machine(compiled: "SparkSession", tmp_path: Path) -> None:
    lines = ["user,query,time,url"]
    for person in range(12):
        site = f"http://www.{'a' if person < 4 else 'b'}.com/{person}"
        lines += [f"p{person},wine,2026-01-0{1 + person % 3} 1{day}:00:00,{site}" for day in range(2)]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    options: dict[str, Any] = {"private": tmp_path / "p", "history": "session", "session_gap": "10m", "seed": 1}
    for name, floor in (("floor", None), ("none", 1)):
        release, keep = tmp_path / name, ["time:day", "url:domain"] if floor is None else ["time", "url"]
        queryveil.anonymize(
            tmp_path / "log.csv", "query_k(k=3)", release, keep=keep, keep_floor=floor, force=True, **options
        )
        for private in (tmp_path / "p", None):
            expected = queryveil.verify(release, private=private)
            assert expected.warnings
            assert queryveil.verify(release, private=private, engine="spark", spark=compiled) == expected
    record = json.loads((release / "manifest.json").read_text())
    record["kept"] = {"columns": ["time:day", "url:domain"], "floor": 13}
    (release / "manifest.json").write_text(json.dumps(record))
    verdict = queryveil.verify(release, private=tmp_path / "p", engine="spark", spark=compiled)
    assert verdict.state == "violated"
    assert "24 rows have a time that is not of the form time:day" in verdict.reason
    assert "12 values of the column url are of fewer than 13 people" in verdict.reason
    assert "the private folder recorded another manifest (kept)" in verdict.reason


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
    assert reason(once) == "1 released query occurs more or less often than in the history behind it"
    swapped = rows.take(pa.array([1, 0, *range(2, len(pairs))]))
    assert reason(swapped) == "the rows are not numbered and sorted as those of their kind are"
