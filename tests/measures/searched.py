"""A small corpus, people with a topic each, and a release of groups of them."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import queryveil
from queryveil import index

TOPICS = (
    ("coffee", "espresso", "latte", "mocha", "cappuccino", "roast", "bean", "cup"),
    ("python", "compiler", "programming", "algorithm", "software", "loop", "code", "type"),
    ("island", "beach", "hotel", "flight", "volcano", "ferry", "harbour", "tide"),
    ("football", "goal", "league", "stadium", "referee", "match", "score", "team"),
)
COMMON = tuple(f"word{i}" for i in range(12))
METHOD = "linkability(p=0.4)"
MEASURE = "search(people=50, queries=3, depth=40, relevant=10)"


@dataclass(frozen=True)
class Place:
    """Where everything lies."""

    log: Path
    release: Path
    private: Path
    index: Path


def make(folder: Path, *, method: str = METHOD, people: int = 60) -> Place:
    """Write profiles, a corpus and its index, and a release of groups of the people."""
    rng = np.random.default_rng(8)
    corpus, log = folder / "corpus.jsonl", folder / "profiles.csv"
    documents = [
        {"id": f"d {number}", "text": " ".join((*rng.choice(TOPICS[number % 4], 3), *rng.choice(COMMON, 4)))}
        for number in range(400)
    ]
    corpus.write_text("".join(json.dumps(document) + "\n" for document in documents))
    lines = ["user,term,weight", "nobody,unheard,1", "nowhere,unheard,1", "no one,unheard,1"]
    for person in range(people):
        terms = (*rng.choice(TOPICS[person % 4], 5, replace=False), *rng.choice(COMMON, 3, replace=False))
        lines += [f"secret-{person},{term},{rng.integers(1, 4)}" for term in terms]
    log.write_text("\n".join(lines) + "\n")
    place = Place(log, folder / "release", folder / "private", folder / "index")
    index(corpus, place.index)
    queryveil.anonymize(log, method, place.release, private=place.private, seed=1)
    return place
