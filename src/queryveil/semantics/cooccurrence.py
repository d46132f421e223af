"""A network of terms that the same people search for, learnt from the log itself.

Names such as "myspace" are in no dictionary; what else the same people search for says what they are about. Zhu and
Xiong 2010 allow such a network in WordNet's place and give no formula. Here a term's neighbours are those with the
highest normalised pointwise mutual information over people (Bouma 2009): 1 where two terms always come together, 0
where they come together as often as by chance.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress, silent
from queryveil.core.rows import indptr_of, per_entry, row_numbers, select_entries
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import gather, sort_rows
from queryveil.kernels.semantics.senses import neighbours
from queryveil.lexicons.wordnet import NOUN
from queryveil.semantics.lemmas import Lexicon, folded
from queryveil.semantics.network import Network

LEAST_PEOPLE = 5  # a term fewer people hold has no neighbours to trust
LEAST_SHARED = 3  # people who must hold both terms
MOST_TERMS = 50_000  # those that most people hold; rarer ones have too few people in common with others
LONGEST = 1_000  # terms of a person; who has more searches for everything, at a cost that grows with the square
MOST_NEIGHBOURS = 5
_VISITS_PER_CHUNK = 50_000_000  # to terms of a term's holders, between two reports


def learn(profiles: Profiles, *, progress: Progress = silent) -> Network:
    """Learn the network of the terms of profiles; terms that few people hold are not in it."""
    people = profiles.holders()
    n_terms = min(int(np.count_nonzero(people >= LEAST_PEOPLE)), MOST_TERMS)  # ids fall with the number of people
    indptr, ids = _by_person(profiles, n_terms)
    found, strengths = _neighbours(indptr, ids, n_terms, progress)  # (terms, MOST_NEIGHBOURS) each
    is_found = found >= 0
    each, nodes = np.arange(n_terms + 1), np.arange(n_terms, dtype=np.int32)
    words = tuple(folded(term) for term in profiles.vocabulary.entries[:n_terms])
    return Network(
        name="cooccurrence",
        words=words,
        lexicon=Lexicon({word: number for number, word in enumerate(words)}, np.full(n_terms, 1 << NOUN, np.int8)),
        sense_indptr=each,
        senses=nodes,
        word_indptr=each,
        node_words=nodes,
        edge_indptr=indptr_of(is_found.sum(axis=1)),
        edges=found[is_found],
        parts=np.full(n_terms, NOUN, np.int32),
        strengths=strengths[is_found],
    )


def _by_person(profiles: Profiles, n_terms: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return, for every person with not too many, the terms below `n_terms` that any of their histories holds."""
    is_used = profiles.ids < n_terms
    before = select_entries(profiles.indptr, is_used)
    ends = np.append(np.flatnonzero(np.diff(profiles.owner)) + 1, profiles.n_histories)
    starts = np.concatenate((np.zeros(1, np.int64), before[ends]))
    indptr, ids, _ = sort_rows(starts, profiles.ids[is_used], np.arange(n_terms, dtype=np.int32), n_terms)
    lengths = np.diff(indptr)
    ids = ids[per_entry(lengths <= LONGEST, indptr)]
    return indptr_of(np.where(lengths <= LONGEST, lengths, 0)), ids


def _neighbours(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], n_terms: int, progress: Progress
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return each term's neighbours and their strengths, the strongest first, −1 behind the last."""
    person = row_numbers(indptr, dtype=np.int32)
    holder_indptr, holders = gather(ids, person, n_terms)
    found, strengths = np.full((n_terms, MOST_NEIGHBOURS), -1, np.int32), np.zeros((n_terms, MOST_NEIGHBOURS))
    shared = np.zeros(n_terms, np.int64)
    n_people = int(np.count_nonzero(np.diff(indptr)))
    visits = indptr_of(np.diff(indptr)[holders])[holder_indptr[:-1]]
    cuts = [*np.flatnonzero(np.diff(visits // _VISITS_PER_CHUNK, prepend=-1)).tolist(), n_terms]
    for first, last in pairwise(cuts):
        progress("learning which terms go together", first, n_terms)
        neighbours(indptr, ids, holder_indptr, holders, n_people, LEAST_SHARED, first, last, shared, found, strengths)
    progress("learning which terms go together", n_terms, n_terms)
    return found, strengths
