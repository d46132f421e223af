"""Terms that the owner excluded: published by no method, recorded without being named, and verified."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil
from queryveil.cli import run
from queryveil.core.errors import GuaranteeError, InputError
from queryveil.logs.terms import excluded_in, read_terms
from queryveil.semantics.network import HIDDEN, wordnet
from queryveil.workflows.excluded import find_in_rows

TERMS = frozenset({"wine", "secretword"})
METHODS = (
    "km(k=2, m=1)",
    "km(k=2, m=2, algorithm=paper)",
    "query_k(k=2)",
    "linkability(p=0.5)",
    "vocabulary(k=2, eps=8)",
    "suppress(k=2)",
    "generalize(k=2)",
    "ppp(release=none)",
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a log in which many people share the excluded terms, and two have nothing else."""
    queries = ("wine shop", "secretword", "beer", "dog cat", "wine", "Secretword dog", "whiskey", "cat")
    lines = ["user,query,time,url,country"]
    for person in range(16):
        for place in range(3):
            query = queries[(person + 2 * place) % len(queries)] if person > 1 else "secretword"
            day, site = 1 + place, "secretword.example.org/x" if person % 2 else "example.org/y"
            lines.append(f"p{person},{query},2026-01-0{day} 10:00:00,http://{site},wine")
    path = tmp_path_factory.mktemp("excluded") / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "never.txt"
    path.write_text("# not to be published\n  Wine\nsecretword\n\n")
    return path


def release(log: Path, listed: Path, folder: Path, method: str = METHODS[0], **options: Any) -> Any:
    folder.mkdir(exist_ok=True)
    return queryveil.anonymize(
        log, method, folder / "out", private=folder / "private", exclude_terms=listed, seed=1, **options
    )


@pytest.mark.parametrize("method", METHODS)
def test_no_method_publishes_an_excluded_term(log: Path, listed: Path, tmp_path: Path, method: str) -> None:
    done = release(log, listed, tmp_path, method)
    rows = queryveil.load(done.release).to_arrow()
    assert rows.num_rows
    assert not find_in_rows(rows, TERMS)
    everything = b"".join(path.read_bytes() for path in done.release.rglob("*.*"))
    assert b"secretword" not in everything
    assert done.manifest.excluded is not None
    assert done.manifest.excluded["terms"] == 2
    for options in ({"exclude_terms": listed, "private": done.private}, {"private": done.private}):
        assert queryveil.verify(done.release, **options).holds
    unchecked = queryveil.verify(done.release)
    assert any("--exclude-terms" in warning for warning in unchecked.warnings)
    queryveil.measure(done.release, log, private=done.private)
    queryveil.attack(done.release, log, done.private)


def test_queries_go_with_their_terms_where_queries_are_released(log: Path, listed: Path, tmp_path: Path) -> None:
    by_query = release(log, listed, tmp_path / "q", "query_k(k=1)")
    assert "dog" not in queryveil.load(by_query.release).to_arrow()["query"].to_pylist()
    by_term = release(log, listed, tmp_path / "t", "km(k=2, m=1)", kind="log")
    assert {"shop", "dog"} <= {*queryveil.load(by_term.release).to_arrow()["term"].to_pylist()}
    steps = {step["name"]: step for step in by_query.manifest.cleaning.steps}
    queries = [line.split(",")[1] for line in log.read_text().splitlines()[1:]]
    assert steps["excluded terms"]["count"] == sum(bool(excluded_in(query, TERMS)) for query in queries)
    left = sum(step.get("rows", 0) for step in by_query.manifest.cleaning.steps)
    assert left == steps["left"]["count"]


def test_urls_that_hold_an_excluded_term_are_left_out(log: Path, listed: Path, tmp_path: Path) -> None:
    done = release(log, listed, tmp_path, "km(k=2, m=1)", kind="log", keep=["url"], keep_floor=1)
    urls = queryveil.load(done.release).to_arrow()["url"]
    assert 0 < urls.null_count < len(urls)
    assert not find_in_rows(pa.table({"url": urls}), TERMS)
    assert queryveil.verify(done.release, exclude_terms=listed, private=done.private).holds


def test_a_partition_called_like_an_excluded_term_is_refused(log: Path, listed: Path, tmp_path: Path) -> None:
    with pytest.raises(GuaranteeError, match="partition_by"):
        release(log, listed, tmp_path, partition_by="country")
    assert not (tmp_path / "out").exists()


def test_profile_files_lose_excluded_terms(listed: Path, tmp_path: Path) -> None:
    profiles = tmp_path / "profiles.csv"
    rows = [f"p{i},{term},1" for i in range(12) for term in ("Wine", "red wine", f"t{i % 4}", f"u{i % 3}")]
    profiles.write_text("user,term,weight\n" + "\n".join(rows) + "\n")
    done = release(profiles, listed, tmp_path, "linkability(p=0.7)")
    assert not find_in_rows(queryveil.load(done.release).to_arrow(), TERMS)
    assert queryveil.verify(done.release, exclude_terms=listed, private=done.private).holds
    profiles.write_text("user,term,weight\np1,wine,1\np2,wine,1\n")
    with pytest.raises(InputError, match="besides excluded ones"):
        release(profiles, listed, tmp_path / "none", "linkability(p=0.5)")


