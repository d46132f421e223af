"""Excluded terms on Spark: the same release as on one machine, and the same verdicts."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import queryveil
from queryveil.core.errors import GuaranteeError, InputError
from queryveil.release.reader import load_release
from queryveil.workflows.excluded import find_in_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]


def test_excluded_terms_are_left_out_and_verified_on_spark(compiled: "SparkSession", tmp_path: Path) -> None:
    log, listed, other = (tmp_path / name for name in ("log.csv", "never.txt", "other.txt"))
    queries = ("wine shop", "secretword", "beer", "the cat", "Wine", "the of and", "cat")
    lines = [f"p{i % 20},{queries[(i + i // 20) % 7]},country {i % 20 % 2}" for i in range(80)]
    log.write_text("user,query,country\n" + "\n".join(lines) + "\n")
    listed.write_text("WINE\nsecretword\n")
    other.write_text("cat\n")
    on_spark: dict[str, Any] = {"engine": "spark", "spark": compiled}
    for method in ("km(k=2, m=2)", "query_k(k=2)"):
        here, there, private = (tmp_path / f"{method[:2]}-{name}" for name in ("here", "there", "private"))
        options: dict[str, Any] = {"exclude_terms": listed, "seed": 1}
        one = queryveil.anonymize(log, method, here, **options)
        done = queryveil.anonymize(log, method, there, private=private, **options, **on_spark)
        assert not find_in_rows(load_release(there).rows, {"wine", "secretword"})
        assert done.manifest.counts["before"] == one.manifest.counts["before"]
        steps = [{step["name"]: step for step in made.manifest.cleaning.steps} for made in (one, done)]
        assert steps[0]["excluded terms"] == steps[1]["excluded terms"]
        assert done.summary.get("advice") == one.summary.get("advice")
        assert queryveil.verify(there, exclude_terms=listed, private=private).holds
        assert queryveil.verify(there, private=private, **on_spark).holds
        assert queryveil.verify(there, exclude_terms=other, **on_spark).state == "violated"
        assert any("--exclude-terms" in warning for warning in queryveil.verify(there, **on_spark).warnings)
        queryveil.measure(there, log, private=private, measures=["retention"], **on_spark)
        with pytest.raises(InputError, match="give private"):
            queryveil.measure(there, log, measures=["unique(m=1)"], **on_spark)
    (tmp_path / "countries.txt").write_text("country\n")
    with pytest.raises(GuaranteeError, match="partition_by"):
        queryveil.anonymize(
            log,
            "km(k=2, m=1)",
            tmp_path / "p",
            partition_by="country",
            exclude_terms=tmp_path / "countries.txt",
            **on_spark,
        )
