import numpy as np
import pyarrow as pa
import pytest

from queryveil.logs.generate import ALTAVISTA, DEMO
from queryveil.logs.generate.lexicon import NOTHING, Ids, QueryLexicon, WeightedIds, repeated
from queryveil.logs.generate.shape import LONGEST, Slot, Zipf
from queryveil.logs.generate.word_sources import build_lexicon

DRAWS = 200_000
TEXTS = ["soup", "crock pot", "pot", "jane.doe5@example.com", "how to make chicken"]


@pytest.fixture(scope="module")
def demo() -> QueryLexicon:
    return build_lexicon(DEMO, np.random.default_rng(1))


@pytest.fixture
def phrases() -> QueryLexicon:
    return QueryLexicon(pa.array(TEXTS), {}, n_rare=0, has_phrases=True)


def rows(*queries: list[int]) -> Ids:
    return np.array([query + [NOTHING] * (LONGEST - len(query)) for query in queries], np.int32)


def words(lexicon: QueryLexicon, ids: Ids) -> list[list[str]]:
    texts = lexicon.texts.to_pylist()
    return [[texts[entry] for entry in row if entry != NOTHING] for row in ids.tolist()]


def test_adding_a_text_twice_gives_the_same_id(phrases: QueryLexicon) -> None:
    assert phrases.add(["soup", "new", "pot", "new"]).tolist() == [0, 5, 2, 5]
    assert phrases.texts.to_pylist() == [*TEXTS, "new"]


def test_entries_are_split_into_distinct_terms(phrases: QueryLexicon) -> None:
    terms = phrases.terms_of(rows([0, 1, 2], [3], []))
    assert words(phrases, terms) == [["soup", "crock", "pot"], ["jane", "doe5", "example", "com"], []]
    assert terms.shape == (3, LONGEST)


def test_queries_are_shortened_to_the_longest_number_of_terms(phrases: QueryLexicon) -> None:
    queries = rows([4, 3, 0], [1, 4, 2])
    phrases.shorten(queries)
    assert words(phrases, queries) == [[TEXTS[4], TEXTS[3]], [TEXTS[1], TEXTS[4], TEXTS[2]]]


def test_without_phrases_entries_are_terms() -> None:
    lexicon = QueryLexicon(pa.array(["a", "b"]), {}, n_rare=0, has_phrases=False)
    queries = rows([1, 0])
    assert lexicon.terms_of(queries) is queries


def test_rare_terms_are_made_up_once_when_they_are_used() -> None:
    lexicon = QueryLexicon(pa.array(["a", "b"]), {}, n_rare=10, has_phrases=False)
    first, second = rows([0, 7, 4]), rows([4, 1, 9])
    lexicon.replace_rare_ids(first, np.random.default_rng(1))
    lexicon.replace_rare_ids(second, np.random.default_rng(2))
    assert first[0, :3].tolist() == [0, 3, 2]  # by rank among the new ones
    assert second[0, :3].tolist() == [2, 1, 4]
    assert len(set(lexicon.texts.to_pylist())) == 5


def test_repeated_entries_are_marked_after_the_first() -> None:
    assert repeated(np.array([[3, 4, 3, NOTHING, NOTHING]])).tolist() == [[False, False, True, False, False]]


def test_home_towns_and_states_are_parallel(demo: QueryLexicon) -> None:
    towns, states = (demo.samplers[slot].ids for slot in (Slot.HOME_TOWN, Slot.HOME_STATE))
    assert len(towns) == len(states) == DEMO.sizes.home_towns
    named = dict(zip(demo.texts.take(towns).to_pylist(), demo.texts.take(states).to_pylist(), strict=True))
    assert (named["chicago"], named["los angeles"]) == ("illinois", "california")


def test_a_lexicon_has_the_slots_of_its_shape_only(demo: QueryLexicon) -> None:
    assert {Slot.GLUE, Slot.RARE, Slot.STATE}.isdisjoint(demo.samplers)
    web = build_lexicon(ALTAVISTA, np.random.default_rng(1))
    assert {Slot.HOME_TOWN, Slot.TOPIC_PLURAL, Slot.FAMOUS_NAME}.isdisjoint(web.samplers)
    assert not any(" " in text for text in web.texts.to_pylist())
    assert "high school" in demo.texts.to_pylist()


@pytest.mark.parametrize("law", [Zipf(0.7, 8.0), Zipf(0.95, 300.0), Zipf(1.3, 2.0), Zipf(0.0, 0.0)])
def test_ids_are_drawn_by_the_law(law: Zipf) -> None:
    sampler = WeightedIds.of([np.arange(50, dtype=np.int32)], law)
    drawn = sampler.draw_many(DRAWS, np.random.default_rng(5))
    expected = (np.arange(1, 51) + law.shift) ** -law.exponent
    np.testing.assert_allclose(np.bincount(drawn, minlength=50) / DRAWS, expected / expected.sum(), atol=0.01)


def test_every_group_draws_its_own_ids() -> None:
    sampler = WeightedIds.of([np.array([3, 4], np.int32), np.array([7], np.int32)], Zipf(0.9, 1.0))
    groups = np.array([0, 1] * 100)
    drawn = sampler.draw(groups, np.random.default_rng(1))
    assert set(drawn[groups == 0].tolist()) == {3, 4}
    assert set(drawn[groups == 1].tolist()) == {7}


def test_the_ends_of_the_interval_map_to_the_first_and_last_id() -> None:
    sampler = WeightedIds.of([np.arange(9, dtype=np.int32)], Zipf(0.95, 300.0))
    uniform = np.array([0.0, np.nextafter(1.0, 0.0)])
    assert sampler.positions(uniform).tolist() == [0, 8]
