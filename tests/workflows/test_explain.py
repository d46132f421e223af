"""TermExplanation a term went: the same answer as trying every combination, for people, sessions and parts of a log."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil
from queryveil.core.errors import InputError, ReleaseError
from queryveil.workflows.explain import COULD_STAY, Fate, Postings, ReasonSearch, TermExplanation
from queryveil.workflows.inspect import show_person
from tests.twins.reasons import smallest_combination
from tests.workflows.small_log import PEOPLE, TERMS, write_log

Folders = tuple[Path, Path]


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[set[str]], list[int]]:
    histories = draw(st.lists(st.sets(st.sampled_from(TERMS)), min_size=1, max_size=12))
    owners = draw(st.lists(st.integers(0, 5), min_size=len(histories), max_size=len(histories)))
    return histories, owners


@settings(max_examples=300)
@given(releases(), st.integers(2, 4), st.integers(1, 4), st.data())
def test_the_search_finds_what_trying_all_finds(
    release: tuple[list[set[str]], list[int]], k: int, m: int, data: st.DataObject
) -> None:
    histories, owners = release
    one = data.draw(st.integers(0, len(histories) - 1))
    kept = sorted(histories[one])
    pairs = [(h, TERMS.index(term)) for h, terms in enumerate(histories) for term in sorted(terms)]
    history, term = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    postings = Postings(history, term, np.array(owners, np.int32), len(TERMS))
    search = ReasonSearch(postings, owners[one], [TERMS.index(t) for t in kept], k=k, m=m)
    for removed in sorted(set(TERMS) - histories[one]):
        found = search.smallest(TERMS.index(removed))
        expected = smallest_combination(histories, owners, histories[one], owners[one], removed, k, m)
        if expected is None:
            assert found is None
        else:
            assert found is not None
            terms = tuple(sorted((removed, *(TERMS[other] for other in found.others))))
            assert (terms, found.people) == expected


def test_sessions_of_a_person_count_once_and_are_not_put_together() -> None:
    # about "a" in history 0, which kept "b"; person 1 has a and b in different histories, and twice together
    rows = [(0, 1), (1, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 1), (5, 0)]
    owners = np.array([0, 1, 1, 2, 2, 3], np.int32)
    history, term = np.array(rows, np.int64).T
    postings = Postings(history, term, owners, 2)
    found = ReasonSearch(postings, 0, [1], k=4, m=2).smallest(0)
    assert found is not None
    assert (found.others, found.people) == ((1,), 2)  # persons 2 and 0; alone it has four
    assert postings.people_holding([0, 1]) == 1


def expected_fates(out: Path, private: Path, person: str, part_of: Callable[[str], str], k: int, m: int) -> list[Fate]:
    """Work out every fate from the tables alone."""
    members = pq.ParquetFile(private / "membership.parquet").read().to_pylist()
    pairs = pq.ParquetFile(private / "profiles.parquet").read().to_pylist()
    log: dict[int, dict[str, int]] = {member["history"]: {} for member in members}
    for pair in pairs:
        log[pair["history"]][pair["term"]] = pair["count"]
    rows = queryveil.load(out).to_arrow().to_pylist()
    released = {m["history"]: {r["term"] for r in rows if r["user"] == m["release_id"]} for m in members}
    who = {member["history"]: member["person"] for member in members}

    def n_people(combination: set[str], near: list[int]) -> int:
        return len({who[h] for h in near if combination <= set(log[h])})

    def had_rare_pair(one: str, term: str) -> bool:
        near = [h for h in log if part_of(who[h]) == part_of(one)]
        others = {other for h in near if who[h] == one and term in log[h] for other in log[h]}
        return any(n_people({other}, near) >= k > n_people({term, other}, near) for other in others)

    fates = []
    for history in (h for h in log if who[h] == person):
        near = [h for h in log if part_of(who[h]) == part_of(person)]
        kept = released[history]
        for term in sorted(log[history], key=lambda t: (t in kept, t)):
            fate = (history, term, log[history][term], term in kept)
            owners = [int(who[h][1:]) for h in near]
            found = (
                None
                if term in kept
                else smallest_combination([released[h] for h in near], owners, kept, int(person[1:]), term, k, m)
            )
            if found is None:
                fates.append(Fate(*fate))
                continue
            in_log, why = n_people(set(found[0]), near), dict[str, Any]()
            if in_log >= k:
                others = {other for other in log[history] if other != term and n_people({other}, near) >= k}
                before = [set(log[h]) for h in near]
                cause = smallest_combination(before, owners, others, int(person[1:]), term, k, m) or ((), None)
                why = {"cause": cause[0], "people_of_cause": cause[1]}
                if found[0] == (term,):
                    lost = {who[h] for h in near if term in log[h]} - {who[h] for h in near if term in released[h]}
                    why |= {"lost": len(lost), "lost_in_pairs": sum(had_rare_pair(one, term) for one in lost)}
            fates.append(Fate(*fate, found[0], found[1], in_log, **why))
    return fates


@pytest.mark.parametrize("kind", ["histories", "log"])
@pytest.mark.parametrize("history", ["user", "day"])
@pytest.mark.parametrize("partition_by", ["", "country"])
def test_whole_releases_are_explained(tmp_path: Path, kind: str, history: str, partition_by: str) -> None:
    out, private = tmp_path / "out", tmp_path / "private"
    log = write_log(tmp_path, 4)
    queryveil.anonymize(
        log,
        "km(k=3, m=3, algorithm=paper)",
        out,
        private=private,
        kind=kind,
        seed=1,
        history=history,
        partition_by=partition_by,
    )

    def part_of(person: str) -> str:
        return str(int(person[1:]) % 2) if partition_by else ""

    seen, caused = set(), list[int]()
    for number in range(PEOPLE):
        found = queryveil.why(out, private, f"p{number}")
        assert list(found.fates) == expected_fates(out, private, f"p{number}", part_of, 3, 3)
        seen |= {(fate.kept, len(fate.combination)) for fate in found.fates}
        caused += [len(fate.cause) for fate in found.fates if fate.people_of_cause]
    assert {(True, 0), (False, 1)} <= seen
    assert caused and set(caused) <= {2, 3}
    assert history == "user" or (False, 2) in seen


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    folder = tmp_path_factory.mktemp("why")
    log = write_log(folder, 5)
    queryveil.anonymize(log, "km(k=3, m=2)", folder / "out", private=folder / "private", seed=1, history="day")
    return folder / "out", folder / "private"


def test_one_history_and_one_term(made: Folders) -> None:
    everything = queryveil.why(*made, "p3")
    histories = sorted({fate.history for fate in everything.fates})
    assert len(histories) == 3
    one = queryveil.why(*made, "p3", history=histories[1])
    assert one.fates == tuple(fate for fate in everything.fates if fate.history == histories[1])
    term = one.fates[0].term
    assert queryveil.why(*made, "p3", term=term.upper()).fates == tuple(f for f in everything.fates if f.term == term)


def test_a_query_is_explained_by_who_issued_it(tmp_path: Path) -> None:
    lines = ["user,query", *(f"p{i},Green  Tea" for i in range(3)), "p0,rare tea", "p1,rare tea", "p0,only mine"]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    out, private = tmp_path / "out", tmp_path / "private"
    queryveil.anonymize(tmp_path / "log.csv", "query_k(k=3)", out, private=private)
    found = queryveil.why(out, private, "p0")
    assert [(fate.term, fate.sentence(found.required)) for fate in found.fates] == [
        ("only mine", "only 1 person in the log has it, and 3 are needed"),
        ("rare tea", "only 2 people in the log have it, and 3 are needed"),
        ("green tea", "kept"),
    ]
    assert found.table()[0] == ["query", "queries", ""]
    assert queryveil.why(out, private, "p0", term="GREEN   tea").fates == found.fates[2:]
    shown = show_person(out, private, "p0")
    assert [row.reason for row in shown.before] == [fate.sentence(3) for fate in found.fates]


def test_reasons_are_refused_where_nothing_must_be_shared_by_k(tmp_path: Path) -> None:
    log = write_log(tmp_path, 4)
    queryveil.anonymize(
        log, "linkability(p=0.5, principle=posterior)", tmp_path / "out", private=tmp_path / "private", seed=1
    )
    with pytest.raises(InputError, match="reasons are known where terms or queries must be shared by k people"):
        queryveil.why(tmp_path / "out", tmp_path / "private", "p3")


def test_progress_and_nothing_written(made: Folders) -> None:
    before = {path: path.stat().st_mtime_ns for folder in made for path in folder.rglob("*")}
    seen: list[tuple[str, int, int]] = []
    queryveil.why(*made, "p3", progress=lambda *report: seen.append(report))
    assert seen[-1] == ("looking for reasons", 3, 3)
    assert [done for _, done, _ in seen] == [0, 1, 2, 3]
    assert {path: path.stat().st_mtime_ns for folder in made for path in folder.rglob("*")} == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"user": "p99"}, "the private folder knows nobody by that name; give user as it stands in the log."),
        ({"user": "p3", "history": 10_000}, "is not a history of this person, who has 3 from"),
        ({"user": "p3", "term": "zebra"}, "term 'zebra' is in none of these histories"),
    ],
)
def test_explain_refuses_unknown_person_term_or_history(made: Folders, arguments: dict[str, str], says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        queryveil.why(*made, **arguments)  # type: ignore[arg-type]
    assert "p99" not in str(error.value)


def test_folders_that_do_not_belong_together(made: Folders, tmp_path: Path) -> None:
    log = made[0].parent / "log.csv"
    queryveil.anonymize(log, "km(k=2, m=1)", tmp_path / "out", private=tmp_path / "private", seed=1)
    with pytest.raises(ReleaseError, match="does not belong to this release"):
        queryveil.why(made[0], tmp_path / "private", "p3")
    with pytest.raises(ReleaseError, match="is not a private folder"):
        queryveil.why(made[0], tmp_path / "nowhere", "p3")
    with pytest.raises(ReleaseError, match="is not a finished release"):
        queryveil.why(tmp_path / "nowhere", made[1], "p3")


@pytest.mark.parametrize("name", ["membership.parquet", "profiles.parquet"])
def test_a_damaged_private_folder(made: Folders, tmp_path: Path, name: str) -> None:
    shutil.copytree(made[1], tmp_path / "private")
    (tmp_path / "private" / name).write_bytes(b"PAR1")
    with pytest.raises(ReleaseError, match=f"{name} is missing or damaged; check private"):
        queryveil.why(made[0], tmp_path / "private", "p3")


def test_a_changed_release(made: Folders, tmp_path: Path) -> None:
    shutil.copytree(made[0], tmp_path / "out")
    (tmp_path / "out" / "report.html").write_text("<p>")
    with pytest.raises(ReleaseError, match=r"report\.html has been changed since it was released; verify the release"):
        queryveil.why(tmp_path / "out", made[1], "p3")


def test_reasons_read_well() -> None:
    rare = Fate(1, "tea", 2, False, ("milk", "tea"), 1, 3)
    assert rare.sentence(5) == "only 3 people in the log have it together with milk, and 5 are needed"
    assert Fate(1, "tea", 2, False, ("tea",), 1, 1).sentence(5) == "only 1 person in the log has it, and 5 are needed"
    pair = Fate(1, "tea", 2, False, ("milk", "tea"), 3, 1200)
    beginning = "3 people of the 5 needed would have it together with milk (1,200 in the log); "
    assert pair.sentence(5) == beginning + "it was removed from this history so that other terms could be kept"
    caused = replace(pair, cause=("salt", "tea"), people_of_cause=2)
    assert (
        caused.sentence(5)
        == beginning + "in this history it occurs together with salt, a combination that only 2 people in the log have"
    )
    alone = Fate(1, "tea", 2, False, ("tea",), 1, 29, ("salt", "tea"), 1, 29, 25)
    assert alone.sentence(5) == (
        "1 person of the 5 needed would have it (29 in the log); 25 of the 29 who lost it had it in a pair too rare in "
        "the log; in this history it occurs together with salt, a combination that only 1 person in the log has"
    )
    assert Fate(1, "tea", 2, False).sentence(5) == COULD_STAY
    assert Fate(1, "tea", 2, True).sentence(5) == "kept"


def test_results_are_tables_and_escape() -> None:
    evil = "<script>"
    found = TermExplanation("p", "km(k=2, m=1)", 2, (Fate(0, evil, 1, False, (evil,), 1, 1), Fate(1, "tea", 1, True)))
    assert evil not in found._repr_html_()
    assert "for the owner of the log only" in found._repr_html_()
    assert found.to_pandas()["combination"].tolist()[0].tolist() == [evil]
    assert found.to_polars()["people"].to_list() == [1, None]
    headings, rows = found.table()
    assert headings == ["history", "term", "queries", ""]
    assert all(len(a) == len(b) for a, b in pairwise(rows))
    assert found.record()["terms"][0]["people"] == 1
