"""Releases of every kind that were tampered with: each field of the manifest in turn, and each row, re-sealed."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import queryveil
from queryveil.cli import run
from queryveil.core.errors import InputError
from tests.releases import edit_manifest, replace_rows, reseal

DATA = "data/part-00000.parquet"
TOPICS = (
    ("coffee", "espresso", "latte", "mocha", "cappuccino"),
    ("python", "compiler", "algorithm", "software", "xqzlang"),
    ("island", "beach", "hotel", "flight", "volcano"),
)
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "histories": ("km(k=3, m=2)", {"partition_by": "country"}),
    "log": ("km(k=3, m=2)", {"kind": "log", "keep": "time"}),
    "queries": ("query_k(k=3)", {}),
    "groups": ("linkability(p=0.8, shrink=0.3, min_similarity=0.1)", {}),
    "vocabularies": ("vocabulary(k=3, eps=8)", {}),
}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    **KINDS,
    "ppp": ("ppp(release=none)", {"places": True}),
    "near": ("vocabulary(k=3, eps=8, floor=1)", {}),
    "generalised": ("generalize(k=3, floor=1)", {}),
}
Folders = tuple[Path, Path]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the searches of 18 people, each about a topic, and a list of places."""
    folder = tmp_path_factory.mktemp("tampering")
    rng = np.random.default_rng(7)
    lines = ["user,query,time,country"]
    for person in range(18):
        for hour in range(3):
            terms = rng.choice(TOPICS[person % 3][: 3 + person % 2], 2, replace=False)
            lines.append(f"p{person},{' '.join(terms)},2026-01-01 1{hour}:00:00,{'de' if person % 2 else 'fr'}")
    (folder / "log.csv").write_text("\n".join(lines) + "\n")
    (folder / "places.txt").write_text("xanadu\n")
    return folder


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest, folder: Path) -> Folders:
    """Make a release of each kind once."""
    method, options = METHODS[request.param]
    out, private = folder / request.param, folder / f"{request.param}-private"
    options = {**options, **({"places": folder / "places.txt"} if "places" in options else {})}
    queryveil.anonymize(folder / "log.csv", method, out, private=private, seed=1, **options)
    return out, private


@pytest.fixture
def release(made: Folders, tmp_path: Path) -> Folders:
    return shutil.copytree(made[0], tmp_path / "out"), shutil.copytree(made[1], tmp_path / "private")


def outcome(out: Path, private: Path | None = None) -> tuple[bool, str]:
    """Return whether a release is refused, and why; a fault of queryveil itself would be raised."""
    places = out.parent / "places.txt"
    is_ppp = str(json.loads((out / "manifest.json").read_text()).get("guarantee")).startswith("ppp")
    places.write_text("xanadu\n")
    try:
        verdict = queryveil.verify(out, private=private, places=places if is_ppp else None)
    except InputError as error:
        return True, str(error)
    return not verdict.holds and verdict.reason != "who is in a group is only in the private folder; give --private", (
        verdict.sentence()
    )


def changes(value: Any) -> Iterator[Any]:
    """Yield JSON with one thing changed: a leaf, an item that is missing, or one too many."""
    if isinstance(value, dict):
        for key in value:
            yield from ({**value, key: other} for other in changes(value[key]))
        yield {key: value[key] for key in list(value)[1:]} if value else "extra"
        yield {**value, "extra": 1}
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from ([*value[:place], other, *value[place + 1 :]] for other in changes(item))
        yield value[:-1] if value else ["extra"]
        yield [*value, "extra"]
    elif isinstance(value, str):
        yield value[:-1] + ("0" if value[-1] != "0" else "1") if len(value) == 64 else value + "x"
    else:
        yield not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else "text"


