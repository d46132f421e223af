"""The entries that queries are made of, by id, and the samplers that draw them for the slots of a query."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from queryveil.core.rows import BoolArray, FloatArray, Int32Array, IntArray, indptr_of
from queryveil.logs.generate.invented import RareTerms
from queryveil.logs.generate.shape import LONGEST, Slot, Zipf

Ids = Int32Array

NOTHING = -1  # in a row of ids, after the last
MOST_TERMS = 4  # in an entry
_TERM = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, eq=False)
class WeightedIds:
    """Ids in one or several groups, each group in order of popularity, all drawn by the same law."""

    ids: Ids  # group after group
    starts: IntArray  # (groups,)
    sizes: IntArray  # (groups,), each at least 1
    law: Zipf

    @classmethod
    def of(cls, groups: Sequence[Ids], law: Zipf) -> "WeightedIds":
        """Return a sampler over groups of ids, each in order of popularity."""
        sizes = np.array([len(group) for group in groups], np.int64)
        return cls(np.concatenate(groups), indptr_of(sizes)[:-1], sizes, law)

    def draw(self, groups: IntArray, rng: np.random.Generator) -> Ids:
        """Draw one id of each given group; where there is only one group, all draws are from it."""
        return self.ids[self.positions(rng.random(len(groups)), groups)]

    def draw_many(self, n: int, rng: np.random.Generator) -> Ids:
        """Draw n ids of the first group."""
        return self.ids[self.positions(rng.random(n))]

    def positions(self, uniform: FloatArray, groups: IntArray | int = 0) -> IntArray:
        """Map uniform numbers in [0, 1) to positions in `ids`.

        The law is read as a density between rank - 1/2 and rank + 1/2, whose distribution function has an inverse in
        closed form; a table of probabilities is not needed.
        """
        groups = 0 if len(self.sizes) == 1 else groups
        sizes, power, low = self.sizes[groups], 1 - self.law.exponent, self.law.shift + 0.5
        floor = low**power
        position = (floor + uniform * ((sizes + low) ** power - floor)) ** (1 / power)
        ranks = np.minimum((position - low).astype(np.int64), sizes - 1)
        return np.asarray(self.starts[groups] + ranks)


class QueryLexicon:
    """All entries by id. An entry is a term or, where the shape has phrases, a text of several terms.

    The sampler of rare terms draws provisional ids; `replace_rare_ids` replaces them by ids of entries. A shape uses
    either rare terms or entries that are added by text.
    """

    def __init__(
        self, texts: pa.StringArray, samplers: Mapping[Slot, WeightedIds], *, n_rare: int, has_phrases: bool
    ) -> None:
        self.samplers = samplers
        self.identifiers: set[int] = set()  # entries that are direct identifiers
        self._has_phrases = has_phrases
        self._texts = texts  # all different
        self._added: list[str] = []  # not yet in _texts
        self._n_common = len(texts)
        self._rare_entries = np.full(n_rare, NOTHING, np.int32)  # rank of a rare term → its entry once it is used
        self._rare_terms = RareTerms(texts.to_pylist()) if n_rare else None
        self._ids: dict[str, int] = {}  # text → id, filled when an entry is first added
        self._terms = np.empty((0, MOST_TERMS), np.int32)  # (entries, MOST_TERMS): filled when first needed

    @property
    def texts(self) -> pa.StringArray:
        """Return the text of every entry; grows as entries are added."""
        if self._added:
            self._texts = pa.concat_arrays([self._texts, pa.array(self._added, pa.string())])
            self._added = []
        return self._texts

    def add(self, texts: Sequence[str]) -> Ids:
        """Return the ids of entries with these texts, adding the new ones."""
        if not self._ids:
            self._ids = {text: number for number, text in enumerate(self.texts.to_pylist())}
        new = [text for text in dict.fromkeys(texts) if text not in self._ids]
        self._ids.update(zip(new, range(len(self._ids), len(self._ids) + len(new)), strict=True))
        self._added += new
        return np.array([self._ids[text] for text in texts], np.int32)

    def replace_rare_ids(self, queries: Ids, rng: np.random.Generator) -> None:
        """Replace the provisional ids of rare terms in queries; a term is made up when it is first used."""
        if self._rare_terms is None:
            return
        is_rare = queries >= self._n_common
        ranks = queries[is_rare] - self._n_common
        new = np.unique(ranks[self._rare_entries[ranks] < 0])
        n_entries = len(self.texts)
        self._rare_entries[new] = np.arange(n_entries, n_entries + len(new))
        self._added = self._rare_terms.take(len(new), rng)
        queries[is_rare] = self._rare_entries[ranks]

    def terms_of(self, queries: Ids) -> Ids:
        """Return the distinct terms of each query: (queries, LONGEST), NOTHING elsewhere."""
        if not self._has_phrases:
            return queries
        split = self._split(queries).reshape(len(queries), -1)
        is_term = split != NOTHING
        aligned = np.full(split.shape, NOTHING, np.int32)  # the terms of each row without gaps
        aligned[np.arange(split.shape[1]) < is_term.sum(axis=1)[:, None]] = split[is_term]
        terms = aligned[:, :LONGEST]
        terms[repeated(terms)] = NOTHING
        return terms

    def shorten(self, queries: Ids) -> None:
        """Remove the last entries of queries that have more than LONGEST terms."""
        if self._has_phrases:
            n_terms = (self._split(queries) != NOTHING).sum(axis=2)
            queries[np.cumsum(n_terms, axis=1) > LONGEST] = NOTHING

    def _split(self, queries: Ids) -> Ids:
        """Return the terms of the entries of each query: (queries, entries, MOST_TERMS), NOTHING after the last."""
        while len(self._terms) < len(self.texts):
            runs = [_TERM.findall(text) for text in self.texts[len(self._terms) :].to_pylist()]
            terms = np.full((len(runs), MOST_TERMS), NOTHING, np.int32)
            is_term = np.arange(MOST_TERMS) < np.array([len(run) for run in runs])[:, None]
            terms[is_term] = self.add([term for run in runs for term in run])
            self._terms = np.concatenate((self._terms, terms))
        return np.where(queries[:, :, None] == NOTHING, NOTHING, self._terms[queries])


def repeated(queries: Ids) -> BoolArray:
    """Mark each entry that also occurs further left in its row."""
    found = np.zeros(queries.shape, np.bool_)
    for column in range(1, queries.shape[1]):
        found[:, column] = (queries[:, :column] == queries[:, column : column + 1]).any(axis=1)
    found &= queries != NOTHING
    return found
