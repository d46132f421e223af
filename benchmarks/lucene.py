"""Lucene and queryveil on the same 100,000 documents: indexing, queries, re-ranking, memory, agreement of rankings.

`python -m benchmarks.lucene` (needs a JDK and liblucene8-java, scripts/system_packages). Both index the same terms of
the first 100,000 definitions of the bundled corpus, titles weighing double, with frequencies and without positions, and
keep every document's tf-idf weights: Lucene as `FeatureField`s, ours as vectors. Lucene re-ranks by `QueryRescorer`
with the clauses that `queryveil search-body --for opensearch` writes, built beforehand; ours by `Searcher.search`.
Times are processor time, the best of three for each query after warming up, the median over queries; both fetch ten
documents.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.common import ROOT, RUNS, Figures
from benchmarks.search import BATCH, DEPTH, DOCUMENTS, index_ours, open_searcher, write_groups

if TYPE_CHECKING:
    from queryveil.api import Searcher
    from queryveil.search.corpora.base import Document
    from queryveil.search.ranking_settings import RankingSettings

LUCENE_BM25 = 2.2  # since version 8 Lucene leaves out the factor k1 + 1


def measure() -> Figures:
    """Measure both on the same documents, queries and groups."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours = _in_process("ours", folder)
        theirs = _java("index", str(folder / "documents.tsv"), str(folder / "lucene"))
        figures: Figures = {
            "index, processor seconds, queryveil": ours["seconds"],
            "index, processor seconds, Lucene (warm, best of 3)": round(theirs["seconds"], 2),
            "index on disk, MB, queryveil": _megabytes(folder / "ours-0"),
            "index on disk, MB, Lucene": _megabytes(folder / "lucene" / "0"),
            "peak memory of indexing, MB, queryveil": ours["megabytes"],
            "peak memory of indexing, MB, Lucene": theirs["megabytes"],
        }
        for ranking in ("blended", "paper"):
            figures |= _on_ranking(ranking, folder)
    return figures


def _on_ranking(ranking: str, folder: Path) -> Figures:
    ours = _in_process("search", folder, ranking)
    theirs = _java("search", str(folder / "queries.tsv"), str(folder / "lucene" / "0"), str(folder / "found.tsv"))
    expected = json.loads((folder / "ours.json").read_text())
    found = [line.split("\t") for line in (folder / "found.tsv").read_text().splitlines()]
    pairs = [
        ([int(n) for n in plain.split()], [int(n) for n in reranked.split()], mine)
        for (plain, reranked), mine in zip(found, expected, strict=True)
    ]
    same = [p for p in pairs if set(p[0]) == set(p[2])]
    bar = " (bar: ≤ Lucene)" if ranking == "blended" else ""
    return {
        f"{ranking}: clauses of a profile, median": ours["clauses"],
        f"{ranking}: plain query, ms, queryveil": ours["plain"],
        f"{ranking}: plain query, ms, Lucene": round(theirs["plain"], 3),
        f"{ranking}: query with re-ranking, ms, queryveil{bar}": ours["reranked"],
        f"{ranking}: query with re-ranking, ms, Lucene": round(theirs["reranked"], 3),
        f"{ranking}: peak memory of searching, MB, queryveil": ours["megabytes"],
        f"{ranking}: peak memory of searching, MB, Lucene": theirs["megabytes"],
        f"{ranking}: the same 100 documents found, % of queries": round(100 * len(same) / len(pairs), 1),
        f"{ranking}: the same first document after re-ranking, %": _share([a[0] == b[0] for _, a, b in same]),
        f"{ranking}: in common among the first ten, %": _share([len({*a[:10]} & {*b[:10]}) / 10 for _, a, b in same]),
        f"{ranking}: rank correlation of the hundred, mean": round(
            statistics.mean(_spearman(a, b) for _, a, b in same), 4
        ),
    }


