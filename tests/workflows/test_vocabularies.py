"""Releases of vocabularies from end to end: written, verified, measured, tampered with, and refused."""

import hashlib
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.core.arrow import parquet_bytes
from queryveil.core.errors import GuaranteeError, InputError, ReleaseError, UnknownNameError
from queryveil.release.reader import content_digest
from queryveil.workflows.anonymize import ReleaseResult
from tests.releases import reseal

TOPICS = (
    ("coffee", "espresso", "latte", "mocha", "cappuccino"),
    ("python", "compiler", "algorithm", "software", "xqzlang"),
    ("island", "beach", "hotel", "flight", "volcano"),
)
METHOD = "vocabulary(k=3, eps=8)"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Write the searches of 24 people, on two days, each about a topic."""
    rng = np.random.default_rng(7)
    lines = ["user,query,time"]
    for person in range(24):
        topic = TOPICS[person % len(TOPICS)]
        for day in (1, 2):
            for hour in range(3):
                terms = rng.choice(topic, 2, replace=False)
                lines.append(f"p{person},{' '.join(terms)},2026-01-0{day} 1{hour}:00:00")
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def publish(tmp_path: Path, log: Path, method: str = METHOD, name: str = "one", **options: Any) -> ReleaseResult:
    return queryveil.anonymize(log, method, tmp_path / name, private=tmp_path / f"{name}-private", **options)


def vocabularies(release: Path) -> dict[int, tuple[tuple[str, int, int], ...]]:
    found: dict[int, list[tuple[str, int, int]]] = defaultdict(list)
    for row in queryveil.load(release).rows.to_pylist():
        found[row["user"]].append((row["term"], row["level"], row["count"]))
    return {user: tuple(rows) for user, rows in found.items()}


METHODS = (
    METHOD,
    "vocabulary(k=2, eps=4, omega=3, seed_rule=first)",
    "vocabulary(k=3, eps=8, typical=bags, floor=1)",
    "vocabulary(k=3, eps=8, typical=generalize, floor=5)",
    "generalize(k=3)",
    "generalize(k=3, bags=false)",
    "suppress(k=3)",
)


@pytest.mark.parametrize("method", METHODS)
def test_a_release_holds_with_and_without_its_private_folder(tmp_path: Path, log: Path, method: str) -> None:
    done = publish(tmp_path, log, method)
    assert done.verdict.holds and done.verdict.counted == "people"
    assert done.manifest.record()["kind"] == "vocabularies"
    assert done.manifest.record()["columns"] == ["user", "term", "count", "level"]
    shared = Counter(vocabularies(done.release).values())
    assert min(shared.values()) >= (2 if "k=2" in method else 3)
    assert queryveil.verify(done.release, private=done.private).holds
    assert queryveil.verify(done.release).counted == "histories"
    assert "vocabular" in done.report.read_text()


def test_the_floor_holds_for_generalised_terms_too(tmp_path: Path, log: Path) -> None:
    done = publish(tmp_path, log, "generalize(k=3, floor=9)", history="day")
    assert {row["term"] for row in queryveil.load(done.release).rows.to_pylist() if row["level"]}
    for name, says in (("run.json", "parameters"), ("manifest.json", "method")):
        folder = done.private if name == "run.json" else done.release
        assert folder is not None
        record = json.loads((folder / name).read_text())
        floor = {"parameters": {"k": 3, "floor": 25}, "method": "generalize(k=3, floor=25)", "floor": 25}
        (folder / name).write_text(json.dumps(record | {key: floor[key] for key in floor if key in record}))
        assert says in record
    reseal(done.release, done.private)
    assert "fewer than 25 people of the log" in queryveil.verify(done.release, private=done.private).reason


def test_two_forms_of_a_word_are_published_as_generalised(tmp_path: Path) -> None:
    people = ["espresso mugs", "espresso mug", "mugs espresso", "mug espresso"]
    log = tmp_path / "forms.csv"
    log.write_text("user,query\n" + "".join(f"p{i},{query}\n" for i, query in enumerate(people)))
    done = publish(tmp_path, log, "vocabulary(k=4, eps=8, typical=generalize)")
    assert {row["term"]: row["level"] for row in queryveil.load(done.release).rows.to_pylist()} == {
        "espresso": 0,
        "mug": 1,
    }
    assert queryveil.verify(done.release, private=done.private).holds


def test_a_cluster_of_sessions_counts_people(tmp_path: Path, log: Path) -> None:
    done = publish(tmp_path, log, history="day")
    membership = pq.read_table(tmp_path / "one-private" / "membership.parquet").to_pylist()
    person = {row["release_id"]: row["person"] for row in membership if row["release_id"] is not None}
    people: dict[tuple[tuple[str, int, int], ...], set[str]] = defaultdict(set)
    for user, rows in vocabularies(done.release).items():
        people[rows].add(person[user])
    assert done.manifest.record()["counts"]["before"]["histories"] == 48
    assert min(map(len, people.values())) >= 3


def test_ids_are_ranks_and_the_same_log_gives_the_same_bytes(tmp_path: Path, log: Path) -> None:
    one, two = publish(tmp_path, log, seed=1), publish(tmp_path, log, name="two", seed=2)
    assert one.manifest.record()["content_sha256"] == two.manifest.record()["content_sha256"]
    shown = vocabularies(one.release)
    assert list(shown) == list(range(len(shown)))
    assert list(shown.values()) == sorted(shown.values())


def test_the_floor_keeps_rare_terms_out(tmp_path: Path, log: Path) -> None:
    done = publish(tmp_path, log, "vocabulary(k=3, eps=8, floor=7)")
    profiles = queryveil.profiles(log)
    holders = dict(zip(profiles.vocabulary, np.bincount(profiles.ids).tolist(), strict=True))
    assert done.manifest.record()["floor"] == 7
    assert min(holders[term] for rows in vocabularies(done.release).values() for term, _, _ in rows) >= 7


def test_terms_in_no_network_are_kept_and_counted(tmp_path: Path, log: Path) -> None:
    done = publish(tmp_path, log)
    assert done.summary["terms that the network does not know"] == 1
    assert any(term == "xqzlang" for rows in vocabularies(done.release).values() for term, _, _ in rows)
    dropped = publish(tmp_path, log, name="two", unknown_terms="drop")
    assert not any(term == "xqzlang" for rows in vocabularies(dropped.release).values() for term, _, _ in rows)


def test_all_relations_of_wordnet(tmp_path: Path, log: Path) -> None:
    method = "vocabulary(k=3, eps=4, seed_rule=first, floor=1, terms=all)"
    one, two = publish(tmp_path, log, method), publish(tmp_path, log, method, name="two", network="wordnet_all")
    assert one.manifest.content_sha256 != two.manifest.content_sha256
    assert two.manifest.cleaning.meaning == {"network": "wordnet_all", "weights": "paper", "unknown_terms": "keep"}
    assert queryveil.verify(two.release, private=two.private).holds
    found = {score.label: score.value for score in queryveil.measure(two.release, log, private=two.private)}
    assert found["bLM"] is not None and 0 < found["bLM"] < 1
    made = {score.label: score.value for score in two.scores}
    assert made["bLM"] == found["bLM"]


def test_all_relations_are_refused_where_they_would_not_be_used(tmp_path: Path, log: Path) -> None:
    with pytest.raises(InputError, match="need not have a more general term in common"):
        publish(tmp_path, log, "vocabulary(k=3, eps=4, typical=generalize)", network="wordnet_all")
    with pytest.raises(InputError, match="does not compare terms by all relations"):
        publish(tmp_path, log, "linkability(p=0.4)", network="wordnet_all")
    assert {path.name for path in tmp_path.iterdir()} == {"log.csv"}


def tampered(done: ReleaseResult, rows: pa.Table) -> Path:
    """Change the rows of a release, and its manifest so that this does not show."""
    manifest = json.loads((done.release / "manifest.json").read_text())
    (file,) = (done.release / "data").iterdir()
    file.write_bytes(parquet_bytes(rows))
    report = [file for file in manifest["files"] if file["path"] == "report.html"]
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    manifest["files"] = [{"path": f"data/{file.name}", "sha256": digest, "rows": rows.num_rows}, *report]
    manifest["content_sha256"] = content_digest(rows.column_names, (rows,))
    after = manifest["counts"]["after"]
    after["occurrences"] = sum(rows["count"].to_pylist())
    (done.release / "manifest.json").write_text(json.dumps(manifest))
    return done.release


def test_one_occurrence_more_breaks_it(tmp_path: Path, log: Path) -> None:
    done = publish(tmp_path, log)
    rows = queryveil.load(done.release).rows
    counts = rows["count"].to_pylist()
    counts[0] += 1
    verdict = queryveil.verify(tampered(done, rows.set_column(2, "count", pa.array(counts, pa.int32()))))
    assert verdict.state == "violated" and verdict.counterexample is not None
    assert verdict.counterexample.support == 1


def test_a_changed_file_breaks_it(tmp_path: Path, log: Path) -> None:
    done = publish(tmp_path, log)
    rows = queryveil.load(done.release).rows
    pq.write_table(rows.slice(1), done.release / "data" / "part-00000.parquet")
    assert queryveil.verify(done.release, private=done.private).state == "violated"


@pytest.mark.parametrize(("column", "value"), [("count", 0), ("level", -1)])
def test_rows_that_make_no_sense_are_refused(tmp_path: Path, log: Path, column: str, value: int) -> None:
    done = publish(tmp_path, log)
    rows = queryveil.load(done.release).rows
    values = rows[column].to_pylist()
    place = rows.column_names.index(column)
    bad = rows.set_column(place, column, pa.array([value, *values[1:]], pa.int32()))
    with pytest.raises(ReleaseError, match="damaged"):
        queryveil.verify(tampered(done, bad))
    with pytest.raises(ReleaseError, match="twice"):
        queryveil.verify(tampered(done, pa.concat_tables([rows, rows.slice(0, 1)])))


def test_anybodys_file_can_be_checked(tmp_path: Path) -> None:
    lines = ["user,query", *(f"{user},{term}" for user in "ab" for term in ("tea", "milk")), "c,tea"]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    verdict = queryveil.verify(path, claim="vocabulary_k(k=2)")
    assert verdict.state == "violated" and verdict.counterexample is not None
    assert (verdict.counterexample.entries, verdict.counterexample.support) == (("tea",), 1)
    path.write_text("\n".join(lines[:-1]) + "\n")
    assert queryveil.verify(path, claim="vocabulary_k(k=2)").holds


def test_other_claims_do_not_fit(tmp_path: Path, log: Path) -> None:
    done = publish(tmp_path, log)
    with pytest.raises(InputError, match="claim vocabulary_k"):
        queryveil.verify(done.release, claim="km(k=2, m=1)")


@pytest.mark.parametrize(
    ("method", "error", "words"),
    [
        ("vocabulary(k=99, eps=8)", GuaranteeError, "only 24 people"),
        ("vocabulary(k=3, eps=-1)", UnknownNameError, "eps must be"),
        ("vocabulary(k=3, eps=8, omega=-2)", UnknownNameError, "omega must be"),
        ("vocabulary(k=3, eps=8, floor=99)", GuaranteeError, "nothing would be left"),
        ("suppress(k=99)", GuaranteeError, "only 24 people"),
        ("generalize(k=99)", GuaranteeError, "only 24 people"),
    ],
)
def test_what_cannot_be_promised_is_refused(
    tmp_path: Path, log: Path, method: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        publish(tmp_path, log, method)
    assert {path.name for path in tmp_path.iterdir()} == {"log.csv"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": "tfidf"}, "weights"),
        ({"network": "cooccurrence"}, "hypernyms"),
        ({"keep": ("time",)}, "keep"),
        ({"groups": Path("older")}, "groups"),
        ({"partition_by": "user"}, "partition_by"),
    ],
)
def test_options_that_mean_nothing_are_refused(tmp_path: Path, log: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        publish(tmp_path, log, **options)


def test_a_taxonomy_of_something_else_is_refused_with_what_it_covers(tmp_path: Path, log: Path) -> None:
    taxonomy = tmp_path / "taxonomy.csv"
    taxonomy.write_text("child,parent\nhammer,tool\nsaw,tool\n")
    with pytest.raises(InputError, match=r"knows 0 of the 15 terms of the log, 0\.0% of their occurrences"):
        publish(tmp_path, log, taxonomy=taxonomy)
    taxonomy.write_text("child,parent\nlatte,coffee\nmocha,coffee\ncoffee,drink\n")
    assert publish(tmp_path, log, taxonomy=taxonomy).verdict.holds
