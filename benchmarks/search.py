"""Indexing and searching 100,000 documents: queryveil's index against tantivy alone, re-ranked queries against plain.

`python -m benchmarks.search`: the first 100,000 definitions of the bundled corpus, held in memory, so that reading them
is on neither side. Tantivy alone gets the same titles and texts by its own default analyser, with one writer thread
and the same memory; ours also makes the terms, the vectors and the digests. Queries are titles that find at least 100
documents; each is asked plainly and then with the top 100 re-ranked for a group, ten results each time.
"""

import statistics
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tantivy

if TYPE_CHECKING:
    from queryveil.api import Searcher
    from queryveil.search.corpora.base import Document

DOCUMENTS, QUERIES, DEPTH, RUNS, SEED = 100_000, 1_000, 100, 3, 1
BATCH, HEAP = 4_096, 128_000_000


def measure() -> dict[str, float | str]:
    """Time both pairs on the same documents."""
    from queryveil.search.corpora.base import find_corpus, read_documents

    documents = list(islice(read_documents(find_corpus("wordnet")), DOCUMENTS))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        index_ours(documents[:BATCH], folder / "warm")  # compiles
        alone, ours = [], []
        for run in range(RUNS):
            alone.append(_alone(documents, folder / f"alone-{run}"))
            ours.append(index_ours(documents, folder / f"ours-{run}"))
        write_groups(folder)
        plain, reranked = _queries(folder, [document.title for document in documents])
    return {
        "documents": len(documents),
        "tantivy alone, seconds": round(statistics.median(alone), 2),
        "queryveil, seconds": round(statistics.median(ours), 2),
        "time ratio (bar: ≤ 3)": round(statistics.median(ours) / statistics.median(alone), 2),
        "plain query, median ms": round(1000 * plain, 3),
        "re-ranked query, median ms": round(1000 * reranked, 3),
        "re-ranking adds, ms (bar: ≤ 1)": round(1000 * (reranked - plain), 3),
    }


def _alone(documents: "list[Document]", folder: Path) -> float:
    folder.mkdir()
    builder = tantivy.SchemaBuilder()
    for field in ("title", "text"):
        builder.add_text_field(field, index_option="freq")
    builder.add_unsigned_field("number", fast=True)
    started = time.perf_counter()
    writer = tantivy.Index(builder.build(), path=str(folder)).writer(HEAP, 1)
    for number, document in enumerate(documents):
        entry = tantivy.Document()
        entry.add_text("title", document.title)
        entry.add_text("text", document.text)
        entry.add_unsigned("number", number)
        writer.add_document(entry)
    writer.commit()
    writer.wait_merging_threads()
    return time.perf_counter() - started


def index_ours(documents: "list[Document]", folder: Path) -> float:
    from queryveil.search.builder import IndexBuilder

    folder.mkdir()
    started = time.perf_counter()
    builder = IndexBuilder(folder)
    for first in range(0, len(documents), BATCH):
        builder.add(documents[first : first + BATCH])
    builder.finish()
    return time.perf_counter() - started


def write_groups(folder: Path) -> None:
    """Release groups of the demo log."""
    from queryveil.api import anonymize, generate

    generate(folder / "log.tsv", users=300, seed=SEED)
    anonymize(folder / "log.tsv", "linkability(p=0.4)", folder / "groups", private=folder / "private", seed=SEED)


def open_searcher(folder: Path, titles: list[str]) -> "tuple[Searcher, list[str], list[int]]":
    """Return a searcher with the groups, queries that find enough documents, and a group for each."""
    from queryveil.api import Searcher

    searcher = Searcher(folder / "ours-0", groups=folder / "groups")
    rng = np.random.default_rng(SEED)
    drawn = (titles[number].split(",")[0] for number in rng.permutation(len(titles)))
    asked = list(islice((query for query in drawn if len(searcher.index.search(query, DEPTH)) == DEPTH), QUERIES))
    groups = rng.choice(searcher.groups, QUERIES).tolist()
    for query, group in zip(asked, groups, strict=True):  # groups are mapped when they are first asked for
        searcher.search(query, group, depth=DEPTH)
    return searcher, asked, groups


def _queries(folder: Path, titles: list[str]) -> tuple[float, float]:
    """Return the median seconds of a plain and of a re-ranked query."""
    searcher, asked, groups = open_searcher(folder, titles)
    plain, reranked = [], []
    for query, group in zip(asked, groups, strict=True):
        started = time.perf_counter()
        searcher.search(query)
        between = time.perf_counter()
        searcher.search(query, group, depth=DEPTH)
        plain.append(between - started)
        reranked.append(time.perf_counter() - between)
    return statistics.median(plain), statistics.median(reranked)


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value}")
