"""Attacks end to end: they see through the log, not through a release, and say so in one sentence where they cannot."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import queryveil
from queryveil.attacks.finding import BEYOND
from queryveil.core.errors import InputError, OutputError, ReleaseError, UnknownNameError
from queryveil.core.results import AttackResult
from queryveil.kinds.vocabularies import VOCABULARIES
from queryveil.report.attacks import AttackReport
from queryveil.workflows.attack import SEVERAL, pairs_of
from queryveil.workflows.attack import attack as run
from queryveil.workflows.requests import AttackRequest
from tests.goods import goods
from tests.workflows.small_log import write_log

K, M = 10, 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log, and releases of every kind with their private folders."""
    place = tmp_path_factory.mktemp("attack")
    queryveil.generate(place / "log.tsv", users=600, seed=5)
    queryveil.generate(place / "others.tsv", users=200, seed=6)
    text = (place / "others.tsv").read_text().split("\n", 1)
    others = "\n".join(f"x{line}" if line else "" for line in text[1].split("\n"))
    (place / "others.tsv").write_text(f"{text[0]}\n{others}")
    for name, method, options in (
        ("histories", f"km(k={K}, m={M})", {}),
        ("log", f"km(k={K}, m={M})", {"kind": "log", "keep": ["time", "url"], "keep_floor": 1}),
        ("sessions", "km(k=3, m=2)", {"history": "session"}),
        ("queries", "query_k(k=3)", {"keep": ["time:hour", "url:domain"], "keep_floor": 1}),
        ("groups", "linkability(p=0.2)", {}),
    ):
        queryveil.anonymize(
            place / "log.tsv", method, place / name, private=place / f"{name}-private", seed=1, **options
        )
    return place


def attack(folder: Path, kind: str, *names: str, **options: object) -> AttackReport:
    return queryveil.attack(
        folder / kind,
        folder / "log.tsv",
        folder / f"{kind}-private",
        attacks=names,
        **options,  # type: ignore[arg-type]
    )


def by_knowledge(done: AttackReport) -> dict[str, AttackResult]:
    return {result.knowledge: result for result in done.results}


def test_known_terms_never_exceed_one_in_k_and_see_through_the_log(folder: Path) -> None:
    for kind in ("histories", "log"):
        for of in ("log", "release"):
            for result in attack(folder, kind, f"known_terms(m={M}, of={of})").results:
                if result.note != BEYOND:
                    assert result.rate.value <= 1 / K
                    assert result.smallest is None or result.smallest >= K
    for result in attack(folder, "histories", f"known_terms(m={M})").results:
        assert result.original.value >= 5 / K  # the positive control
        assert result.original.value >= 5 * result.rate.value
        assert result.targets > 500


def test_every_attack_succeeds_on_the_log_itself(folder: Path) -> None:
    done = attack(folder, "log")
    assert not done.skipped
    assert {result.attack.partition("(")[0] for result in done.results} == {
        "known_terms",
        "infer",
        "multiplicity",
        "time",
        "url",
        "vanity",
        "minimality",
    }
    for result in done.results:
        assert result.original.value > (0.4 if result.attack == "url" else 0.6), result.attack
        assert result.original.value > 2 * result.baseline.value - 0.01, result.attack
        assert 0 <= result.rate.low <= result.rate.value <= result.rate.high <= 1
        assert 0 <= result.risk.low <= result.risk.value <= result.risk.high <= 1
    assert set(done.threats) == {result.attack for result in done.results}


@pytest.mark.parametrize("name", ["time(unit=second)", "url", "url(m=2)"])
def test_times_and_urls_that_were_kept_find_people(folder: Path, name: str) -> None:
    [found] = attack(folder, "log", name).results
    assert found.rate.value > found.control.value
    assert found.rate.value > 5 * found.baseline.value


def test_known_times_are_not_more_precise_than_published_ones(folder: Path) -> None:
    with pytest.raises(InputError, match="the release tells times by the hour; take unit=hour, or a coarser one"):
        attack(folder, "queries", "time")
    [hour], [day] = (attack(folder, "queries", f"time(unit={unit})").results for unit in ("hour", "day"))
    assert hour.original.value > day.original.value


