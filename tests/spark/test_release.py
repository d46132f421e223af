"""A release made on Spark: the same however it is cut, and what the code for one machine would have written."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.errors import InputError
from queryveil.release import private as privates
from queryveil.release.content import histories_content
from queryveil.release.reader import load
from queryveil.types import Profiles
from tests.spark.logs import write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]
METHOD = "km(k=4, m=2)"
OPTIONS: dict[str, Any] = {"history": "day", "partition_by": "country", "max_bad_lines": "1"}


def run(spark: "SparkSession", log: Path, folder: Path, n: int, **options: Any) -> Any:
    spark.conf.set("spark.sql.shuffle.partitions", str(n))
    return queryveil.anonymize(
        log, METHOD, folder / f"r{n}", private=folder / f"p{n}", engine="spark", spark=spark, seed=1, **options
    )


def kept_mask(profiles: Profiles, folder: Path, number: int) -> np.ndarray[Any, Any]:
    """Return which pairs of the local profiles a release holds, by who is behind each of its histories."""
    release, private = load(folder / f"r{number}"), folder / f"p{number}"
    membership = privates.load_membership(private)
    places = privates.places_in(profiles, private)
    history_of = dict(zip(membership["release_id"].to_pylist(), membership["history"].to_pylist(), strict=True))
    pairs = {
        (int(places[history_of[user]]), str(term))
        for user, term in zip(release.rows["user"].to_pylist(), release.rows["term"].to_pylist(), strict=True)
    }
    rows = np.repeat(np.arange(profiles.n_histories), np.diff(profiles.indptr)).tolist()
    words = [profiles.vocabulary[i] for i in profiles.ids.tolist()]
    return np.array([pair in pairs for pair in zip(rows, words, strict=True)])


@pytest.fixture(scope="module")
def made(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Any]:
    folder = tmp_path_factory.mktemp("spark")
    log = write_log(folder / "log.tsv")
    return folder, log, run(spark, log, folder, 2, **OPTIONS)


def test_the_same_however_it_is_cut(made: tuple[Path, Path, Any], spark: "SparkSession") -> None:
    folder, log, done = made
    for n in (1, 7):
        again = run(spark, log, folder, n, **OPTIONS)
        assert again.manifest["content_sha256"] == done.manifest["content_sha256"]
        assert again.manifest == done.manifest
        for name in ("membership.parquet", "profiles.parquet"):
            assert pq.read_table(folder / f"p{n}" / name).equals(pq.read_table(folder / "p2" / name))


def test_the_verifier_for_one_machine_agrees(made: tuple[Path, Path, Any], spark: "SparkSession") -> None:
    folder, _, done = made
    assert done.verdict.holds
    assert queryveil.verify(folder / "r2", private=folder / "p2") == done.verdict
    alone = queryveil.verify(folder / "r2", engine="spark", spark=spark)
    assert alone == queryveil.verify(folder / "r2")
    both = queryveil.verify(folder / "r2", private=folder / "p2", engine="spark", spark=spark)
    assert both == done.verdict
    for claim in ("km(k=30, m=3)", "km(k=1000, m=1)"):
        there = queryveil.verify(folder / "r2", private=folder / "p2", claim=claim, engine="spark", spark=spark)
        assert there == queryveil.verify(folder / "r2", private=folder / "p2", claim=claim)


def test_content_is_what_one_machine_would_write(made: tuple[Path, Path, Any]) -> None:
    folder, log, done = made
    with queryveil.read(log, **OPTIONS) as opened:
        profiles = queryveil.profiles(opened)
        steps = [step.__dict__ for step in opened.steps]
    assert done.manifest["cleaning"]["steps"] == steps
    rows = histories_content(profiles, kept_mask(profiles, folder, 2)).rows
    assert rows.equals(load(folder / "r2").rows)
    assert done.manifest["partition"] == {"column": "country", "values": 3, "left_out": 1}
    scores = {score.label: score.value for score in done.scores}
    measured = queryveil.measure(folder / "r2", log, private=folder / "p2", measures=["retention"], max_bad_lines="1")
    assert scores == {score.label: score.value for score in measured}
    assert (folder / "p2").stat().st_mode & 0o777 == 0o700
    assert not list(folder.glob(".queryveil*"))


def test_a_changed_release_is_refused(made: tuple[Path, Path, Any], spark: "SparkSession", tmp_path: Path) -> None:
    folder, _, _ = made
    changed = tmp_path / "changed"
    (changed / "data").mkdir(parents=True)
    for file in ("manifest.json", "report.html"):
        (changed / file).write_bytes((folder / "r2" / file).read_bytes())
    rows = pq.read_table(folder / "r2" / "data" / "part-00000.parquet")
    pq.write_table(rows.slice(1), changed / "data" / "part-00000.parquet")
    verdict = queryveil.verify(changed, engine="spark", spark=spark)
    assert verdict.state == "violated"
    assert "part-00000.parquet has been changed" in verdict.reason


def test_a_place_that_is_not_here_gets_the_same(
    made: tuple[Path, Path, Any], spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Places elsewhere are written by Hadoop's file systems; here one of these writes to this machine."""
    _, log, done = made
    monkeypatch.setattr("queryveil.release.remote.local_path", lambda place: None)
    monkeypatch.setattr("queryveil.workflows.distributed.anonymize.local_path", lambda place: None)
    out, private = f"file://{tmp_path}/r", f"file://{tmp_path}/p"
    again = queryveil.anonymize(log, METHOD, out, private=private, engine="spark", spark=spark, **OPTIONS)
    assert again.place == out
    with pytest.raises(InputError, match="is not on this machine"):
        again.to_arrow()
    assert again.manifest == done.manifest
    assert {path.name for path in tmp_path.iterdir()} == {"r", "p"}
    monkeypatch.undo()
    for checksum in tmp_path.rglob(".*.crc"):  # which Hadoop writes beside files on this machine, and only there
        checksum.unlink()
    assert queryveil.verify(tmp_path / "r", private=tmp_path / "p").holds
