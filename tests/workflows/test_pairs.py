"""`queryveil measure` on pairs of logs: our releases of every kind, anybody's files, and bad input."""

import csv
import json
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import queryveil
from queryveil.cli import run
from queryveil.core.results import Score

BEFORE = [
    ("ann", "red shoes"),
    ("ann", "clinic"),
    ("ann", "red shoes"),
    ("bob", "red shoes"),
    ("bob", "tea"),
    ("cyd", "x"),
]
AFTER = [("ann", "red shoes"), ("ann", "red shoes"), ("bob", "red shoes"), ("bob", "tea")]


def write(path: Path, rows: list[tuple[str, str]], heading: str = "user,query") -> Path:
    path.write_text("\n".join([heading, *(",".join(row) for row in rows)]) + "\n")
    return path


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "log.csv", BEFORE)
    write(tmp_path / "released.csv", AFTER)
    (tmp_path / "words.txt").write_text("clinic\n")
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log and releases of it, each with its private folder."""
    folder = tmp_path_factory.mktemp("pairs")
    queryveil.generate(folder / "log.tsv", users=120, seed=3)
    for name, method, kind in (
        ("queries", "query_k(k=3)", None),
        ("terms", "km(k=3, m=1)", "log"),
        ("histories", "km(k=3, m=1)", "histories"),
    ):
        queryveil.anonymize(folder / "log.tsv", method, folder / name, kind=kind, private=folder / f"{name}-private")
    return folder


def figure(scores: Sequence[Score], measure: str, label: str = "") -> float:
    value = next(score.value for score in scores if score.measure == measure and label in score.label)
    assert value is not None
    return value


def test_somebodys_pair_of_logs(logs: Path) -> None:
    scores = queryveil.measure("released.csv", "log.csv", words="words.txt")
    assert list(dict.fromkeys(score.measure for score in scores)) == ["impressions", "jsd", "spi", "exposed", "worst"]
    assert figure(scores, "impressions") == pytest.approx(100 * 4 / 6)
    assert figure(scores, "impressions", "people with nothing") == pytest.approx(100 / 3)
    r = 2 / 3  # of ann's queries; bob's distance is 0, cyd's 1
    ann = (1 - r) / 2 + r / 2 * -0.3219280948873623 + 0.2630344058337938 / 2  # log2(2r/(1+r)), log2(2/(1+r))
    assert figure(scores, "jsd") == pytest.approx((ann + 0 + 1) / 3)
    assert figure(scores, "spi") < figure(scores, "jsd")


def test_nonsense_words_are_not_taken_for_sensitive(logs: Path) -> None:
    write(logs / "log.csv", rows := [(f"u{i}", f"qwzx{i % 7} vwqk{i % 5}") for i in range(50)])
    write(logs / "released.csv", rows)
    exposed, unknown = queryveil.measure("released.csv", "log.csv", measures=["exposed"])
    assert (exposed.value, exposed.original, unknown.value) == (0.0, 0.0, 100.0)


def test_words_of_ones_own_weigh_on_what_is_exposed(logs: Path) -> None:
    (logs / "words.txt").write_text("tea\nclinic\n")  # neutral and surely sensitive by the model
    plain, listed = (
        figure(queryveil.measure("log.csv", "log.csv", measures=["exposed"], words=words), "exposed")
        for words in (None, "words.txt")
    )
    assert listed > plain


def test_a_released_log_of_other_columns_and_ids(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    renamed = {"ann": "7", "bob": "8", "cyd": "9"}
    write(logs / "released.csv", [(renamed[who], text) for who, text in AFTER], "number,words typed")
    write(logs / "map.csv", list(renamed.items()), "original,released")
    command = ["measure", "released.csv", "--against", "log.csv", "--release-columns", "user=number,query=words typed"]
    assert run([*command, "--measure", "jsd", "--map", "map.csv", "--json"]) == 0
    mapped = json.loads(capsys.readouterr().out)[0]["value"]
    write(logs / "released.csv", AFTER)
    assert mapped == figure(queryveil.measure("released.csv", "log.csv", measures=["jsd"]), "jsd")


def test_the_figures_of_every_person(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["measure", "released.csv", "--against", "log.csv", "--people", "people.csv", "--measure", "spi"]
    assert run([*command, "--measure", "jsd", "--measure", "pel(estimate=joint)", "--measure", "worst"]) == 0
    assert stat.S_IMODE((logs / "people.csv").stat().st_mode) == 0o600
    with (logs / "people.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["person", "queries", "released", "spi", "jsd", "pel(estimate=joint)"]
    assert [(row["person"], row["queries"], row["released"]) for row in rows] == [
        ("ann", "3", "2"),
        ("bob", "2", "2"),
        ("cyd", "1", "0"),
    ]
    assert (rows[1]["jsd"], rows[2]["jsd"], rows[2]["pel(estimate=joint)"]) == ("0", "1", "")
    assert run(command) == 2
    assert "people.csv exists already" in capsys.readouterr().err
    assert run([*command, "--force"]) == 0


@pytest.mark.parametrize(
    ("kind", "matches"), [("queries", "exact words partial terms"), ("terms", "partial words terms")]
)
def test_our_releases_by_every_match(made: Path, kind: str, matches: str) -> None:
    for match in matches.split():
        scores = queryveil.measure(
            made / kind,
            made / "log.tsv",
            private=made / f"{kind}-private",
            measures=["spi", "retention", "jsd", "impressions"],
            match=match,
        )
        assert list(dict.fromkeys(score.measure for score in scores)) == ["spi", "retention", "jsd", "impressions"]
        assert 0 < figure(scores, "spi") < figure(scores, "jsd") < 1
        if kind == "queries" or match != "words":
            assert figure(scores, "impressions", "stand for none") == 0


def test_a_release_of_histories_is_measured_by_terms_as_one_of_queries_terms_is(made: Path) -> None:
    found = []
    for kind in ("histories", "terms"):
        private = made / f"{kind}-private"
        scores = queryveil.measure(
            made / kind, made / "log.tsv", private=private, measures=["spi", "exposed"], match="terms"
        )
        found.append([(score.measure, score.label, pytest.approx(score.value)) for score in scores])
    assert found[0] == found[1]


def test_a_release_of_queries_needs_no_private_folder_with_a_map(made: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    members = pq.read_table(made / "queries-private" / "membership.parquet").drop_null().to_pylist()
    lines = [(row["person"], str(row["release_id"])) for row in members]
    place = write(tmp_path / "map.csv", lines, "original,released")
    by_map = queryveil.measure(made / "queries", made / "log.tsv", map=place, measures=["spi"])
    by_folder = queryveil.measure(
        made / "queries", made / "log.tsv", private=made / "queries-private", measures=["spi"]
    )
    assert [score.value for score in by_map] == pytest.approx([score.value for score in by_folder])  # sums in any order
    usual = queryveil.measure(made / "queries", made / "log.tsv", map=place)
    assert {"retention", "spi", "exposed", "worst"} <= {score.measure for score in usual}


BAD = {
    "strangers": (["measure", "other.csv", "--against", "log.csv"], "no person of the release is in the original log"),
    "no map": (["--map", "none.csv"], "there is no file none.csv; check --map."),
    "map heading": (["--map", "log.csv"], "log.csv: the first line must name the columns original, released"),
    "map cell": (["--map", "cell.csv"], "cell.csv, line 2: a line has an original and a released id"),
    "map twice": (["--map", "twice.csv"], "twice.csv, line 3: a released id stands for two people"),
    "map bytes": (["--map", "bytes.csv"], "bytes.csv cannot be read as a CSV file in UTF-8"),
    "match": (["--match", "word"], "--match: there is no match 'word'; did you mean words"),
    "model": (["--model", "log.csv"], "log.csv is not a sensitivity model, or it is damaged"),
    "no model": (["--model", "none"], "there is no sensitivity model none; check the path."),
    "words": (["--words", "none"], "there is no word list none; check the path."),
    "measure": (["--measure", "retention"], "the measure retention applies to releases of kind histories, log"),
    "private": (["--private", "x"], "--private goes with a queryveil release, not with another log; leave it out."),
    "market": (["--market", "x"], "--market goes with a queryveil release, not with another log; leave it out."),
    "people": (["--measure", "worst", "--people", "p.csv"], "--people: none of the measures has a figure for every"),
    "q": (["--measure", "worst(q=0)"], "worst(q=0): q must be a number above 0 and at most 100, not 0"),
    "empty": (["measure", "empty.csv", "--against", "log.csv"], "empty.csv"),
    "compare": (
        ["compare", "log.csv", "--method", "km(k=2, m=1)", "--measure", "spi"],
        "take it with queryveil measure",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_pairing_refuses_bad_input(logs: Path, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(logs / "other.csv", [("zoe", "tea")])
    write(logs / "cell.csv", [("ann", "")], "original,released")
    write(logs / "twice.csv", [("ann", "1"), ("bob", "1")], "original,released")
    (logs / "bytes.csv").write_bytes(b"original,released\n\xff\xfe,1\n")
    (logs / "empty.csv").write_text("")
    arguments, expected = BAD[case]
    words = arguments if arguments[0] in ("measure", "compare") else ["measure", "released.csv", "--against", "log.csv"]
    assert run(words if words is arguments else [*words, *arguments]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert len(error.splitlines()) == 1
    assert not (logs / "p.csv").exists()


def test_releases_that_a_measure_cannot_take(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    against = ["--against", str(made / "log.tsv")]
    for place, options, expected in (
        ("queries", [], "stands in its private folder; give --private, or --map with the columns original, released."),
        ("histories", [], "--match terms of a release of kind histories needs its private folder; give --private."),
        ("histories", ["--match", "exact"], "does not keep whole queries; give terms."),
        ("terms", ["--match", "exact"], "does not keep whole queries; give partial or words or terms."),
        ("queries", ["--private", str(made / "terms-private")], "does not belong to this release"),
    ):
        assert run(["measure", str(made / place), *against, "--measure", "spi", *options]) == 2
        assert expected in capsys.readouterr().err
    changed = tmp_path / "changed"
    shutil.copytree(made / "queries", changed)
    (changed / "more").write_text("x")
    assert run(["measure", str(changed), *against, "--measure", "spi", "--private", str(made / "queries-private")]) == 2
    assert "verify the release before measuring it" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["histories", "queries", "groups"])
@pytest.mark.parametrize("change", ["other people", "one query more", "one query other"])
def test_another_log_than_the_releases_is_refused(
    tmp_path: Path, kind: str, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(3)
    words = ["tea", "milk", "coffee", "cocoa", "juice", "wine"]
    rows = [(f"p{i}", " ".join(rng.choice(words, 2, replace=False))) for i in range(30) for _ in range(3)]
    others = {
        "other people": [(f"q{user}", query) for user, query in rows],
        "one query more": [*rows, ("p29", "tea milk")],
        "one query other": [*rows[:-1], ("p29", "salt")],
    }[change]
    for name, lines in (("log.csv", rows), ("other.csv", others), ("again.csv", rows[::-1])):
        (tmp_path / name).write_text("user,query\n" + "".join(f"{user},{query}\n" for user, query in lines))
    method = {"histories": "km(k=2, m=1)", "queries": "query_k(k=2)", "groups": "linkability(p=0.9)"}[kind]
    out, private = tmp_path / "out", tmp_path / "private"
    queryveil.anonymize(tmp_path / "log.csv", method, out, private=private, seed=1)
    private_options = [["--private", str(private)], *([] if kind == "groups" else [[]])]
    for options in private_options:
        for given in ("log.csv", "again.csv"):  # the same log in another order has another digest
            assert run(["measure", str(out), "--against", str(tmp_path / given), *options]) == 0
        capsys.readouterr()
        is_seen = options or change != "other people"  # without the private folder people have no names
        code = run(["measure", str(out), "--against", str(tmp_path / "other.csv"), *options])
        printed = capsys.readouterr()
        assert (code, printed.err.count("\n")) == ((2, 1) if is_seen else (0, 0)), printed
        assert not is_seen or printed.err.startswith("queryveil: --against: ")
    assert run(["attack", str(out), "--against", str(tmp_path / "other.csv"), "--private", str(private)]) == 2


def test_a_release_of_groups_is_refused_and_the_kinds_are_named(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queryveil.anonymize(
        made / "log.tsv", "linkability(p=0.2, a=5)", tmp_path / "groups", private=tmp_path / "private", seed=1
    )
    command = ["measure", str(tmp_path / "groups"), "--against", str(made / "log.tsv"), "--measure", "spi"]
    assert run([*command, "--private", str(tmp_path / "private")]) == 2
    expected = "the measure spi applies to releases of kind queries, log or histories, not groups"
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "measure {release} --against {log} --private {private} --measure spi --people {release}/people.csv",
        "profiles {log} --out {release}/profiles.csv",
        "attack {release} --against {log} --private {private} --out {release}/data/page.html",
        "compare {log} --method km(k=2,m=1) --out {release}/page.html",
        "generate {release}/log.tsv --users 100",
    ],
)
def test_nothing_is_written_into_a_release(made: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    log, release, private = made / "log.tsv", made / "queries", made / "queries-private"
    before = sorted(release.rglob("*"))
    words = [word.format(log=log, release=release, private=private) for word in command.split(" ")]
    assert run(words) == 2
    assert f"would lie inside the release {release} and spoil it" in capsys.readouterr().err
    assert sorted(release.rglob("*")) == before
