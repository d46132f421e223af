"""How well and how fast queries are told to be sensitive: labels of real queries, and a million queries in a minute.

    python -m benchmarks.sensitive_queries LOG

`make bench` measures the speed alone, on the demo log. LOG is the Excite log of 1997 as tab-separated user, time and
query, which does not ship. The labels are of two samples of 400 of its different queries, which are stored by the
SHA-256 of their terms (docs/explanation/measurements/labelling-queries.md).
"""

import csv
import hashlib
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.common import Figures, make_log
from queryveil.logs.terms import terms
from queryveil.semantics.network import wordnet
from queryveil.semantics.placed_words import find_vectors, place
from queryveil.semantics.word_vectors import bundled_vectors
from queryveil.sensitivity.model import BAYES, BUNDLED, read_model
from queryveil.sensitivity.training import score_predictions

LABELS = [Path(__file__).parent / "labels" / name for name in ("excite.tsv", "excite-second.tsv")]
MILLION = 1_000_000
ROUNDS = 3
USERS = 5_000  # of the demo log


def read_queries(log: Path, column: int = 2) -> list[str]:
    """Return the queries of the log in the form of their terms."""
    with log.open(encoding="utf-8", errors="replace") as stream:
        found = (" ".join(terms(line.rstrip("\n").split("\t")[column])) for line in stream)
        return [query for query in found if query]


def judge(queries: list[str], labelled: Path) -> None:
    """Print how the models agree with a file of labels."""
    with labelled.open(encoding="utf-8", newline="") as stream:
        labels = {row["sha256"]: row["label"] == "sensitive" for row in csv.DictReader(stream, delimiter="\t")}
    found = {hashlib.sha256(query.encode()).hexdigest(): query for query in queries}
    texts = [found[digest] for digest in labels if digest in found]
    is_sensitive = np.array([label for digest, label in labels.items() if digest in found])
    for path in (BAYES, BUNDLED):
        scores = score_predictions(read_model(path).probabilities(texts), is_sensitive)
        print(
            f"{path.stem}, {labelled.stem}: {len(texts)} of {len(labels)} labelled queries, "
            f"accuracy {scores.accuracy:.3f}, "
            f"balanced {scores.balanced_accuracy:.3f}, recall {scores.recall:.3f}, precision {scores.precision:.3f}, "
            f"calibration error {scores.calibration_error:.3f}"
        )
        for each in scores.bins:
            print(f"  predicted {each.predicted:.2f}, observed {each.observed:.2f}, {each.texts} queries")


def cover(queries: list[str]) -> None:
    """Print how many of the different terms, and of all, have a meaning in WordNet and with word vectors."""
    counts: dict[str, int] = {}
    for query in queries:
        for term in set(query.split()):
            counts[term] = counts.get(term, 0) + 1
    lacking = [term for term in counts if wordnet().find(term) is None]
    network = place(wordnet(), *find_vectors(lacking, bundled_vectors()), bundled_vectors())
    without = [term for term in lacking if network.find(term) is None]
    for name, unknown in (("WordNet", lacking), ("WordNet and vectors", without)):
        occurrences = sum(counts[term] for term in unknown) / sum(counts.values())
        print(f"{name}: {1 - len(unknown) / len(counts):.1%} of {len(counts):,} terms, {1 - occurrences:.1%} of all")


def measure() -> Figures:
    """Measure the speed on the queries of the demo log."""
    with tempfile.TemporaryDirectory() as name:
        return measure_speed(read_queries(make_log(Path(name), USERS, "demo"), column=1))


def measure_speed(queries: list[str]) -> Figures:
    """Return how many queries each model classifies in a second of processor time."""
    texts = (queries * (MILLION // len(queries) + 1))[:MILLION]
    figures: Figures = {"different queries": len(set(queries))}
    for path in (BAYES, BUNDLED):
        model = read_model(path)
        model.probabilities(texts[:1_000])
        spent = []
        for _ in range(ROUNDS):
            begin = time.process_time()
            model.probabilities(texts)
            spent.append(time.process_time() - begin)
        figures[f"{path.stem}, queries a second of one core (bar: ≥ 300,000)"] = round(MILLION / min(spent))
    return figures


def main() -> None:
    """Measure all on the log of the command line."""
    queries = read_queries(Path(sys.argv[1]))
    for labelled in LABELS:
        judge(queries, labelled)
    cover(queries)
    for what, value in measure_speed(queries).items():
        print(f"{what}: {value:,}")


if __name__ == "__main__":
    main()
