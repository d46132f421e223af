import numpy as np

from queryveil.lexicons import names, places, stop_words
from queryveil.lexicons.wordnet import load


def test_name_lists_are_whole_and_the_commonest_first() -> None:
    assert len(names.last_names()) == 88_799
    assert len(names.female_names()) == 4_275
    assert len(names.male_names()) == 1_219
    assert names.last_names().names[:3] == ("smith", "johnson", "williams")
    assert names.female_names().names[0] == "mary"
    assert names.male_names().names[0] == "james"


def test_shares_fall_and_sum_to_the_census_coverage() -> None:
    shares = names.last_names().shares
    assert shares[0] == 1_006
    assert (np.diff(shares) <= 0).all()
    assert 85_000 < names.male_names().shares.sum() < 95_000  # the lists leave about a tenth of people out


def test_places_hold_cities_and_states() -> None:
    known = places.load()
    assert {place.kind for place in known["paris"]} == {"city"}
    assert len(known["paris"]) == 2  # France and Texas
    assert {place.kind for place in known["texas"]} == {"state"}
    assert "island" in {place.kind for place in known["java"]}
    assert "mountain" in {place.kind for place in known["mount everest"]}


def test_places_are_not_kinds_or_imaginary() -> None:
    known = places.load()
    assert not {"city", "heaven", "atlantis", "taurus", "albert einstein"} & set(known)


def test_every_place_is_an_instance_of_a_declared_kind() -> None:
    wordnet = load()
    for name, found in places.load().items():
        for place in found:
            assert place.kind in places.KINDS
            assert wordnet.is_instance(place.synset)
            assert name in wordnet.words(place.synset)


def test_named_lists_one_kind() -> None:
    cities = places.named("city")
    assert "chicago" in cities
    assert "texas" not in cities


def test_stop_words_are_lucenes() -> None:
    assert len(stop_words.ENGLISH) == 33
    assert {"a", "into", "with"} <= stop_words.ENGLISH
    assert "from" not in stop_words.ENGLISH  # as in Lucene
