"""How many people stand behind what is published, and one history before and after, for every kind of release."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

import queryveil
from queryveil.core.errors import InputError
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.workflows.inspect import crowds, person_of, sample_people, show_person

METHODS = {
    "histories": "km(k=2, m=1)",
    "log": "km(k=2, m=1)",
    "queries": "query_k(k=2)",
    "groups": "linkability(p=0.9, a=0)",
    "vocabularies": "suppress(k=2)",
}
QUERIES = ("cheap cars", "red shoes", "old maps", "blue sky", "hot tea", "green hats", "wet dogs", "long boats")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crowds") / "log.csv"
    searches = [(user, QUERIES[(user // 2 + step) % len(QUERIES)], step) for user in range(16) for step in (0, 1, 3)]
    lines = [f"u{user},{query},2006-03-0{1 + step} 07:00:00" for user, query, step in searches]
    path.write_text("\n".join(["user,query,time", *lines, "u0,zither lessons,2006-03-01 08:00:00"]) + "\n")
    return path


@pytest.fixture(scope="module", params=METHODS)
def made(request: pytest.FixtureRequest, log: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp(request.param)
    kind = request.param if request.param in ("histories", "log") else None
    history = "day" if kind == "histories" else "user"  # several histories of one person, or one
    release, private = place / "release", place / "private"
    queryveil.anonymize(log, METHODS[request.param], release, private=private, kind=kind, seed=1, history=history)
    return release, private


def sizes_by_hand(release: Path, private: Path) -> list[int]:
    """Count the people behind each thing, row by row."""
    loaded = queryveil.load(release)
    rows, kind = loaded.rows.to_pylist(), loaded.manifest.kind
    members = [m for m in PrivateFolder(private).membership().to_pylist() if m["release_id"] is not None]
    behind: dict[object, set[str]] = defaultdict(set)
    if kind == "groups":
        for member in members:
            behind[member["release_id"]].add(member["person"])
        return sorted(map(len, behind.values()))
    person = {member["release_id"]: member["person"] for member in members}
    if kind == "vocabularies":
        bags: dict[int, set[tuple[str, int, int]]] = defaultdict(set)
        for row in rows:
            bags[row["user"]].add((row["term"], row["count"], row["level"]))
        for user, bag in bags.items():
            behind[frozenset(bag)].add(person[user])
        return sorted(map(len, behind.values()))
    for row in rows:
        behind[row["query" if kind == "queries" else "term"]].add(person[row["user"]])
    return sorted(map(len, behind.values()))


def test_crowds_are_counted_as_by_hand(made: tuple[Path, Path]) -> None:
    found, sizes = crowds(*made), sizes_by_hand(*made)
    assert (found.number, found.smallest, found.largest) == (len(sizes), sizes[0], sizes[-1])
    middle = len(sizes) // 2
    assert found.median == (sizes[middle] if len(sizes) % 2 else (sizes[middle - 1] + sizes[middle]) / 2)


def test_a_history_before_is_the_person_s_own(made: tuple[Path, Path]) -> None:
    release, private = made
    membership, pairs = (table.to_pylist() for table in PrivateFolder(private).profiles())
    own = {row["history"] for row in membership if row["person"] == "u0"}
    wanted: Counter[str] = Counter()
    for row in pairs:
        if row["history"] in own:
            wanted[row["term"]] += row["count"]
    found = show_person(release, private, "u0")
    counted: Counter[str] = Counter()
    for row in found.before:
        counted[row.entry] += row.count
    assert counted == wanted
    assert found.histories == len(own)


def test_what_is_said_to_be_kept_is_what_is_published(made: tuple[Path, Path]) -> None:
    found = show_person(*made, "u0")
    after = {row.entry for row in found.after}
    assert {row.entry for row in found.before if row.kept} == {row.entry for row in found.after if row.own}
    assert "zither" not in after  # one person's alone
    assert all(row.reason for row in found.before)


def test_people_are_offered_by_number(made: tuple[Path, Path]) -> None:
    _, private = made
    offered = sample_people(private, 4)
    assert len(offered) == 4
    assert [one.terms for one in offered] == sorted((one.terms for one in offered), reverse=True)
    assert person_of(private, offered[0].number) == "u0"  # who has the most terms
    with pytest.raises(InputError, match="there are 16 people, numbered from 1"):
        person_of(private, 16)


def test_nobody_by_that_name(made: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="nobody by that name"):
        show_person(*made, "nobody")
