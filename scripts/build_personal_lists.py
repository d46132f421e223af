"""Find the names and places that are ordinary words, for the lists of the method `ppp`, and compile the listed places.

    python -m scripts.build_personal_lists --out src/queryveil/lexicons/data

It reads the tables that `scripts.build_lexicons` compiled. WordNet's definitions are the measure of how ordinary a word
is: they hold 1.4 million words, and a name is written with a capital there. A name is an ordinary word if the
definitions and the concordance texts use it so more often than people bear it (`PER_USE`), or if WordNet knows it as
more than a name and few people bear it; so is the regular form of an ordinary word that hardly anybody bears. A place
is an ordinary word if definitions write it more often with a small letter. The same tables give the same bytes.
"""

import argparse
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa

from queryveil.lexicons import read_table
from queryveil.lexicons.word_lists import places
from queryveil.lexicons.wordnet import WordNet, glosses, load_wordnet
from scripts.build_lexicons import write
from scripts.listed_places import PLACES

PER_USE = 20  # thousandths of a per cent of people who make up for one use as an ordinary word
FREQUENT = 100  # thousandths of a per cent: more than a thousandth of people bear the name
RARE = 5  # thousandths of a per cent
ORDINARY = 5  # uses that make a word ordinary whose regular form is taken for that

# Written by hand: words of other languages, abbreviations and brands that queries use, which the lists have as names.
NOT_NAMES = """
alta andes bon borland cal che chevrolet chrysler costa del disney eng exe faire grande honda kawasaki kia latina los
mazda mcafee mercedes mitsubishi monte nissan olympus pantera playa porsche puerto remington rio san santa sierra
suzuki toyota trac trax volvo yamaha
"""
NOT_PLACES = """
a horizon, b horizon, bam, big board, c horizon, canadian, centre, d region, date line, e layer, e region, east,
eureka, f layer, f region, first state, free state, gent, great divide, green line, ground zero, left bank, limerick,
line of control, never-never, new flower, north, perm, rand, republican, right bank, sombrero, south, tamale, the
city, the hill, the states, west
"""


def count_uses() -> tuple[Counter[str], Counter[str]]:
    """Count the words of all definitions that are written in small letters, and those that begin with a capital."""
    ordinary: Counter[str] = Counter()
    capitalised: Counter[str] = Counter()
    for gloss in glosses().to_pylist():
        words = re.findall(r"(?<![\w'-])[A-Z]?[a-z]+(?![\w'-])", gloss)
        ordinary.update(word for word in words if word.islower())
        capitalised.update(word.lower() for word in words if not word.islower())
    return ordinary, capitalised


def concordance_count(wordnet: WordNet, lemma: str) -> int | None:
    """Count the uses of a lemma in the concordance texts as more than a name; None if it is no more than one."""
    number = wordnet.lemma_ids.get(lemma)
    if number is None:
        return None
    senses = range(wordnet.sense_indptr[number], wordnet.sense_indptr[number + 1])
    found = [int(wordnet.sense_counts[i]) for i in senses if not wordnet.is_instance(int(wordnet.sense_synsets[i]))]
    return sum(found) if found else None


def base_forms(word: str) -> set[str]:
    """Return the words whose plural, third person, past or participle this would be if it is regular."""
    found = set()
    if re.search(r"[^s]s$", word):
        found.add(word[:-1])
    if re.search(r"(s|x|z|ch|sh|o)es$", word):
        found.add(word[:-2])
    if re.search(r"[^aeiou]ies$", word):
        found.add(f"{word[:-3]}y")
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word.removesuffix(ending)
            found |= {stem, f"{stem}e"} | ({stem[:-1]} if stem[-1] == stem[-2] else set())
    return found


def is_form(word: str, wordnet: WordNet, uses: Counter[str]) -> bool:
    """Return whether a word is a form of an ordinary one."""
    bases = {*base_forms(word), *wordnet.exceptions.get(word, ())} - {word}
    counts = {base: concordance_count(wordnet, base) for base in bases}
    return any(count is not None and uses[base] + count >= ORDINARY for base, count in counts.items())


def ordinary_names(uses: Counter[str]) -> set[str]:
    """Return the names that are ordinary words."""
    wordnet, names = load_wordnet(), read_table("names")
    share: dict[str, int] = {}
    for name, number in zip(names["name"].to_pylist(), names["share"].to_pylist(), strict=True):
        share[name] = max(share.get(name, 0), number)
    found = set(NOT_NAMES.split())
    for name, number in share.items():
        tagged = concordance_count(wordnet, name)
        is_known = tagged is not None and number < FREQUENT
        n_uses = uses[name] + (tagged or 0)
        if is_known or PER_USE * n_uses > number or (number < RARE and is_form(name, wordnet, uses)):
            found.add(name)
    return found & share.keys()


def ordinary_places(uses: Counter[str], capitalised: Counter[str]) -> set[str]:
    """Return the names of places that are ordinary words or phrases."""
    listed = {phrase.strip() for phrase in NOT_PLACES.replace("\n", " ").split(",")}
    return {name for name in places() if name in listed or uses[name] > capitalised[name]} - PLACES


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description="Compile the lists of the method ppp from the other tables.")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write the tables to")
    out = parser.parse_args().out
    uses, capitalised = count_uses()
    ordinary = {"name": ordinary_names(uses), "place": ordinary_places(uses, capitalised)}
    rows = [(kind, word) for kind, words in ordinary.items() for word in sorted(words)]
    kinds, words = zip(*rows, strict=True)
    write(pa.table({"list": pa.array(kinds), "word": pa.array(words)}), out / "ordinary-words.parquet")
    write(pa.table({"name": pa.array(sorted(PLACES))}), out / "listed-places.parquet")


if __name__ == "__main__":
    main()