def test_a_floor_leaves_nobody_to_find_by_one_value(folder: Path, tmp_path: Path) -> None:
    done = queryveil.anonymize(
        folder / "log.tsv",
        "query_k(k=3)",
        tmp_path / "out",
        private=tmp_path / "private",
        keep=["time:day", "url:domain"],
    )
    for name in ("time(unit=day)", "url"):
        [found] = queryveil.attack(done.release, folder / "log.tsv", done.private, attacks=[name]).results
        assert (found.smallest or 3) >= 3
        assert found.rate.value <= 1 / 3
        assert found.original.value > 0


def test_the_same_seed_gives_the_same_figures(folder: Path) -> None:
    first, again, other = (attack(folder, "histories", seed=seed, targets=200) for seed in (3, 3, 4))
    assert first.results == again.results
    assert first.results != other.results
    assert {result.targets for result in first.results if result.attack != "vanity"} <= set(range(100, 201))
    alone = attack(folder, "histories", f"infer(m={M})", seed=3, targets=200)
    assert set(alone.results) <= set(first.results)  # whatever runs before


def test_other_people_as_the_control(folder: Path) -> None:
    done = attack(folder, "log", control=folder / "others.tsv")
    inferred = [r for r in done.results if r.attack.startswith("infer")]
    assert {r.controlled_by for r in inferred} == {"people of another log"}
    assert all(0 < r.controls <= 200 for r in inferred)
    left_out = [r for r in attack(folder, "log").results if r.attack.startswith("infer")]
    assert [r.rate for r in inferred] == [r.rate for r in left_out]
    assert all(abs(a.control.value - b.control.value) < 0.05 for a, b in zip(inferred, left_out, strict=True))


def test_the_risk_of_finding_people_in_an_unprotected_log_is_the_success(folder: Path) -> None:
    done = attack(folder, "log")
    found = [r for r in done.results if r.risk_of != "inference"]
    assert found
    assert all(abs(r.risk.value - r.rate.value) <= 0.05 for r in found)


def test_groups(folder: Path) -> None:
    done = attack(folder, "groups")
    assert set(done.skipped) == {"multiplicity", "time", "url", "minimality"}
    found = by_knowledge(done)
    assert found["2 terms"].rate.value <= 0.2
    assert (found["2 terms"].smallest or 5) >= 5
    assert found["2 terms: the group"].risk_of == "linkability"
    assert found["2 terms: best guess of another"].original.value > found["2 terms: best guess of another"].rate.value


def test_sessions_are_counted_by_person(folder: Path) -> None:
    done = attack(folder, "sessions", "known_terms(m=2, of=release)", "infer(m=1)", "minimality")
    for result in done.results:
        if result.attack.startswith("known_terms") and result.note != BEYOND:
            assert result.rate.value <= 1 / 3
            assert result.smallest is None or result.smallest >= 3
    assert done.results[-1].original.value == 1.0


def test_attack_on_partitioned_release(tmp_path: Path) -> None:
    log = write_log(tmp_path, 3)
    queryveil.anonymize(log, "km(k=3, m=2)", tmp_path / "out", private=tmp_path / "p", partition_by="country", seed=1)
    done = queryveil.attack(tmp_path / "out", log, tmp_path / "p", attacks=["known_terms(m=2)", "minimality"])
    assert done.results[0].rate.value <= 1 / 3


def test_queries(folder: Path) -> None:
    done = attack(folder, "queries")
    assert set(done.skipped) == {"minimality"}
    found = by_knowledge(done)
    assert found["2 terms"].original.value > 0.6
    assert found["the hour of 1 query"].rate.value > 0
    assert found["1 clicked URL"].rate.value > 0


def test_a_profile_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = [f"u{n},t{t},1" for n in range(40) for t in sorted(rng.choice(12, 5, replace=False).tolist())]
    (tmp_path / "profiles.csv").write_text("user,term,weight\n" + "\n".join(lines) + "\n")
    queryveil.anonymize(
        tmp_path / "profiles.csv", "linkability(p=0.5)", tmp_path / "out", private=tmp_path / "p", seed=1
    )
    done = queryveil.attack(tmp_path / "out", tmp_path / "profiles.csv", tmp_path / "p")
    assert by_knowledge(done)["2 terms"].rate.value <= 0.5
    assert "is a file of profiles" in done.skipped["vanity"]