def test_published_terms_of_another_list_are_found(log: Path, listed: Path, tmp_path: Path) -> None:
    done = release(log, listed, tmp_path)
    more, other = tmp_path / "more.txt", tmp_path / "other.txt"
    more.write_text("wine\nsecretword\nbeer\n")
    verdict = queryveil.verify(done.release, exclude_terms=more)
    assert verdict.state == "violated"
    assert "1 of the 3 excluded terms" in verdict.reason
    assert run(["verify", str(done.release), "--exclude-terms", str(more)]) == 1
    other.write_text("unheard\n")
    with pytest.raises(InputError, match="not the list that the release was made with"):
        queryveil.verify(done.release, exclude_terms=other)
    plain = queryveil.anonymize(log, "km(k=2, m=1)", tmp_path / "plain")
    assert plain.manifest.excluded is None
    assert queryveil.verify(plain.release, exclude_terms=listed).state == "violated"


def test_a_manifest_with_another_list_contradicts_the_private_folder(log: Path, listed: Path, tmp_path: Path) -> None:
    done = release(log, listed, tmp_path)
    assert done.private is not None
    record = json.loads((done.private / "run.json").read_text())
    assert record["excluded_terms"] == sorted(TERMS)
    (done.private / "run.json").write_text(json.dumps(record | {"excluded_terms": ["else"]}))
    assert queryveil.verify(done.release, private=done.private).state == "violated"


def test_digests_of_the_same_list_differ_between_releases(log: Path, listed: Path, tmp_path: Path) -> None:
    one, other = (release(log, listed, tmp_path / method, method) for method in METHODS[:3:2])
    assert one.manifest.excluded["digest"] != other.manifest.excluded["digest"]


def test_measuring_needs_to_know_the_list(log: Path, listed: Path, tmp_path: Path) -> None:
    done = release(log, listed, tmp_path)
    with pytest.raises(InputError, match="give private"):
        queryveil.measure(done.release, log)


def test_compare_leaves_excluded_terms_out(log: Path, listed: Path) -> None:
    compared = queryveil.compare(log, ["km(k=2, m=1)"], exclude_terms=listed)
    everything = queryveil.compare(log, ["km(k=2, m=1)"])
    assert compared.counts["terms"] == everything.counts["terms"] - len(TERMS)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "holds no term"),
        (b"# only a comment\n", "holds no term"),
        (b"wine\nred wine\n", "line 2 is several terms"),
        (b"!!\n", "line 1 is no term"),
        (b"\xff\xfe\n", "cannot be read as UTF-8"),
        (None, "there is no file"),
    ],
)
def test_bad_lists_are_refused_in_one_sentence(
    log: Path, tmp_path: Path, content: bytes | None, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "never.txt"
    if content is not None:
        path.write_bytes(content)
    arguments = ["anonymize", str(log), "--method", "km(k=2, m=1)", "--out", str(tmp_path / "out")]
    assert run([*arguments, "--exclude-terms", str(path)]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert "--exclude-terms" in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_terms_are_folded_like_those_of_the_log(tmp_path: Path) -> None:
    path = tmp_path / "never.txt"
    path.write_text("ÅNGSTRÖM\n")
    assert read_terms(path, "letters") == {"ångström"}
    assert excluded_in("Ångström law", {"ångström"}) == {"ångström"}
    assert excluded_in("beer|wine", TERMS) == {"wine"}


def test_names_of_nodes_hold_no_excluded_term() -> None:
    network = wordnet()
    [node] = {int(network.senses[network.sense_indptr[network.find("wine") or 0]])}
    assert network.words_of(node)[0] == "wine"
    assert network.hide_names(TERMS).words_of(node)[0] == "vino"
    assert network.hide_names(TERMS | {"vino"}).words_of(node)[0] == HIDDEN
    assert network.hide_names(frozenset({"entity"})).words_of(0)[0] == HIDDEN
    assert network.find("wine") == network.hide_names(TERMS).find("wine")


def test_stop_words_at_the_top_are_advised_against(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,query\n" + "".join(f"u{i},the of and cat x{i}\n" for i in range(9)))
    done = queryveil.anonymize(path, "km(k=5, m=1)", tmp_path / "out")
    assert "3 of the 4 most frequent released terms are stop words" in done.summary["advice"]
    assert "--stop-words" not in done.report.read_text()  # advice for the owner is not published
    without = queryveil.anonymize(path, "km(k=5, m=1)", tmp_path / "without", stop_words="english")
    assert "advice" not in without.summary
