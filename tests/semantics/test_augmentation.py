import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.errors import InputError
from queryveil.histories.profiles import Profiles
from queryveil.semantics.augmentation import FeatureMatrix, Unknown, Weighting, augment, weighted
from queryveil.semantics.cooccurrence import open_cooccurrence
from queryveil.semantics.network import Network, wordnet
from tests.builders import profiles_of
from tests.semantics.networks import WORDS, networks
from tests.twins.augmentation import augmented, numbered

UNKNOWN_WORDS = ("xyzzy", "qwfp")
HISTORIES = st.lists(
    st.lists(st.sampled_from((*WORDS, *UNKNOWN_WORDS)), min_size=1, max_size=8, unique=True), min_size=1, max_size=6
)
REAL_WORDS = (
    *("java", "coffee", "mocha", "programming language", "island", "bank", "river", "money", "horse", "horses"),
    *("riding", "sport", "person", "unit", "run", "quick", "restrain", "inhibit", "myspace", "dog", "dogs", "canine"),
)


def rows_of(features: FeatureMatrix) -> list[list[tuple[int, float]]]:
    bounds = zip(features.indptr, features.indptr[1:], strict=False)
    return [list(zip(features.ids[a:b].tolist(), features.values[a:b].tolist(), strict=True)) for a, b in bounds]


def weighed(profiles: Profiles, seed: int) -> Profiles:
    """Give each pair a weight in quarters, some 0, so that all sums are exact."""
    drawn = np.random.default_rng(seed).integers(0, 9, len(profiles.ids)) / 4
    return replace(profiles, weights=drawn)


def assert_like_the_twin(profiles: Profiles, network: Network, a: int, weighting: Weighting, unknown: Unknown) -> None:
    features = augment(profiles, network, a=a, weighting=weighting, unknown=unknown)
    found = rows_of(features)
    expected = numbered(augmented(profiles, network, a, weighting, unknown))
    if weighting == "paper":
        assert found == expected
    else:  # logarithms of numpy and of Python differ in the last bit
        assert [[d for d, _ in row] for row in found] == [[d for d, _ in row] for row in expected]
        assert features.values == pytest.approx([value for row in expected for _, value in row], rel=1e-13)
    assert features.n_dimensions == 1 + max((d for row in expected for d, _ in row), default=-1)
    assert features.ids.dtype == np.int32
    assert (features.values > 0).all()