@pytest.fixture
def goods_log(tmp_path: Path) -> Path:
    """Write the searches of four people, no two for the same, and a taxonomy of these things."""
    things = ("wine boots", "vino shoes", "jackets rawmilk", "pants homomilk")
    lines = ["user,query", *(f"p{person},{both}" for person, both in enumerate(things))]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    goods(tmp_path)
    return tmp_path


def publish_goods(folder: Path, method: str) -> set[str]:
    """Publish the log by its taxonomy and return the names that are published."""
    made = queryveil.anonymize(
        folder / "log.csv", method, folder / "out", private=folder / "private", taxonomy=folder / "goods.csv", seed=1
    )
    return set(queryveil.load(made.release).rows["term"].to_pylist())


@pytest.mark.parametrize(
    ("method", "names"),
    [
        (
            "vocabulary(k=2, eps=2, floor=1, typical=bags)",
            {"vino|wine", "boots|shoes", "jackets|pants", "homomilk|rawmilk"},
        ),
        ("vocabulary(k=2, eps=2, floor=1, typical=generalize)", {"alcohol", "footwear", "outer", "dairy"}),
        ("generalize(k=2)", {"alcohol", "footwear", "outer", "dairy"}),
    ],
)
def test_names_for_several_terms_match_any_of_them(goods_log: Path, method: str, names: set[str]) -> None:
    """Two people stand behind every name, and each is found by the terms that only one of them searched for."""
    assert publish_goods(goods_log, method) == names
    files = goods_log / "out", goods_log / "log.csv", goods_log / "private"
    done = queryveil.attack(*files, taxonomy=goods_log / "goods.csv")
    found = by_knowledge(done)["2 terms"]
    assert (found.rate.value, found.smallest, found.original.value) == (1 / 2, 2, 1.0)
    assert by_knowledge(done)["2 terms and 1 wrong, scored"].rate.value == 1 / 2
    reason = "it does not apply: how often a name for several terms is published tells nothing of one of them"
    assert done.skipped["multiplicity"] == reason
    with pytest.raises(InputError, match=f"multiplicity cannot be run on .*: {reason}"):
        queryveil.attack(*files, attacks=["multiplicity"])


def test_the_meaning_of_general_terms_must_be_known(goods_log: Path) -> None:
    files = goods_log / "out", goods_log / "log.csv", goods_log / "private"
    publish_goods(goods_log, "generalize(k=2)")
    with pytest.raises(InputError, match=r"the network taxonomy needs a file of child,parent lines; give it by"):
        queryveil.attack(*files)


def test_lists_need_no_taxonomy(goods_log: Path) -> None:
    publish_goods(goods_log, "vocabulary(k=2, eps=2, floor=1, typical=bags)")
    done = queryveil.attack(goods_log / "out", goods_log / "log.csv", goods_log / "private")
    assert by_knowledge(done)["2 terms"].rate.value == 1 / 2


def test_a_term_and_a_general_term_of_the_same_name_are_two() -> None:
    columns = {"user": [0, 1], "term": ["wine", "wine"], "count": pa.array([1, 1]), "level": pa.array([0, 1])}
    number = {"wine": 0}
    _, term, _ = pairs_of(VOCABULARIES, pa.table(columns), number)
    assert term.tolist() == [0, 1]
    assert number == {"wine": 0, f"{SEVERAL}wine": 1}


def test_vocabularies_are_read_with_their_counts() -> None:
    rows = pa.table({"user": [0, 0, 1], "term": ["b", "a", "new"], "count": pa.array([2, 1, 3], pa.int32())})
    number = {"a": 0, "b": 1}
    unit, term, counts = pairs_of(VOCABULARIES, rows, number)
    assert counts is not None
    assert sorted(zip(unit.tolist(), term.tolist(), counts.tolist(), strict=True)) == [(0, 0, 1), (0, 1, 2), (1, 2, 3)]
    assert number["new"] == 2


def test_counts_that_are_all_one_say_nothing(goods_log: Path) -> None:
    (goods_log / "log.csv").write_text("user,query\n" + "p0,wine\np0,wine\np1,wine\np1,wine\n")
    publish_goods(goods_log, "generalize(k=2, bags=false)")
    files = goods_log / "out", goods_log / "log.csv", goods_log / "private"
    with pytest.raises(InputError, match="does not apply: every term as typed is published once, however often"):
        queryveil.attack(*files, attacks=["multiplicity(m=1)"])