@pytest.mark.parametrize("made", [*KINDS, "ppp"], indirect=True)
def test_every_field_of_the_manifest_changed_in_turn_is_refused_by_its_name(release: Folders) -> None:
    out, private = release
    honest = (out / "manifest.json").read_text()
    manifest = json.loads(honest)
    assert not outcome(out, private)[0]
    n_changes = 0
    is_ppp = "lists" in manifest  # which is a method of kind queries, and takes long to read its lists
    for name in ("lists", "guarantee") if is_ppp else manifest:
        value = manifest[name]
        for other in (*changes(value), None if value is not None else 1, ...):
            edit_manifest(out, **{name: other})
            is_refused, why = outcome(out)
            assert is_refused and (name in why or "fields_sha256" in why), (name, other, why)
            if name != "fields_sha256":
                reseal(out)  # the private folder still tells
                is_refused, why = outcome(out, private)
                assert is_refused and (name in why or "does not belong" in why), (name, other, why)
            (out / "manifest.json").write_text(honest)
            n_changes += 1
    assert n_changes > (5 if is_ppp else 100)
    assert not outcome(out, private)[0]


def test_a_key_that_no_manifest_has_is_refused(release: Folders) -> None:
    out, _ = release
    edit_manifest(out, verified_by="somebody")
    reseal(out)
    assert "has 'verified_by', which no manifest of this version has" in outcome(out)[1]


