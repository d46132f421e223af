"""Releases of groups from end to end: written, verified, measured, tampered with, and gone on from."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.cli import run
from queryveil.core.errors import GuaranteeError, InputError, ReleaseError
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.workflows.anonymize import ReleaseResult
from tests.releases import edit_manifest, reseal

TOPICS = (
    ("coffee", "espresso", "latte", "mocha", "cappuccino"),
    ("python", "compiler", "programming", "algorithm", "software"),
    ("island", "beach", "hotel", "flight", "volcano"),
    ("football", "goal", "league", "stadium", "referee"),
)
METHOD = "linkability(p=0.5, floor=1)"


def write_log(path: Path, people: range, seed: int = 5, extra: int = 3) -> Path:
    """Write profiles of people with a topic each and some terms of their own; who they are depends on the seed only."""
    lines = ["user,term,weight"]
    for person in people:
        rng = np.random.default_rng((seed, person))
        topic = TOPICS[person % len(TOPICS)]
        terms = [*rng.choice(topic, 3, replace=False), *(f"x{rng.integers(40)}" for _ in range(extra))]
        lines += [f"p{person},{term},{rng.integers(1, 4)}" for term in dict.fromkeys(terms)]
    path.write_text("\n".join(lines) + "\n")
    return path


def group(tmp_path: Path, log: Path, name: str = "one", method: str = METHOD, **options: Any) -> ReleaseResult:
    out, private = tmp_path / name, tmp_path / f"{name}-private"
    return queryveil.anonymize(log, method, out, private=private, seed=1, **options)


def members(private: Path) -> dict[str, int | None]:
    table = pq.read_table(private / "membership.parquet")
    return dict(zip(table["person"].to_pylist(), table["release_id"].to_pylist(), strict=True))


def published(release: Path) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for row in queryveil.load(release).rows.to_pylist():
        found.setdefault(row["group"], {})[row["term"]] = row["weight"]
    return found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(tmp_path / "profiles.csv", range(60))


PRINCIPLES = (
    METHOD,
    "linkability(p=0.5, principle=posterior)",
    "linkability(p=0.4, principle=belief)",
    "linkability(p=0.5, principle=diversity, l=4)",
    "linkability(p=0.5, principle=closeness, t=0.9)",
    "linkability(p=0.5, average=global, closest=seed, weighting=paper, a=2, floor=1)",
    "linkability(p=0.4, representative=union, shrink=0.5, min_similarity=0.1)",
)


@pytest.mark.parametrize("method", PRINCIPLES)
def test_a_release_holds_and_is_checked_from_both_folders(tmp_path: Path, log: Path, method: str) -> None:
    done = group(tmp_path, log, method=method)
    assert done.verdict.holds
    assert done.manifest.record()["kind"] == "groups"
    assert queryveil.verify(done.release, private=done.private).holds
    assert queryveil.verify(done.release).state == "unchecked"
    scores = queryveil.measure(done.release, log, private=done.private)
    assert [score.label for score in scores] == [score.label for score in done.scores]


def test_a_group_is_published_as_the_mean_of_its_members(tmp_path: Path, log: Path) -> None:
    done = group(tmp_path, log)
    profiles = queryveil.profiles(log)
    rows, weights = profiles.to_arrow(), profiles.weights
    assert weights is not None and done.private is not None
    group_of = members(done.private)
    sizes = Counter(group_of.values())
    total: Counter[tuple[int, str]] = Counter()
    for person, term, weight in zip(rows["person"].to_pylist(), rows["entry"].to_pylist(), weights, strict=True):
        of = group_of[person]
        if of is not None:
            total[of, term] += weight
    means = {key: value / sizes[key[0]] for key, value in total.items()}
    found = {(g, t): w for g, terms in published(done.release).items() for t, w in terms.items()}
    assert found == pytest.approx(means)


def test_terms_stand_in_the_order_of_their_texts_and_ids_are_ranks(tmp_path: Path, log: Path) -> None:
    contents = [list(terms.items()) for _, terms in sorted(published(group(tmp_path, log).release).items())]
    assert all(terms == sorted(terms) for terms in contents)
    assert contents == sorted(contents, key=lambda terms: ([t for t, _ in terms], [w for _, w in terms]))


def forge(done: ReleaseResult, **parameters: float) -> None:
    """Claim that a run had other parameters, in the manifest and in the private record."""
    assert done.private is not None
    record = json.loads((done.private / "run.json").read_text())
    method = str(queryveil.name("linkability", **{**record["parameters"], **parameters}))
    changed = {"method": method, "parameters": {**record["parameters"], **parameters}}
    (done.private / "run.json").write_text(json.dumps(record | changed))
    edit_manifest(done.release, method=method)
    reseal(done.release, done.private)


def test_the_least_similarity_is_verified_with_the_private_folder(tmp_path: Path, log: Path) -> None:
    done = group(tmp_path, log, method="linkability(p=0.5, floor=1, min_similarity=0.3)")
    assert queryveil.verify(done.release, private=done.private).holds
    forge(done, min_similarity=0.99)
    verdict = queryveil.verify(done.release, private=done.private)
    assert verdict.state == "violated"
    assert "members are less similar than 0.99 to the centroid of their group" in verdict.reason


@pytest.mark.parametrize("parameters", [{"shrink": 0.9}, {"representative": "union"}])
def test_other_weights_than_the_methods_are_found(tmp_path: Path, log: Path, parameters: dict[str, Any]) -> None:
    done = group(tmp_path, log)
    forge(done, **parameters)
    reason = queryveil.verify(done.release, private=done.private).reason
    assert "has another weight than the profiles of its members give" in reason


def test_groups_that_are_extended_keep_the_least_similarity_and_are_verified(tmp_path: Path, log: Path) -> None:
    method = "linkability(p=0.5, floor=1, min_similarity=0.3)"
    first = group(tmp_path, log, method=method)
    later = write_log(tmp_path / "later.csv", range(5, 66), seed=5)
    earlier = {"groups": first.release, "groups_private": first.private}
    second = group(tmp_path, later, "two", method=method, **earlier)
    assert second.summary["groups published as before"] > 0
    assert second.private is not None and PrivateFolder(second.private).frozen_groups()
    assert queryveil.verify(second.release, private=second.private).holds
    forge(second, min_similarity=0.99)
    assert "less similar than 0.99" in queryveil.verify(second.release, private=second.private).reason


def test_the_floor_keeps_rare_terms_out(tmp_path: Path, log: Path) -> None:
    done = group(tmp_path, log, method="linkability(p=0.25)")
    profiles = queryveil.profiles(log)
    holders = dict(zip(profiles.vocabulary, np.bincount(profiles.ids).tolist(), strict=True))
    shown = {term for terms in published(done.release).values() for term in terms}
    assert done.manifest.record()["floor"] == 4
    assert min(holders[term] for term in shown) >= 4


def test_the_same_seed_gives_the_same_release(tmp_path: Path, log: Path) -> None:
    one, two = (group(tmp_path, log, name).manifest.content_sha256 for name in ("one", "two"))
    assert one == two


def test_the_release_names_nobody(tmp_path: Path, log: Path) -> None:
    done = group(tmp_path, log)
    text = (done.release / "manifest.json").read_text() + done.report.read_text()
    assert not [person for person in (f"p{i}" for i in range(60)) if f'"{person}"' in text or f">{person}<" in text]
    assert "seed" not in json.loads((done.release / "manifest.json").read_text())


def tampered(done: ReleaseResult, rows: pa.Table) -> Path:
    pq.write_table(rows, done.release / "data" / "part-00000.parquet")
    return done.release


def test_a_changed_release_is_refused(tmp_path: Path, log: Path) -> None:
    done = group(tmp_path, log)
    rows = queryveil.load(done.release).rows
    verdict = queryveil.verify(tampered(done, rows.slice(1)), private=done.private)
    assert verdict.state == "violated"
    assert "changed since it was released" in verdict.reason


def test_a_foreign_private_folder_is_refused(tmp_path: Path, log: Path) -> None:
    one = group(tmp_path, log)
    two = group(tmp_path, write_log(tmp_path / "other.csv", range(70)), "two")
    with pytest.raises(ReleaseError, match="does not belong"):
        queryveil.verify(one.release, private=two.private)


def test_a_taxonomy_and_other_networks_are_used(tmp_path: Path, log: Path) -> None:
    lines = [f"{word},{topic[0]}s" for topic in TOPICS for word in topic] + [f"{t[0]}s,everything" for t in TOPICS]
    (tmp_path / "taxonomy.csv").write_text("\n".join(lines) + "\n")
    done = group(tmp_path, log, taxonomy=tmp_path / "taxonomy.csv", unknown_terms="drop")
    assert done.manifest.record()["cleaning"]["meaning"] == {
        "network": "taxonomy",
        "weights": "paper",
        "unknown_terms": "drop",
    }
    shown = {term for terms in published(done.release).values() for term in terms}
    assert shown <= {word for topic in TOPICS for word in topic}
    assert group(tmp_path, log, "two", network="cooccurrence").verdict.holds


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"history": "day"}, "groups people"),
        ({"kind": "log"}, "makes releases of kind groups"),
        ({"weights": "tfidf"}, "has weights"),
        ({"network": "wordnett"}, "did you mean wordnet"),
        ({"network": "cooccurrence", "taxonomy": "x.csv"}, "exclude each other"),
        ({"groups_private": "x"}, "goes with groups"),
        ({"groups": "x"}, "needs the private folder"),
        ({"keep": ["time"]}, "needs single queries"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path: Path, log: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Exception, match=sentence):
        group(tmp_path, log, **options)
    assert sorted(tmp_path.iterdir()) == [log]


def test_no_private_folder_is_refused(tmp_path: Path, log: Path) -> None:
    with pytest.raises(InputError, match="needs a private folder"):
        queryveil.anonymize(log, METHOD, tmp_path / "one")


def test_who_is_in_a_group_with_nothing_to_publish_is_suppressed(tmp_path: Path) -> None:
    lines = [f"a{i},a,1" for i in range(8)] + [f"b{i},{term},1" for i in range(4) for term in ("b", "c")]
    log = tmp_path / "alike.csv"
    log.write_text("user,term,weight\n" + "\n".join(lines) + "\n")
    done = group(tmp_path, log, method="linkability(p=0.5, principle=posterior)")
    assert done.private is not None
    assert queryveil.verify(done.release, private=done.private).holds
    assert {of for of in members(done.private).values() if of is not None} == set(published(done.release))


def test_too_few_people_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GuaranteeError, match="no legal group"):
        group(tmp_path, write_log(tmp_path / "few.csv", range(3)), method="linkability(p=0.1, floor=1)")


def later(
    tmp_path: Path, people: range, first: ReleaseResult, method: str = METHOD, name: str = "two"
) -> ReleaseResult:
    log = write_log(tmp_path / f"{name}.csv", people)
    return group(tmp_path, log, name, method, groups=first.release, groups_private=first.private)


@pytest.mark.parametrize("method", PRINCIPLES)
def test_groups_are_extended_under_every_principle(tmp_path: Path, log: Path, method: str) -> None:
    first = group(tmp_path, log, method=method)
    second = later(tmp_path, range(6, 75), first, method)
    assert second.verdict.holds
    third = later(tmp_path, range(3, 80), second, method, "three")
    assert queryveil.verify(third.release, private=third.private).holds


def test_nobody_moves_when_nothing_changes(tmp_path: Path, log: Path) -> None:
    first = group(tmp_path, log)
    second = later(tmp_path, range(60), first)
    assert second.manifest.record()["content_sha256"] == first.manifest.record()["content_sha256"]
    assert second.summary["people moved"] == 0


def test_a_newcomer_joins_and_what_is_published_stays_frozen(tmp_path: Path, log: Path) -> None:
    first = group(tmp_path, log, method="linkability(p=0.2, floor=1)")
    second = later(tmp_path, range(61), first, "linkability(p=0.2, floor=1)")
    assert second.summary["newcomers in groups there were"] + second.summary["people who fit nowhere"] == 1
    assert second.manifest.record()["content_sha256"] == first.manifest.record()["content_sha256"]
    assert second.private is not None
    assert "p60" not in PrivateFolder(second.private).contributors()


def test_a_log_of_other_people_is_refused(tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = group(tmp_path, log)
    with pytest.raises(InputError, match=r"groups: nobody of .*one is in this log; give a later log of the same"):
        later(tmp_path, range(60, 120), first)
    assert not (tmp_path / "two").exists()
    words = ["anonymize", str(tmp_path / "two.csv"), "--method", METHOD, "--out", str(tmp_path / "two")]
    words += ["--private", str(tmp_path / "p"), "--groups", str(first.release), "--groups-private", str(first.private)]
    assert run(words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_newcomers_make_groups_of_their_own_and_vanished_groups_are_counted(tmp_path: Path, log: Path) -> None:
    """One person of sixty is still there: the newcomers must not all join that person's group."""
    first = group(tmp_path, log)
    second = later(tmp_path, range(59, 130), first)
    assert second.private is not None
    of = members(second.private)
    assert max(Counter(of.values()).values()) < 20
    assert of["p59"] is not None
    n_first, summary = first.summary["groups"], second.summary
    assert summary["groups dissolved"] in (n_first - 1, n_first)
    assert summary["new groups"] == summary["groups"] - (n_first - summary["groups dissolved"]) > 10


