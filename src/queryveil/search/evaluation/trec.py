"""Run and qrels files, as trec_eval and its kin read them.

A topic is a query; topics are numbered in a random order, so neither who asked nor what one person asked together is in
the files. Scores are places counted from the end, since the tools sort by score and break ties in their own way. What
is white space in a document's id is written as %20 and the like, since columns end there.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from queryveil.search.evaluation.variants import Evaluation

QRELS = "qrels.txt"


def trec_files(evaluation: Evaluation, ids: Sequence[str], rng: np.random.Generator) -> Mapping[str, bytes]:
    """Return the files by name: what is relevant, and a run for every variant; `ids` are those of documents."""
    topics = evaluation.topics
    numbers = (rng.permutation(len(topics.queries)) + 1).tolist()
    used = np.unique(topics.documents[topics.documents >= 0]).tolist()
    names = {document: re.sub(r"[\s%]", _escaped, ids[document]) for document in used}
    relevant = topics.is_relevant.astype(np.int64).tolist()
    judged = zip(numbers, topics.documents, relevant, strict=True)
    lines = {QRELS: {number: _qrels(number, row, judgement, names) for number, row, judgement in judged}}
    for variant, order in evaluation.orders.items():
        documents, tag = np.take_along_axis(topics.documents, order, axis=1), run_name(variant)
        lines[f"{tag}.run"] = {n: _run(n, row, tag, names) for n, row in zip(numbers, documents, strict=True)}
    return {name: "".join(text[number] for number in sorted(text)).encode() for name, text in lines.items()}


def run_name(variant: str) -> str:
    """Return the name of a variant's run."""
    return variant.replace(",", "").replace(" ", "-")


def _escaped(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"


def _qrels(topic: int, documents: NDArray[np.int32], relevant: Sequence[int], names: Mapping[int, str]) -> str:
    found = zip(documents.tolist(), relevant, strict=True)
    return "".join(f"{topic} 0 {names[document]} {is_relevant}\n" for document, is_relevant in found if document >= 0)


def _run(topic: int, documents: NDArray[np.int32], tag: str, names: Mapping[int, str]) -> str:
    found = [names[document] for document in documents.tolist() if document >= 0]
    return "".join(f"{topic} Q0 {name} {rank} {len(found) - rank + 1} {tag}\n" for rank, name in enumerate(found, 1))
