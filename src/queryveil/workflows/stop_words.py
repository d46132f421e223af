"""Advice on stop words, where most of what is released first are such."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.kinds.base import Kind
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.logs.options import CleaningOptions
from queryveil.report.suggestions import MANY_STOP_WORDS

TOP_TERMS = 10
ADVICE = "advice"  # in the summary of a run


def top_items(rows: pa.Table, kind: Kind) -> list[str]:
    """Return the released terms or queries that most rows hold."""
    counts = pc.value_counts(rows[kind.unit].combine_chunks())
    table = pa.table({"item": counts.field("values"), "rows": counts.field("counts")})
    ranked = table.sort_by([("rows", "descending"), ("item", "ascending")])
    return list(ranked["item"].slice(0, TOP_TERMS).to_pylist())


def advise(top: Sequence[str], kind: Kind, cleaning: CleaningOptions) -> dict[str, str]:
    """Return, for the summary of a run, that stop words may be left out if many of the top terms are such."""
    found = sum(item in STOP_WORDS for item in top)
    if kind.unit != "term" or cleaning.stop_words != "none" or found < MANY_STOP_WORDS:
        return {}
    which = f"{found} of the {len(top)} most frequent released terms are stop words"
    return {ADVICE: f"{which}; --stop-words english leaves them out"}