def test_newcomers_repair_a_group_that_lost_members(tmp_path: Path) -> None:
    """Each topic is a group of three; one member of the first leaves, and two people of that topic come."""
    method = "linkability(p=0.4, floor=1)"

    def terms(person: int) -> list[str]:
        return [*TOPICS[person % 4][:2], *(f"own{person}x{i}" for i in range(8))]

    def write(path: Path, people: list[int]) -> Path:
        rows = [f"p{person},{term},1" for person in people for term in terms(person)]
        path.write_text("\n".join(["user,term,weight", *rows]) + "\n")
        return path

    first = group(tmp_path, write(tmp_path / "first.csv", [*range(12)]), method=method)
    log = write(tmp_path / "second.csv", [*range(1, 12), 100, 104])
    second = group(tmp_path, log, "two", method, groups=first.release, groups_private=first.private)
    assert second.private is not None
    of = members(second.private)
    assert len({of["p4"], of["p8"], of["p100"], of["p104"]}) == 1
    assert (second.summary["newcomers in groups there were"], second.summary["people moved"]) == (2, 0)


def test_what_is_published_stays_where_newcomers_make_groups_of_their_own(tmp_path: Path, log: Path) -> None:
    first = group(tmp_path, log)
    second = later(tmp_path, range(200), first)
    assert second.summary["groups published as before"] < second.summary["groups"]
    assert second.verdict.holds
    now = list(published(second.release).values())
    n_same = sum(terms in now for terms in published(first.release).values())
    assert n_same >= second.summary["groups published as before"] > 0


