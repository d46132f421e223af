"""Kind `vocabularies`: the bag of terms published of every history, some of them generalised."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from queryveil.core.arrow import as_array, encode_texts, take_texts
from queryveil.core.errors import ReleaseError
from queryveil.core.evidence import Evidence, Owners, ReleasedVocabularies
from queryveil.core.rows import IntArray, gather_rows, row_numbers
from queryveil.engines import QueryLog
from queryveil.engines.kept_columns import NOTHING_KEPT, KeptColumns
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Counts, DefaultMeasure, ReleaseContent, wrong_counts
from queryveil.kinds.canonical_order import ids_of_order, order_rows, rank_texts
from queryveil.kinds.histories import HistoriesKind, person_of_users
from queryveil.kinds.private_folder import PrivateFolder


@dataclass(frozen=True)
class VocabulariesKind(HistoriesKind):
    """Bags of terms, with counts and levels of generalisation."""

    def encode(
        self, outcome: Any, profiles: Profiles, log: QueryLog | None = None, kept: KeptColumns = NOTHING_KEPT
    ) -> ReleaseContent:
        """Return the rows `user, term, count, level` of what is published, terms in the order of their texts."""
        rank, texts = rank_texts(outcome.terms, outcome.ids)
        history = row_numbers(outcome.indptr)
        order = np.lexsort((outcome.levels, rank[outcome.ids], history))
        ranks, levels, counts = rank[outcome.ids][order], outcome.levels[order], outcome.counts[order]
        cells = np.stack((ranks, levels, counts), axis=1).ravel()
        in_order = order_rows(3 * outcome.indptr, cells, None)
        released, positions = gather_rows(outcome.indptr, in_order)
        terms = take_texts(texts, ranks[positions])
        columns = {"count": counts[positions].astype(np.int32), "level": levels[positions].astype(np.int32)}
        rows = pa.table({"user": row_numbers(released), "term": terms, **columns})
        return ReleaseContent(rows, ids_of_order(in_order, profiles.n_histories))

    def counts(self, outcome: Any, profiles: Profiles, content: ReleaseContent) -> Counts:
        """Count what is published."""
        is_released = content.release_ids >= 0
        return Counts(
            len(np.unique(profiles.owner[is_released])),
            int(np.count_nonzero(is_released)),
            int(np.count_nonzero(np.bincount(outcome.ids))),
            len(outcome.ids),
            int(outcome.counts.sum(dtype=np.int64)),
        )

    def decode(self, rows: pa.Table) -> ReleasedVocabularies:
        """Return the vocabularies of released rows, each in the order of its texts and levels."""
        if any(rows[name].null_count for name in rows.column_names):
            raise ReleaseError("the release has rows in which something is missing; it is damaged.")
        counts, levels = (as_array(rows[name]).astype(np.int32) for name in ("count", "level"))
        if (counts < 1).any() or (levels < 0).any():
            raise ReleaseError("the release has rows with a count below 1 or a level below 0; it is damaged.")
        users, user = np.unique(as_array(rows["user"]), return_inverse=True)
        ids, terms = encode_texts(rows["term"])
        order = np.lexsort((levels, ids, user))
        keys = np.stack((user[order], ids[order], levels[order]))
        if (keys[:, 1:] == keys[:, :-1]).all(axis=0).any():
            raise ReleaseError("the release has the same term of a history twice; it is damaged.")
        indptr = np.searchsorted(user[order], np.arange(len(users) + 1)).astype(np.int64)
        return ReleasedVocabularies(users, indptr, ids[order], counts[order], levels[order], terms)

    def count_rows(self, evidence: Evidence) -> Mapping[str, int]:
        """Count histories, terms, pairs and occurrences."""
        released = evidence.get(ReleasedVocabularies)
        return {
            "histories": len(released.users),
            "terms": len(released.terms),
            "pairs": len(released.ids),
            "occurrences": int(released.counts.sum(dtype=np.int64)),
        }

    def private_faults(
        self, evidence: Evidence, private: PrivateFolder, counts: Mapping[str, int], *, is_intact: bool
    ) -> list[str]:
        """Return whether the manifest gives another number of people; the verifier compares the vocabularies."""
        if not is_intact:
            evidence.remove(Owners)
            return []
        return wrong_counts({"people": len(np.unique(evidence.get(Owners).person))}, counts, "private folder")

    def crowd_members(self, evidence: Evidence, units: IntArray, persons: IntArray) -> tuple[IntArray, IntArray]:
        """Return the vocabulary of every released history, equal ones with the same number."""
        released = evidence.get(ReleasedVocabularies)
        return released.number_equal(), person_of_users(units, persons)[released.users]


VOCABULARIES = VocabulariesKind(
    name="vocabularies",
    needs_profiles_only=True,
    purpose="for every history a bag of terms that several people share, as typed or generalised",
    columns={"user": "int64", "term": "string", "count": "int32", "level": "int32"},
    sorted_by=("user", "term", "level"),
    content="vocabularies",
    example_claim="vocabulary_k(k=…)",
    crowd="vocabulary",
    has_occurrences=True,
    is_generalized=True,
    fates=("in the vocabulary that is shared", "not in the vocabulary that is shared"),
    after_heading="After: the vocabulary that is shared",
    comparison="queryveil.kinds.comparison_views:VOCABULARIES",
    figure=("count", ",d"),
    checked="Different vocabularies checked",
    default_measure_specs=(
        DefaultMeasure("blm"),
        DefaultMeasure("lm", when_made=False),
        DefaultMeasure("patterns"),
        *(DefaultMeasure(f"unique(m={m})") for m in (1, 2, 3)),
    ),
    report_section="kinds/vocabularies.html.j2",
    frame="queryveil.kinds.frames:VOCABULARIES",
)
