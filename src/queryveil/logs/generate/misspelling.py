"""Slips of the finger: one edit in one word of a query."""

import numpy as np

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = {
    letter: (row[at - 1 : at] or "") + row[at + 1 : at + 2] for row in _ROWS for at, letter in enumerate(row)
}
_SHORTEST = 4  # short words are rarely mistyped, and would no longer be readable


def misspell(query: str, rng: np.random.Generator) -> str:
    """Mistype one longer word of a query, or run its first words together; short words stay as they are."""
    words = query.split(" ")
    long = [at for at, word in enumerate(words) if len(word) >= _SHORTEST and word.isalpha()]
    if not long:
        return query
    if len(words) > 1 and rng.random() < 0.15:
        return " ".join([words[0] + words[1], *words[2:]])
    at = long[int(rng.integers(len(long)))]
    words[at] = _edit(words[at], rng)
    return " ".join(words)


def _edit(word: str, rng: np.random.Generator) -> str:
    """Drop, double, swap or replace a letter after the first, which is rarely wrong."""
    sort, at = rng.integers(4), int(rng.integers(1, len(word) - 1))
    before, letter, after = word[:at], word[at], word[at + 1 :]
    if sort == 0:
        return before + after
    if sort == 1:
        return before + letter + letter + after
    if sort == 2:
        return before + after[0] + letter + after[1:]
    near = _NEIGHBOURS.get(letter, letter)
    return before + near[int(rng.integers(len(near)))] + after
