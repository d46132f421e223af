import numpy as np
import pytest

from queryveil.core.rows import IntArray
from queryveil.logs.generate import ALTAVISTA, DEMO
from queryveil.logs.generate.lexicon import NOTHING, Ids, QueryLexicon
from queryveil.logs.generate.people import SyntheticPeople, make_people
from queryveil.logs.generate.queries import QueryGenerator
from queryveil.logs.generate.shape import LogShape, Slot
from queryveil.logs.generate.word_sources import build_lexicon

PEOPLE = 3_000

Made = tuple[QueryLexicon, SyntheticPeople, IntArray, Ids]


def make(shape: LogShape) -> Made:
    rng = np.random.default_rng(6)
    lexicon = build_lexicon(shape, rng)
    generator = QueryGenerator(shape, lexicon, rng)
    people = make_people(PEOPLE, shape, lexicon, rng)
    return (lexicon, people, *generator.make_queries(people))


@pytest.fixture(scope="module")
def demo() -> Made:
    return make(DEMO)


@pytest.fixture(scope="module")
def altavista() -> Made:
    return make(ALTAVISTA)


@pytest.mark.parametrize("shape", ["demo", "altavista"])
def test_everybody_types_their_number_of_queries_without_gaps(shape: str, request: pytest.FixtureRequest) -> None:
    lexicon, people, owners, queries = request.getfixturevalue(shape)
    assert np.bincount(owners, minlength=PEOPLE).tolist() == people.n_queries.tolist()
    is_entry = queries != NOTHING
    assert is_entry[:, 0].all()
    assert (is_entry[:, 1:] <= is_entry[:, :-1]).all()
    assert queries.max() < len(lexicon.texts)


def test_a_query_has_no_entry_twice_unless_it_is_misspelled(altavista: Made) -> None:
    queries = np.sort(altavista[3], axis=1)
    assert not ((queries[:, 1:] == queries[:, :-1]) & (queries[:, 1:] != NOTHING)).any()


def test_bots_ask_the_same_about_many_towns(demo: Made) -> None:
    lexicon, people, owners, queries = demo
    towns = set(lexicon.samplers[Slot.HOME_TOWN].ids.tolist())
    assert people.is_bot.any()
    for bot in np.flatnonzero(people.is_bot):
        own = queries[owners == bot]
        _, counts = np.unique(own[:, 0], return_counts=True)
        assert counts.max() > 0.8 * len(own)  # the others are misspelled
        assert np.mean([town in towns for town in own[:, 1].tolist()]) > 0.8


def test_operators_combine_terms_by_or(altavista: Made) -> None:
    lexicon, people, owners, queries = altavista
    operator = lexicon.samplers[Slot.OPERATOR].ids[0]
    has_operator = (queries == operator).any(axis=1)
    assert people.is_operator.any()
    assert has_operator[people.is_operator[owners]].mean() > 0.95
    assert not has_operator[~people.is_operator[owners]].any()
