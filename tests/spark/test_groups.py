"""Groups made on Spark: legal by every principle, the same however they are cut, and read by one machine."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.cli import run as run_command
from queryveil.core.evidence import Floor
from queryveil.core.names import resolve
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.kinds.groups import GROUPS, load_members
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.methods.distributed import linkability, similar_blocks
from queryveil.methods.linkability.blocks import merge_small
from queryveil.release.verification import verify_claim
from queryveil.verifiers.linkability import check_groups as verify_here
from queryveil.workflows.spark_verify import group_evidence
from tests.releases import edit_manifest, reseal
from tests.spark.conftest import back_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]
PEOPLE = 150
METHOD = "linkability(p=0.4)"


@pytest.fixture(scope="module", autouse=True)
def _small_blocks() -> Any:
    """Let there be several blocks, cut at two levels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(linkability.group_profiles.__kwdefaults__ or {}, "people_per_block", 20)
        yield


def run(spark: "SparkSession", log: Path, folder: Path | str, n: int, method: str = METHOD, **options: Any) -> Any:
    spark.conf.set("spark.sql.shuffle.partitions", str(n))
    place: dict[str, Any] = {"private": f"{folder}/p{n}", "engine": "spark", "spark": spark, "seed": 1}
    return queryveil.anonymize(log, method, f"{folder}/r{n}", **place, **options)


@pytest.fixture(scope="module")
def made(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Any]:
    folder = tmp_path_factory.mktemp("groups")
    log = folder / "log.tsv"
    queryveil.generate(log, users=PEOPLE)
    return folder, log, run(spark, log, folder, 1)


def test_the_same_however_it_is_cut_and_wherever_it_is_written(
    made: tuple[Path, Path, Any], spark: "SparkSession", tmp_path: Path, elsewhere: pytest.MonkeyPatch
) -> None:
    folder, log, done = made
    again = run(spark, log, f"file://{tmp_path}", 7)
    assert again.manifest == done.manifest
    back_here(elsewhere, tmp_path)
    assert queryveil.verify(tmp_path / "r7", private=tmp_path / "p7") == done.verdict
    for name in ("membership.parquet", "profiles.parquet", "counted.parquet"):
        assert pq.read_table(tmp_path / "p7" / name).equals(pq.read_table(folder / "p1" / name))


def test_one_machine_reads_and_verifies_it(made: tuple[Path, Path, Any]) -> None:
    folder, log, done = made
    assert done.verdict.holds
    assert queryveil.verify(folder / "r1", private=folder / "p1") == done.verdict
    (cosine,) = (s.value for s in queryveil.measure(folder / "r1", log, private=folder / "p1") if "cosine" in s.label)
    assert cosine is not None and cosine > 0.3