@settings(max_examples=150)
@given(
    networks(),
    HISTORIES,
    st.integers(0, 4),
    st.sampled_from(("paper", "content")),
    st.sampled_from(("drop", "keep")),
    st.integers(0, 99),
)
def test_augmentation_in_random_networks_equals_the_slow_twin(
    network: Network, histories: list[list[str]], a: int, weighting: Weighting, unknown: Unknown, seed: int
) -> None:
    assert_like_the_twin(weighed(profiles_of(histories), seed), network, a, weighting, unknown)


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.sampled_from(REAL_WORDS), min_size=1, max_size=9, unique=True), min_size=2, max_size=5),
    st.integers(0, 20),
    st.sampled_from(("paper", "content")),
)
def test_augmentation_in_wordnet_equals_the_slow_twin(histories: list[list[str]], a: int, weighting: Weighting) -> None:
    profiles = profiles_of(histories, owners=[h // 2 for h in range(len(histories))])  # two histories to a person
    assert_like_the_twin(profiles, wordnet(), a, weighting, "keep")


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from("abcdefghijkl"), min_size=1, max_size=6, unique=True), min_size=6, max_size=60),
    st.integers(0, 3),
    st.sampled_from(("paper", "content")),
    st.sampled_from(("drop", "keep")),
)
def test_augmentation_in_a_learnt_network_equals_the_slow_twin(
    histories: list[list[str]], a: int, weighting: Weighting, unknown: Unknown
) -> None:
    profiles = weighed(profiles_of(histories, owners=[h // 2 for h in range(len(histories))]), a)
    assert_like_the_twin(profiles, open_cooccurrence(profiles), a, weighting, unknown)


def test_with_content_a_term_in_two_senses_is_still_one_dimension() -> None:
    profiles = profiles_of([["java", "coffee"], ["java", "programming language"], ["dog"]])
    by_paper = augment(profiles, wordnet(), a=0, weighting="paper")
    by_content = augment(profiles, wordnet(), a=0, weighting="content")
    for features, n_shared in ((by_paper, 0), (by_content, 1)):
        coffee, language, _ = ({dimension for dimension, _ in row} for row in rows_of(features))
        assert len(coffee & language) == n_shared


def test_forms_of_one_lemma_are_one_dimension_and_add_up() -> None:
    features = augment(profiles_of([["dog", "dogs"], ["dog"]]), wordnet(), a=0, weighting="paper")
    assert rows_of(features) == [[(0, 2.0)], [(0, 1.0)]]


def test_another_form_of_the_term_is_no_evidence() -> None:
    # "pups" would speak for both senses of "pup", and for the one with fewer words on its path more
    features = augment(profiles_of([["pup", "pups"], ["pup"]]), wordnet(), a=0, weighting="paper")
    assert features.n_dimensions == 1


def test_unknown_terms_are_dropped_or_keep_a_dimension_each() -> None:
    profiles = profiles_of([["dog", "myspace", "xyzzy"], ["myspace"]])
    dropped = augment(profiles, wordnet(), a=0, weighting="paper", unknown="drop")
    kept = augment(profiles, wordnet(), a=0, weighting="paper", unknown="keep")
    assert (rows_of(dropped), dropped.n_dimensions) == ([[(0, 1.0)], []], 1)
    assert (rows_of(kept), kept.n_dimensions) == ([[(0, 1.0), (1, 1.0), (2, 1.0)], [(1, 1.0)]], 3)


def test_with_content_a_dimension_of_everybody_hardly_counts() -> None:
    profiles = profiles_of([[word] for word in ("dog", "cat", "car", "java", "love", "house", "bank", "tree")])
    everything = augment(profiles, wordnet(), a=99, weighting="content")
    entity = np.bincount(everything.ids, minlength=everything.n_dimensions).argmax()
    assert np.count_nonzero(everything.ids == entity) == profiles.n_histories
    assert everything.values[everything.ids == entity].max() < 0.03  # ½ · ln(9/8) / ln 9
    assert everything.values.max() == 1.0  # the term itself


def test_neighbours_are_added_in_a_network_without_hypernyms() -> None:
    together = [["myspace", "music", "band"]] * 6 + [["cars"]] * 20
    profiles = profiles_of(together)
    network = open_cooccurrence(profiles)
    alone = augment(profiles, network, a=0, weighting="content")
    spread = augment(profiles, network, a=1, weighting="content")
    assert np.diff(alone.indptr).tolist() == [3] * 6 + [1] * 20
    # each of the three gets 1 of its own and ½ · 1 from each of the two others, all weighed by content
    assert spread.values[:3] == pytest.approx(2 * alone.values[:3])
    paper = augment(profiles, network, a=1, weighting="paper")
    assert paper.values[:3].tolist() == [3.0, 3.0, 3.0]


def test_a_history_with_only_unknown_terms_has_no_dimension() -> None:
    profiles = profiles_of([["xyzzy"], ["qwfp", "xyzzy"]])
    for network in (wordnet(), open_cooccurrence(profiles)):
        features = augment(profiles, network, a=2, unknown="drop")
        assert (features.indptr.tolist(), features.n_dimensions) == ([0, 0, 0], 0)


def test_a_below_0_is_refused() -> None:
    with pytest.raises(InputError, match="at least 0, not -1"):
        augment(profiles_of([["dog"]]), wordnet(), a=-1)


def test_progress_runs_to_the_end() -> None:
    seen: list[tuple[str, int, int]] = []
    augment(profiles_of([["dog"], ["cat"]]), wordnet(), a=1, progress=lambda *report: seen.append(report))
    assert seen[0] == ("augmenting", 0, 4)
    assert seen[-1] == ("augmenting", 4, 4)


def test_chunks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    histories = [["java", "coffee", "island"], ["bank", "money"], ["river", "bank"], ["dog"]] * 3
    whole = augment(profiles_of(histories), wordnet(), a=2)
    monkeypatch.setattr("queryveil.semantics.augmentation._PAIRS_PER_CHUNK", 3)
    assert rows_of(augment(profiles_of(histories), wordnet(), a=2)) == rows_of(whole)


def test_paper_weights_are_1() -> None:
    profiles = weighted(profiles_of([["a", "a", "b"]]), "counts")
    assert weighted(profiles, "paper").weights is None


def test_count_weights_are_the_queries_that_contain_the_term() -> None:
    profiles = weighted(profiles_of([["a", "a", "b"], ["b"]]), "counts")
    assert [profiles.vocabulary[i] for i in profiles.ids] == ["b", "a", "b"]
    assert profiles.weights is not None
    assert profiles.weights.tolist() == [1.0, 2.0, 1.0]


def test_tfidf_counts_people_not_histories() -> None:
    profiles = weighted(profiles_of([["a", "a", "b"], ["a"], ["b"]], owners=[0, 0, 1]), "tfidf")
    weights = np.asarray(profiles.weights)
    by_term = {profiles.vocabulary[i]: w for i, w in zip(profiles.ids[:2], weights[:2], strict=True)}
    assert by_term["a"] == pytest.approx((1 + math.log(2)) * math.log(3 / 1))
    assert by_term["b"] == pytest.approx(math.log(3 / 2))
    assert (weights > 0).all()
