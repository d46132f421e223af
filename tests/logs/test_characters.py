"""From characters to terms: composed first, then the class, then lower case."""

import pytest

from queryveil.logs.terms import fold, terms


@pytest.mark.parametrize(
    ("text", "letters", "paper"),
    [
        ("Hello, World-2006!", ["hello", "world", "2006"], ["hello", "world", "2006"]),
        ("CAFE\u0301", ["café"], ["café"]),  # composed before the class is looked up
        ("İstanbul", ["istanbul"], ["istanbul"]),  # lower case would be two characters
        ("Øresund", ["øresund"], ["resund"]),
        ("où", ["où"], ["o"]),
        ("Ûber", ["ûber"], ["ûber"]),  # Û is in the paper's class, û is not: the class comes first
        ("Žižek Œuvre", ["žižek", "œuvre"], ["žižek", "œuvre"]),
        ("3×4÷2", ["3", "4", "2"], ["3", "4", "2"]),
        ("Москва", ["москва"], []),
        ("東京 タワー", ["東京", "タワー"], []),
        ("हिन्दी", ["हिन्दी"], []),  # vowel signs belong to their letter
        ("q\u0323uiz", ["q\u0323uiz"], ["q", "uiz"]),  # no composed form: a mark belongs to its letter
        ("١٢٣", ["١٢٣"], []),
        ("x² ½", ["x"], ["x"]),
        ("snake_case", ["snake", "case"], ["snake", "case"]),
        ("\u212b", ["å"], ["å"]),  # the Ångström sign composes to a letter
        ("", [], []),
        (" \t…", [], []),
    ],
)
def test_terms_by_class(text: str, letters: list[str], paper: list[str]) -> None:
    assert terms(text) == letters
    assert terms(text, "paper") == paper


@pytest.mark.parametrize("charset", ["letters", "paper"])
def test_folding_is_idempotent(charset: str) -> None:
    text = "Straße ÉCOLE naïve Ÿ Ǆ ß"
    once = fold(text, charset)
    assert [word for word in once.split() if fold(word, charset) != word] == []