def _in_process(step: str, folder: Path, *arguments: str) -> dict[str, float]:
    """Run a step of queryveil in a process of its own, so that its memory is its own."""
    command = [sys.executable, "-m", "benchmarks.lucene", step, str(folder), *arguments]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _java(*arguments: str) -> dict[str, float]:
    jars = [max(Path("/usr/share/java").glob(f"lucene-{name}-*.jar")) for name in ("core", "analyzers-common")]
    command = ["java", "-Xmx1g", "-cp", ":".join(map(str, jars)), str(ROOT / "benchmarks" / "Lucene.java")]
    done = subprocess.run([*command, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return {name: float(value) for name, value in (line.split("=") for line in done.stdout.split())}


def _documents() -> "list[Document]":
    from queryveil.search.corpora.base import find_corpus, read_documents

    return list(islice(read_documents(find_corpus("wordnet")), DOCUMENTS))


def _index(folder: Path) -> dict[str, float]:
    """Index with queryveil, and write the documents for Lucene."""
    documents = _documents()
    index_ours(documents[:BATCH], folder / "warm")  # compiles
    seconds = []
    for run in range(RUNS):
        started = time.process_time()
        index_ours(documents, folder / f"ours-{run}")
        seconds.append(time.process_time() - started)
    peak = _peak()
    _write_documents(documents, folder)
    write_groups(folder)
    return {"seconds": round(min(seconds), 2), "megabytes": peak}


def _write_documents(documents: "list[Document]", folder: Path) -> None:
    from queryveil.search.index import open_index

    index = open_index(folder / "ours-0")
    with (folder / "documents.tsv").open("w", encoding="utf-8") as stream:
        for number, document in enumerate(documents):
            row = slice(index.indptr[number], index.indptr[number + 1])
            weights = zip(index.ids[row].tolist(), index.weights[row].tolist(), strict=True)
            analyzed = (" ".join(index.analyzer.terms(text)) for text in (document.title, document.text))
            columns = (str(number), *analyzed, *(f"{index.terms[term]}={weight:.6g}" for term, weight in weights))
            stream.write("\t".join(columns) + "\n")


def _search(folder: Path, ranking: str) -> dict[str, float]:
    """Time queries with queryveil, and write them with their clauses for Lucene."""
    from queryveil.search.ranking_settings import ranking_settings

    searcher, asked, groups = open_searcher(folder, [document.title for document in _documents()])
    pairs = list(zip(asked, groups, strict=True))
    plain, reranked = np.full(len(pairs), np.inf), np.full(len(pairs), np.inf)
    for _ in range(RUNS):
        for number, (query, group) in enumerate(pairs):
            started = time.thread_time_ns()
            searcher.search(query)
            between = time.thread_time_ns()
            searcher.search(query, group, depth=DEPTH, ranking=ranking)
            plain[number] = min(plain[number], between - started)
            reranked[number] = min(reranked[number], time.thread_time_ns() - between)
    peak, settings = _peak(), ranking_settings(ranking)
    lines, found = zip(*(_line_and_order(searcher, *pair, settings) for pair in pairs), strict=True)
    (folder / "queries.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "ours.json").write_text(json.dumps(found))
    return {
        "plain": round(float(np.median(plain)) / 1e6, 3),
        "reranked": round(float(np.median(reranked)) / 1e6, 3),
        "clauses": statistics.median(line.count("=") for line in lines),
        "megabytes": peak,
    }


def _line_and_order(searcher: "Searcher", query: str, group: int, settings: "RankingSettings") -> tuple[str, list[int]]:
    """Return a query as Lucene gets it, with the spread of its own scores, and the order of its documents by ours."""
    index, part = searcher.index, searcher.rescore(group, "opensearch", settings, query=query, depth=DEPTH, spread=1.0)
    ranked = index.search(query, DEPTH)
    clauses = {
        clause["rank_feature"]["field"].partition(".")[2]: clause["rank_feature"]["boost"]
        for clause in part["query"]["rescore_query"]["bool"]["should"]
    }
    boosts = np.zeros(len(index.terms))
    boosts[[index.term_id[term] for term in clauses]] = list(clauses.values())
    rows = (slice(index.indptr[n], index.indptr[n + 1]) for n in ranked.documents.tolist())
    similarity = [float(boosts[index.ids[row]] @ index.weights[row]) for row in rows]
    spread = float(np.std(ranked.scores.astype(float)) / LUCENE_BM25 / (np.std(similarity) or 1.0))
    weights = (part["query"]["query_weight"], (1 - settings.blend) * (spread if settings.blend else 1.0), DEPTH)
    words = " ".join(dict.fromkeys(index.analyzer.terms(query)))
    line = "\t".join((words, *map(str, weights), *(f"{term}={boost}" for term, boost in clauses.items())))
    hits = searcher.search(
        query, group, n=DEPTH, blend=settings.blend, shrink=settings.shrink, query_weight=settings.query_weight
    )
    return line, [index.documents.number_of[hit.id] for hit in hits.hits]


def _spearman(a: list[int], b: list[int]) -> float:
    """Return the rank correlation of two orders of the same documents."""
    place = {document: rank for rank, document in enumerate(b)}
    return float(np.corrcoef(np.arange(len(a)), [place[document] for document in a])[0, 1])


def _share(values: "list[bool] | list[float]") -> float:
    return round(100 * float(np.mean(values)), 1)


def _megabytes(folder: Path) -> float:
    return round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6, 1)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ours", place]:
            print(json.dumps(_index(Path(place))))
        case ["search", place, name]:
            print(json.dumps(_search(Path(place), name)))
        case _:
            for line, value in measure().items():
                print(f"{line}: {value}", flush=True)
