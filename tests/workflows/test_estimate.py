"""The dry run of a release: checks, a sample, an estimate, and nothing written."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from queryveil.api import anonymize, generate
from queryveil.cli import run
from queryveil.core.errors import InputError, OutputError
from queryveil.workflows import estimate
from queryveil.workflows.estimate import ReleaseEstimate, estimate_release
from queryveil.workflows.requests import ReleaseRequest


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("estimate") / "log.tsv"
    generate(path, users=300, seed=3)
    return path


def estimated(log: object, out: Path, method: str = "km(k=3, m=2)", **options: object) -> ReleaseEstimate:
    request = ReleaseRequest.from_values({"log": log, "method": method, "out": out, "seed": 1, **options})
    return estimate_release(request)


def test_on_a_small_log_the_estimate_is_what_the_run_releases(log: Path, tmp_path: Path) -> None:
    found = estimated(log, tmp_path / "out")
    done = anonymize(log, "km(k=3, m=2)", tmp_path / "out", seed=1)
    assert found.share == 1
    assert found.kept == {name: done.manifest.counts["after"][name] for name in found.kept}
    assert found.sample == {name: done.manifest.counts["before"][name] for name in found.sample}
    assert found.rows == done.to_arrow().num_rows


@pytest.mark.parametrize("form", ["plain", "gzip", "zstd", "parquet", "table", "utf-16"])
def test_a_sample_of_every_form_stands_for_the_whole_log(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    table = pa.csv.read_csv(log, parse_options=pa.csv.ParseOptions(delimiter="\t"))
    path, options = tmp_path / "log", {}
    data = log.read_bytes()
    if form == "parquet":
        pq.write_table(table, path)
    elif form == "utf-16":
        path.write_bytes(data.decode().encode("utf-16"))
        options = {"encoding": "utf-16"}
    else:
        packed = {"gzip": gzip.compress, "zstd": lambda text: pa.compress(text, codec="zstd", asbytes=True)}
        path.write_bytes(packed.get(form, bytes)(data))
    size = len(data) if form != "utf-16" else path.stat().st_size
    monkeypatch.setattr(estimate, "SAMPLE_BYTES", size // 4)
    monkeypatch.setattr(estimate, "SAMPLE_ROWS", table.num_rows // 4)
    found = estimated(table if form == "table" else path, tmp_path / "out", **options)
    assert 0.15 < found.share < 0.4
    assert 40 < found.sample["people"] < 150
    assert found.rows > found.kept["pairs"] > 0


def test_nothing_is_written_and_the_sentences_name_no_term(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["anonymize", str(log), "--method", "km(k=3, m=2)", "--out", str(tmp_path / "out"), "--dry-run"]
    assert run(command) == 0
    text = capsys.readouterr().out
    assert "tried on the whole log" in text
    assert "nothing was written" in text
    assert list(tmp_path.iterdir()) == []
    assert run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "histories"


def test_a_guarantee_that_the_sample_cannot_meet_is_said(log: Path, tmp_path: Path) -> None:
    found = estimated(log, tmp_path / "out", "vocabulary(k=400, eps=8)", private=tmp_path / "private")
    assert found.problem
    assert any("cannot be met there" in sentence for sentence in found.sentences())


def test_options_folders_and_inputs_are_checked(log: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file").write_text("x")
    with pytest.raises(OutputError, match="was not made by queryveil"):
        estimated(log, tmp_path / "out", force=True)
    with pytest.raises(InputError, match="--values is for methods that weigh terms"):
        estimated(log, tmp_path / "new", "query_k(k=3)", values=log)
    profiles = tmp_path / "profiles.csv"
    profiles.write_text("user,term,weight\na,b,1\n")
    with pytest.raises(InputError, match="profiles cannot be cut"):
        estimated(profiles, tmp_path / "new", "linkability(p=0.4)", private=tmp_path / "private")