def test_changes_add_up_over_releases_until_a_group_is_published_anew(tmp_path: Path, log: Path) -> None:
    """Whoever compares two releases of a group learns of at least so many people at once, never of one."""
    method, least = "linkability(p=0.25, floor=1)", 4
    before = group(tmp_path, log, method=method)
    for step in range(1, 12):
        after = later(tmp_path, range(60 + step), before, method, f"step{step}")
        assert before.private is not None and after.private is not None
        was, now = published(before.release), published(after.release)
        old, new = PrivateFolder(before.private).contributors(), PrivateFolder(after.private).contributors()
        for g, terms in now.items():
            if terms in was.values():
                continue
            there = {person for person, of in new.items() if of == g}
            for before_group in was:
                counted = {person for person, of in old.items() if of == before_group}
                assert len(there ^ counted) >= least
        before = after


def test_earlier_groups_of_another_guarantee_or_damaged_are_refused(tmp_path: Path, log: Path) -> None:
    first = group(tmp_path, log)
    with pytest.raises(InputError, match="was made under linkability"):
        later(tmp_path, range(60), first, "linkability(p=0.4, floor=1)")
    shutil.rmtree(tmp_path / "one" / "data")
    with pytest.raises(InputError, match="verify that release first"):
        later(tmp_path, range(60), first)


def test_groups_option_is_refused_by_other_methods(tmp_path: Path, log: Path) -> None:
    first = group(tmp_path, log)
    with pytest.raises(InputError, match="makes none"):
        queryveil.anonymize(log, "km(k=2, m=1)", tmp_path / "km", groups=first.release)


def test_a_claim_of_another_kind_is_refused(tmp_path: Path, log: Path) -> None:
    done = group(tmp_path, log)
    with pytest.raises(InputError, match="no claim about groups"):
        queryveil.verify(done.release, claim="km(k=2, m=1)", private=done.private)
    assert queryveil.verify(done.release, claim="linkability(p=1)", private=done.private).holds


def test_a_weaker_claim_about_shrunk_weights_holds(tmp_path: Path) -> None:
    """How far weights were shrunk follows from the p of the run, not from that of the claim."""
    queryveil.generate(tmp_path / "log.tsv", users=120, seed=2)
    made: Any = {"private": tmp_path / "private", "seed": 1}
    queryveil.anonymize(tmp_path / "log.tsv", "linkability(p=0.3, shrink=0.5)", tmp_path / "out", **made)
    assert queryveil.verify(tmp_path / "out", claim="linkability(p=0.6)", private=tmp_path / "private").holds
