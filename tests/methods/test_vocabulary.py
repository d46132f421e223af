from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from queryveil.core.evidence import Evidence, Floor, Owners
from queryveil.core.names import resolve
from queryveil.core.progress import silent
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.kernels.clustering.growing import TIE_BITS, tie_numbers
from queryveil.kernels.clustering.matching import finish, make_sides
from queryveil.measures.vocabularies import released_from
from queryveil.methods.vocabulary import without_unmatchable
from queryveil.methods.vocabulary.clustering import cluster_vocabularies, prepare, rule_of
from queryveil.semantics.network import wordnet
from queryveil.semantics.taxonomy import read_taxonomy
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


def test_the_common_name_of_synonyms_is_not_as_typed() -> None:
    """Both are forms of words of one meaning, whose usual name nobody typed."""
    log = profiles_of([("auto",), ("motorcar",)])
    found = run_method(log, "vocabulary(k=2, eps=4, typical=generalize)", wordnet())
    assert [(found.terms[i], level) for i, level in zip(found.ids, found.levels, strict=True)] == [("car", 1)] * 2
    released, history_of = released_from(found)
    owners = Owners(log.owner[history_of], history_of, log.holders_by_text)
    claim = resolve("guarantee", "vocabulary_k(k=2)")
    assert claim.declaration.load()(claim, Evidence(released, owners, Floor(2))).holds


def test_a_common_term_too_far_away_does_not_stand_for_it(tmp_path: Path) -> None:
    log = profiles_of([("wine", "jackets"), ("vino", "jackets"), ("wine", "jackets"), *[("boots",) * 4] * 3])
    found = run_method(log, "vocabulary(k=3, eps=4)", goods(tmp_path))
    assert first(found) == ["jackets"]


def test_rare_unknown_terms_are_not_replaced() -> None:
    log = profiles_of([("qzx", "dog")] * 2 + [("dog",)] * 2)
    found = run_method(log, "vocabulary(k=2, eps=4, floor=3)", wordnet())
    assert first(found) == ["dog"]


def test_rare_terms_in_no_network_take_part_unless_asked_otherwise() -> None:
    """The third is the nearest to the first, but for its many rare terms."""
    rare = tuple(f"qzx{i}" for i in range(9))
    log = profiles_of([("dog", "cat"), ("cat", "boat", "moon"), ("dog", "cat", *rare), ("boat", "moon")])
    method = "vocabulary(k=2, eps=0, floor=1, seed_rule=first"
    assert first(run_method(log, f"{method})", wordnet())) == ["cat"]
    assert first(run_method(log, f"{method}, terms=matchable)", wordnet())) == ["cat", "dog"]


def test_an_unmatched_term_costs_far_more_than_a_distance_by_default() -> None:
    omega = {eps: rule_of(resolve("method", f"vocabulary(k=2, eps={eps})")).omega for eps in (0, 4, 8, 50, 100)}
    assert omega == {0: 100, 4: 100, 8: 100, 50: 500, 100: 1_000}
    assert rule_of(resolve("method", "vocabulary(k=2, eps=8, omega=9)")).omega == 9


def test_rare_terms_in_no_network_can_be_left_out() -> None:
    log = profiles_of([("dog", "qzx", "vbq"), ("cat", "qzx", "brx"), ("brx",)], [0, 1, 1])
    kept = without_unmatchable(log, wordnet(), 2)
    names = [[log.vocabulary[entry] for entry in row] for row in rows(kept)]
    assert [sorted(row) for row in names] == [["dog", "qzx"], ["cat", "qzx"], []]


def test_terms_that_a_network_knows_stay_however_rare() -> None:
    log = profiles_of([("dog",), ("cat",), ("wolf",)])
    assert rows(without_unmatchable(log, wordnet(), 3)) == rows(log)


def test_sums_of_many_long_distances_do_not_wrap(tmp_path: Path) -> None:
    """660 members at a distance of 100 each are farther away than 660 at a distance of 2."""
    chains = [f"{side}{i},{f'{side}{i - 1}' if i else 'root'}" for side in "ab" for i in range(50)]
    path = tmp_path / "tree.csv"
    path.write_text("\n".join(("child,parent", *chains, "near,a48", "")))
    profiles = profiles_of([*[("a49",)] * 660, ("b49",), ("near",)])
    rule = rule_of(resolve("method", "vocabulary(k=661, eps=100, seed_rule=first)"))
    (cluster,) = cluster_vocabularies(*prepare(profiles, read_taxonomy(path), rule.eps), rule, silent)
    assert cluster.members[-2:].tolist() == [661, 660]


def test_many_vocabularies_are_clustered_in_blocks_of_similar_length(tmp_path: Path) -> None:
    """The floor counts the people of the whole log: three hold boots, two of each block."""
    short, long = ("boots",), ("boots", "wine", "wine", "jackets")
    log = profiles_of([short, long, short, long, ("vino", "boots", "wine", "jackets"), ("shoes",)])
    found = run_method(log, "vocabulary(k=3, eps=4, floor=4, block=3)", goods(tmp_path))
    assert found.summary["vocabularies clustered"] == "in 2 blocks of at most 3"
    assert {found.terms[i] for i in found.ids} == {"boots"}
    released, history_of = released_from(found)
    owners = Owners(log.owner[history_of], history_of, log.holders_by_text)
    claim = resolve("guarantee", "vocabulary_k(k=3)")
    assert claim.declaration.load()(claim, Evidence(released, owners, Floor(4))).holds
    at_once = run_method(log, "vocabulary(k=3, eps=4, floor=4, block=0)", goods(tmp_path))
    assert "vocabularies clustered" not in at_once.summary


def test_long_vocabularies_are_matched_completely_by_the_maximum_model(tmp_path: Path) -> None:
    log = profiles_of([("wine",) * 4_500, ("wine",) * 2_000 + ("vino",) * 2_000])
    found = run_method(log, "vocabulary(k=2, eps=8, model=maximum, typical=bags)", goods(tmp_path))
    assert Counter(dict(zip((found.terms[i] for i in found.ids), found.counts.tolist(), strict=True))).total() == 4_000


@pytest.mark.parametrize(("price", "n_pairs"), [(1, 1), (9 * 6, 150), (72_000, 4_000), (1 << 24, 1 << 20)])
def test_costs_with_tie_numbers_fit(price: int, n_pairs: int) -> None:
    tie_bits, scale = tie_numbers(price, n_pairs)
    assert price * scale * n_pairs < 1 << 62
    assert scale > n_pairs * ((1 << tie_bits) - 1)
    assert tie_bits == TIE_BITS or price * n_pairs**2 > 1 << 30


def test_costs_that_do_not_fit_are_an_error() -> None:
    sides = make_sides(np.full((2, 2), -(1 << 61)), np.full(2, 2), np.full(2, 2))
    with pytest.raises(OverflowError, match="62 bits"):
        finish(sides)
