"""A release made on Spark: the same however it is cut, and what the code for one machine would have written."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.core.errors import InputError
from queryveil.histories.profiles import Profiles
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.release.reader import load_release
from tests.builders import encode_histories
from tests.spark.conftest import METHOD, OPTIONS, SETTINGS, Made, back_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]


def kept_mask(profiles: Profiles, folder: Path) -> np.ndarray[Any, Any]:
    """Return which pairs of the local profiles a release holds, by who is behind each of its histories."""
    release, private = load_release(folder / "r2"), PrivateFolder(folder / "p2")
    membership = private.membership()
    places = private.positions_in(profiles)
    history_of = dict(zip(membership["release_id"].to_pylist(), membership["history"].to_pylist(), strict=True))
    pairs = {
        (int(places[history_of[user]]), str(term))
        for user, term in zip(release.rows["user"].to_pylist(), release.rows["term"].to_pylist(), strict=True)
    }
    rows = np.repeat(np.arange(profiles.n_histories), np.diff(profiles.indptr)).tolist()
    words = [profiles.vocabulary[i] for i in profiles.ids.tolist()]
    return np.array([pair in pairs for pair in zip(rows, words, strict=True)])


@pytest.fixture
def cut(spark: "SparkSession", request: pytest.FixtureRequest) -> Iterator[None]:
    """Let Spark cut everything into another number of tasks."""
    name = "spark.sql.shuffle.partitions"
    spark.conf.set(name, request.param)
    yield
    spark.conf.set(name, SETTINGS[name])


@pytest.mark.parametrize("cut", ["1"], indirect=True)
def test_the_same_in_one_task(made: Made, spark: "SparkSession", tmp_path: Path, cut: None) -> None:
    again = queryveil.anonymize(made.log, METHOD, tmp_path / "r", engine="spark", spark=spark, **OPTIONS)
    assert again.manifest == made.done.manifest


@pytest.mark.parametrize("cut", ["7"], indirect=True)
def test_the_same_in_seven_tasks_and_in_a_place_that_is_not_here(
    made: Made, spark: "SparkSession", tmp_path: Path, elsewhere: pytest.MonkeyPatch, cut: None
) -> None:
    out, private = f"file://{tmp_path}/r", f"file://{tmp_path}/p"
    again = queryveil.anonymize(made.log, METHOD, out, private=private, engine="spark", spark=spark, **OPTIONS)
    assert again.location == out
    with pytest.raises(InputError, match="is not on a disk of this machine"):
        again.to_arrow()
    assert again.manifest == made.done.manifest
    assert {path.name for path in tmp_path.iterdir()} == {"r", "p"}
    back_here(elsewhere, tmp_path)
    assert queryveil.verify(tmp_path / "r", private=tmp_path / "p").holds
    for name in ("membership.parquet", "profiles.parquet"):
        assert pq.read_table(tmp_path / "p" / name).equals(pq.read_table(made.folder / "p2" / name))


def test_the_verifier_for_one_machine_agrees(made: Made, spark: "SparkSession") -> None:
    folder, done = made.folder, made.done
    assert done.verdict.holds
    assert queryveil.verify(folder / "r2", private=folder / "p2") == done.verdict
    both = queryveil.verify(folder / "r2", private=folder / "p2", engine="spark", spark=spark)
    assert both == done.verdict
    claim = "km(k=30, m=3)"
    alone = queryveil.verify(folder / "r2", claim=claim, engine="spark", spark=spark)
    assert alone == queryveil.verify(folder / "r2", claim=claim)


def test_content_is_what_one_machine_would_write(made: Made) -> None:
    folder, log, done = made.folder, made.log, made.done
    with queryveil.read(log, **OPTIONS) as opened:
        profiles = queryveil.profiles(opened)
        steps = [step.__dict__ for step in opened.steps.values()]
    assert done.manifest.record()["cleaning"]["steps"] == steps
    left = {step["name"]: step for step in steps}["left"]
    assert left["count"] == sum(step["rows"] for step in steps)
    assert left["note"] == f"{sum(step['people'] for step in steps)} people"
    assert {step["name"]: step["people"] for step in steps}["no term"] == -1
    rows = encode_histories(profiles, kept_mask(profiles, folder)).rows
    assert rows.equals(load_release(folder / "r2").rows)
    assert done.manifest.record()["partition"] == {"column": "country", "values": 3, "left_out": 1}
    scores = {score.label: score.value for score in done.scores}
    measured = queryveil.measure(folder / "r2", log, private=folder / "p2", measures=["retention"], max_bad_lines="1")
    assert scores == {score.label: score.value for score in measured}
    assert (folder / "p2").stat().st_mode & 0o777 == 0o700
    assert not list(folder.glob(".queryveil*"))


def test_a_changed_release_is_refused(made: Made, spark: "SparkSession", tmp_path: Path) -> None:
    folder = made.folder
    changed = tmp_path / "changed"
    (changed / "data").mkdir(parents=True)
    for file in ("manifest.json", "report.html"):
        (changed / file).write_bytes((folder / "r2" / file).read_bytes())
    rows = pq.read_table(folder / "r2" / "data" / "part-00000.parquet")
    pq.write_table(rows.slice(1), changed / "data" / "part-00000.parquet")
    verdict = queryveil.verify(changed, engine="spark", spark=spark)
    assert verdict.state == "violated"
    assert "part-00000.parquet has been changed" in verdict.reason
