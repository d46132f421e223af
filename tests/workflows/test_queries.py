"""Releases of whole queries from end to end."""

import json
from contextlib import chdir
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.cli import run
from queryveil.core.errors import InputError

LOG = """user,query,time
ann,Cheap flights,2026-01-01 10:00:00
ann,cheap  FLIGHTS!,2026-01-02 10:00:00
ann,jennifer kowalski,2026-01-01 11:00:00
bob,cheap flights,2026-01-01 10:00:00
bob,soup,2026-01-01 11:00:00
cat,soup,2026-01-03 10:00:00
cat,hotel in paris,2026-01-03 11:00:00
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    return path


def released(folder: Path) -> list[tuple[object, ...]]:
    rows = pq.read_table(folder / "data").to_pydict()
    return list(zip(*rows.values(), strict=True))


def test_shared_queries_are_released_as_they_are_folded(log: Path, tmp_path: Path) -> None:
    done = queryveil.anonymize(log, "query_k(k=2)", tmp_path / "out", private=tmp_path / "private")
    assert done.verdict.holds
    assert released(tmp_path / "out") == [
        (0, "cheap flights"),
        (0, "cheap flights"),
        (1, "cheap flights"),
        (1, "soup"),
        (2, "soup"),
    ]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["kind"], manifest["guarantee"], manifest["floor"]) == ("queries", "query_k(k=2)", 2)
    assert manifest["counts"]["after"] == {"people": 3, "histories": 3, "terms": 2, "pairs": 4, "occurrences": 5}
    assert queryveil.verify(tmp_path / "out", private=tmp_path / "private").counted == "people"
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Every published query was issued by at least 2 people" in page
    assert "kowalski" not in page


def test_the_claim_of_a_share_has_its_k(log: Path, tmp_path: Path) -> None:
    done = queryveil.anonymize(log, "query_k(share=0.8)", tmp_path / "out")
    assert done.manifest.record()["method"] == "query_k(share=0.8)"
    assert done.manifest.record()["guarantee"] == "query_k(k=2)"


def test_times_are_kept_where_asked(log: Path, tmp_path: Path) -> None:
    done = queryveil.anonymize(log, "query_k(k=2)", tmp_path / "out", keep=["time"], keep_floor=1)
    assert done.manifest.record()["columns"] == ["user", "query", "time"]
    assert done.manifest.record()["uncovered_columns"] == ["time"]
    rows = [(user, query, str(time)[:10]) for user, query, time in released(tmp_path / "out")]
    assert rows == [
        (0, "cheap flights", "2026-01-01"),
        (0, "cheap flights", "2026-01-02"),
        (1, "cheap flights", "2026-01-01"),
        (1, "soup", "2026-01-01"),
        (2, "soup", "2026-01-03"),
    ]
    assert queryveil.verify(tmp_path / "out").holds


def test_ppp_both_ways(log: Path, tmp_path: Path) -> None:
    queryveil.anonymize(log, "ppp(release=none)", tmp_path / "none")
    queryveil.anonymize(log, "ppp(release=only)", tmp_path / "only")
    assert {row[1] for row in released(tmp_path / "only")} == {"jennifer kowalski", "hotel in paris"}
    assert {row[1] for row in released(tmp_path / "none")} == {"cheap flights", "soup"}
    assert queryveil.verify(tmp_path / "none").holds
    assert queryveil.verify(tmp_path / "none", claim="ppp(release=only)").state == "violated"
    assert queryveil.verify(tmp_path / "only", claim="query_k(k=2)").state == "violated"


def test_a_list_of_places_belongs_to_its_release(log: Path, tmp_path: Path) -> None:
    places = tmp_path / "places.txt"
    places.write_text("soup\n")
    done = queryveil.anonymize(log, "ppp(release=none)", tmp_path / "out", places=places)
    assert {row[1] for row in released(tmp_path / "out")} == {"cheap flights"}
    assert "soup" not in json.dumps(done.manifest.record())
    assert queryveil.verify(tmp_path / "out", places=places).holds
    assert queryveil.verify(tmp_path / "out").state == "unchecked"
    (tmp_path / "other.txt").write_text("stew\n")
    with pytest.raises(InputError, match="is not the list that the release was made with"):
        queryveil.verify(tmp_path / "out", places=tmp_path / "other.txt")


def test_claims_about_other_things_are_refused(log: Path, tmp_path: Path) -> None:
    queryveil.anonymize(log, "query_k(k=2)", tmp_path / "queries")
    queryveil.anonymize(log, "km(k=2, m=1)", tmp_path / "terms")
    with pytest.raises(InputError, match="no claim about whole queries"):
        queryveil.verify(tmp_path / "queries", claim="km(k=2, m=1)")
    with pytest.raises(InputError, match="no claim about terms"):
        queryveil.verify(tmp_path / "terms", claim="query_k(k=2)")


def test_anybodys_file_can_be_checked(log: Path) -> None:
    assert queryveil.verify(log, claim="query_k(k=1)").holds
    verdict = queryveil.verify(log, claim="query_k(k=2)")
    assert verdict.counterexample is not None
    assert verdict.counterexample.entries == ("hotel in paris",)
    assert queryveil.verify(log, claim="ppp(release=none)").state == "violated"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--method", "query_k(k=9)"], "k = 9 is larger than the number of people in the log (3); lower k."),
        (["--method", "query_k"], "query_k takes k or share"),
        (["--method", "query_k(k=3)"], "nothing would be left of the log; lower k."),
        (["--method", "query_k(k=2)", "--places", "x"], "--places is for methods that look for places"),
        (["--method", "ppp(release=none)", "--places", "x"], "--places: there is no file x"),
        (["--method", "query_k(k=2)", "--kind", "log"], "makes releases of kind queries"),
        (["--method", "query_k(k=2)", "--partition-by", "time"], "without --partition-by"),
        (["--method", "query_k(k=2)", "--keep", "url"], "the log has no url; leave it out"),
    ],
)
def test_bad_input_is_one_sentence(
    log: Path, tmp_path: Path, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["anonymize", str(log), "--out", str(tmp_path / "out"), *options]) == 2
    message = capsys.readouterr().err
    assert sentence in message
    assert message.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_retention_is_measured_in_queries(log: Path, tmp_path: Path) -> None:
    queryveil.anonymize(log, "query_k(k=2)", tmp_path / "out")
    scores = queryveil.measure(tmp_path / "out", log, measures=["retention"])
    assert [(score.label, score.value) for score in scores][:2] == [
        ("distinct queries", 50.0),
        ("log size", pytest.approx(100 * 5 / 7)),
    ]
    with pytest.raises(InputError, match="applies to releases of kind histories or log"):
        queryveil.measure(tmp_path / "out", log, measures=["correlations"])


def test_a_content_filter_says_so_and_that_nothing_was_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log.csv").write_text("user,query\nann,soup\nbob,stew\n")
    words = ["anonymize", "log.csv", "--method", "ppp(release=none)", "--out", "out"]
    with chdir(tmp_path):
        assert run(words) == 0
        made = capsys.readouterr()
        assert "ppp(release=none) holds (content filter, no anonymity): 2 queries checked." in made.out
        warning = "warning: Nothing was removed: the release holds every query of the log."
        assert warning in made.err
        assert run(["verify", "out"]) == 0
        verified = capsys.readouterr().out
        assert "(content filter, no anonymity)" in verified
        assert warning in verified
        assert run(["verify", "out", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["caution"] == "content filter, no anonymity"
        assert run(["compare", "log.csv", "--method", "ppp(release=none)", "--out", "page.html"]) == 0
        assert "content filter, no anonymity" in capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<h2>Content filter, no anonymity</h2>" in page
    assert ">The guarantee holds<" not in page
    assert "Nothing was removed" in page
    assert "content filter, no anonymity" in (tmp_path / "page.html").read_text()


def test_one_person_is_no_crowd_and_a_filter_that_removes_something_has_no_warning(log: Path, tmp_path: Path) -> None:
    one = queryveil.anonymize(log, "query_k(k=1)", tmp_path / "one").verdict
    assert one.sentence().startswith("query_k(k=1) holds (no anonymity: nothing is promised): ")
    assert one.warnings == ("Nothing was removed: the release holds every query of the log.",)
    filtered = queryveil.anonymize(log, "ppp(release=none)", tmp_path / "filtered").verdict
    assert (filtered.caution, filtered.warnings) == ("content filter, no anonymity", ())
    shared = queryveil.anonymize(log, "query_k(k=2)", tmp_path / "shared").verdict
    assert (shared.caution, shared.warnings) == ("", ())


def test_a_basket_that_counts_as_one_query_is_pointed_out(tmp_path: Path) -> None:
    (tmp_path / "baskets.dat").write_text("1 2 3\n1 2 3\n4 5\n1 6\n1 2 3\n")
    done = queryveil.anonymize(tmp_path / "baskets.dat", "query_k(k=2)", tmp_path / "out")
    (warning,) = done.verdict.warnings
    assert warning.startswith("The log holds baskets of items: each basket counts as one query")
    assert queryveil.verify(tmp_path / "out").warnings == (warning,)
    assert done.manifest.cleaning.sentences()[0] == "5 baskets read (5 people)"
    terms = queryveil.anonymize(tmp_path / "baskets.dat", "km(k=2, m=1)", tmp_path / "terms", format="transactions")
    assert terms.verdict.warnings == ()
