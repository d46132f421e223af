"""Verify what released queries hold: no name, place or private word of the lists, or one each.

Carpineto, Romano: Sensitive-aware Privacy Index for Sanitized Text Data, 2018, section 4. The words of all queries are
laid out in one row, and every run of words of the length that a listed phrase may have is looked up at once.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.core.evidence import Evidence, ReleasedHistories
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.core.rows import BoolArray, IntArray
from queryveil.lexicons.word_lists import PersonalWordLists


def verify(claim: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Return whether a claim ppp(release) holds for every distinct query that is released, whoever issued it."""
    queries, is_only = evidence.get(ReleasedHistories).terms, claim.word("release") == "only"
    if not queries:
        return Verdict(str(claim), "unchecked", "nothing", reason="the release has no rows")
    found = _are_private(queries, evidence.get(PersonalWordLists))
    progress("verifying", len(queries), len(queries))
    n_wrong = int(np.count_nonzero(~found if is_only else found))
    if not n_wrong:
        return Verdict(str(claim), "holds", "nothing", len(queries), unit="queries")
    what = "hold none" if is_only else "hold one"
    reason = f"{n_wrong:,} different queries {what} of the names, places and private words of the lists"
    return Verdict(str(claim), "violated", "nothing", len(queries), n_wrong, reason=reason, unit="queries")


def _are_private(queries: Sequence[str], lists: PersonalWordLists) -> BoolArray:
    """Return for every query whether it holds a name, place or private word."""
    texts = pc.split_pattern(pa.array(queries, pa.string()), " ")
    words = pc.list_flatten(texts)
    query = pc.list_parent_indices(texts).to_numpy()
    found = np.zeros(len(queries), np.bool_)
    found[query[_in(words, lists.names)]] = True
    by_length: dict[int, list[str]] = {}
    for phrase in (*lists.places, *lists.words):
        by_length.setdefault(len(phrase.split(" ")), []).append(phrase)
    for length, phrases in by_length.items():
        starts, runs = _runs(words, query, length)
        found[query[starts[_in(runs, phrases)]]] = True
    starts, _ = _runs(words, query, 2)
    is_name = _in(words, lists.first_names)[starts] & _in(words, lists.last_names)[starts + 1]
    found[query[starts[is_name]]] = True
    return found


def _runs(words: pa.Array, query: IntArray, length: int) -> tuple[IntArray, pa.Array]:
    """Return where runs of so many words of one query begin, and the runs."""
    starts = np.arange(max(len(words) - length + 1, 0))
    starts = starts[query[starts] == query[starts + length - 1]]
    if length == 1:
        return starts, words
    columns = [words.take(pa.array(starts + i)) for i in range(length)]
    return starts, pc.binary_join_element_wise(*columns, " ")


def _in(words: pa.Array, listed: Iterable[str]) -> BoolArray:
    is_listed: BoolArray = pc.is_in(words, pa.array(sorted(listed), words.type)).to_numpy(zero_copy_only=False)
    return is_listed
