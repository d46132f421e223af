"""Run and qrels files, as trec_eval and its kin read them.

A topic is a query, by its number; who asked it and what it says are not in the files. Scores are places counted from
the end, since the tools sort by score and break ties in their own way.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from queryveil.search.evaluation.topics import Topics
from queryveil.search.evaluation.variants import Evaluation

QRELS = "qrels.txt"


def trec_files(evaluation: Evaluation, names: Sequence[str]) -> Mapping[str, bytes]:
    """Return the files by name: what is relevant, and a run for every variant; `names` are those of documents."""
    files = {QRELS: _qrels(evaluation.topics, names)}
    for variant, order in evaluation.orders.items():
        documents = np.take_along_axis(evaluation.topics.documents, order, axis=1)
        files[f"{run_name(variant)}.run"] = _run(documents, run_name(variant), names)
    return files


def run_name(variant: str) -> str:
    """Return the name of a variant's run."""
    return variant.replace(",", "").replace(" ", "-")


def _qrels(topics: Topics, names: Sequence[str]) -> bytes:
    lines = [
        f"{topic} 0 {names[document]} {int(relevant)}\n"
        for topic, (row, is_relevant) in enumerate(zip(topics.documents, topics.is_relevant, strict=True), 1)
        for document, relevant in zip(row.tolist(), is_relevant.tolist(), strict=True)
        if document >= 0
    ]
    return "".join(lines).encode()


def _run(documents: np.ndarray[tuple[int, int], np.dtype[np.int32]], tag: str, names: Sequence[str]) -> bytes:
    depth = documents.shape[1]
    lines = [
        f"{topic} Q0 {names[document]} {rank} {depth - rank + 1} {tag}\n"
        for topic, row in enumerate(documents, 1)
        for rank, document in enumerate(row.tolist(), 1)
        if document >= 0
    ]
    return "".join(lines).encode()
