import re
from collections import Counter

import numpy as np
import pytest

from queryveil.logs.generate.invented import (
    IDENTIFIERS,
    RareTerms,
    brand_names,
    direct_identifiers,
    misspell,
    model_numbers,
    screen_names,
    site_names,
    town_names,
)
from queryveil.logs.generate.shape import Slot
from queryveil.logs.scrub import scrub


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def edits(word: str) -> set[str]:
    """Return every word that one slip after the first letter can make of a word."""
    cuts = [(word[:at], word[at:]) for at in range(1, len(word))]
    dropped = {a + b[1:] for a, b in cuts}
    doubled = {a + a[-1] + b for a, b in cuts}
    swapped = {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    replaced = {a + letter + b[1:] for a, b in cuts for letter in "abcdefghijklmnopqrstuvwxyz"}
    return dropped | doubled | swapped | replaced


def test_names_of_sites_and_brands_are_single_words_and_all_different() -> None:
    for make in (site_names, brand_names):
        names = make(3_000, rng())
        assert len(set(names)) == 3_000
        assert all(re.fullmatch("[a-z]+", name) for name in names)


def test_other_names_have_the_expected_form() -> None:
    assert all(re.fullmatch("[a-z]{1,2}[0-9]{1,4}", model) for model in model_numbers(500, rng()))
    assert all("jenny" in name and name[-1].isdigit() for name in screen_names(["jenny"] * 100, rng()))
    assert all(town.startswith("smith") and len(town) > 5 for town in town_names(50, ("smith",), rng()))


def test_a_misspelled_word_is_one_edit_away() -> None:
    words = ["chicken", "soup", "restaurant"] * 200
    for word, typed in zip(words, misspell(words, rng()), strict=True):
        assert typed in edits(word)


def test_only_long_words_of_a_phrase_are_misspelled() -> None:
    phrases = ["the chicken soup"] * 400
    typed = misspell(phrases, rng())
    assert all(text.startswith("the ") and text.endswith(" soup") for text in typed)
    assert all(text.split(" ")[1] in edits("chicken") for text in typed)
    untouched = ["www", "car", "ab12", "jane.doe5@example.com", "312-555-0100"]
    assert misspell(untouched, rng()) == untouched


@pytest.mark.parametrize("slot", IDENTIFIERS)
def test_direct_identifiers_are_fictitious_and_scrubbed(slot: Slot) -> None:
    for text in direct_identifiers(slot, [("jane", "doe")] * 200, rng()):
        assert re.search(r"@example\.com$|-555-01\d\d$|^000", text)
        assert scrub(text)[0].strip() == ""


def test_rare_terms_are_never_repeated_nor_in_use() -> None:
    in_use = ["aardvark", "smith"]
    terms = RareTerms(in_use)
    generator = rng()
    taken = [*terms.take(5_000, generator), *terms.take(20_000, generator)]
    assert len(set(taken)) == len(taken) == 25_000
    assert not set(taken) & set(in_use)
    assert all(re.fullmatch("[a-z0-9]+", term) for term in taken)
    assert min(Counter(term[-1].isdigit() for term in taken).values()) > 1_000  # words, and models or screen names
