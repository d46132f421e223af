"""A network of terms that the same people search for, learnt from the log itself.

Names such as "myspace" are in no dictionary; what else the same people search for tells what they are about. Zhu and
Xiong 2010 allow such a network instead of WordNet and give no formula. Here a term's neighbours are those with the
highest normalised pointwise mutual information over people (Bouma 2009): 1 for terms that always occur together, 0 for
terms that occur together as often as by chance.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np

from queryveil.core.progress import Progress, silent
from queryveil.core.rows import FloatArray, Int32Array, IntArray, indptr_of, row_numbers, select_entries
from queryveil.histories.profiles import Profiles
from queryveil.kernels.cooccurrence import find_neighbours
from queryveil.kernels.histories import gather, sort_rows
from queryveil.lexicons.wordnet import NOUN
from queryveil.semantics.lemmas import LemmaIndex, fold_lemma
from queryveil.semantics.network import Network

MIN_PEOPLE = 5  # the neighbours of a term with fewer holders are not reliable
MIN_SHARED = 3  # people who must hold both terms
MAX_TERMS = 50_000  # the most common ones; rarer terms share too few people with others
MAX_TERMS_OF_PERSON = 1_000  # people with more are ignored: they search for everything, and the cost is quadratic
MAX_NEIGHBOURS = 5
_VISITS_PER_CHUNK = 50_000_000  # terms of holders that are visited between two progress reports


def open_cooccurrence(profiles: Profiles, taxonomy: Path | None = None, progress: Progress = silent) -> Network:
    """Return the co-occurrence network of the terms of profiles; terms with few holders are not in it.

    The taxonomy is an argument of every network and is not used.
    """
    people = profiles.holder_counts()
    n_terms = min(int(np.count_nonzero(people >= MIN_PEOPLE)), MAX_TERMS)  # ids fall with the number of people
    indptr, ids = _terms_of_people(profiles, n_terms)
    found, strengths = _find_neighbours(indptr, ids, n_terms, progress)  # (terms, MAX_NEIGHBOURS) each
    is_found = found >= 0
    each, nodes = np.arange(n_terms + 1), np.arange(n_terms, dtype=np.int32)
    words = tuple(fold_lemma(term) for term in profiles.vocabulary[:n_terms])
    return Network(
        name="cooccurrence",
        words=words,
        lemmas=LemmaIndex({word: number for number, word in enumerate(words)}, np.full(n_terms, 1 << NOUN, np.int8)),
        sense_indptr=each,
        senses=nodes,
        word_indptr=each,
        node_words=nodes,
        edge_indptr=indptr_of(is_found.sum(axis=1)),
        edges=found[is_found],
        parts=np.full(n_terms, NOUN, np.int32),
        strengths=strengths[is_found],
    )


def _terms_of_people(profiles: Profiles, n_terms: int) -> tuple[IntArray, Int32Array]:
    """Return rows of the distinct terms below `n_terms` of every person; empty for people with too many."""
    is_used = profiles.ids < n_terms
    before = select_entries(profiles.indptr, is_used)
    ends = np.append(np.flatnonzero(np.diff(profiles.owner)) + 1, profiles.n_histories)
    starts = np.concatenate((np.zeros(1, np.int64), before[ends]))
    indptr, ids, _ = sort_rows(starts, profiles.ids[is_used], np.arange(n_terms, dtype=np.int32), n_terms)
    lengths = np.diff(indptr)
    ids = ids[np.repeat(lengths <= MAX_TERMS_OF_PERSON, np.diff(indptr))]
    return indptr_of(np.where(lengths <= MAX_TERMS_OF_PERSON, lengths, 0)), ids


def _find_neighbours(
    indptr: IntArray, ids: Int32Array, n_terms: int, progress: Progress
) -> tuple[Int32Array, FloatArray]:
    """Return each term's neighbours and their strengths, by falling strength, padded with −1."""
    person = row_numbers(indptr, dtype=np.int32)
    holder_indptr, holders = gather(ids, person, n_terms)
    found, strengths = np.full((n_terms, MAX_NEIGHBOURS), -1, np.int32), np.zeros((n_terms, MAX_NEIGHBOURS))
    shared, rows = np.zeros(n_terms, np.int64), (indptr, ids, holder_indptr, holders)
    n_people = int(np.count_nonzero(np.diff(indptr)))
    visits = indptr_of(np.diff(indptr)[holders])[holder_indptr[:-1]]
    cuts = [*np.flatnonzero(np.diff(visits // _VISITS_PER_CHUNK, prepend=-1)).tolist(), n_terms]
    for first, last in pairwise(cuts):
        progress("learning which terms go together", first, n_terms)
        find_neighbours(*rows, n_people, MIN_SHARED, first, last, shared, found, strengths)
    progress("learning which terms go together", n_terms, n_terms)
    return found, strengths
