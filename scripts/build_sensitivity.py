"""Make the bundled sensitivity model, its topics and the list of private words, and say how good the model is.

    python -m scripts.build_sensitivity --wordnet /usr/share/wordnet --out src/queryveil/lexicons/data

The model is trained on the compiled WordNet that ships with queryveil. The private words are written here by hand, or
come from pointers of WordNet's own files that are not compiled; the model is taught none of them. The same input and
the same libraries give the same bytes.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa

from queryveil.lexicons.wordnet import load_wordnet
from queryveil.logs.terms import terms
from queryveil.sensitivity.model import SensitivityModel, model_bytes
from queryveil.sensitivity.training import ClassifierScores, base_form, cross_validate, train, with_inflections
from scripts.build_lexicons import PARTS, fold, lines, write
from scripts.sensitivity_examples import NAME, OPTIONS, bundled_examples, everyday_words, is_withheld
from scripts.sensitivity_topics import SENSITIVE, label_synsets

Key = tuple[int, int]  # part of speech, byte offset

PARTS_OF_POINTERS = {"n": 0, "v": 1, "a": 2, "s": 2, "r": 3}
# What advertisers may not or must carefully speak of, in plain words; left out are those that definitions do not use
# enough for the model to learn them without a label of their own.
CATEGORIES = {
    "sexual content": "sex sexual sexy erotic penis vagina lesbian homosexual prostitute genital virgin orgasm lust "
    "fetish condom intercourse",
    "health": "cancer diabetes aids depression disease symptom treatment therapy drug medicine medical hospital "
    "doctor surgery pregnancy pregnant abortion fertility diet patient tumor infection virus fever pain "
    "heart blood injury disorder schizophrenia anxiety suicide psychiatric clinic nurse prescription pill "
    "vaccine menstruation contraceptive contraception herpes syphilis asthma arthritis epilepsy dementia "
    "allergy circumcision disability",
    "religion": "church bible jesus christ christian catholic muslim jewish jew prayer god islam priest religion "
    "religious baptist buddhist koran mosque pope holy faith sin gospel",
    "politics": "election senator democrat republican political politics vote congress party communist socialist "
    "liberal conservative government liberation protest",
    "origin": "native immigrant immigration hispanic ethnic racial tribe minority",
    "crime": "crime criminal prison jail murder rape police court lawyer attorney lawsuit arrest gang fraud theft "
    "kill terrorist terrorism legal law guilty victim violence abuse illegal",
    "drugs and gambling": "alcohol alcoholic marijuana cocaine heroin narcotic gambling lottery cigarette addict "
    "addiction drunk bet",
    "money": "debt loan bankruptcy bankrupt mortgage credit welfare unemployment poverty creditor salary income tax",
    "family": "divorce marriage adoption custody genealogy ancestor wife husband parent child spouse daughter",
    "identity": "passport password identity signature certificate secret citizenship fingerprint",
}
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
    """Return the private words: those written by hand with their forms, and those that WordNet's pointers mark."""
    by_hand = with_inflections({word: 0.0 for words in CATEGORIES.values() for word in words.split()})
    taught = taught_words(frozenset(by_hand))
    return sorted({*by_hand, *(word for word in marked_words(folder) if not is_taught(word, taught))})


def marked_words(folder: Path) -> set[str]:
    """Return words whose usual sense belongs to a private field or usage."""
    words, pointers = read_pointers(folder)
    network = load_wordnet()
    number = {(int(p), int(o)): i for i, (p, o) in enumerate(zip(network.parts, network.offsets, strict=True))}
    wanted = {";c": FIELDS, ";u": USAGES}
    chosen: set[str] = set()
    for key, found in pointers.items():
        if any(words[part, at][0] in wanted.get(symbol, ()) for symbol, part, at in found):
            chosen |= {fold(word) for word in words[key] if is_usual(fold(word), number[key])}
    return {word for word in chosen if len(word) > 2}


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
    """Return whether a synset is a lemma's most frequent sense, over all parts of speech."""
    network = load_wordnet()
    place = network.lemma_ids[lemma]
    senses = slice(network.sense_indptr[place], network.sense_indptr[place + 1])
    return int(network.sense_synsets[senses][np.argmax(network.sense_counts[senses])]) == synset


def taught_words(withheld: frozenset[str]) -> set[str]:
    """Return the lemmas and everyday words that are labelled to train the model."""
    network = load_wordnet()
    found = {lemma for each in label_synsets() for lemma in network.words(each.synset)}
    found |= {base_form(word) for _, word in everyday_words()}
    return {word for word in found if not is_withheld(word, withheld)}


def is_taught(word: str, taught: set[str]) -> bool:
    """Return whether a word, as it is written or folded, is among those the model is trained on."""
    folded = " ".join(terms(word))
    return word in taught or folded in taught or base_form(folded) in taught


def topic_words(model: SensitivityModel) -> pa.Table:
    """Return the words that make a query sensitive by the model, each with the topic of its usual sense.

    A word that people type for a topic belongs to that one, and an inflected form to the topic of its base form.
    """
    network, names = load_wordnet(), [topic.name for topic in SENSITIVE]
    found = {
        lemma: float(names.index(each.topic.name))
        for each in label_synsets()
        for lemma in network.words(each.synset)
        if each.topic.is_sensitive and is_usual(lemma, each.synset)
    }
    typed = {word: float(names.index(topic.name)) for topic, word in [*everyday_words()][::-1] if topic.is_sensitive}
    sensitive = {word for word, weight in zip(model.words, model.weights.tolist(), strict=True) if weight > 0}
    topics = {word: names[int(n)] for word, n in with_inflections({**found, **typed}).items() if word in sensitive}
    return pa.table({"word": list(topics), "topic": pa.array(list(topics.values()))})


def show(judgement: ClassifierScores, texts: str) -> None:
    """Print how good the model is on some texts."""
    print(f"{judgement.texts:,} {texts}, {judgement.sensitive:,} of them sensitive:")
    for name in ("accuracy", "balanced_accuracy", "precision", "recall", "calibration_error"):
        print(f"  {name.replace('_', ' ')}: {getattr(judgement, name):.3f}")


def build(wordnet: Path, out: Path) -> None:
    """Write the private words, and judge, train and write a model that was not taught them."""
    private = private_words(wordnet)
    write(pa.table({"word": pa.array(private)}), out / "private-words.parquet")
    texts, scored = bundled_examples(frozenset(private))
    show(
        cross_validate(texts, OPTIONS, rng=np.random.default_rng(0), scored=scored), "definitions, folds split by lemma"
    )
    model = train(texts, OPTIONS, name=NAME)
    data = model_bytes(model)
    temporary = out / "sensitivity.parquet.tmp"
    temporary.write_bytes(data)
    temporary.replace(out / "sensitivity.parquet")
    print(f"sensitivity.parquet: {len(model.words):,} words, {len(data):,} bytes, base {model.base}")


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description="Make the bundled sensitivity model and the list of private words.")
    parser.add_argument("--wordnet", type=Path, required=True, help="the folder of WordNet 3.0's database files")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write the tables to")
    options = parser.parse_args()
    build(options.wordnet, options.out)


if __name__ == "__main__":
    main()
