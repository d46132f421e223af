"""km with h from the command to the verdict: what is sensitive, by a model or a list, and how that is verified."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import queryveil
from queryveil.cli import app
from queryveil.core.errors import InputError, QueryveilError
from tests.releases import edit_manifest, reseal

METHOD = "km(k=3, m=2, h=0.8)"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everybody who searched for boston and clinic searched for hepatitis."""
    people = [["boston", "clinic", "hepatitis"]] * 4 + [["boston"]] * 6 + [["clinic"]] * 6 + [["hepatitis"]] * 6
    rows = ["user\tquery", *(f"u{i}\t{term}" for i, terms in enumerate(people) for term in terms)]
    path = tmp_path_factory.mktemp("log") / "log.tsv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def words(log: Path) -> Path:
    path = log.parent / "sensitive.txt"
    path.write_text("# diseases\nHepatitis\nplague\n")
    return path


@pytest.fixture(scope="module")
def release(log: Path, words: Path) -> Path:
    queryveil.anonymize(log, METHOD, log.parent / "rel", private=log.parent / "priv", sensitive=words, seed=1)
    return log.parent / "rel"


def test_one_of_the_four_loses_the_sensitive_term(release: Path) -> None:
    rows = pq.read_table(release / "data").to_pylist()
    histories: dict[int, set[str]] = {}
    for row in rows:
        histories.setdefault(row["user"], set()).add(row["term"])
    together = [terms for terms in histories.values() if {"boston", "clinic"} <= terms]
    assert sorted(len(terms) for terms in together) == [2, 3, 3, 3]


def test_a_list_must_be_given_to_verify(release: Path, log: Path, words: Path, tmp_path: Path) -> None:
    assert queryveil.verify(release, sensitive=words).holds
    assert queryveil.verify(release, sensitive=words, private=log.parent / "priv").holds
    verdict = queryveil.verify(release, private=log.parent / "priv")
    assert (verdict.state, verdict.exit_code) == ("unchecked", 2)
    assert "give it by --sensitive" in verdict.reason
    other = tmp_path / "other.txt"
    other.write_text("hepatitis\n")
    with pytest.raises(InputError, match="is not the list that the release was made with"):
        queryveil.verify(release, sensitive=other)
    assert "plague" not in (release / "manifest.json").read_text() + (release / "report.html").read_text()


def test_the_bundled_model_is_the_default(log: Path, tmp_path: Path) -> None:
    made = queryveil.anonymize(log, METHOD, tmp_path / "rel", seed=1)
    assert made.manifest.guarantee == "coherence(k=3, m=2, h=0.8, threshold=0.5)"
    assert queryveil.verify(tmp_path / "rel").holds
    reseal_with(tmp_path / "rel", lists={"sensitive_terms": "0" * 64})
    verdict = queryveil.verify(tmp_path / "rel")
    assert (verdict.state, verdict.exit_code) == ("unchecked", 2)
    assert "another sensitivity model" in verdict.reason


def reseal_with(out: Path, **changes: object) -> None:
    edit_manifest(out, **changes)
    reseal(out)


def test_plain_km_does_not_keep_the_bound(log: Path, words: Path, tmp_path: Path) -> None:
    queryveil.anonymize(log, "km(k=3, m=2)", tmp_path / "rel", seed=1)
    verdict = queryveil.verify(tmp_path / "rel", claim="coherence(k=3, m=2, h=0.8)", sensitive=words)
    assert verdict.state == "violated"
    assert "{boston, clinic}: 4 of the 4 holders have hepatitis too, at most 3 may" in verdict.sentence()


def test_a_file_can_be_checked(words: Path, tmp_path: Path) -> None:
    table = pa.table({"user": np.repeat(np.arange(6), 2), "term": ["boston", "hepatitis"] * 6})
    pq.write_table(table, tmp_path / "rows.parquet")
    claim = "coherence(k=2, m=1, h=0.5)"
    assert queryveil.verify(tmp_path / "rows.parquet", claim=claim, sensitive=words).state == "violated"
    assert queryveil.verify(tmp_path / "rows.parquet", claim=claim).state == "unchecked"


def test_why_says_what_would_follow(release: Path, log: Path) -> None:
    private = log.parent / "priv"
    fates = [fate for i in range(4) for fate in queryveil.why(release, private=private, user=f"u{i}").fates]
    (lost,) = [fate for fate in fates if not fate.kept]
    assert lost.term == "hepatitis"
    said = "4 of the 4 who have boston, clinic together would have hepatitis too, and a smaller share is allowed"
    assert lost.sentence(3) == said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--method", "km(k=3, m=2, h=0)"], "h must be a number above 0 and at most 1"),
        (["--method", "km(k=3, m=2, h=1.5)"], "h must be a number above 0 and at most 1"),
        (["--method", "km(k=3, m=2, threshold=0.5)"], "threshold is for km with h"),
        (["--method", "km(k=3, m=2)", "--sensitive", "unknown.txt"], "--sensitive is for km with h"),
        (
            ["--method", "suppress(k=3)", "--sensitive", "unknown.txt"],
            "--sensitive is for methods that bound inference",
        ),
        (["--method", METHOD, "--sensitive", "unknown.txt"], "none of the 3 terms of the log is in the list"),
        (["--method", METHOD, "--sensitive", "none.txt"], "there is no file"),
        (["--method", "km(k=3, m=2, h=0.8, threshold=1)"], "none of the 3 terms of the log is sensitive"),
        (["--method", "km(k=3, m=2, h=0.8, threshold=0.5)", "--sensitive", "unknown.txt"], "leave one out"),
        (["--method", "km(k=3, m=2, h=0.8, threshold=0.01, split=all)"], "h is only for split=none"),
        (["--method", "km(k=3, m=2, thin=0.1, split=layers)"], "thin is only for split=none"),
        (["--method", "km(k=3, m=2, thin=0.1)", "--engine", "spark"], "on Spark there is only thin=0"),
        (["--method", "km(k=3, m=2, split=pairs)", "--engine", "spark"], "there is only split=none|layers|all"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], expected: str, log: Path, tmp_path: Path) -> None:
    (tmp_path / "unknown.txt").write_text("zzzz\n")
    given = [str(tmp_path / each) if each.endswith(".txt") else each for each in arguments]
    result = CliRunner().invoke(app, ["anonymize", str(log), *given, "--out", str(tmp_path / "out")])
    assert isinstance(result.exception, QueryveilError)
    assert result.exception.exit_code == 2
    assert expected in str(result.exception)
    assert not (tmp_path / "out").exists()