def test_the_same_is_asked_of_people_as_on_one_machine(
    made: tuple[Path, Path, Any], spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The network is a taxonomy; blocks have fewer people than a group must have, so that some are put together."""
    with queryveil.read(made[1]) as opened:
        terms = queryveil.profiles(opened).vocabulary
    taxonomy = tmp_path / "taxonomy.csv"
    taxonomy.write_text("".join(f"{term},{term[0]}-\n{term[0]}-,(all)\n" for term in terms[::2] if term.isalpha()))
    merged = Mock(side_effect=linkability.plan_merges)
    monkeypatch.setattr(linkability, "plan_merges", merged)
    method = "linkability(p=0.05, principle=belief, floor=3, weighting=paper, shrink=0.5)"
    options: dict[str, Any] = {"network": "taxonomy", "taxonomy": taxonomy}
    options |= {"weights": "tfidf", "unknown_terms": "drop"}
    done = run(spark, made[1], tmp_path, 1, method, **options)
    assert any(failed for (failed, _), _ in merged.call_args_list)
    assert queryveil.verify(tmp_path / "r1", private=tmp_path / "p1") == done.verdict
    here = queryveil.anonymize(made[1], method, tmp_path / "r", private=tmp_path / "p", seed=1, **options)
    for name in ("limits", "promise", "guarantee", "floor", "cleaning", "columns"):
        assert done.manifest.record()[name] == here.manifest.record()[name]
    assert done.manifest.record()["counts"]["before"] == here.manifest.record()["counts"]["before"]
    for name in ("pairs below the floor", "people without a usable term"):
        assert done.summary[name] == here.summary[name]
    assert "blocks on Spark" in done.summary["people grouped"]
    profiles = [pq.read_table(tmp_path / name / "profiles.parquet") for name in ("p1", "p")]
    pairs = [sorted(zip(*(t[name].to_pylist() for name in ("term", "count", "weight")), strict=True)) for t in profiles]
    assert pairs[0] == pairs[1]


def test_what_was_forged_is_found_on_the_cluster_too(
    spark: "SparkSession", made: tuple[Path, Path, Any], tmp_path: Path
) -> None:
    _, log, _ = made
    method = "linkability(p=0.4, closest=seed, min_similarity=0.3)"
    done = run(spark, log, tmp_path, 1, method)
    out, private = tmp_path / "r1", tmp_path / "p1"
    assert queryveil.verify(out, private=private) == done.verdict

    def reason() -> str:
        return str(queryveil.verify(out, private=private, engine="spark", spark=spark).reason)

    assert reason() == ""
    honest = (out / "manifest.json").read_text()
    edit_manifest(out, promise="Nobody can be found.", floor=1000)
    assert "fields_sha256 does not fit promise, floor" in reason()
    reseal(out)
    assert "the private folder recorded another manifest (promise, floor)" in reason()
    counts = json.loads(honest)["counts"]
    counts["after"]["groups"] += 1
    counts["before"]["people"] += 1
    (out / "manifest.json").write_text(honest)
    edit_manifest(out, counts=counts)
    reseal(out, private)
    assert "another number of groups than the rows" in reason()
    assert "another number of people than the private folder (counts, before)" in reason()
    record = json.loads((private / "run.json").read_text())
    forged = {"method": method.replace("0.3", "0.9"), "parameters": record["parameters"] | {"min_similarity": 0.9}}
    (private / "run.json").write_text(json.dumps(record | forged))
    (out / "manifest.json").write_text(honest)
    edit_manifest(out, method=forged["method"])
    reseal(out, private)
    assert "members are less similar than 0.9 to the centroid of their group" in reason()
    forged["parameters"] |= {"representative": "union"}
    (private / "run.json").write_text(json.dumps(record | forged))
    reseal(out, private)
    assert "has another weight than the profiles of its members give" in reason()


def damaged(rows: pa.Table, how: str) -> pa.Table:
    """Return the rows of a release with something wrong."""
    if how == "unordered":
        return rows.take(pa.array([1, 0, *range(2, len(rows))]))
    weights, terms = rows["weight"].to_pylist(), rows["term"].to_pylist()
    if how == "unweighed":
        weights[3] = float("nan")
    if how == "invented":
        terms[0] = "aa"
    return pa.table({"group": rows["group"], "term": terms, "weight": weights})


def test_the_verdict_is_that_of_one_machine(
    made: tuple[Path, Path, Any], spark: "SparkSession", tmp_path: Path
) -> None:
    folder, _, _ = made
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    rows = pq.read_table(folder / "r1" / "data")
    members = spark.read.parquet(str(folder / "p1" / "membership.parquet")).selectExpr("history", "release_id AS group")
    pairs = spark.read.parquet(str(folder / "p1" / "profiles.parquet")).select("history", "term", "weight")

    def both(claim: str, floor: int = 3, how: str = "") -> str:
        changed = damaged(rows, how)
        place = tmp_path / f"rows-{how}.parquet"
        pq.write_table(changed, place)
        released = GROUPS.decode(changed)
        inside = load_members(PrivateFolder(folder / "p1"), released)
        here = verify_here(resolve("guarantee", claim), released, inside, floor=floor)
        evidence = group_evidence(GROUPS, spark.read.parquet(str(place)), Floor(floor), members, pairs)
        assert verify_claim(resolve("guarantee", claim), GROUPS, evidence, engine="spark") == here
        return here.state

    for how in ("unordered", "unweighed", "invented"):
        assert both("linkability(p=0.4)", floor=1, how=how) == "violated"
    assert both("linkability(p=0.4)", floor=5) == "violated"
    assert both("linkability(p=0.34)") == "violated"
    assert both("linkability(p=0.4, average=global)") == "violated"
    assert both("linkability(p=0.4, principle=posterior)") == "violated"
    assert both("linkability(p=0.4, principle=belief)") == "violated"
    assert both("linkability(p=0.4, principle=diversity, l=20)") == "violated"
    assert both("linkability(p=0.4, principle=closeness, t=0.3)") == "violated"


def test_blocks_without_a_legal_group_are_put_together() -> None:
    assert linkability.plan_merges([], [1, 2]) == {}
    assert linkability.plan_merges([4], [1, 2]) == {4: 1}
    assert linkability.plan_merges([4], []) == {}
    assert linkability.plan_merges([1, 3, 4, 7, 8], [2]) == {3: 1, 4: 1, 7: 1}


def test_small_parts_are_put_together() -> None:
    assert merge_small({1: 50, 2: 60}, 10) == {}
    assert merge_small({1: 50, 2: 4, 3: 7, 4: 20}, 10) == {3: 2}
    assert merge_small({1: 50, 2: 4, 3: 20}, 10) == {2: 3}
    assert merge_small({1: 5, 2: 4}, 10) == {2: 1}


def test_parts_that_are_together_again_are_cut_by_hash(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_hash = []

    def cut(pieces: Any, large: Any, first: Any, inseparable: Any, *_: int) -> Any:
        ((block, n),) = large.items()
        by_hash.append(block in inseparable)
        sizes = [n // 4] * 4 if by_hash[-1] else [n - 3, 3]  # three are too few for a block
        return spark.createDataFrame([(first[block] + i, size) for i, size in enumerate(sizes)], "block INT, n INT")

    monkeypatch.setattr(similar_blocks, "_cut_once", cut)
    pieces = spark.createDataFrame([(0, 100)], "block INT, n INT")
    work = ScratchTables(spark, f"file://{tmp_path}")
    done = similar_blocks.cut_into_blocks(work, pieces, 100, 20, 1, lambda *_: None)
    assert by_hash == [False, True]
    assert sorted(map(tuple, done.collect())) == [(2, 25), (3, 25), (4, 25), (5, 25)]  # numbers stay small


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "needs a private folder"),
        (["--private", "p", "--history", "day"], "goes with --history user"),
        (["--private", "p", "--network", "cooccurrence"], "--network cooccurrence has no Spark form"),
        (["--private", "p", "--network", "taxonomy"], "give it by --taxonomy"),
        (["--private", "p", "--groups", "old"], "--groups has no Spark form"),
    ],
)
def test_what_has_no_spark_form(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], words: str
) -> None:
    log = tmp_path / "log.csv"
    log.write_text("user,query\nanna,red\nbert,blue\n")
    arguments = ["anonymize", str(log), "--method", "linkability(p=0.4)", "--out", str(tmp_path / "r")]
    assert run_command([*arguments, "--engine", "spark", *options]) == 2
    assert words in capsys.readouterr().err
    log.write_text("user,term,weight\nanna,red,1\n")
    assert run_command([*arguments, "--engine", "spark", "--private", str(tmp_path / "p")]) == 2
    assert "is a profile file, which has no Spark form" in capsys.readouterr().err


def test_nobody_can_be_grouped(spark: "SparkSession", tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("user,query\nanna,red\nbert,blue\ncarl,red\n")
    with pytest.raises(queryveil.core.errors.GuaranteeError, match="make no legal group"):
        run(spark, log, tmp_path, 2, "linkability(p=0.4, floor=1, principle=diversity, l=40)")
    assert {path.name for path in tmp_path.iterdir()} == {"log.csv"}
