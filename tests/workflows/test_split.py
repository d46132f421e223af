"""Releases of histories in pieces: the ceiling is reached, nothing tells which pieces are one person's, all verify."""

import shutil
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.workflows.inspect import show_person
from tests.workflows.small_log import write_log

K, M = 8, 3
METHODS = {split: f"km(k={K}, m={M}, split={split})" for split in ("all", "pairs")}
OPTIONS: dict[str, dict[str, Any]] = {
    "people": {},
    "days": {"history": "day"},
    "parts": {"partition_by": "country"},
    "log": {"kind": "log"},
}


OF_PEOPLE = pytest.mark.parametrize("made", [("people", "all"), ("people", "pairs")], indirect=True)


@pytest.fixture(scope="module", params=[*((name, "all") for name in OPTIONS), ("people", "pairs"), ("log", "pairs")])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder, options = tmp_path_factory.mktemp("split"), OPTIONS[request.param[0]]
    log = write_log(folder, 3)
    queryveil.anonymize(
        log, METHODS[request.param[1]], folder / "out", private=folder / "out-private", seed=1, **options
    )
    return folder, options


def rows_of(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.ParquetFile(folder / "out" / "data" / "part-00000.parquet").read().to_pylist()
    return rows


def members_of(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.ParquetFile(folder / "out-private" / "membership.parquet").read().to_pylist()
    return rows


def test_every_occurrence_of_a_term_that_k_people_hold_is_released(made: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = made
    members, part = members_of(folder), {row["person"]: row.get("partition") for row in members_of(folder)}
    person = {row["history"]: row["person"] for row in members}
    history = {row["release_id"]: row["history"] for row in members}
    pairs = pq.ParquetFile(folder / "out-private" / "profiles.parquet").read().to_pylist()
    holders: dict[Any, set[str]] = defaultdict(set)
    for pair in pairs:
        holders[part[person[pair["history"]]], pair["term"]].add(person[pair["history"]])
    common = {
        (pair["history"], pair["term"])
        for pair in pairs
        if len(holders[part[person[pair["history"]]], pair["term"]]) >= K
    }
    shown = [(row["user"], row["term"]) for row in rows_of(folder)]
    assert {(history[user], term) for user, term in shown} == common
    assert len(set(shown)) == len(common)  # no term of a history is in two pieces
    assert len({row["user"] for row in rows_of(folder)}) > len({history[user] for user, _ in shown})


def test_combinations_are_shared_by_k_people(made: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = made
    person = {row["release_id"]: row["person"] for row in members_of(folder)}
    terms: dict[int, set[str]] = defaultdict(set)
    part = {}
    for row in rows_of(folder):
        terms[row["user"]].add(row["term"])
        part[row["user"]] = row.get("partition")
    people: dict[Any, set[str]] = defaultdict(set)
    for user, held in terms.items():
        for size in range(1, M + 1):
            for combination in combinations(sorted(held), size):
                people[part[user], combination].add(person[user])
    assert min(map(len, people.values())) >= K


def test_the_verifier_accepts_it_with_and_without_the_private_folder(made: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = made
    assert queryveil.verify(folder / "out").holds
    verdict = queryveil.verify(folder / "out", private=folder / "out-private")
    assert verdict.holds
    assert verdict.counted == "people"


def test_ids_are_ranks_of_content_and_no_column_tells_the_layer(made: tuple[Path, dict[str, Any]]) -> None:
    folder, options = made
    rows = rows_of(folder)
    assert set(rows[0]) == {"user", "term", *(["query_id"] if "kind" in options else [])} | (
        {"partition"} if "partition_by" in options else set()
    )
    if "kind" in options:
        numbers = [(row["user"], row["query_id"], row["term"]) for row in rows]
        assert numbers == sorted(numbers)
        assert {query for _, query, _ in numbers} == set(range(len({query for _, query, _ in numbers})))
        return
    content: dict[int, tuple[Any, list[str]]] = {}
    for row in rows:
        content.setdefault(row["user"], (row.get("partition") or "", []))[1].append(row["term"])
    assert list(content) == list(range(len(content)))
    assert list(content.values()) == sorted(content.values())


@OF_PEOPLE
def test_every_change_of_a_cell_that_breaks_the_claim_is_found(
    made: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder, _ = made
    rows = rows_of(folder)
    rare = next(row for row in rows if sum(row["term"] == other["term"] for other in rows) == min_holders(rows))
    for number, row in enumerate(rows):
        for term in {"zzz", rare["term"]} - {row["term"]}:
            changed = [*rows[:number], {**row, "term": term}, *rows[number + 1 :]]
            verdict = queryveil.verify(write_histories(changed, tmp_path), claim=f"km(k={K}, m={M})")
            assert verdict.holds == is_shared(changed)
        if number > 40:
            break


def min_holders(rows: list[dict[str, Any]]) -> int:
    return min(Counter(row["term"] for row in rows).values())


def is_shared(rows: list[dict[str, Any]]) -> bool:
    terms: dict[int, set[str]] = defaultdict(set)
    for row in rows:
        terms[row["user"]].add(row["term"])
    users: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for user, held in terms.items():
        for size in range(1, M + 1):
            for combination in combinations(sorted(held), size):
                users[combination].add(user)
    return min(map(len, users.values())) >= K


def write_histories(rows: list[dict[str, Any]], folder: Path) -> Path:
    path = folder / "rows.csv"
    path.write_text("user,term\n" + "".join(f"{row['user']},{row['term']}\n" for row in rows))
    return path


@OF_PEOPLE
def test_a_term_in_two_pieces_of_a_person_is_found_with_the_private_folder(
    made: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder, _ = made
    history = {row["release_id"]: row["history"] for row in members_of(folder)}
    copy = tmp_path / "copy"
    shutil.copytree(folder / "out", copy)
    part = copy / "data" / "part-00000.parquet"
    rows = pq.ParquetFile(part).read()
    first = rows.to_pylist()[0]
    other = next(user for user, behind in history.items() if behind == history[first["user"]] and user != first["user"])
    added = pa.table({"user": [other], "term": [first["term"]]}, schema=rows.schema)
    pq.write_table(pa.concat_tables([rows, added]).sort_by([("user", "ascending"), ("term", "ascending")]), part)
    assert not queryveil.verify(copy, private=folder / "out-private").holds


def test_why_tells_terms_of_other_pieces(made: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = made
    members, rows = members_of(folder), rows_of(folder)
    person = next(m["person"] for m in members if sum(m["history"] == other["history"] for other in members) > 1)
    pieces: dict[int, list[set[str]]] = defaultdict(list)
    for member in members:
        if member["person"] == person:
            pieces[member["history"]].append({row["term"] for row in rows if row["user"] == member["release_id"]})
    why = queryveil.why(folder / "out", private=folder / "out-private", user=person)
    for fate in why.fates:
        own = next((piece for piece in pieces[fate.history] if fate.term in piece), set())
        assert fate.kept == bool(own)
        if fate.piece:
            assert own == {fate.term, *fate.beside}
            assert fate.sentence(K).startswith("in another piece")
        elif fate.kept:
            assert fate.sentence(K) == "kept"
            assert len(own) == max(map(len, pieces[fate.history]))
    assert any(fate.piece for fate in why.fates)
    shown = show_person(folder / "out", folder / "out-private", person)
    assert shown.histories == len(pieces)
    assert shown.released == sum(bool(piece) for found in pieces.values() for piece in found)


def test_measures_count_people(made: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = made
    log = folder / "log.csv"
    scores = queryveil.measure(folder / "out", log, private=folder / "out-private")
    users = next(score for score in scores if score.label == "users")
    assert users.base == "people"
    assert users.value is not None and users.value <= 100
    blind = queryveil.measure(folder / "out", log, measures=["retention"])
    assert next(score for score in blind if score.label == "users").base == "histories"


def test_attacks_know_that_a_person_has_several_histories(made: tuple[Path, dict[str, Any]]) -> None:
    folder, options = made
    found = queryveil.attack(folder / "out", folder / "log.csv", private=folder / "out-private", seed=1)
    exact = [result for result in found.results if result.knowledge in ("1 term", "2 terms", "3 terms")]
    assert exact
    assert all(result.rate.value <= 1 / K for result in exact)
    # every term that the release has elsewhere is in one of a person's pieces, so none was deleted from one alone
    names = {result.attack for result in found.results}
    assert "minimality" not in names or "partition_by" in options


@pytest.mark.parametrize("split", ["all", "pairs"])
def test_a_split_release_starts_a_stronger_one(split: str, tmp_path: Path) -> None:
    log = write_log(tmp_path, 3)
    weaker, first = tmp_path / "weaker", tmp_path / "weaker-private"
    queryveil.anonymize(log, f"km(k=4, m=2, split={split})", weaker, private=first, seed=1)
    method = f"km(k={K}, m=2, split={split})"
    out, private = tmp_path / "out", tmp_path / "out-private"
    done = queryveil.anonymize(log, method, out, private=private, seed=1, start_from=weaker, start_from_private=first)
    assert done.verdict.holds
    alone = queryveil.anonymize(log, method, tmp_path / "alone", seed=1)
    assert done.manifest.counts["after"]["pairs"] == alone.manifest.counts["after"]["pairs"]


def test_queries_are_cut_where_their_terms_are_in_several_pieces(tmp_path: Path) -> None:
    log = write_log(tmp_path, 3)
    queryveil.anonymize(log, METHODS["all"], tmp_path / "out", private=tmp_path / "out-private", seed=1, kind="log")
    person = {row["release_id"]: row["person"] for row in members_of(tmp_path)}
    asked: dict[str, list[set[str]]] = defaultdict(list)
    for line in log.read_text().splitlines()[1:]:
        user, query, *_ = line.split(",")
        asked[user].append(set(query.split()))
    shown: dict[int, set[str]] = defaultdict(set)
    queries: dict[tuple[int, int], set[str]] = defaultdict(set)
    for row in rows_of(tmp_path):
        shown[row["user"]].add(row["term"])
        queries[row["user"], row["query_id"]].add(row["term"])
    expected = Counter(
        (user, tuple(sorted(terms & query)))
        for user, terms in shown.items()
        for query in asked[person[user]]
        if terms & query
    )
    assert Counter((user, tuple(sorted(terms))) for (user, _), terms in queries.items()) == expected
    assert any(len(terms) > 1 for terms in queries.values())
