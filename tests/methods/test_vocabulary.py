from pathlib import Path

from queryveil.histories.vocabularies import PublishedVocabularies
from queryveil.methods.vocabulary import without_unmatchable
from queryveil.semantics.network import wordnet
from tests.builders import profiles_of, rows, run_method
from tests.goods import goods


def first(published: PublishedVocabularies) -> list[str]:
    return [published.terms[i] for i in published.ids[: published.indptr[1]]]


def test_a_bag_of_rare_terms_is_published_as_the_nearest_common_one(tmp_path: Path) -> None:
    """Wine has two holders and vino one; alcohol is one step from either, and three hold it."""
    rare = [("wine", "jackets"), ("vino", "jackets"), ("wine", "jackets")]
    log = profiles_of([*rare, *[("alcohol", "boots", "boots", "boots", "boots")] * 3])
    found = run_method(log, "vocabulary(k=3, eps=4)", goods(tmp_path))
    assert first(found) == ["alcohol", "jackets"]
    assert not found.levels.any()


def test_a_common_term_too_far_away_does_not_stand_for_it(tmp_path: Path) -> None:
    log = profiles_of([("wine", "jackets"), ("vino", "jackets"), ("wine", "jackets"), *[("boots",) * 4] * 3])
    found = run_method(log, "vocabulary(k=3, eps=4)", goods(tmp_path))
    assert first(found) == ["jackets"]


def test_terms_in_no_network_are_not_stood_for() -> None:
    log = profiles_of([("qzx", "dog")] * 2 + [("dog",)] * 2)
    found = run_method(log, "vocabulary(k=2, eps=4, floor=3)", wordnet())
    assert first(found) == ["dog"]


def test_rare_terms_in_no_network_take_no_part() -> None:
    log = profiles_of([("dog", "qzx", "vbq"), ("cat", "qzx", "brx"), ("brx",)], [0, 1, 1])
    kept = without_unmatchable(log, wordnet(), 2)
    names = [[log.vocabulary[entry] for entry in row] for row in rows(kept)]
    assert [sorted(row) for row in names] == [["dog", "qzx"], ["cat", "qzx"], []]


def test_terms_that_a_network_knows_stay_however_rare() -> None:
    log = profiles_of([("dog",), ("cat",), ("wolf",)])
    assert rows(without_unmatchable(log, wordnet(), 3)) == rows(log)
