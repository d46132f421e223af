"""Runs on Spark give what they gave when they were recorded: the same rows, private folders, verdicts and scores.

`RECORD=write pytest tests/spark/test_recorded.py` rewrites `tests/recorded/spark.json`.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import queryveil
from queryveil.core.errors import QueryveilError
from tests.recorded.inputs import write_inputs
from tests.recorded.recording import (
    cleaned,
    describe_manifest,
    describe_output,
    describe_score,
    differences,
    load,
    run_command,
    save,
    tamper,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]

Options = dict[str, Any]
RELEASES: dict[str, tuple[str, Options]] = {
    "km-m1": ("km(k=3, m=1)", {}),
    "km": ("km(k=3, m=2)", {}),
    "km-m3": ("km(k=3, m=3)", {"history": "session", "scrub": False}),
    "km-partition": ("km(k=3, m=2)", {"history": "day", "partition_by": "country"}),
    "queries": ("query_k(k=3)", {"stop_words": "english", "duplicates": "keep"}),
    "queries-share": ("query_k(share=0.3)", {"history": "day", "charset": "paper"}),
    "groups": ("linkability(p=0.4)", {}),
    "groups-global": ("linkability(p=0.4, average=global, a=2, closest=seed)", {"unknown_terms": "drop"}),
    "groups-union": (
        "linkability(p=0.4, representative=union, weighting=paper, floor=1)",
        {"taxonomy": "taxonomy.csv"},
    ),
    "posterior": ("linkability(p=0.4, principle=posterior, shrink=0.5)", {"weights": "counts"}),
    "belief": ("linkability(p=0.4, principle=belief, min_similarity=0.2)", {"weights": "tfidf"}),
    "diversity": ("linkability(p=0.3, principle=diversity, l=5)", {}),
    "closeness": ("linkability(p=0.3, principle=closeness, t=0.8)", {}),
}
CHANGED = ("km", "queries", "groups")  # releases whose changed copies are verified
CHANGES = {"drop": True, "invent-forged": False, "claim": True}  # the change, and whether the private folder is given
MEASURES = ("retention", "unique(m=1)", "unique(m=6)", "spi", "jsd", "impressions", "exposed")


@pytest.fixture(scope="module")
def engine(spark: "SparkSession") -> Iterator[Options]:
    """Yield the keywords by which a run uses the shared session, with a fixed number of tasks."""
    before = str(spark.conf.get("spark.sql.shuffle.partitions"))
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    yield {"engine": "spark", "spark": spark}
    spark.conf.set("spark.sql.shuffle.partitions", before)


def test_results_are_those_recorded(engine: Options, tmp_path: Path) -> None:
    write_inputs(tmp_path)
    found = {name: made_release(name, tmp_path, engine) for name in RELEASES}
    found |= {f"verify-{name}": {"verdict": verdict} for name, verdict in verdicts(tmp_path, engine)}
    found |= {f"measure-{name}": scores(name, tmp_path, engine) for name in ("km-partition", "queries")}
    if os.environ.get("RECORD") == "write":
        save("spark", found)
    assert differences(load("spark"), found) == []


def made_release(name: str, folder: Path, engine: Options) -> dict[str, Any]:
    """Make a release and return its recording."""
    method, options = RELEASES[name]
    if "taxonomy" in options:
        options = {**options, "taxonomy": folder / options["taxonomy"]}
    out, private = folder / name, folder / f"{name}.p"
    queryveil.anonymize(folder / "log.tsv", method, out, private=private, seed=1, **options, **engine)
    code, sentence, _ = run_command(["verify", str(out), "--private", str(private)])
    return {
        "method": method,
        **describe_manifest(cleaned(json.loads((out / "manifest.json").read_text()))),
        **describe_output(private),
        "local verdict": f"{code}: {sentence.strip()}",
    }


def verdicts(folder: Path, engine: Options) -> Iterator[tuple[str, str]]:
    """Yield the verdicts on releases and on changed copies."""
    for name in CHANGED:
        private = folder / f"{name}.p"
        yield name, verdict(folder / name, folder, engine)
        yield f"{name}-private", verdict(folder / name, folder, engine, private=private)
        for change, has_private in CHANGES.items():
            copy = folder / f"{name}-{change}"
            tamper(folder / name, copy, change)
            yield copy.name, verdict(copy, folder, engine, private=private if has_private else None)


def verdict(release: Path, folder: Path, engine: Options, **options: Any) -> str:
    """Return the verdict on a release as a sentence, or the sentence by which it is refused."""
    try:
        return queryveil.verify(release, **options, **engine).sentence()
    except QueryveilError as error:
        return str(error).replace(f"{folder}/", "")


def scores(name: str, folder: Path, engine: Options) -> dict[str, Any]:
    """Return the scores of a release."""
    options: Options = {"private": folder / f"{name}.p", "measures": MEASURES, "seed": 1}
    found = queryveil.measure(folder / name, folder / "log.tsv", **options, **engine)
    return {"scores": [describe_score(cleaned(score.__dict__)) for score in found]}
