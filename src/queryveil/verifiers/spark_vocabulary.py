"""Verify vocabulary k-anonymity on Spark: equal vocabularies are grouped, and the owners of each counted.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010, definition 2; read as in the
verifier for one machine (`verifiers.vocabulary`). Whether vocabularies stand for what the people behind them
searched for is checked history by history by its code (`verifiers.meaning`); who holds a term is counted over all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from queryveil.core.arrow import as_array, encode_texts
from queryveil.core.evidence import Evidence, Floor, MethodParameters, ReleasedVocabularies
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict, Violation
from queryveil.core.rows import indptr_of
from queryveil.engines.spark.sql import VocabularyFrames
from queryveil.histories.profiles import Profiles
from queryveil.semantics.network import Network, wordnet
from queryveil.verifiers.meaning import TermMeanings, count_unsupported_terms
from queryveil.verifiers.vocabulary import RARE_STANDINS, RARE_TERMS, UNSUPPORTED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_HISTORIES = 5_000  # with consecutive release ids, so alike, in a task


def verify(claim: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Return whether a claim vocabulary_k(k) holds for published vocabularies, or for histories taken as such."""
    released, floor = evidence.get(VocabularyFrames), 1
    progress("verifying", 0, 1)
    verdict = _check_crowds(claim, released)
    if verdict.holds and released.held is not None:
        floor = evidence.get(Floor).people
        rare = _count_rare(released.rows.where("level = 0").select("term").distinct(), released.held, floor)
        if rare:
            reason = RARE_TERMS.format(rare, floor)
            verdict = replace(verdict, state="violated", violations=rare, reason=reason)
    parameters, network = evidence.find(MethodParameters), evidence.find(Network)
    if verdict.holds and released.held is not None and parameters is not None and network is not None:
        verdict = _check_meaning(verdict, released.rows, released.held, network, parameters.values, floor)
    progress("verifying", 1, 1)
    return verdict


def _check_crowds(claim: ResolvedName, released: VocabularyFrames) -> Verdict:
    """Return whether every different vocabulary has k owners; a counterexample has fewest, then the fewest rows."""
    from pyspark.sql import functions as f

    k = claim.integer("k")
    counted: Literal["people", "histories"] = "people" if released.is_linked else "histories"
    cells = f.array_sort(f.collect_list(f.struct("term", "level", "count")))
    vocabularies = released.rows.groupBy("user", "owner").agg(cells.alias("cells"))
    crowds = vocabularies.groupBy("cells").agg(f.countDistinct("owner").alias("support")).persist()
    try:
        checked, n_short = map(int, crowds.agg(f.count(f.lit(1)), f.count_if(f.col("support") < k)).collect()[0])
        worst = crowds.orderBy("support", f.size("cells"), "cells").first() if n_short else None
    finally:
        crowds.unpersist()
    if not checked:
        return Verdict(str(claim), "unchecked", counted, reason="the release has no rows")
    if worst is None:
        return Verdict(str(claim), "holds", counted, checked)
    entries = tuple(cell["term"] + (f" ×{cell['count']}" if cell["count"] > 1 else "") for cell in worst["cells"])
    violation = Violation(entries, int(worst["support"]), k)
    return Verdict(str(claim), "violated", counted, checked, n_short, violation)


def _count_rare(lists: "DataFrame", held: "DataFrame", floor: int) -> int:
    """Count the lists of terms (column `term`, separated by bars) of which fewer than `floor` people hold a term."""
    from pyspark.sql import functions as f

    holders = held.groupBy("term").agg(f.countDistinct("owner").alias("people"))
    parts = lists.selectExpr("term AS list", "explode(split(term, '[|]')) AS term").join(holders, "term", "left")
    return parts.where(f"people IS NULL OR people < {floor}").select("list").distinct().count()


def _check_meaning(
    verdict: Verdict, rows: "DataFrame", held: "DataFrame", network: Network, parameters: Mapping[str, Any], floor: int
) -> Verdict:
    """Return the verdict, violated if histories do not support what is published, or too few people are behind it."""
    unsupported = _count_unsupported(rows, held, network, parameters)
    if unsupported:
        return replace(verdict, state="violated", violations=unsupported, reason=UNSUPPORTED.format(unsupported))
    names = rows.where("level > 0").select("term", "level").distinct()
    if parameters.get("typical") == "bags":
        rare = _count_rare(names.select("term"), held, floor)
    else:
        rare = _count_rare_generalised(names, held, network, parameters, floor)
    if not rare:
        return verdict
    return replace(verdict, state="violated", violations=rare, reason=RARE_STANDINS.format(rare, floor))


