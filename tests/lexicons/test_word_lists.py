from queryveil.lexicons import read_table
from queryveil.lexicons.word_lists import PLACE_KINDS, STOP_WORDS, load_names, places
from queryveil.lexicons.wordnet import load_wordnet


def test_name_lists_are_complete_and_sorted_by_frequency() -> None:
    assert len(load_names("last")) == 88_799
    assert len(load_names("female")) == 4_275
    assert len(load_names("male")) == 1_219
    assert load_names("last")[:3] == ("smith", "johnson", "williams")
    assert load_names("female")[0] == "mary"
    assert load_names("male")[0] == "james"


def test_shares_fall_and_sum_to_the_census_coverage() -> None:
    rows = read_table("names").to_pylist()
    share = {row["name"]: row["share"] for row in rows if row["list"] == "last"}
    shares = [share[name] for name in load_names("last")]
    assert shares[0] == 1_006
    assert shares == sorted(shares, reverse=True)
    men = sum(row["share"] for row in rows if row["list"] == "male")
    assert 85_000 < men < 95_000  # the lists leave about a tenth of people out


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


def test_stop_words_are_lucenes() -> None:
    assert len(STOP_WORDS) == 33
    assert {"a", "into", "with"} <= STOP_WORDS
    assert "from" not in STOP_WORDS  # as in Lucene
