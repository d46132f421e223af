"""Answers to queries: re-ranked by a profile, explained, or with a note why not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from queryveil.core.errors import InputError
from queryveil.search.answers import NO_TERM, NO_WORD, SearchOptions, answer, answer_uncompiled, contributions
from queryveil.search.index import Index
from queryveil.search.ranking import RankingProfile
from queryveil.search.ranking_settings import PAPER, RANKINGS, RankingSettings
from tests.search.small_index import index_of

TEXTS = [("java", "an island"), ("java", "a language"), ("java", "coffee beans and more coffee"), ("tea", "leaves")]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("answers")
    return index_of(TEXTS, folder)


def test_without_a_profile_the_engines_order_is_kept(index: Index) -> None:
    found = answer(index, "java", options=SearchOptions(n=2, explain=True))
    assert [(hit.rank, hit.engine_rank, hit.id) for hit in found.hits] == [(1, 1, "0"), (2, 2, "1")]
    assert [hit.terms for hit in found.hits] == [(), ()]
    assert (found.query, found.note) == ("java", "")


def test_a_profile_reranks_and_is_explained(index: Index) -> None:
    profile = RankingProfile(index.vector(["coffee", "java", "tea"], [3.0, 1.0, 0.001]))
    options = SearchOptions(ranking=RANKINGS[PAPER], explain=True)
    found = answer(index, "java", profile, options)
    first = found.hits[0]
    assert (first.rank, first.engine_rank, first.id) == (1, 3, "2")
    assert [term for term, _ in first.terms] == ["coffee", "java"]
    assert sum(added for _, added in first.terms) == pytest.approx(first.score)
    assert first.terms == contributions(index, 2, profile, RANKINGS[PAPER])
    assert answer_uncompiled(index, "java", profile, options) == found


def test_terms_without_weight_explain_nothing(index: Index) -> None:
    profile = RankingProfile(index.vector(["leaf", "tea"], [1.0, 0.0001]))
    assert [term for term, _ in contributions(index, 3, profile, RANKINGS[PAPER])] == ["leaf"]


def test_everybody_explains_in_proportion_to_shrink(index: Index) -> None:
    tea, leaf = index.vector(["tea"], [1.0]), index.vector(["leaf"], [1.0])
    found = dict(contributions(index, 3, RankingProfile(tea, leaf), RankingSettings(0.5, 0.25, 0.5)))
    assert found == pytest.approx({"tea": 0.75 * np.sqrt(0.5), "leaf": 0.25 * np.sqrt(0.5)}, abs=1e-6)


def test_only_the_first_results_are_reranked(index: Index) -> None:
    profile = RankingProfile(index.vector(["coffee"], [1.0]))
    assert [hit.id for hit in answer(index, "java", profile, SearchOptions(n=1, depth=2)).hits] == ["0"]
    assert [hit.id for hit in answer(index, "java", profile, SearchOptions(n=3, depth=2)).hits] == ["2", "0", "1"]


def test_notes_say_why_nothing_was_found_or_changed(index: Index) -> None:
    assert answer(index, "?!").note == NO_WORD
    assert answer(index, "zebra").note == ""
    unknown = answer(index, "java", RankingProfile(index.vector(["zebra"], [1.0])), SearchOptions(explain=True))
    assert unknown.note == NO_TERM
    assert [hit.id for hit in unknown.hits] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be a whole number of at least 1, not 0"),
        ({"depth": 0}, "depth must be a whole number of at least 1, not 0"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SearchOptions(**options)


def test_a_group_without_a_known_term_is_ranked_by_everybody(index: Index) -> None:
    unknown, coffee = index.vector(["zebra"], [1.0]), index.vector(["coffee"], [1.0])
    found = answer(index, "java", RankingProfile(unknown, coffee), SearchOptions())
    assert (found.hits[0].id, found.note) == ("2", "")
    alone = SearchOptions(ranking=RankingSettings(blend=0, shrink=0.25, query_weight=0.5))
    with_empty_group = answer(index, "java", RankingProfile(unknown, coffee), alone)
    assert with_empty_group == answer(index, "java", RankingProfile(coffee), alone)  # everybody has the group's weight
    paper = answer(index, "java", RankingProfile(unknown, coffee), SearchOptions(ranking=RANKINGS[PAPER]))
    assert ([hit.id for hit in paper.hits], paper.note) == (["0", "1", "2"], NO_TERM)
