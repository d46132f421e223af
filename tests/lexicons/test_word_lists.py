import numpy as np

from queryveil.lexicons.word_lists import (
    PLACE_KINDS,
    STOP_WORDS,
    female_names,
    last_names,
    male_names,
    places,
    places_of_kind,
)
from queryveil.lexicons.wordnet import load_wordnet


def test_name_lists_are_complete_and_sorted_by_frequency() -> None:
    assert len(last_names()) == 88_799
    assert len(female_names()) == 4_275
    assert len(male_names()) == 1_219
    assert last_names().names[:3] == ("smith", "johnson", "williams")
    assert female_names().names[0] == "mary"
    assert male_names().names[0] == "james"


def test_shares_fall_and_sum_to_the_census_coverage() -> None:
    shares = last_names().shares
    assert shares[0] == 1_006
    assert (np.diff(shares) <= 0).all()
    assert 85_000 < male_names().shares.sum() < 95_000  # the lists leave about a tenth of people out


def test_places_include_cities_and_states() -> None:
    known = places()
    assert {place.kind for place in known["paris"]} == {"city"}
    assert len(known["paris"]) == 2  # France and Texas
    assert {place.kind for place in known["texas"]} == {"state"}
    assert "island" in {place.kind for place in known["java"]}
    assert "mountain" in {place.kind for place in known["mount everest"]}


def test_places_are_not_kinds_or_imaginary() -> None:
    known = places()
    assert not {"city", "heaven", "atlantis", "taurus", "albert einstein"} & set(known)


def test_every_place_is_an_instance_of_a_declared_kind() -> None:
    wordnet = load_wordnet()
    for name, found in places().items():
        for place in found:
            assert place.kind in PLACE_KINDS
            assert wordnet.is_instance(place.synset)
            assert name in wordnet.words(place.synset)


def test_places_of_kind_lists_one_kind() -> None:
    cities = places_of_kind("city")
    assert "chicago" in cities
    assert "texas" not in cities


def test_stop_words_are_lucenes() -> None:
    assert len(STOP_WORDS) == 33
    assert {"a", "into", "with"} <= STOP_WORDS
    assert "from" not in STOP_WORDS  # as in Lucene