def test_a_taxonomy_is_refused_for_other_kinds(folder: Path) -> None:
    with pytest.raises(InputError, match="a taxonomy is for releases of vocabularies"):
        attack(folder, "histories", taxonomy=folder / "log.tsv")


def test_results_as_tables_and_records(folder: Path) -> None:
    done = attack(folder, "histories", "infer(m=1)")
    headings, rows = done.table()
    assert len(rows) == 2
    assert all(len(row) == len(headings) for row in rows)
    record = done.record()
    assert record["results"][0]["rate"]["value"] == done.results[0].rate.value
    assert "<td>infer(m=1)</td>" in done._repr_html_()
    assert str(folder / "log.tsv") not in str(record)


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        (
            "histories",
            "multiplicity",
            "it applies to releases of kind log, queries or vocabularies, and this one is of kind",
        ),
        ("histories", "time", "it applies to releases of kind log or queries, and this one is of kind histories"),
        ("groups", "minimality", "it applies to releases of kind histories or log, and this one is of kind groups"),
        ("histories", "known_terms(m=9)", "m must be a whole number from 1 to 4, not 9"),
        ("histories", "known_term(m=2)", "there is no attack 'known_term'; did you mean known_terms?"),
    ],
)
def test_what_cannot_be_run_is_said(folder: Path, kind: str, name: str, says: str) -> None:
    with pytest.raises((InputError, UnknownNameError), match=says.replace("(", r"\(").replace(")", r"\)")):
        attack(folder, kind, name)


def test_attack_refuses_bad_input(folder: Path, tmp_path: Path) -> None:
    release, private = folder / "histories", folder / "histories-private"
    with pytest.raises(InputError, match="stands in its private folder; give --private"):
        run(AttackRequest(release=release, against=(folder / "log.tsv",)))
    with pytest.raises(ReleaseError, match="does not belong to this release"):
        queryveil.attack(release, folder / "log.tsv", folder / "groups-private")
    with pytest.raises(InputError, match="nobody in this log is behind the release"):
        queryveil.attack(release, folder / "others.tsv", private)
    part = folder / "log.tsv"
    (tmp_path / "part.tsv").write_text("\n".join(part.read_text().splitlines()[:1000]) + "\n")
    with pytest.raises(InputError, match="this is not the log that the release was made from"):
        queryveil.attack(release, tmp_path / "part.tsv", private)
    with pytest.raises(
        InputError, match=r"control: (5\d\d|600) of its people have an identifier that is in the log too"
    ):
        queryveil.attack(release, part, private, control=part)
    with pytest.raises(InputError, match="targets must be a whole number of at least 1"):
        queryveil.attack(release, part, private, targets=0)
    with pytest.raises(ReleaseError, match="is not a finished release"):
        queryveil.attack(private, part, private)


def test_histories_shorter_than_m(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("user,query\n" + "".join(f"u{n},tea milk\n" for n in range(6)))
    queryveil.anonymize(log, "km(k=2, m=2)", tmp_path / "out", private=tmp_path / "p", seed=1)
    with pytest.raises(InputError, match=r"known_terms\(m=4\) needs people with 4 terms, and nobody has more than 2"):
        queryveil.attack(tmp_path / "out", log, tmp_path / "p", attacks=["known_terms(m=4)"])
    done = queryveil.attack(tmp_path / "out", log, tmp_path / "p")
    assert [result.knowledge for result in done.results] == ["2 terms", "2 terms and 1 wrong, scored"]
    assert "nobody has more than 2" in done.skipped["infer(m=2)"]
    assert "the log has none" in done.skipped["vanity"]
    assert "deleted from some histories only" in done.skipped["minimality"]


def test_a_page_replaces_nothing_but_a_page(folder: Path, tmp_path: Path) -> None:
    page, names = tmp_path / "page.html", "infer(m=1)"
    done = attack(folder, "histories", names, page=page)
    assert done.page == page
    first = page.read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        attack(folder, "histories", names, page=page)
    attack(folder, "histories", names, page=page, force=True)
    assert page.read_bytes() == first
    with pytest.raises(OutputError, match="is not a page about attacks"):
        attack(folder, "histories", names, page=folder / "log.tsv", force=True)