@pytest.mark.parametrize("floor", [..., None, "3", 2.0, True, -1])
def test_a_floor_that_is_no_number_is_named_with_exit_code_2(
    release: Folders, floor: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = release
    edit_manifest(out, floor=floor)
    reseal(out)
    assert run(["verify", str(out)]) == 2
    assert "lacks floor, or has it in another form" in capsys.readouterr().err


def test_what_the_claim_and_the_rows_say_is_found_when_all_digests_are_forged(release: Folders) -> None:
    out, private = release
    honest = {path: path.read_text() for path in (out / "manifest.json", private / "run.json")}
    manifest = json.loads(honest[out / "manifest.json"])
    weaker = {"k=3": "k=2", "p=0.8": "p=0.9"}
    guarantee = next(manifest["guarantee"].replace(a, b) for a, b in weaker.items() if a in manifest["guarantee"])
    counts = manifest["counts"]
    forged: list[tuple[str, Any]] = [
        ("floor", 1000),
        ("promise", "Nobody can be found."),
        ("limits", []),
        ("guarantee", guarantee),
        ("method", f"{manifest['method'].split('(')[0]}(k=77, p=0.01)"),
        ("uncovered_columns", [*manifest["uncovered_columns"], "url"]),
        ("columns", [*manifest["columns"], "url"]),
        ("kind", "log" if manifest["kind"] != "log" else "histories"),
        ("partition", {"column": "age", "values": 2, "left_out": 0}),
        ("lists", {"places": None}),
        ("content_sha256", "0" * 64),
        ("files", manifest["files"][:1]),
    ]
    forged += [
        ("counts", {**counts, when: {**counts[when], name: number + 1}})
        for when in counts
        for name, number in counts[when].items()
    ]
    for name, value in forged:
        edit_manifest(out, **{name: value})
        reseal(out, private)
        is_refused, why = outcome(out, private)
        assert is_refused, (name, value)
        assert name in why or name in ("guarantee", "kind", "files"), (name, why)
        for path, text in honest.items():
            path.write_text(text)


def test_the_sentences_of_another_version_need_somebody_who_vouches_for_them(release: Folders) -> None:
    out, private = release
    edit_manifest(out, queryveil="0.0.9", promise="All is well.")
    reseal(out, private)
    record = json.loads((private / "run.json").read_text())
    (private / "run.json").write_text(json.dumps(record | {"queryveil": "0.0.9"}))
    assert not outcome(out, private)[0]
    if "groups" not in json.loads((out / "manifest.json").read_text())["kind"]:  # these need the private folder anyway
        assert "in the words of version 0.0.9" in outcome(out)[1]


def tampered(
    rows: list[dict[str, Any]], place: int, order: tuple[str, ...]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield rows with one of them changed, sorted as they are to be."""
    row = rows[place]
    text = "query" if "query" in row else "term"
    other_id = next((each for each in rows if each[order[0]] != row[order[0]] and text in each), row)[order[0]]
    for name, value in (
        ("invented", {text: "zzzz"}),
        ("moved", {order[0]: other_id} if "query_id" not in row else {"query_id": row["query_id"] + 1}),
        *([("counted", {"count": row["count"] + 1})] if "count" in row else ()),
        *([("generalised", {"level": row["level"] + 1})] if "level" in row else ()),
        *([("weighed", {"weight": row["weight"] * 1.001})] if "weight" in row else ()),
        *([("parted", {"partition": "de" if row["partition"] == "fr" else "fr"})] if "partition" in row else ()),
    ):
        changed = [*rows[:place], {**row, **value}, *rows[place + 1 :]]
        yield name, sorted(changed, key=lambda each: tuple(each[column] for column in order))
    yield "repeated", [*rows[: place + 1], *rows[place:]]
    yield "swapped", [*rows[:place], *reversed(rows[place : place + 2]), *rows[place + 2 :]]


def test_every_row_changed_with_all_digests_forged_is_refused(release: Folders) -> None:
    out, private = release
    loaded = queryveil.load(out)
    table, kind, claim = loaded.rows, loaded.kind, loaded.manifest.guarantee
    rows = table.to_pylist()
    for place in range(len(rows)):
        for name, changed in tampered(rows, place, kind.sorted_by):
            if changed == rows:
                continue
            replace_rows(out, private, pa.Table.from_pylist(changed, table.schema))
            is_refused, why = outcome(out, private)
            # a term of one's own under another query of one's own contradicts neither the claim nor the private folder
            is_consistent = name == "moved" and "query_id" in table.column_names
            # groups may publish less of a term's holders, and a term that a member holds
            assert is_refused or is_consistent, (claim, name, rows[place], why)


@pytest.mark.parametrize("made", ["queries", "log"], indirect=True)
def test_a_query_that_is_missing_or_there_too_often_is_found_with_the_private_folder(release: Folders) -> None:
    out, private = release
    table = queryveil.load(out).rows
    rows = table.to_pylist()
    pairs = [(row["user"], row.get("query", row.get("term"))) for row in rows]
    queries = [row.get("query_id", i) for i, row in enumerate(rows)]
    is_whole = "query" in table.column_names  # else another term of the query must stay, so that ids have no gap
    tried = [i for i in range(len(rows)) if pairs.count(pairs[i]) > 1 and (is_whole or queries.count(queries[i]) > 1)]
    assert tried
    for place in tried:
        replace_rows(out, private, table.take(pa.array([i for i in range(len(rows)) if i != place])))
        assert queryveil.verify(out).holds
        assert "more or less often than in the history behind" in outcome(out, private)[1]


@pytest.mark.parametrize("made", ["near", "generalised"], indirect=True)
def test_a_vocabulary_that_is_not_of_the_people_behind_it_is_found(release: Folders) -> None:
    out, private = release
    table = queryveil.load(out).rows
    topics = {term: topic for topic in TOPICS for term in topic}
    moved = {term: TOPICS[(TOPICS.index(topic) + 1) % 3][topic.index(term)] for term, topic in topics.items()}
    terms = [moved.get(term, term) for term in table["term"].to_pylist()]
    rows = table.set_column(1, "term", pa.array(terms)).sort_by([("user", "ascending"), ("term", "ascending")])
    assert rows != table
    replace_rows(out, private, rows)
    assert queryveil.verify(out).holds  # as many people share every vocabulary as before
    assert "have no counterpart in the history behind them, or too few" in outcome(out, private)[1]
    doubled = table.set_column(2, "count", pa.array([9 * n for n in table["count"].to_pylist()], pa.int32()))
    replace_rows(out, private, doubled)
    assert queryveil.verify(out).holds
    assert "have no counterpart in the history behind them, or too few" in outcome(out, private)[1]
