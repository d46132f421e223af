import subprocess
import sys

import numpy as np
import pytest

from queryveil.lexicons.wordnet import ADJECTIVE, ADVERB, NOUN, VERB, WordNet, glosses, load_relations, load_wordnet


@pytest.fixture(scope="module")
def wordnet() -> WordNet:
    return load_wordnet()


def test_counts_are_those_princeton_publishes_for_wordnet_3(wordnet: WordNet) -> None:
    # wnstats(7WN): synsets and word-sense pairs by part of speech
    assert wordnet.n_synsets == 117_659
    by_part = np.bincount(wordnet.parts)
    assert by_part[[NOUN, VERB, ADJECTIVE, ADVERB]].tolist() == [82_115, 13_767, 18_156, 3_621]
    senses = np.bincount(wordnet.parts[wordnet.sense_synsets])
    assert senses.tolist() == [146_312, 25_047, 30_002, 5_580]
    assert len(wordnet.lemmas) == 147_306
    assert len(glosses()) == wordnet.n_synsets


def test_all_hypernym_edges_of_both_kinds_are_present(wordnet: WordNet) -> None:
    assert np.count_nonzero(wordnet.hypernym_is_instance) == 8_577
    assert np.count_nonzero(~wordnet.hypernym_is_instance) == 75_850 + 13_239
    assert wordnet.hypernym_synsets.dtype == np.int32
    assert wordnet.hypernym_indptr[-1] == len(wordnet.hypernym_synsets)


def test_relations_of_every_kind_are_present_in_both_directions(wordnet: WordNet) -> None:
    indptr, related = load_relations()
    rows = np.repeat(np.arange(wordnet.n_synsets), np.diff(indptr))
    pairs = set(zip(rows.tolist(), related.tolist(), strict=True))
    assert pairs == {(b, a) for a, b in pairs}
    below = np.repeat(np.arange(wordnet.n_synsets), np.diff(wordnet.hypernym_indptr))
    hypernyms = set(zip(below.tolist(), wordnet.hypernym_synsets.tolist(), strict=True))
    assert hypernyms <= pairs
    assert len({frozenset(pair) for pair in pairs - hypernyms} - {frozenset(pair) for pair in hypernyms}) == 86_123
    car, door = wordnet.synsets("car")[0], wordnet.synsets("car door")[0]
    assert (int(car), int(door)) in pairs  # a part
    assert any((int(a), int(b)) in pairs for a in wordnet.synsets("drive", VERB) for b in wordnet.synsets("driver"))


def test_java_is_an_island_a_coffee_and_a_programming_language_in_that_order(wordnet: WordNet) -> None:
    island, coffee, language = (wordnet.gloss(synset) for synset in wordnet.synsets("Java"))
    assert "island" in island
    assert "beverage" in coffee
    assert "programming language" in language


def test_hypernyms_of_dog(wordnet: WordNet) -> None:
    dog = wordnet.synsets("dog")[0]
    edges = slice(wordnet.hypernym_indptr[dog], wordnet.hypernym_indptr[dog + 1])
    above = [wordnet.words(synset) for synset in wordnet.hypernym_synsets[edges]]
    assert above == [("canine", "canid"), ("domestic animal", "domesticated animal")]
    assert dog in wordnet.hyponyms(wordnet.synsets("canine", NOUN)[1])


def test_words_of_a_synset_are_in_wordnets_order(wordnet: WordNet) -> None:
    assert wordnet.words(wordnet.synsets("auto")[0]) == ("car", "auto", "automobile", "machine", "motorcar")


def test_nouns_come_before_other_parts_of_speech(wordnet: WordNet) -> None:
    parts = wordnet.parts[wordnet.synsets("run")]
    assert parts.tolist() == sorted(parts)
    assert set(parts) == {NOUN, VERB}
    assert (wordnet.parts[wordnet.synsets("run", VERB)] == VERB).all()


def test_is_instance_distinguishes_individuals_from_classes(wordnet: WordNet) -> None:
    assert wordnet.is_instance(wordnet.synsets("paris")[0])
    assert not wordnet.is_instance(wordnet.synsets("city")[0])


def test_lookup_folds_case_and_underscores(wordnet: WordNet) -> None:
    assert len(wordnet.synsets("new york")) > 0
    assert wordnet.synsets("New_York").tolist() == wordnet.synsets("new york").tolist()
    assert len(wordnet.synsets("queryveil")) == 0


def test_irregular_forms_map_to_their_base_forms(wordnet: WordNet) -> None:
    assert wordnet.exceptions["geese"] == ("goose",)
    assert wordnet.exceptions["axes"] == ("ax", "axis")
    assert wordnet.exceptions["better"] == ("good", "well")
    assert "dogs" not in wordnet.exceptions


def test_tag_counts_fall_with_the_sense_number(wordnet: WordNet) -> None:
    lemma = wordnet.lemma_ids["dog"]
    counts = wordnet.sense_counts[wordnet.sense_indptr[lemma] : wordnet.sense_indptr[lemma + 1]]
    assert counts[0] == 42
    assert counts[0] == counts.max()


def test_every_lemma_has_a_sense_and_every_synset_a_word(wordnet: WordNet) -> None:
    assert np.diff(wordnet.sense_indptr).min() >= 1
    assert np.diff(wordnet.word_indptr).min() >= 1
    assert list(wordnet.lemmas) == sorted(set(wordnet.lemmas))


def test_adjectives_lose_their_markers(wordnet: WordNet) -> None:
    assert not any("(" in lemma for lemma in wordnet.lemmas)


def test_importing_reads_no_table() -> None:
    code = (
        "from queryveil.lexicons import word_lists, wordnet\n"
        "assert wordnet.load_wordnet.cache_info().currsize == 0\n"
        "assert wordnet.glosses.cache_info().currsize == 0\n"
        "wordnet.load_wordnet()\n"
        "assert wordnet.glosses.cache_info().currsize == 0\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_familiar_lemmas_are_counted_in_the_glosses(wordnet: WordNet) -> None:
    counts = {lemma: wordnet.gloss_counts[wordnet.lemma_ids[lemma]] for lemma in ("dog", "ice cream", "dogie")}
    assert counts["dog"] > counts["ice cream"] > counts["dogie"]
