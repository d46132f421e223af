"""Count the queries of a log with a name, place or private word of the method `ppp`, and print a sample of the words.

    python -m scripts.personal_hits LOG --sample 100

The words are those of the log: print them only where it may be read. Private words are counted, not sampled, since
these are ordinary words by design.
"""

import argparse
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

import queryveil
from queryveil.lexicons.word_lists import PersonalWordLists
from queryveil.logs.terms import terms
from queryveil.sensitivity.lists import load_lists
from queryveil.sensitivity.model import BAYES, load_model

KINDS = ("name", "two words", "place", "private word")


def find_hits(words: list[str], lists: PersonalWordLists) -> Iterator[tuple[str, str]]:
    """Yield (what it is, the words) of every hit in a query."""
    yield from (("name", word) for word in words if word in lists.names)
    pairs = (pair for pair in pairwise(words) if lists.names.isdisjoint(pair))
    yield from (("two words", f"{a} {b}") for a, b in pairs if a in lists.first_names and b in lists.last_names)
    for first in range(len(words)):
        for end in range(first + 1, len(words) + 1):
            phrase = " ".join(words[first:end])
            yield from (("place", phrase) for _ in range(phrase in lists.places))
            yield from (("private word", phrase) for _ in range(phrase in lists.words))


def main() -> None:
    """Read the command line and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--sample", type=int, default=100, help="how many hits to print")
    options = parser.parse_args()
    with queryveil.read(options.log) as log:
        queries = [words for text in log.to_arrow()["query"].to_pylist() if (words := terms(text))]
    lists = load_lists()
    found = [[*dict.fromkeys(find_hits(words, lists))] for words in queries]
    is_sensitive = load_model(BAYES).probabilities([" ".join(words) for words in queries]) >= 0.5
    has = {kind: np.array([any(k == kind for k, _ in hits) for hits in found]) for kind in KINDS}
    has["any of them"] = np.array([bool(hits) for hits in found])
    print(f"{len(queries):,} queries with a term")
    for kind, which in has.items():
        print(f"{kind}: {np.count_nonzero(which):,} queries, {100 * which.mean():.1f} %")
    shares = [100 * is_sensitive[which].mean() for which in (has["any of them"], ~has["any of them"])]
    print(f"sensitive with probability 0.5 or more: {shares[0]:.1f} % of these, {shares[1]:.1f} % of the others")
    words = [f"{word} ({kind})" for hits in found for kind, word in hits if kind != "private word"]
    chosen = np.random.default_rng(0).choice(len(words), min(options.sample, len(words)), replace=False)
    print(", ".join(words[i] for i in sorted(chosen.tolist())))


if __name__ == "__main__":
    main()
