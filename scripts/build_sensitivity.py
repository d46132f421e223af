"""Make the bundled sensitivity model and the list of private words, and say how good the model is.

    python -m scripts.build_sensitivity --wordnet /usr/share/wordnet --out src/queryveil/lexicons/data

The model is trained on the compiled WordNet that ships with queryveil; the private words come from pointers of
WordNet's own files that are not compiled. The same input and the same libraries give the same bytes.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa

from queryveil.lexicons.wordnet import load
from queryveil.logs.characters import terms
from queryveil.sensitivity.bundled import NAME, SETTING, examples
from queryveil.sensitivity.files import Record, model_bytes
from queryveil.sensitivity.topics import NEUTRAL, SENSITIVE, labelled
from queryveil.sensitivity.training import Judgement, cross_validate, train
from queryveil.sensitivity.words import base_of
from scripts.build_lexicons import PARTS, fold, lines, write

Key = tuple[int, int]  # part of speech, byte offset

PARTS_OF_POINTERS = {"n": 0, "v": 1, "a": 2, "s": 2, "r": 3}
# Private is what belongs to one of these fields (pointer ;c) or is used so (pointer ;u); by the synset's first word.
FIELDS = {
    "law",
    "criminal_law",
    "crime",
    "terrorism",
    "politics",
    "government",
    "tax",
    "finance",
    "gambling",
    "drug",
    "medicine",
    "surgery",
    "pathology",
    "psychiatry",
    "psychoanalysis",
    "psychology",
    "obstetrics",
    "dentistry",
    "religion",
    "theology",
    "church_service",
    "Roman_Catholic",
    "Christianity",
    "Judaism",
    "Islam",
    "Hinduism",
    "Buddhism",
}
USAGES = {"disparagement", "ethnic_slur", "obscenity", "euphemism", "street_name"}


def private_words(folder: Path) -> list[str]:
    """Return words whose usual sense belongs to a private field or usage, none of which the model was trained on."""
    words, pointers = read_pointers(folder)
    network, trained = load(), trained_words()
    number = {(int(p), int(o)): i for i, (p, o) in enumerate(zip(network.parts, network.offsets, strict=True))}
    wanted = {";c": FIELDS, ";u": USAGES}
    chosen: set[str] = set()
    for key, found in pointers.items():
        if any(words[part, at][0] in wanted.get(symbol, ()) for symbol, part, at in found):
            chosen |= {fold(word) for word in words[key] if is_usual(fold(word), number[key])}
    return sorted(word for word in chosen if len(word) > 2 and not is_trained(word, trained))


def read_pointers(folder: Path) -> tuple[dict[Key, list[str]], dict[Key, list[tuple[str, int, int]]]]:
    """Read the words of every synset, and where it points: symbol, part of speech and byte offset."""
    words: dict[Key, list[str]] = {}
    pointers: dict[Key, list[tuple[str, int, int]]] = {}
    for part, suffix in enumerate(PARTS):
        for line in lines(folder / f"data.{suffix}"):
            offset, _, _, n_words, *rest = line.partition(" | ")[0].split()
            end = 2 * int(n_words, 16)
            found = rest[end + 1 : end + 1 + 4 * int(rest[end])]
            words[part, int(offset)] = rest[:end:2]
            pointers[part, int(offset)] = [
                (symbol, PARTS_OF_POINTERS[of], int(at))
                for symbol, at, of in zip(found[::4], found[1::4], found[2::4], strict=True)
            ]
    return words, pointers


def is_usual(lemma: str, synset: int) -> bool:
    """Say whether a synset is a lemma's most frequent sense, over all parts of speech."""
    network = load()
    place = network.lemma_ids[lemma]
    senses = slice(network.sense_indptr[place], network.sense_indptr[place + 1])
    return int(network.sense_synsets[senses][np.argmax(network.sense_counts[senses])]) == synset


def trained_words() -> set[str]:
    """Return the lemmas and everyday words that were labelled to train the model."""
    network = load()
    found = {lemma for each in labelled() for lemma in network.words(each.synset)}
    return found | {base_of(word) for topic in (*SENSITIVE, *NEUTRAL) for word in topic.everyday.split()}


def is_trained(word: str, trained: set[str]) -> bool:
    """Say whether a word, as it is written or folded, is among those the model was trained on."""
    folded = " ".join(terms(word))
    return word in trained or folded in trained or base_of(folded) in trained


def show(judgement: Judgement) -> None:
    """Print how good the model is."""
    print(f"{judgement.texts:,} definitions, {judgement.sensitive:,} of them sensitive, folds split by lemma:")
    for name in ("accuracy", "balanced_accuracy", "precision", "recall", "calibration_error"):
        print(f"  {name.replace('_', ' ')}: {getattr(judgement, name):.3f}")


def build(wordnet: Path, out: Path) -> None:
    """Judge and train the model, and write both tables."""
    texts, judged = examples()
    show(cross_validate(texts, SETTING, rng=np.random.default_rng(0), judged=judged))
    model = train(texts, SETTING, name=NAME)
    data = model_bytes(Record(model.words, model.weights, model.base, model.name))
    temporary = out / "sensitivity.parquet.tmp"
    temporary.write_bytes(data)
    temporary.replace(out / "sensitivity.parquet")
    print(f"sensitivity.parquet: {len(model.words):,} words, {len(data):,} bytes, base {model.base}")
    write(pa.table({"word": pa.array(private_words(wordnet))}), out / "private-words.parquet")


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description="Make the bundled sensitivity model and the list of private words.")
    parser.add_argument("--wordnet", type=Path, required=True, help="the folder of WordNet 3.0's database files")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write the tables to")
    options = parser.parse_args()
    build(options.wordnet, options.out)


if __name__ == "__main__":
    main()
