"""Groups made on Spark: legal by every principle, the same however they are cut, and read by one machine."""

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.engines.spark.work import Work
from queryveil.errors import GuaranteeError, InputError
from queryveil.methods.distributed import linkability
from queryveil.methods.distributed.likeness import joined_small
from queryveil.methods.distributed.linkability import merged
from queryveil.semantics.options import Meaning
from queryveil.spec import resolve
from queryveil.workflows.distributed import verify as verifying

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]
METHOD = "linkability(p=0.4, shrink=0.5)"
OPTIONS: dict[str, Any] = {"weights": "tfidf", "unknown_terms": "drop"}
CLAIMS = (
    "linkability(p=0.05)",
    "linkability(p=0.3, average=global)",
    "linkability(p=0.35, principle=posterior)",
    "linkability(p=0.35, principle=belief)",
    "linkability(p=0.4, principle=diversity, l=30)",
    "linkability(p=0.4, principle=closeness, t=0.3)",
)


def run(spark: "SparkSession", log: Path, folder: Path, n: int, method: str = METHOD, **options: Any) -> Any:
    spark.conf.set("spark.sql.shuffle.partitions", str(n))
    place = {"private": folder / f"p{n}", "engine": "spark", "spark": spark, "seed": 1}
    return queryveil.anonymize(log, method, folder / f"r{n}", **place, **options)


@pytest.fixture(scope="module")
def made(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Any]:
    folder = tmp_path_factory.mktemp("groups")
    log = folder / "log.tsv"
    queryveil.generate(log, users=150)
    with pytest.MonkeyPatch.context() as patch:  # so that there are several blocks, cut twice
        patch.setattr(linkability.run, "__kwdefaults__", {**linkability.run.__kwdefaults__, "people_per_block": 20})
        return folder, log, run(spark, log, folder, 2, **OPTIONS)