def _count_unsupported(rows: "DataFrame", held: "DataFrame", network: Network, parameters: Mapping[str, Any]) -> int:
    """Count the rows that the history behind them does not support."""
    given = None if network is wordnet() else network  # every machine has WordNet

    def count(published: pa.Table, profiles: pa.Table) -> pa.Table:
        released, behind = _decode(published, profiles)
        history_of = np.arange(len(released.users))
        n, _ = count_unsupported_terms(released, history_of, behind, given or wordnet(), parameters, 0)
        return pa.table({"n": pa.array([n], pa.int64())})

    part = f"user DIV {_HISTORIES} AS part"
    published = rows.selectExpr("*", part).groupBy("part")
    behind = held.where("user IS NOT NULL").selectExpr("user", "term", "count", part).groupBy("part")
    found = published.cogroup(behind).applyInArrow(count, "n LONG")
    return int(found.selectExpr("SUM(n)").collect()[0][0] or 0)


def _decode(published: pa.Table, profiles: pa.Table) -> tuple[ReleasedVocabularies, Profiles]:
    """Return some published vocabularies, and the profiles behind them over the same histories.

    What is published are entries of these profiles too, so that terms nobody here holds can be compared.
    """
    users = np.unique(as_array(published["user"]))
    ids, terms = encode_texts(published["term"])
    user = np.searchsorted(users, as_array(published["user"]))
    levels = as_array(published["level"]).astype(np.int32)
    order = np.lexsort((levels, ids, user))
    counts = as_array(published["count"]).astype(np.int32)[order]
    indptr = np.searchsorted(user[order], np.arange(len(users) + 1)).astype(np.int64)
    released = ReleasedVocabularies(users, indptr, ids[order].astype(np.int32), counts, levels[order], terms)
    entries = sorted({*profiles["term"].to_pylist(), *(part for term in terms for part in term.split("|"))})
    number = {entry: place for place, entry in enumerate(entries)}
    entry = np.array([number[term] for term in profiles["term"].to_pylist()], np.int32)
    history = np.searchsorted(users, as_array(profiles["user"]))
    order = np.lexsort((entry, history))
    lengths = np.bincount(history, minlength=len(users))
    held = as_array(profiles["count"]).astype(np.int32)[order]
    owner = np.arange(len(users), dtype=np.int32)
    return released, Profiles(tuple(entries), indptr_of(lengths), entry[order], held, owner, ())


def _count_rare_generalised(
    names: "DataFrame", held: "DataFrame", network: Network, parameters: Mapping[str, Any], floor: int
) -> int:
    """Count the generalised names at a level that are of terms which fewer than `floor` people hold."""
    from pyspark.sql import functions as f

    texts = [row[0] for row in names.select("term").distinct().collect()]  # no more than the network has words
    given = None if network is wordnet() else network

    def find(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from _find_below(batch, texts, given or wordnet(), parameters)

    below = held.mapInArrow(find, "term STRING, owner STRING").distinct()
    people = below.groupBy("term").agg(f.count(f.lit(1)).alias("people"))
    return names.join(people, "term", "left").where(f"people IS NULL OR people < {floor}").count()


def _find_below(
    batch: pa.RecordBatch, texts: Sequence[str], network: Network, parameters: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Yield, for each name, the owners who hold a term below it."""
    words, people = (batch[name].dictionary_encode() for name in ("term", "owner"))
    ids, owner = words.indices.to_numpy(), people.indices.to_numpy()
    indptr = np.arange(len(batch) + 1, dtype=np.int64)  # each pair is a history of its own
    profiles = Profiles(tuple(words.dictionary.to_pylist()), indptr, ids, np.ones_like(ids), owner, ())
    meanings = TermMeanings(profiles, network, parameters)
    for text in texts:
        found = people.dictionary.take(pa.array(meanings.owners_below(text)))
        yield pa.RecordBatch.from_pydict({"term": pa.array([text] * len(found), pa.string()), "owner": found})
